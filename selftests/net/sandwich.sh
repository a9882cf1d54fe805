#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp xdp where there is no libxdp chain: a sentence, and nothing changed. The chains themselves are in
# selftests/vm/guest.d/85-sandwich.sh: not every kernel lets freplace programs be loaded, and this one need not.
cd "$(dirname "$0")/../.." || exit 1
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh

USERS=$tmp/xdp_users.o
"${CLANG:-clang-16}" -target bpf -mcpu=v3 -O2 -g -I"/usr/include/$(gcc -print-multiarch)" \
	-c selftests/net/loaders/xdp_users.bpf.c -o "$USERS" || net_die "cannot build xdp_users"

# gives STATUS SENTENCE WORDS...: of bigtcp xdp
gives()
{
	local want=$1 pattern=$2 rc

	shift 2
	in_ns rcv "$BIGTCP" xdp "$@" >$tmp/said 2>$tmp/err
	rc=$?
	cat $tmp/said $tmp/err
	[ $rc = "$want" ] || { echo "status $rc, not $want: bigtcp xdp $*"; return 1; }
	grep -qE "$pattern" $tmp/err || { echo "no sentence with '$pattern': bigtcp xdp $*"; return 1; }
}

# Which of both depends on the kernel.
no_chain='this kernel refuses freplace programs|the sandwich goes around the programs of a chain'

usage()
{
	gives 1 "wants 'sandwich' and a device" && gives 1 "wants 'sandwich'" sandwich &&
		gives 1 "wants 'sandwich'" bread r0 && gives 1 "wants 'sandwich'" sandwich r0 r1 &&
		gives 1 "no option '--with'" sandwich r0 --with &&
		gives 1 "takes no other option" sandwich r0 --off --trust a &&
		gives 1 "and no options" status r0 --trust a
}

no_program()
{
	gives 2 "$no_chain" sandwich r0 && gives 2 "$no_chain" sandwich r0 --dry-run &&
		gives 2 'there is no sandwich on r0' sandwich r0 --off &&
		gives 2 'there is no device nosuch' sandwich nosuch &&
		gives 2 'there is no device nosuch' status nosuch &&
		[ "$(in_ns rcv "$BIGTCP" xdp status -j)" = "[]" ]
}

alone()
{
	local id

	in_ns rcv ip link set r0 xdpgeneric obj "$USERS" program xu_tx || return
	id=$(in_ns rcv ip -j link show r0 | jq '.[0].xdp.prog.id')
	gives 2 "$no_chain" sandwich r0 && gives 2 'there is no sandwich' sandwich r0 --off || return
	in_ns rcv "$BIGTCP" xdp status r0 -j | tee $tmp/json
	jq -e --argjson id "$id" 'length == 1 and .[0].id == $id and .[0].dev == "r0" and .[0].name == "xu_tx" and
		.[0].mode == "skb" and .[0].role == "program" and .[0].verdicts == "PASS TX" and
		.[0].prio == null and .[0].remark == "not in a libxdp chain"' $tmp/json || return
	[ "$(in_ns rcv ip -j link show r0 | jq '.[0].xdp.prog.id')" = "$id" ] &&
		in_ns rcv ip link set r0 xdpgeneric off
}

# told PROGRAM VERDICTS: what can be told of it by its instructions
told()
{
	local got

	in_ns rcv ip link set r0 xdpgeneric obj "$USERS" program "$1" || return
	got=$(in_ns rcv "$BIGTCP" xdp status r0 -j | jq -r '.[0].verdicts')
	in_ns rcv ip link set r0 xdpgeneric off
	[ "$got" = "$2" ] || { echo "$1: $got, not $2"; return 1; }
}

verdicts()
{
	told xu_fw "DROP PASS" && told xu_tx "PASS TX" && told xu_redirect any && told xu_policy "DROP PASS TX REDIRECT other"
}

# xdp-filter's, as Debian ships them: they keep the verdict on the stack while they count it.
filter_verdicts()
{
	local f pins=/sys/fs/bpf/filter name

	for f in "/usr/lib/$(gcc -print-multiarch)"/bpf/xdpfilt_*.o; do
		bpftool prog loadall "$f" $pins >&2 || return
		name=$(basename $pins/xdpfilt_*)
		in_ns rcv ip link set r0 xdpgeneric pinned $pins/"$name" || return
		in_ns rcv "$BIGTCP" xdp status r0 -j | jq -e '.[0].verdicts == "ABORTED DROP PASS"' || return
		in_ns rcv ip link set r0 xdpgeneric off
		rm -rf $pins
	done
	# which have maps that are pinned by name
	rm -f /sys/fs/bpf/filter_* /sys/fs/bpf/xdp_stats_map
}

no_ethernet()
{
	in_ns rcv ip tuntap add t0 mode tun || return
	gives 2 'packets of t0 have no Ethernet header' sandwich t0 && in_ns rcv ip link del t0
}

nothing_left()
{
	local left

	left=$(find /sys/fs/bpf -type f ! -name "*.debug"; find /run /tmp /dev/shm -maxdepth 1 -type d -name 'bigtcp-xdp.??????' 2>/dev/null)
	[ -z "$left" ] || { echo "$left"; return 1; }
}

net_direct
t usage "wrong usage"
t no_program "a device without XDP"
t alone "a program outside of a chain stays as it is"
t verdicts "what programs can return"
t filter_verdicts "what Debian's xdp-filter can return"
t no_ethernet "a device without Ethernet header"
t nothing_left "nothing is left"
finish
