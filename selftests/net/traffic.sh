#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins on real TCP traffic, with jumbo packets that the sender's GSO and that a receiver's GRO built: every
# byte is compared at its receiver, no counter of broken packets may move, and throughput must be that of
# the same network without a program. Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"

. selftests/net/lib_tap.sh
before=
PINS=/sys/fs/bpf

# below A B: A < B, of numbers with decimals
below()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'
}

# twin OBJECT [PROG]: pins the twin of a corpus program, its maps filled by the object's own bt_setup. bpftool
# is the loader, under bigtcp exec.
twin()
{
	local prog=${2:-$1} dir=$PINS/obj_$1

	mkdir -p "$dir" || return
	"$BIGTCP" exec --report "$tmp/report" -- bpftool prog loadall "$CORPUS/$1.bpf.o" "$dir" \
		pinmaps "$dir/maps" >"$tmp/log" 2>&1 || return
	if [ -e "$dir/bt_setup" ]; then
		head -c 64 /dev/zero >"$tmp/zero"
		bpftool prog run pinned "$dir/bt_setup" data_in "$tmp/zero" >>"$tmp/log" 2>&1 || return
	fi
	ln -sf "$dir/$prog" "$tmp/twin_$prog"
	twin_map "$(bpftool -j prog show pinned "$dir/$prog" | jq .id)" >"$tmp/map_$prog"
}

# attach NS:DEV:HOOK:PROG; $legacy: --legacy for cls_bpf, or nothing
legacy=
attach()
{
	local h

	IFS=: read -r -a h <<<"$1"
	# shellcheck disable=SC2086 # an option or none
	in_ns "${h[0]}" "$BIGTCP" attach "${h[1]}" "${h[2]}" $legacy \
		--pinned "$(readlink "$tmp/twin_${h[3]}")" >"$tmp/log" 2>&1
}

detach()
{
	local h

	IFS=: read -r -a h <<<"$1"
	in_ns "${h[0]}" "$BIGTCP" detach "${h[1]}" "${h[2]}" >"$tmp/log" 2>&1
}

# send [OPTION...]: a little traffic; result in $tmp/run and $gbps
send()
{
	timeout 30 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 0.5 "$@" >"$tmp/run" 2>"$tmp/err"
	sent=$?
	gbps=$(jq .gbps "$tmp/run" 2>/dev/null)
	gbps=${gbps:-0}
}

# state HOOK...: sets $jumbo and $lost, the sums over the twins of the hooks
state()
{
	local p j l

	jumbo=0 lost=0
	for p in $(printf '%s\n' "${@##*:}" | sort -u); do
		read -r j l <<<"$(twin_state "$(cat "$tmp/map_$p")")"
		jumbo=$((jumbo + j)) lost=$((lost + l))
	done
}

# What was wrong with the last send, for what all sends have in common.
data_wrong()
{
	[ "$sent" = 0 ] && return
	if [ "$sent" = 1 ]; then
		echo "data is wrong or missing: $(cat "$tmp/run")"
	else
		echo "no traffic: $(cat "$tmp/err")"
	fi
}

# The counters of broken packets that are not 0, in all namespaces there are.
broken()
{
	# shellcheck disable=SC2046 # names
	net_bad $(ls /run/netns)
}

# base [OPTION...]: throughput without a program, $base, to be compared with
base()
{
	base_opts=("$@")
	send "$@"
	# A first connection, or one on a busy host, may get nowhere in its time.
	if [ "$sent" != 0 ] || below "$gbps" 0.2; then
		echo "# without a program: $(cat "$tmp/run" "$tmp/err")"
		send "$@"
	fi
	base=$gbps
}

# try_once HOOKS WANT OPTION...: one run with the hooks' twins; $wrong. WANT: jumbo or small, what the twins
# must have seen.
try_once()
{
	local hooks=$1 want=$2 h jumbo0 lost0 after

	shift 2
	# shellcheck disable=SC2086 # hooks are words
	state $hooks
	jumbo0=$jumbo lost0=$lost
	wrong=
	for h in $hooks; do
		attach "$h" || wrong="cannot attach $h: $(cat "$tmp/log")"
	done
	send "$@"
	for h in $hooks; do
		detach "$h" || wrong="cannot detach $h: $(cat "$tmp/log")"
	done
	# shellcheck disable=SC2086
	state $hooks
	jumbo=$((jumbo - jumbo0)) lost=$((lost - lost0))
	seen="$gbps of $base Gbit/s, $jumbo jumbo"
	wrong+=$(data_wrong)
	[ "$lost" = 0 ] || wrong+=" the twin lost $lost packets;"
	after=$(broken)
	[ "$after" = "$before" ] || wrong+=" counters: ${after//$'\n'/, };"
	before=$after
	if [ "$want" = jumbo ]; then
		[ "$jumbo" -gt 0 ] || wrong+=" it saw no jumbo packet;"
	else
		[ "$jumbo" = 0 ] || wrong+=" it saw $jumbo jumbo packets of none;"
	fi
}

# run NAME HOOKS WANT OPTION...
run()
{
	local name=$1 slow h prog

	shift
	for h in $1; do
		prog=${h##*:}
		if [ ! -e "$tmp/twin_$prog" ]; then
			skip "$name" "the kernel does not load $prog"
			return
		fi
	done
	try_once "$@"
	# A busy host can make any single run slow: a collapse is a hundred times slower, and stays.
	slow=$(below "$gbps" "$(awk -v b="$base" 'BEGIN { print b / 3 }')" && echo yes)
	if [ -z "$wrong" ] && [ -n "$slow" ]; then
		base "${base_opts[@]}"
		try_once "$@"
		below "$gbps" "$(awk -v b="$base" 'BEGIN { print b / 3 }')" &&
			wrong="throughput: $gbps of $base Gbit/s"
	fi
	result "$name" "$wrong"
}

# The packets are what this is about: as large as they can be, and with the header.
packets_are_jumbo()
{
	local max

	in_ns rcv "$BIGTCP" attach r0 ingress "$OUT/bpf/observe.bpf.o" --plain >"$tmp/log" 2>&1
	send
	max=$(bpftool -j map dump name observe_stats | jq '[.[].formatted.values[].value.max_len] | max')
	wrong=$(data_wrong)
	in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1
	[ "${max:-0}" -gt 150000 ] || wrong+=" the largest packet has ${max:-0} bytes"
	result "no program: packets of up to $max bytes" "$wrong"
}

naive_collapses()
{
	in_ns rcv "$BIGTCP" attach r0 ingress "$CORPUS/fw_naive.bpf.o" --plain >"$tmp/log" 2>&1
	send -d 0
	in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1
	seen="$gbps of $base Gbit/s" wrong=
	below "$gbps" "$(awk -v b="$base" 'BEGIN { print b / 10 }')" || wrong="it does not"
	result "fw_naive as it is collapses" "$wrong"
}

# tap NS DEV: an AF_PACKET socket that sees every packet, for some seconds
tap()
{
	in_ns "$1" timeout 20 tcpdump -i "$2" -s 128 -w /dev/null >/dev/null 2>"$tmp/tap_$2" &
	taps+=" $!"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		grep -q 'listening on' "$tmp/tap_$2" 2>/dev/null && return
		sleep 0.1
	done
	echo "# tcpdump does not listen on $2"
}

# untap: ends them
untap()
{
	local p

	for p in $taps; do
		kill -INT "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	taps=
}

offload()
{
	in_ns "$1" ethtool -K "$2" "${@:3}" >"$tmp/log" 2>&1 || echo "# ethtool -K $2: $(cat "$tmp/log")"
}

# nat OBJ-LESS OPTIONS: to the service's port 443, which the backend has at 8443
NAT='-p 443 -l 8443'

direct_gso()
{
	local p

	base
	packets_are_jumbo
	naive_collapses
	for p in fw_naive ct_policy tail_static dynptr globals capture; do
		run "ingress, GSO: $p" "rcv:r0:ingress:$p" jumbo
		run "egress, GSO: $p" "snd:s0:egress:$p" jumbo
	done
	legacy=--legacy
	run "ingress, GSO, cls_bpf: fw_naive" "rcv:r0:ingress:fw_naive" jumbo
	run "egress, GSO, cls_bpf: dynptr" "snd:s0:egress:dynptr" jumbo
	legacy=
	# shellcheck disable=SC2086 # words
	run "both hooks of the server, GSO: nat_port" \
		"rcv:r0:ingress:nat_port rcv:r0:egress:nat_port" jumbo $NAT
	taps=
	tap rcv r0
	tap snd s0
	run "tap open, ingress: fw_naive" "rcv:r0:ingress:fw_naive" jumbo
	run "tap open, egress: fw_naive" "snd:s0:egress:fw_naive" jumbo
	run "tap open, egress, writes: dynptr" "snd:s0:egress:dynptr" jumbo
	# shellcheck disable=SC2086
	run "tap open, both hooks, writes: nat_port" \
		"rcv:r0:ingress:nat_port rcv:r0:egress:nat_port" jumbo $NAT
	untap
	base -b
	run "both directions at once, four hooks: fw_naive" \
		"rcv:r0:ingress:fw_naive rcv:r0:egress:fw_naive snd:s0:ingress:fw_naive snd:s0:egress:fw_naive" \
		jumbo -b
	run "both directions at once: ct_policy" "rcv:r0:ingress:ct_policy rcv:r0:egress:ct_policy" jumbo -b
	# shellcheck disable=SC2086
	run "both directions at once: nat_port" \
		"rcv:r0:ingress:nat_port rcv:r0:egress:nat_port" jumbo -b $NAT
	base -a $SERVER4
	run "IPv4 beside it: fw_naive" "rcv:r0:ingress:fw_naive rcv:r0:egress:fw_naive" small -a $SERVER4
}

# Segmented in software behind the hook.
direct_tso_off()
{
	local p

	offload snd s0 tso off
	base
	for p in fw_naive ct_policy dynptr; do
		run "TSO off, egress: $p" "snd:s0:egress:$p" jumbo
	done
	offload snd s0 tso on
}

# Single segments with real checksums arrive, and the receiver makes them one packet.
direct_gro()
{
	local p

	offload snd s0 tx off tso off gso off
	offload rcv r0 gro on
	base
	for p in fw_naive ct_policy tail_static dynptr globals capture; do
		run "ingress, GRO: $p" "rcv:r0:ingress:$p" jumbo
	done
	# shellcheck disable=SC2086
	run "both hooks of the server, GRO: nat_port" \
		"rcv:r0:ingress:nat_port rcv:r0:egress:nat_port" jumbo $NAT
	taps=
	tap rcv r0
	run "tap open, ingress, GRO: fw_naive" "rcv:r0:ingress:fw_naive" jumbo
	untap
	offload snd s0 tx on tso on gso on
	offload rcv r0 gro off
}

direct_sizes()
{
	local size want

	for size in 65536 524280; do
		net_size $size snd s0 rcv r0
		want=jumbo
		[ $size -gt 65536 ] || want=small
		base
		run "limit of $size, ingress: fw_naive" "rcv:r0:ingress:fw_naive" $want
		run "limit of $size, egress: dynptr" "snd:s0:egress:dynptr" $want
	done
	run "limit of 524280, ingress: ct_policy" "rcv:r0:ingress:ct_policy" jumbo
	net_size 185000 snd s0 rcv r0
}

routed()
{
	local p

	base
	for p in fw_naive ct_policy tail_static dynptr capture; do
		run "forwarded, ingress, GSO: $p" "fwd:f0:ingress:$p" jumbo
	done
	run "forwarded, egress, GSO: fw_naive" "fwd:f1:egress:fw_naive" jumbo
	run "forwarded, egress, GSO, writes: dynptr" "fwd:f1:egress:dynptr" jumbo
	# shellcheck disable=SC2086
	run "forwarded, NAT on the way in and back, GSO: nat_port" \
		"fwd:f0:ingress:nat_port fwd:f0:egress:nat_port" jumbo $NAT
	taps=
	tap fwd f0
	tap fwd f1
	run "forwarded, taps open, ingress, GSO: fw_naive" "fwd:f0:ingress:fw_naive" jumbo
	run "forwarded, taps open, egress, GSO, writes: dynptr" "fwd:f1:egress:dynptr" jumbo
	untap
	base -b
	run "forwarded, both directions at once, GSO: fw_naive" \
		"fwd:f0:ingress:fw_naive fwd:f1:ingress:fw_naive" jumbo -b

	offload fwd f1 tso off
	base
	run "forwarded, TSO off behind it, GSO: fw_naive" "fwd:f0:ingress:fw_naive" jumbo
	offload fwd f1 tso on

	offload snd s0 tx off tso off gso off
	offload fwd f0 gro on
	base
	for p in fw_naive ct_policy dynptr; do
		run "forwarded, ingress, GRO: $p" "fwd:f0:ingress:$p" jumbo
	done
	# shellcheck disable=SC2086
	run "forwarded, NAT on the way in and back, GRO: nat_port" \
		"fwd:f0:ingress:nat_port fwd:f0:egress:nat_port" jumbo $NAT
}

if [ "$("$BIGTCP" probe -j | jq -r '.big_tcp.send.form')" != hbh ]; then
	skip "twins on traffic" "this kernel puts no header into jumbo packets"
	finish
	exit
fi
for p in fw_naive ct_policy nat_port tail_static dynptr globals capture; do
	twin $p || result "twin of $p" "$(cat "$tmp/log")"
done
net_direct
net_size 185000 snd s0 rcv r0
direct_gso
direct_tso_off
direct_gro
direct_sizes
result "no counter of broken packets moved" "$(broken)"
ip netns del snd
ip netns del rcv
before=

net_routed
net_size 185000 snd s0 fwd f0 fwd f1 rcv r0
routed
result "no counter of broken packets moved on the way" "$(broken)"
finish
