#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp load, attach and detach for XDP: both modes, whose hook it is, pins; and twins of a firewall in
# generic XDP, where jumbo packets arrive.
#   snd (s0) ---- (r0) rcv
# Prints TAP. Root. Everything happens in namespaces of its own, which go with it.
# shellcheck disable=SC2015,SC2329 # the tests are called by name
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_loaders || exit 1
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh
# shellcheck source=selftests/net/lib_hooks.sh
. selftests/net/lib_hooks.sh

BYTES=${BT_BYTES:-30000000}
net_direct
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up || net_die "no veth pair"

# Whatever a test attached is taken off, also what it attached without bigtcp.
after_test()
{
	local d

	for d in v0 v1 lo; do
		"$BIGTCP" detach $d xdp >/dev/null 2>&1
		ip link set $d xdp off 2>/dev/null
		ip link set $d xdpgeneric off 2>/dev/null
	done
	rm -f /sys/fs/bpf/t /sys/fs/bpf/foreign
}

# What is attached and pinned, to be the same before and after what fails.
state()
{
	ip -j -d link show | jq -c '.[] | [.ifname, .xdp]'
	find /sys/fs/bpf ! -type d
}

unchanged()
{
	local before rc

	before=$(state)
	"$@"
	rc=$?
	same "$(state)" "$before" || return 1
	return $rc
}

# xdp_of DEV: "MODE ID" of what is attached there
xdp_of()
{
	ip -j link show "$1" | jq -r '.[0].xdp | if . then "\(.mode) \(.prog.id)" else "none" end'
}

# ip's numbers: 1 is native, 2 generic
mode_of()
{
	xdp_of "$1" | sed 's/ .*//; s/^1$/native/; s/^2$/generic/'
}

by_default()
{
	notes "switches TSO off on the other end" bt attach v0 xdp "$HOOKS" --prog fw &&
		grep -q '^fw at v0 xdp, native program [0-9]* link [0-9]*$' "$tmp/stdout" &&
		same "$(mode_of v0)" native && is_twin "$(xdp_of v0 | cut -d' ' -f2)" &&
		same "$(pins)" 1 && bt detach v0 xdp && same "$(xdp_of v0)" none && same "$(pins)" 0
}

# The note tells what the kernel does.
tso_goes()
{
	ethtool -k v1 | grep -q '^tcp-segmentation-offload: on' || { ethtool -k v1; return 1; }
	bt attach v0 xdp "$HOOKS" --prog fw --mode native &&
		ethtool -k v1 | grep '^tcp-segmentation-offload: off' && bt detach v0 xdp &&
		ethtool -k v1 | grep '^tcp-segmentation-offload: on'
}

generic()
{
	notes "turns GRO off on v0" bt attach v0 xdp "$HOOKS" --prog fw --mode skb &&
		same "$(mode_of v0)" generic &&
		ethtool -k v1 | grep '^tcp-segmentation-offload: on' &&
		bt -j detach v0 xdp >"$tmp/json" &&
		jq -e '.detached[0] | .prog == "fw" and .hook == "xdp" and .kind == "generic" and .dev == "v0" and
			.link_id > 0 and .prog_id > 0' "$tmp/json"
}

no_driver()
{
	unchanged fails 2 "lo has no native XDP.*--mode skb" bt attach lo xdp "$HOOKS" --prog fw --mode native &&
		bt attach lo xdp "$HOOKS" --prog fw && same "$(mode_of lo)" generic
}

again()
{
	bt attach v0 xdp "$HOOKS" --prog fw &&
		unchanged fails 2 "fw is attached to v0 xdp already.*bigtcp detach v0 xdp --prog fw" \
			bt attach v0 xdp "$HOOKS" --prog fw &&
		unchanged fails 2 "fw is attached to v0 xdp already" bt attach v0 xdp "$HOOKS" --prog fw_frags &&
		unchanged fails 2 "fw is attached to v0 xdp already" bt attach v0 xdp "$HOOKS" --prog fw --mode skb &&
		unchanged fails 2 "already" bt --dry-run attach v0 xdp "$HOOKS" --prog fw &&
		unchanged fails 2 "has attached no program fw_frags to v0 xdp" bt detach v0 xdp --prog fw_frags &&
		bt detach v0 xdp --prog fw && bt attach v0 xdp "$HOOKS" --prog fw_frags && bt detach v0 xdp &&
		unchanged fails 2 "has attached no program to v0 xdp" bt detach v0 xdp
}

dry()
{
	unchanged bt --dry-run attach v0 xdp "$HOOKS" --prog fw && bt attach v0 xdp "$HOOKS" --prog fw &&
		unchanged bt --dry-run detach v0 xdp
}

# Somebody else's program is never displaced, whatever the mode.
taken()
{
	local id

	ip link set v0 xdp obj "$HOOKS" sec xdp 2>/dev/null || return 1
	id=$(xdp_of v0 | cut -d' ' -f2)
	unchanged fails 2 "program $id [a-z_]+ is at v0 xdp, which takes one program.*bigtcp exec" \
		bt attach v0 xdp "$HOOKS" --prog fw &&
		unchanged fails 2 "program $id " bt attach v0 xdp "$HOOKS" --prog fw --mode skb &&
		unchanged fails 2 "program $id " bt --dry-run attach v0 xdp "$HOOKS" --prog fw &&
		unchanged fails 2 "has attached no program to v0 xdp" bt detach v0 xdp
}

# A link that is not in bigtcp's own directory is another's.
taken_by_link()
{
	bt attach v0 xdp "$HOOKS" --prog fw && mv $LINKS/*-fw /sys/fs/bpf/foreign &&
		unchanged fails 2 "program [0-9]+ fw is at v0 xdp, which takes one" bt attach v0 xdp "$HOOKS" --prog fw &&
		unchanged fails 2 "has attached no program" bt detach v0 xdp
}

taken_by_libxdp()
{
	bt load "$HOOKS" --prog xdp_dispatcher --pin /sys/fs/bpf/t --plain &&
		bpftool net attach xdp pinned /sys/fs/bpf/t dev v0 &&
		unchanged fails 2 "libxdp's dispatcher .*bigtcp exec -- xdp-loader load v0" \
			bt attach v0 xdp "$HOOKS" --prog fw
}

pinned()
{
	bt load "$HOOKS" --prog fw --pin /sys/fs/bpf/t && bt attach v0 xdp --pinned /sys/fs/bpf/t --mode skb &&
		same "$(xdp_of v0)" "2 $(bpftool -j prog show pinned /sys/fs/bpf/t | jq .id)"
}

# Interface indices repeat between namespaces; a pin of one must not be taken for the other's.
other_netns()
{
	bt attach lo xdp "$HOOKS" --prog fw && bt -n rcv attach lo xdp "$HOOKS" --prog fw && same "$(pins)" 2 &&
		bt detach lo xdp && same "$(pins)" 1 && bt -n rcv detach lo xdp
}

swept()
{
	ip link add gone0 type veth peer name gone1 && bt attach gone0 xdp "$HOOKS" --prog fw &&
		ip link del gone0 && same "$(pins)" 1 && bt attach v0 xdp "$HOOKS" --prog fw || return 1
	same "$(pins)" 1
}

renamed()
{
	ip link add old0 type veth peer name old1 && bt attach old0 xdp "$HOOKS" --prog fw &&
		ip link set old0 name new0 && bt detach new0 xdp
	local ret=$?
	ip link del old1
	return $ret
}

at_once()
{
	local i pids="" won=0

	for i in 1 2 3 4 5 6; do
		bt attach v0 xdp "$HOOKS" --prog fw >"$tmp/once.$i" 2>&1 &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i" && won=$((won + 1))
	done
	same $won 1 && same "$(pins)" 1
}

consistent()
{
	[ "$(xdp_of v0 | grep -vc none)" = "$(pins)" ]
}

# Killed at any time: attached and pinned, or not at all.
killed()
{
	local i pid

	for i in $(seq 1 16); do
		"$BIGTCP" attach v0 xdp "$HOOKS" --prog fw --mode skb >/dev/null 2>&1 &
		pid=$!
		sleep "0.0$((i % 10))$((i * 7 % 10))"
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		wait_for 5 consistent || return 1
		same "$(xdp_of v0)" none >/dev/null || bt detach v0 xdp || return 1
	done
}

other_types()
{
	unchanged fails 2 "acct_in of .* is of type cgroup_skb .*: no XDP program" \
		bt attach v0 xdp "$HOOKS" --prog acct_in &&
		unchanged fails 1 "more than one XDP program \(fw, nothing" bt attach v0 xdp "$HOOKS" &&
		unchanged fails 2 "has no tc program" bt attach v0 ingress "$HOOKS" &&
		unchanged fails 2 "no program of a type that gets twins" \
			bt load "$HOOKS" --prog lookup --pin /sys/fs/bpf/t
}

not_needed()
{
	bt -j load "$HOOKS" --prog nothing --pin /sys/fs/bpf/t >"$tmp/json" && cat "$tmp/json" &&
		jq -e '.programs[0] | .status == "not-needed" and .loaded and .form == null and
			(.reason | contains("nothing in it depends"))' "$tmp/json"
}

usage()
{
	unchanged fails 1 "are for ingress and egress" bt attach v0 xdp "$HOOKS" --prog fw --place=tail &&
		unchanged fails 1 "are for ingress and egress" bt attach v0 xdp "$HOOKS" --prog fw --legacy &&
		unchanged fails 1 "is for xdp" bt attach v0 ingress "$HOOKS" --mode skb &&
		unchanged fails 1 "native or skb" bt attach v0 xdp "$HOOKS" --mode drv &&
		unchanged fails 1 "1 to 65535, not '0'" bt load "$HOOKS" --pin /sys/fs/bpf/t --length 0 &&
		unchanged fails 1 "give one of them" bt load "$HOOKS" --pin /sys/fs/bpf/t --length 9 --max-payload-len &&
		unchanged fails 2 "no network device 'v9'" bt attach v9 xdp "$HOOKS" --prog fw
}

# attach_r0 PROG MODE [OPTION...]: at the receiver; sets $id
attach_r0()
{
	in_ns rcv "$BIGTCP" -j attach r0 xdp "$HOOKS" --prog "$1" --mode "$2" "${@:3}" >"$tmp/json" 2>"$tmp/log" ||
		net_die "cannot attach $1: $(cat "$tmp/json" "$tmp/log")"
	id=$(jq .prog_id "$tmp/json")
}

detach_r0()
{
	in_ns rcv "$BIGTCP" detach r0 xdp >/dev/null
}

naive()
{
	attach_r0 fw skb --plain
	timeout 20 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -t 2 -n "$BYTES" >/dev/null 2>&1
	wrong=
	above "dropped packets above 64 KiB" "$(booked "$id" 1 large)" 0
	expect "packets above 64 KiB that it let in" "$(booked "$id" 0 large)" 0
	seen="$(booked "$id" 1 large) jumbo packets dropped"
	detach_r0
	result "the firewall as it is drops jumbo packets in generic XDP" "$wrong"
}

# twin NAME PROG [OPTION...]
twin()
{
	attach_r0 "$2" skb "${@:3}"
	send "$BYTES"
	fair_books "$id"
	no_bad snd rcv
	detach_r0
	result "$1" "$wrong"
}

native()
{
	attach_r0 fw native
	send "$BYTES"
	above "bytes booked under the port" "$(booked "$id" 0 bytes)" "$((BYTES - 1))"
	expect "packets above 64 KiB" "$(booked "$id" 0 large)" 0
	expect "packets that took the jumbo path" "$(twin_state "$(twin_map "$id")")" "0 0"
	no_bad snd rcv
	detach_r0
	seen="$(jq .gbps "$tmp/run") Gbit/s"
	result "its twin in native XDP: no jumbo packets, and none missed" "$wrong"
}

some t by_default "attach and detach: native where the driver has it"
some t tso_goes "native XDP on a veth: the note is true"
some t generic "--mode skb: generic"
some t no_driver "a driver without native XDP"
some t again "attached already, by whatever name: said, and nothing changes"
some t dry "--dry-run attaches and detaches nothing"
some t taken "another's program: who it is and what to do, and it stays"
some t taken_by_link "another's link is left alone"
some t taken_by_libxdp "libxdp's dispatcher: the way into its chain is named"
some t pinned "a pinned program is attached as it is"
some t other_netns "the same interface index in two namespaces"
some t swept "what deleted devices leave is swept"
some t renamed "a renamed device is still the same"
some t at_once "six at once: one wins"
some t killed "killed at any time: attached and pinned, or not at all"
some t other_types "programs of other types"
some t not_needed "a program without packet access is loaded as it is, and why"
some t usage "wrong command lines"
need_hbh "twins in XDP"
net_size 185000 snd s0 rcv r0
[ -n "${BT_SOME:-}" ] || naive
twin "its twin lets them in and books them right" fw
twin "the same by addressing" fw --by-address
if [ -z "${BT_SOME:-}" ]; then
	twin "the same with frags" fw_frags
	native
fi
finish
