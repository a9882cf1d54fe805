#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp load, attach, detach: what they do, what they leave alone, and what they say when it fails.
# Prints TAP. Root. Everything happens in namespaces of its own, which go with it.
# shellcheck disable=SC2015,SC2329 # the tests are called by name
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-.output}
BIGTCP=$(realpath "${BIGTCP:-$OUT/bigtcp}")
TCXQ=$(realpath "${TCXQ:-$OUT/tools/tcxq}")
CLANG=${CLANG:-clang-16}

if [ -z "${BT_LOAD_INSIDE:-}" ]; then
	BT_LOAD_INSIDE=1 exec unshare --mount --net --propagation private bash "$0" "$@"
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# Not over the host's: what is below would count.
while umount /sys/fs/bpf 2>/dev/null; do :; done
mount -t bpf bpf /sys/fs/bpf || exit 1
ip link set lo up
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up || exit 1
for o in bad core old_maps; do
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -I"/usr/include/$(gcc -print-multiarch)" \
		-c selftests/net/objects/$o.bpf.c -o "$tmp/$o.o" || exit 1
done
BAD=$tmp/bad.o
NAIVE=$OUT/corpus/clang-16/fw_naive.bpf.o
TAIL=$OUT/corpus/clang-16/tail_static.bpf.o
PINS=/sys/fs/bpf/bigtcp/v1/links
. selftests/net/lib_tap.sh

# Whatever a test attached is taken off.
after_test()
{
	local d h

	for d in v0 v1; do
		for h in ingress egress; do
			"$BIGTCP" detach $d $h >/dev/null 2>&1
		done
	done
}

bt()
{
	timeout -k 5 60 "$BIGTCP" "$@"
}

# fails STATUS PATTERN COMMAND...: ends with that status and one short sentence that fits.
fails()
{
	local want=$1 pattern=$2 got lines

	shift 2
	"$@" >"$tmp/stdout" 2>"$tmp/stderr"
	got=$?
	cat "$tmp/stdout" "$tmp/stderr"
	[ $got = "$want" ] || { echo "status $got, not $want: $*"; return 1; }
	grep -qE -- "^Error: .*$pattern" "$tmp/stderr" || { echo "no such sentence: $pattern"; return 1; }
	lines=$(grep -cvE '^(  \| |bigtcp: )' "$tmp/stderr")
	[ "$lines" = 1 ] || { echo "$lines lines on stderr"; return 1; }
	[ "$(wc -c <"$tmp/stderr")" -lt 4096 ] || { echo "too long"; return 1; }
}

# What is attached and pinned, to be the same before and after what fails.
state()
{
	local d h

	for d in v0 v1; do
		tc qdisc show dev $d
		for h in ingress egress; do
			"$TCXQ" $d $h 2>&1
			tc filter show dev $d $h
		done
	done
	[ ! -d /sys/fs/bpf ] || find /sys/fs/bpf ! -type d
}

# unchanged COMMAND...: its status, and nothing attached or pinned is new or gone
unchanged()
{
	local rc

	state >"$tmp/state0"
	"$@"
	rc=$?
	state >"$tmp/state1"
	diff "$tmp/state0" "$tmp/state1" || return 1
	return $rc
}

has_tcx()
{
	"$TCXQ" lo ingress >/dev/null 2>&1
}

need_tcx()
{
	has_tcx && return
	echo "this kernel has no tcx"
	return 77
}

# Names of the programs at a hook, in order: "a b c".
order()
{
	"$TCXQ" "$1" "$2" | awk '{ printf "%s%s", sep, $1; sep = " " } END { print "" }'
}

same()
{
	[ "$1" = "$2" ] || { echo "got '$1', not '$2'"; return 1; }
}

# --- load ----------------------------------------------------------------------------------------
load_pin()
{
	bt load "$NAIVE" --prog fw_naive --pin /sys/fs/bpf/t && is_twin pinned /sys/fs/bpf/t
	local ret=$?
	rm -f /sys/fs/bpf/t
	return $ret
}

is_twin()
{
	bpftool -j prog show "$@" | jq -r '.map_ids[]?' | while read -r id; do
		bpftool -j map show id "$id" | jq -r .name
	done | grep -qx bigtcp_twin
}

load_plain()
{
	bt -j load "$NAIVE" --plain --pin /sys/fs/bpf/t >"$tmp/json" || return 1
	is_twin pinned /sys/fs/bpf/t
	local ret=$?
	rm -f /sys/fs/bpf/t
	[ $ret != 0 ] && jq -e '.programs[0].status == "plain" and .programs[0].loaded' "$tmp/json"
}

load_json()
{
	bt -j load "$NAIVE" --pin /sys/fs/bpf/t >"$tmp/json" || return 1
	rm -f /sys/fs/bpf/t
	cat "$tmp/json"
	jq -e '.pin == "/sys/fs/bpf/t" and .prog == "fw_naive" and (.programs | length == 1) and
		(.programs[0] | .status == "twin" and .twin_insns > .insns and .ns > 0 and .errno == 0)' \
		"$tmp/json"
}

load_dry()
{
	unchanged bt --dry-run load "$NAIVE" --pin /sys/fs/bpf/t &&
		unchanged bt --dry-run load "$tmp/core.o" --pin /sys/fs/bpf/t
}

lines_kept()
{
	bt load "$NAIVE" --pin /sys/fs/bpf/t || return 1
	bpftool prog dump xlated pinned /sys/fs/bpf/t linum >"$tmp/dump"
	rm -f /sys/fs/bpf/t
	grep -c 'fw_naive.bpf.c' "$tmp/dump"
	[ "$(grep -c 'fw_naive.bpf.c' "$tmp/dump")" -gt 50 ]
}

# The kernel empties a program array with its last fd or pin, also under a program that uses it.
load_tail()
{
	bt load "$TAIL" --prog tail_static --pin /sys/fs/bpf/t || return 1
	same "$(bpftool -j map dump pinned /sys/fs/bpf/t-stages | jq 'map(select(.value)) | length')" 3
	local ret=$?
	rm -f /sys/fs/bpf/t /sys/fs/bpf/t-stages
	return $ret
}

pin_exists()
{
	bt load "$TAIL" --prog tail_static --pin /sys/fs/bpf/t || return 1
	unchanged fails 2 "something already" bt load "$TAIL" --prog tail_static --pin /sys/fs/bpf/t
	local ret=$?
	rm -f /sys/fs/bpf/t /sys/fs/bpf/t-stages
	return $ret
}

pin_places()
{
	unchanged fails 2 "BPF file system" bt load "$NAIVE" --pin "$tmp/t" &&
		unchanged fails 2 "without dots" bt load "$NAIVE" --pin /sys/fs/bpf/a.b &&
		unchanged fails 2 "no such directory" bt load "$NAIVE" --pin /sys/fs/bpf/none/t
}

# A map that is pinned by its name goes too when the command fails, but not one that was there.
map_pins()
{
	mkdir /sys/fs/bpf/d || return 1
	unchanged fails 2 "no such directory" bt load "$tmp/core.o" --pin /sys/fs/bpf/d/none/t &&
		unchanged fails 2 "is not at|needs tcx" \
			bt attach v0 ingress "$tmp/core.o" --place=before:4000000000 &&
		bt load "$tmp/core.o" --pin /sys/fs/bpf/t && [ -e /sys/fs/bpf/bt_by_name ] &&
		unchanged fails 2 "something already" bt load "$tmp/core.o" --pin /sys/fs/bpf/t
	local ret=$?
	rm -f /sys/fs/bpf/t /sys/fs/bpf/bt_by_name
	rmdir /sys/fs/bpf/d
	return $ret
}

# --- bad input -----------------------------------------------------------------------------------
bad_files()
{
	local size i

	size=$(stat -c %s "$NAIVE")
	: >"$tmp/empty.o"
	echo hello >"$tmp/text.o"
	for i in 5 30 63 64 100 3000 $((size / 2)) $((size - 1)); do
		head -c "$i" "$NAIVE" >"$tmp/cut.o"
		unchanged fails 2 "is (cut short|not an ELF)" bt attach v0 ingress "$tmp/cut.o" || return 1
	done
	unchanged fails 2 "is empty" bt attach v0 ingress "$tmp/empty.o" &&
		unchanged fails 2 "not an ELF file" bt attach v0 ingress "$tmp/text.o" &&
		unchanged fails 2 "not of BPF code" bt attach v0 ingress /bin/true &&
		unchanged fails 2 "not a file" bt attach v0 ingress "$tmp" &&
		unchanged fails 2 "No such file" bt attach v0 ingress "$tmp/none.o"
}

# Whatever bytes are damaged: a sentence, and never a crash.
damaged()
{
	local size i at

	size=$(stat -c %s "$BAD")
	for i in $(seq 40); do
		at=$(((i * 7919 * 31) % size))
		cp "$BAD" "$tmp/damaged.o"
		head -c 8 /dev/urandom | dd of="$tmp/damaged.o" bs=1 seek=$at conv=notrunc status=none
		bt --dry-run load "$tmp/damaged.o" --prog good --pin /sys/fs/bpf/t >/dev/null 2>"$tmp/stderr"
		case $? in
		0) ;;
		[23]) grep -q '^Error: ' "$tmp/stderr" || { echo "$at: no sentence"; return 1; } ;;
		*) echo "$at: status $?"; cat "$tmp/stderr"; return 1 ;;
		esac
	done
}

no_program()
{
	unchanged fails 2 "has no program 'none'; it has: .*good \(tc\).*an_xdp \(xdp\)" \
		bt attach v0 ingress "$BAD" --prog none
}

which_program()
{
	unchanged fails 1 "more than one tc program \(good, good_two" bt attach v0 ingress "$BAD"
}

wrong_type()
{
	unchanged fails 2 "is of type xdp" bt attach v0 ingress "$BAD" --prog an_xdp &&
		unchanged fails 2 "is a tc action" bt attach v0 ingress "$BAD" --prog an_action
}

old_maps()
{
	unchanged fails 2 "bigtcp exec" bt attach v0 ingress "$tmp/old_maps.o"
}

own_section()
{
	bt attach v0 ingress "$BAD" --prog own_section
}

no_cap()
{
	unchanged fails 2 "lacks CAP_BPF" setpriv --bounding-set -bpf,-sys_admin \
		--inh-caps -bpf,-sys_admin "$BIGTCP" attach v0 ingress "$NAIVE" &&
		unchanged fails 2 "lacks CAP_BPF and CAP_NET_ADMIN" setpriv --bounding-set -all \
			--inh-caps -all "$BIGTCP" load "$NAIVE" --pin /sys/fs/bpf/t
}

# caps LIST COMMAND...: with these capabilities alone
caps()
{
	local list=$1

	shift
	setpriv --bounding-set "-all$list" --inh-caps "-all$list" "$@"
}

# Without CAP_PERFMON the verifier refuses more, which is said.
three_caps()
{
	has_tcx || { need_tcx; return; }
	caps ,+bpf,+net_admin "$BIGTCP" attach v0 ingress "$BAD" --prog good --plain &&
		caps ,+bpf,+net_admin "$BIGTCP" detach v0 ingress &&
		unchanged fails 2 "grant CAP_PERFMON" \
			caps ,+bpf,+net_admin "$BIGTCP" attach v0 ingress "$NAIVE" &&
		caps ,+bpf,+net_admin,+perfmon "$BIGTCP" attach v0 ingress "$NAIVE" &&
		caps ,+bpf,+net_admin,+perfmon "$BIGTCP" detach v0 ingress
}

# in_ns SETUP COMMAND...: in a mount namespace of its own
in_ns()
{
	local setup=$1

	shift
	unshare --mount --propagation private sh -c "$setup && exec \"\$@\"" sh "$@"
}

no_bpffs()
{
	fails 2 "no BPF file system at /sys/fs/bpf.*mount -t bpf" in_ns "mount -t tmpfs none /sys/fs/bpf" \
		"$BIGTCP" attach v0 ingress "$NAIVE" &&
		fails 2 "no BPF file system" in_ns "mount -t tmpfs none /sys/fs/bpf" "$BIGTCP" detach v0 ingress &&
		[ -z "$("$TCXQ" v0 ingress 2>/dev/null)" ]
}

readonly_bpffs()
{
	unchanged fails 2 "mounted read-only" in_ns "mount -o remount,ro,bind /sys/fs/bpf" \
		"$BIGTCP" attach v0 ingress "$NAIVE" &&
		unchanged fails 2 "Read-only file system" in_ns "mount -o remount,ro,bind /sys/fs/bpf" \
			"$BIGTCP" load "$NAIVE" --pin /sys/fs/bpf/t
}

no_btf()
{
	: >"$tmp/nobtf"
	unchanged fails 2 "compiled with CO-RE, and this kernel gives no BTF" \
		in_ns "mount --bind $tmp/nobtf /sys/kernel/btf/vmlinux" \
		"$BIGTCP" load "$tmp/core.o" --pin /sys/fs/bpf/t &&
		in_ns "mount --bind $tmp/nobtf /sys/kernel/btf/vmlinux" \
			"$BIGTCP" --dry-run load "$NAIVE" --pin /sys/fs/bpf/t
}

no_device()
{
	unchanged fails 2 "no network device 'v9'" bt attach v9 ingress "$NAIVE" &&
		unchanged fails 2 "no network device 'v9'" bt detach v9 ingress
}

# The lock of the pins holds attach between loading and attaching; meanwhile the device goes.
vanishing()
{
	local fd pid ret

	bt attach v0 ingress "$BAD" --prog good || return 1
	ip link add gone0 type veth peer name gone1 || return 1
	exec {fd}<$PINS
	flock $fd || return 1
	"$BIGTCP" attach gone0 ingress "$NAIVE" >"$tmp/a" 2>&1 {fd}<&- &
	pid=$!
	wait_for 10 blocked "$pid" || return 1
	ip link del gone0
	exec {fd}<&-
	wait "$pid"
	ret=$?
	cat "$tmp/a"
	[ $ret = 2 ] && grep -q "^Error: .*gone0" "$tmp/a" && [ "$(find $PINS -type f | wc -l)" = 1 ]
}

blocked()
{
	grep -q "^.*-> FLOCK .* $1 " /proc/locks
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for()
{
	local i=$(($1 * 20))

	shift
	until "$@" >/dev/null 2>&1; do
		i=$((i - 1))
		[ $i -gt 0 ] || { echo "waited in vain: $*"; return 1; }
		sleep 0.05
	done
}

refused_program()
{
	unchanged fails 2 "verifier refuses program unsafe as it is.*outside of the packet" \
		bt attach v0 ingress "$BAD" --prog unsafe &&
		grep -q '^  | ; return .*bad.bpf.c:' "$tmp/stderr" &&
		unchanged fails 2 "outside of the packet" \
			bt attach v0 ingress "$BAD" --prog unsafe --refused=plain &&
		unchanged fails 2 "outside of the packet" bt attach v0 ingress "$BAD" --prog unsafe --plain
}

refused_large()
{
	unchanged fails 2 "too complex" timeout 60 "$BIGTCP" attach v0 ingress "$BAD" --prog endless
}

# The original takes the verifier more than half of what it is willing to walk, the twin twice that.
refused_twin()
{
	unchanged fails 3 "accepts program half but not its twin: it is too complex.*--refused=plain" \
		bt attach v0 ingress "$BAD" --prog half &&
		bt attach v0 ingress "$BAD" --prog half --refused=plain >"$tmp/stdout" 2>"$tmp/stderr" &&
		grep -q 'bigtcp: .*accepts program half but not its twin' "$tmp/stderr" &&
		grep -q 'loaded unchanged (verifier)' "$tmp/stdout"
}

# Where a twin by addressing is too complex for the verifier, the other form is not.
too_complex_by_address()
{
	bt attach v0 ingress "$BAD" --prog third >"$tmp/stdout" && cat "$tmp/stdout" &&
		grep -q 'third: twin (moves headers)' "$tmp/stdout" && bt detach v0 ingress &&
		unchanged fails 3 "accepts program third but not its twin: it is too complex" \
			bt attach v0 ingress "$BAD" --prog third --by-address
}

refused_json()
{
	bt -j attach v0 ingress "$BAD" --prog unsafe >"$tmp/json" 2>"$tmp/stderr"
	[ $? = 2 ] && [ ! -s "$tmp/stderr" ] || return 1
	cat "$tmp/json"
	jq -e '(.error | contains("outside of the packet")) and (.programs[0] | .status == "bad-prog" and
		(.loaded | not) and .errno == 13 and (.log | contains("invalid access to packet")))' "$tmp/json"
}

# No twin can be made: 3 under --refused=fail, the original and a note under --refused=plain.
no_twin()
{
	local obj=$OUT/corpus/clang-16/adj_room.bpf.o

	unchanged fails 3 "no twin for program adj_room.*bpf_skb_adjust_room.*adj_room.bpf.c:" \
		bt attach v0 ingress "$obj" --prog adj_room || return 1
	bt -j attach v0 ingress "$obj" --prog adj_room >"$tmp/json"
	[ $? = 3 ] && jq -e '.programs[0] | .status == "refused" and .why == "helper" and (.loaded | not)' \
		"$tmp/json" || return 1
	bt attach v0 ingress "$obj" --prog adj_room --refused=plain >"$tmp/stdout" 2>"$tmp/stderr" &&
		grep -q 'bigtcp: no twin for' "$tmp/stderr" && grep -q 'loaded unchanged' "$tmp/stdout"
}

full_disk()
{
	bt --dry-run load "$NAIVE" --pin /sys/fs/bpf/t >/dev/full 2>"$tmp/stderr"
	[ $? = 2 ] && grep -q 'No space left' "$tmp/stderr"
}

# --- attach --------------------------------------------------------------------------------------
again()
{
	local h

	for h in ingress egress; do
		bt attach v0 $h "$NAIVE" &&
			unchanged fails 2 "attached to v0 $h already" bt attach v0 $h "$NAIVE" &&
			bt detach v0 $h && bt attach v0 $h "$NAIVE" &&
			bt attach v0 $h "$BAD" --prog good && bt detach v0 $h --prog fw_naive &&
			[ "$(find $PINS -type f | wc -l)" = 1 ] && bt detach v0 $h &&
			unchanged fails 2 "has attached no program" bt detach v0 $h || return 1
	done
	[ -z "$(find $PINS -type f)" ]
}

attach_dry()
{
	unchanged bt --dry-run attach v0 ingress "$NAIVE" &&
		unchanged bt --dry-run attach v0 ingress "$NAIVE" --legacy &&
		bt attach v0 ingress "$NAIVE" &&
		unchanged fails 2 "already" bt --dry-run attach v0 ingress "$NAIVE" &&
		unchanged bt --dry-run detach v0 ingress
}

places()
{
	local id link

	has_tcx || { need_tcx; return; }
	bt attach v0 ingress "$BAD" --prog good &&
		bt attach v0 ingress "$BAD" --prog own_section &&
		same "$(order v0 ingress)" "own_section good" &&
		bt attach v0 ingress "$NAIVE" --place=tail &&
		same "$(order v0 ingress)" "own_section good fw_naive" || return 1
	id=$("$TCXQ" v0 ingress | awk '$1 == "good" { print $2 }')
	link=$("$TCXQ" v0 ingress | awk '$1 == "good" { print $3 }')
	bt attach v0 ingress "$BAD" --prog good_two --place="after:$id" &&
		same "$(order v0 ingress)" "own_section good good_two fw_naive" &&
		bt detach v0 ingress --prog good_two &&
		bt attach v0 ingress "$BAD" --prog good_two --place="before:link:$link" &&
		same "$(order v0 ingress)" "own_section good_two good fw_naive" &&
		bt detach v0 ingress --prog own_section &&
		unchanged fails 2 "it is not at v0 ingress" \
			bt attach v0 ingress "$BAD" --prog own_section --place=before:4000000000 &&
		unchanged fails 1 "is no id" bt attach v0 ingress "$BAD" --prog own_section --place=before:x &&
		unchanged fails 1 "is head, tail" bt attach v0 ingress "$BAD" --prog own_section --place=first
}

# A link of somebody else stays where it is.
foreign_tcx()
{
	has_tcx || { need_tcx; return; }
	bt attach v1 ingress "$BAD" --prog good && mv $PINS/*-good /sys/fs/bpf/foreign || return 1
	bt attach v1 ingress "$NAIVE" && same "$(order v1 ingress)" "fw_naive good" &&
		bt detach v1 ingress && same "$(order v1 ingress)" "good"
	local ret=$?
	rm -f /sys/fs/bpf/foreign
	return $ret
}

foreign_filters()
{
	local before

	bt load "$BAD" --prog own_section --pin /sys/fs/bpf/other &&
		tc qdisc add dev v1 clsact &&
		tc filter add dev v1 ingress prio 10 handle 1 bpf da pinned /sys/fs/bpf/other &&
		tc filter add dev v1 ingress prio 20 protocol ipv6 bpf da pinned /sys/fs/bpf/other || return 1
	before=$(tc filter show dev v1 ingress)
	bt attach v1 ingress "$NAIVE" --legacy && tc filter show dev v1 ingress &&
		[ "$(tc -j filter show dev v1 ingress | jq -r '[.[] | .pref] | min')" = 9 ] &&
		bt attach v1 ingress "$BAD" --prog good --legacy --place=tail &&
		[ "$(tc -j filter show dev v1 ingress | jq -r '[.[] | .pref] | max')" = 21 ] &&
		bt detach v1 ingress && same "$(tc filter show dev v1 ingress)" "$before" &&
		tc qdisc show dev v1 | grep -q clsact
	local ret=$?
	tc qdisc del dev v1 clsact
	rm -f /sys/fs/bpf/other
	return $ret
}

# The first priority is others': then ours runs after theirs, and that is said.
first_prio()
{
	bt load "$BAD" --prog own_section --pin /sys/fs/bpf/other && tc qdisc add dev v1 clsact &&
		tc filter add dev v1 egress prio 1 handle 1 bpf da pinned /sys/fs/bpf/other || return 1
	bt attach v1 egress "$NAIVE" --legacy 2>"$tmp/stderr" && grep 'never reach fw_naive' "$tmp/stderr" &&
		[ "$(tc -j filter show dev v1 egress | jq -r '[.[] | .pref] | unique | join(" ")')" = "1 2" ] &&
		bt detach v1 egress
	local ret=$?
	tc qdisc del dev v1 clsact
	rm -f /sys/fs/bpf/other
	return $ret
}

# Our filter's place taken by another program: not ours to remove.
replaced_filter()
{
	local prio

	bt attach v1 ingress "$NAIVE" --legacy || return 1
	prio=$(tc -j filter show dev v1 ingress | jq -r '[.[] | .pref] | min')
	bt load "$BAD" --prog good --pin /sys/fs/bpf/other &&
		tc filter replace dev v1 ingress prio "$prio" handle 0xb167 bpf da pinned /sys/fs/bpf/other &&
		! bt detach v1 ingress && tc filter show dev v1 ingress | grep good
	local ret=$?
	tc qdisc del dev v1 clsact
	rm -f /sys/fs/bpf/other
	return $ret
}

legacy_relative()
{
	unchanged fails 2 "needs tcx" bt attach v0 ingress "$NAIVE" --legacy --place=before:7
}

legacy_tail()
{
	bt attach v0 egress "$TAIL" --prog tail_static --legacy &&
		same "$(bpftool -j map dump pinned $PINS/*-tail_static-stages | jq 'map(select(.value)) | length')" 3 &&
		bt detach v0 egress && [ -z "$(find $PINS -type f)" ]
}

tail_kept()
{
	bt attach v0 egress "$TAIL" --prog tail_static &&
		same "$(bpftool -j map dump pinned $PINS/*-tail_static-stages | jq 'map(select(.value)) | length')" 3 &&
		bt detach v0 egress && [ -z "$(find $PINS -type f)" ]
}

attach_pinned()
{
	bt load "$NAIVE" --pin /sys/fs/bpf/t && bt attach v0 ingress --pinned /sys/fs/bpf/t &&
		is_twin pinned /sys/fs/bpf/t && bt detach v0 ingress --prog fw_naive
	local ret=$?
	rm -f /sys/fs/bpf/t
	[ $ret = 0 ] && unchanged fails 2 "No such file" bt attach v0 ingress --pinned /sys/fs/bpf/t &&
		unchanged fails 2 "." bt attach v0 ingress --pinned /etc/passwd
}

pinned_map()
{
	bt load "$tmp/core.o" --pin /sys/fs/bpf/t &&
		unchanged fails 2 "not the pin of a program" bt attach v0 ingress --pinned /sys/fs/bpf/bt_by_name
	local ret=$?
	rm -f /sys/fs/bpf/t /sys/fs/bpf/bt_by_name
	return $ret
}

# Interface indices repeat between namespaces; a pin of one must not be taken for the other's.
other_netns()
{
	local ns=bt-load-$$ ret

	ip netns add "$ns" && ip -n "$ns" link set lo up || return 1
	bt attach lo ingress "$BAD" --prog good && bt -n "$ns" attach lo ingress "$BAD" --prog good &&
		[ "$(find $PINS -type f | wc -l)" = 2 ] && bt detach lo ingress &&
		[ "$(find $PINS -type f | wc -l)" = 1 ] && bt -n "$ns" detach lo ingress
	ret=$?
	ip netns del "$ns"
	return $ret
}

# What a deleted device leaves is swept by the next command.
swept()
{
	ip link add gone0 type veth peer name gone1 &&
		bt attach gone0 ingress "$TAIL" --prog tail_static &&
		bt attach gone0 egress "$NAIVE" --legacy || return 1
	ip link del gone0
	[ "$(find $PINS -type f | wc -l)" = 3 ] && bt attach v0 ingress "$NAIVE" || return 1
	ls $PINS
	[ "$(find $PINS -type f | wc -l)" = 1 ]
}

renamed()
{
	ip link add old0 type veth peer name old1 && bt attach old0 ingress "$NAIVE" &&
		ip link set old0 name new0 && bt detach new0 ingress
	local ret=$?
	ip link del old1
	return $ret
}

at_once()
{
	local i pids="" won=0

	for i in 1 2 3 4 5 6; do
		bt attach v0 ingress "$NAIVE" >"$tmp/once.$i" 2>&1 &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i" && won=$((won + 1))
	done
	same $won 1 && [ "$(find $PINS -type f | wc -l)" = 1 ]
}

# Killed at any time: attached and pinned, or not at all.
killed()
{
	local i pid

	has_tcx || { need_tcx; return; }
	for i in $(seq 1 24); do
		"$BIGTCP" attach v0 ingress "$TAIL" --prog tail_static >/dev/null 2>&1 &
		pid=$!
		sleep "0.0$((i % 10))$((i * 7 % 10))"
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		# A link without a pin goes when the kernel has closed the dead process's files.
		wait_for 5 consistent || return 1
		[ -z "$(order v0 ingress)" ] || bt detach v0 ingress || return 1
	done
}

consistent()
{
	[ "$("$TCXQ" v0 ingress | wc -l)" = "$(find $PINS -name '*-tail_static' | wc -l)" ]
}

usage()
{
	unchanged fails 1 "ingress, egress or xdp" bt attach v0 sideways "$NAIVE" &&
		unchanged fails 1 "wants" bt attach v0 ingress &&
		unchanged fails 1 "wants --pin" bt load "$NAIVE" &&
		unchanged fails 1 "fail or plain" bt attach v0 ingress "$NAIVE" --refused=maybe &&
		unchanged fails 1 "wants a device" bt detach v0
}

t load_pin "loads a twin and pins it"
t load_plain "--plain loads the program as it is"
t load_json "JSON tells what was done"
t load_dry "--dry-run leaves nothing, not even maps pinned by name"
t lines_kept "source lines are still there in the twin"
t load_tail "a static program array keeps its programs"
t pin_exists "a pin that is there: a sentence, and it stays"
t pin_places "places where nothing can be pinned"
t map_pins "maps pinned by name are taken back when the command fails"
t bad_files "files that are no whole BPF object"
t damaged "damaged objects: a sentence, never a crash"
t no_program "no such program: the ones there are"
t which_program "more than one program and none named"
t wrong_type "programs of other types"
t old_maps "an object for iproute2's own loader"
t own_section "a section name of its own, the program named"
t no_cap "no capability: which one is missing"
t three_caps "which capabilities are enough"
t no_bpffs "no BPF file system"
t readonly_bpffs "a BPF file system that takes nothing"
t no_btf "no kernel BTF: only CO-RE objects need it"
t no_device "no such device"
t vanishing "a device that vanishes meanwhile"
t refused_program "the verifier refuses the program: the end of its log"
t refused_large "the verifier gives up: no megabytes of log"
t refused_twin "the verifier refuses only the twin: exit status 3, or the original and a note"
t too_complex_by_address "too complex in one form: the other is tried"
t refused_json "the verifier's refusal in JSON"
t no_twin "no twin: exit status 3, or the original and a note"
t full_disk "output that cannot be written"
t again "attach, detach, attach again, both directions"
t attach_dry "--dry-run attaches and detaches nothing"
t places "places among the programs of a hook"
t foreign_tcx "another's tcx link is left alone"
t foreign_filters "others' filters and clsact are left alone"
t first_prio "priority 1 taken: after it, and said so"
t replaced_filter "a filter that was replaced is not removed"
t legacy_relative "cls_bpf has no place beside a program"
t legacy_tail "cls_bpf: a static program array keeps its programs"
t tail_kept "tcx: a static program array keeps its programs"
t attach_pinned "a pinned program is attached as it is"
t pinned_map "a map's pin is no program"
t other_netns "the same interface index in two namespaces"
t swept "what deleted devices leave is swept"
t renamed "a renamed device is still the same"
t at_once "six at once: one wins"
t killed "killed at any time: attached and pinned, or not at all"
t usage "wrong command lines"
finish
