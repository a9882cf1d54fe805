#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What bigtcp costs: a naive firewall at tc, its twin, and the same firewall repaired at source; a firewall in XDP
# and accounting in a cgroup, and their twins. Per packet by BPF_PROG_TEST_RUN, and on live traffic. All of it paired and interleaved, as medians and ratios. A table on
# stdout, the numbers in .output/bench.json. Root; a minute on an idle host.
#
# BT_BENCH_ROUNDS: rounds of traffic (default 12).
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh
# shellcheck source=selftests/net/lib_books.sh
. selftests/net/lib_books.sh
BENCH=$OUT/tools/bench
ROUNDS=${BT_BENCH_ROUNDS:-12}
SIZE=185000
HOOK=ingress
VARIANTS='none twin fixed' # the first is what the others are compared with
CG=$tmp/cgroup/bigtcp_bench
# The cgroup lives on when the namespaces are gone.
trap 'rmdir "$CG" 2>/dev/null' EXIT

# median FILE: of one number a line
median()
{
	sort -g "$1" | awk '{ v[NR] = $1 }
		END { n = int((NR + 1) / 2); print NR % 2 ? v[n] : (v[n] + v[n + 1]) / 2 }'
}

# at_hook attach|detach [OPTION...]
at_hook()
{
	local where=(r0 "$HOOK")

	[ "$HOOK" != cgroup-egress ] || where=("$CG" "$HOOK")
	in_ns rcv "$BIGTCP" "$1" "${where[@]}" "${@:2}" >"$tmp/log" 2>&1 || net_die "$(cat "$tmp/log")"
}

attached()
{
	local mode=()

	[ "$at" = none ] || at_hook detach
	at=none
	[ "$1" = none ] && return
	[ "$HOOK" != xdp ] || mode=(--mode skb)
	at_hook attach --pinned "/sys/fs/bpf/${pin[$1]}" "${mode[@]}"
	at=$1
}

# measure DIR VARIANT: half a second of traffic; "GBPS GBIT-PER-CPU-SECOND" to DIR/VARIANT.now
measure()
{
	attached "$2"
	timeout 30 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 0.5 >"$tmp/run" || net_die "$2: $(cat "$tmp/run")"
	jq -r '"\(.gbps) \(.flows[0].received * 8e-9 / .cpu_seconds)"' "$tmp/run" >>"$1/$2.now"
}

# rounds DIR: each variant twice a round, there and back. Of each round, DIR/VARIANT.gbps and .cpu have the mean,
# .ratio and .cpuratio what it is to that of the first variant.
rounds()
{
	local i v base=${VARIANTS%% *} back

	# shellcheck disable=SC2086 # words
	back=$(printf '%s\n' $VARIANTS | tac)

	mkdir -p "$1"
	measure "$1" "$base" # warms up
	for ((i = 0; i < ROUNDS; i++)); do
		rm -f "$1"/*.now
		for v in $VARIANTS $back; do
			measure "$1" "$v"
		done
		for v in $VARIANTS; do
			paste "$1/$v.now" "$1/$base.now" | awk -v f="$1/$v" '
				{ g += $1; c += $2; g0 += $3; c0 += $4 }
				END { print g / NR >>(f ".gbps"); print c / NR >>(f ".cpu")
					print g / g0 >>(f ".ratio"); print c / c0 >>(f ".cpuratio") }'
		done
	done
	attached none
}

# quartiles FILE: "LOW HIGH", between which the middle half is
quartiles()
{
	sort -g "$1" | awk '{ v[NR] = $1 } END { n = int((NR + 3) / 4); print v[n], v[NR + 1 - n] }'
}

# throughput_json DIR
throughput_json()
{
	local v lo hi

	for v in $VARIANTS; do
		read -r lo hi <<<"$(quartiles "$1/$v.ratio")"
		jq -n --arg v "$v" --argjson g "$(median "$1/$v.gbps")" --argjson r "$(median "$1/$v.ratio")" \
			--argjson lo "$lo" --argjson hi "$hi" --argjson c "$(median "$1/$v.cpu")" \
			--argjson cr "$(median "$1/$v.cpuratio")" \
			'{key: $v, value: {gbps: $g, ratio: $r, ratio_low: $lo, ratio_high: $hi,
				gbit_per_cpu_second: $c, cpu_ratio: $cr}}'
	done | jq -s from_entries
}

rx_packets()
{
	in_ns rcv ip -j -s link show r0 | jq '.[0].stats64.rx.packets'
}

# What an ordinary packet of 1500 bytes costs from send to receive, ns of CPU time.
packet_cost()
{
	local i before

	for ((i = 0; i < 7; i++)); do
		before=$(rx_packets)
		timeout 30 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 0.5 >"$tmp/run" || net_die "$(cat "$tmp/run")"
		jq ".cpu_seconds * 1e9 / ($(rx_packets) - $before)" "$tmp/run" >>"$tmp/packet_ns"
	done
	median "$tmp/packet_ns"
}

orig=$CORPUS/fw_naive.bpf.o fixed=$CORPUS/fw_fixed.bpf.o
"$BIGTCP" load "$orig" --pin /sys/fs/bpf/twin >"$tmp/log" 2>&1 || net_die "$(cat "$tmp/log")"
"$BIGTCP" load "$fixed" --pin /sys/fs/bpf/fixed --plain >"$tmp/log" 2>&1 || net_die "$(cat "$tmp/log")"
at=none
# A program in XDP for nothing but to pass: generic XDP itself costs, whatever the program does.
build pass
"$BIGTCP" load "$tmp/pass.o" --pin /sys/fs/bpf/pass --plain >"$tmp/log" 2>&1 || net_die "$(cat "$tmp/log")"
pin_obj xdp "$CORPUS/x_fw.bpf.o" twin || net_die "$(cat "$tmp/log")"
pin_obj cgroup "$CORPUS/cg_acct.bpf.o" twin || net_die "$(cat "$tmp/log")"
# where each variant is pinned
declare -A pin=([twin]=twin [fixed]=fixed [pass]=pass [x_fw]=xdp/x_fw [cg_acct_out]=cgroup/cg_acct_out)

echo "Per packet (BPF_PROG_TEST_RUN), on $(uname -r) ..."
"$BENCH" "$orig:fw_naive" "$fixed:fw_fixed" >"$tmp/packet.json" || exit 2
"$BENCH" "$CORPUS/x_fw.bpf.o:x_fw" >"$tmp/packet_xdp.json" || exit 2
"$BENCH" "$CORPUS/cg_acct.bpf.o:cg_acct_out" >"$tmp/packet_cgroup.json" || exit 2

net_direct
net_size $SIZE snd s0 rcv r0
echo "Throughput, $ROUNDS rounds ..."
rounds "$tmp/jumbo"
throughput_json "$tmp/jumbo" >"$tmp/throughput.json"

HOOK=xdp VARIANTS='pass x_fw'
rounds "$tmp/xdp"
throughput_json "$tmp/xdp" >"$tmp/throughput_xdp.json"

HOOK=cgroup-egress VARIANTS='none cg_acct_out'
in_cgroup "$CG"
rounds "$tmp/cg"
throughput_json "$tmp/cg" >"$tmp/throughput_cgroup.json"
in_ns snd ethtool -K s0 tso off gso off
cost=$(packet_cost)
in_ns snd ethtool -K s0 tso on gso on
bad=$(net_bad snd rcv)

jq -n --slurpfile p "$tmp/packet.json" --slurpfile t "$tmp/throughput.json" \
	--slurpfile px "$tmp/packet_xdp.json" --slurpfile tx "$tmp/throughput_xdp.json" \
	--slurpfile pc "$tmp/packet_cgroup.json" --slurpfile tc "$tmp/throughput_cgroup.json" \
	--argjson cost "$cost" --arg kernel "$(uname -r)" --argjson size $SIZE --arg bad "$bad" '
	$p[0] as $p | $t[0] as $t | {kernel: $kernel, program: "fw_naive", per_packet: $p,
	xdp: {program: "x_fw", per_packet: $px[0], throughput: $tx[0]},
	cgroup: {program: "cg_acct_out", per_packet: $pc[0], throughput: $tc[0]},
	packet_end_to_end_ns: $cost,
	twin_ordinary_share: ($p.twin_ordinary_extra_ns / $cost),
	throughput: ($t + {gso_max_size: $size}), broken: $bad,
	budget: {
		ordinary_of_program: ($p.twin_ordinary_ratio <= 1.03),
		ordinary_end_to_end: ($p.twin_ordinary_extra_ns / $cost <= 0.03),
		throughput: ($t.twin.ratio >= 0.95) } }' >"$OUT/bench.json" || exit 2

jq -r '
	def r(d): . * pow(10; d) | round / pow(10; d);
	def pad(n): tostring | (" " * ([n - length, 0] | max)) + .;
	def row(name; v): "  " + name + (" " * (26 - (name | length))) + (v.ns | r(1) | pad(8)) +
		(v.net_ns | r(1) | pad(12)) + (v.insns | pad(14)) + (v.jited_bytes | pad(12)) +
		(v.verified_insns | pad(12));
	.per_packet as $p | .throughput as $t |
	"",
	"fw_naive, per packet" + ("ns" | pad(16)) + ("less empty" | pad(12)) + ("instructions" | pad(14)) +
		("JIT bytes" | pad(12)) + ("verified" | pad(12)),
	row("an empty program"; $p.empty),
	row("ordinary: original"; $p.original),
	row("ordinary: twin"; $p.twin),
	row("ordinary: fixed at source"; $p.fixed),
	row("jumbo: twin"; $p["jumbo-twin"]),
	row("jumbo: twin that moves"; $p["jumbo-moved"]),
	row("jumbo: fixed at source"; $p["jumbo-fixed"]),
	"x_fw (XDP)", (.xdp.per_packet | row("ordinary: original"; .original),
		row("ordinary: twin"; .twin), row("jumbo: twin"; ."jumbo-twin")),
	"cg_acct_out (cgroup_skb)", (.cgroup.per_packet | row("ordinary: original"; .original),
		row("ordinary: twin"; .twin), row("jumbo: twin"; ."jumbo-twin")),
	"  (median of \($p.rounds) interleaved rounds of \($p.repeat) runs; CPU time)",
	"",
	"The twin on an ordinary packet: \($p.twin_ordinary_extra_ns | r(2)) ns more;",
	"  \(($p.twin_ordinary_ratio - 1) * 100 | r(1)) % of the program (middle half of the rounds: " +
		"\(($p.twin_ordinary_ratio_low - 1) * 100 | r(1)) to " +
		"\(($p.twin_ordinary_ratio_high - 1) * 100 | r(1)) %),",
	"  \(.twin_ordinary_share * 100 | r(3)) % of the \(.packet_end_to_end_ns | r(0)) ns of CPU " +
		"that a packet of 1500 bytes takes from send to receive.",
	"The twin on a jumbo packet: \($p.twin_jumbo_extra_ns | r(1)) ns more than the original on " +
		"an ordinary one.",
	"",
	def wide(n): . + (" " * ([n - length, 0] | max));
	("TCP over veth, gso_max_size \($t.gso_max_size)" | wide(40)) + ("Gbit/s" | pad(8)) +
		("ratio" | pad(8)) + ("middle half" | pad(15)) + ("per CPU second" | pad(16)) +
		("ratio" | pad(8)),
	def lines($t; names): names | to_entries[] | $t[.key] as $v | ("  " + .value | wide(40)) +
		($v.gbps | r(2) | pad(8)) + ($v.ratio | r(3) | pad(8)) +
		("\($v.ratio_low | r(2)) to \($v.ratio_high | r(2))" | pad(15)) +
		($v.gbit_per_cpu_second | r(2) | pad(16)) + ($v.cpu_ratio | r(3) | pad(8));
	lines($t; {none: "no program", twin: "twin", fixed: "fixed at source"}),
	lines(.xdp.throughput; {pass: "generic XDP, a program that passes all",
		x_fw: "generic XDP, twin of x_fw"}),
	lines(.cgroup.throughput; {none: "in a cgroup, no program",
		cg_acct_out: "in a cgroup, twin of cg_acct_out"}),
	"",
	"Budgets kept: at most 3 % more for ordinary packets, of the program: " +
		"\(.budget.ordinary_of_program), end to end: \(.budget.ordinary_end_to_end);",
	"  at least 95 % of the throughput: \(.budget.throughput).",
	(if .broken != "" then "Counters of broken packets: \(.broken)" else empty end)
	' "$OUT/bench.json"
echo "Numbers: $OUT/bench.json. Again: make bench"
