#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What BIG TCP is for, and what of it is left with bigtcp's programs: requests and answers of 80 KB over a veth pair, as
# in the table with which BIG TCP was proposed. Devices at 64 KiB, at 185000, and at 185000 with an observing program
# and a guard at both ends and the twin of a firewall at the server. Short rounds, interleaved; medians and ratios.
#
# A table on stdout, docs/rr.md and docs/rr.svg, every round in .output/rr.csv. Root; three minutes.
# BT_QUICK=1: 20 seconds, and the table and its plot go to .output.
# BT_RR_SECONDS, BT_RR_BYTES: how long; bytes of a message.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
RR=$OUT/tools/rr
BYTES=${BT_RR_BYTES:-80000}
SIZE=185000
DOCS=docs SECONDS_MAX=${BT_RR_SECONDS:-150} SLICE=0.5
[ -z "${BT_QUICK:-}" ] || DOCS=$OUT SECONDS_MAX=${BT_RR_SECONDS:-14} SLICE=0.2
VARIANTS='64k big full' # the first is what the others are compared with
TWIN=/sys/fs/bpf/twin

bt()
{
	in_ns "$1" "$BIGTCP" "${@:2}" >"$tmp/log" 2>&1 || net_die "bigtcp ${*:2}: $(cat "$tmp/log")"
}

programs_on()
{
	bt rcv attach r0 ingress --pinned "$TWIN"
	bt rcv guard r0
	bt snd guard s0
	bt rcv observe r0
	bt snd observe s0
}

programs_off()
{
	bt rcv detach r0 ingress
	bt rcv guard r0 --off
	bt snd guard s0 --off
	bt rcv observe r0 --off
	bt snd observe s0 --off
}

at=64k
set_up()
{
	[ "$at" != "$1" ] || return 0
	[ "$at" != full ] || programs_off
	case $1 in
	64k) net_size 65536 snd s0 rcv r0 ;;
	*) net_size $SIZE snd s0 rcv r0 ;;
	esac
	[ "$1" != full ] || programs_on
	at=$1
}

# both directions
packets()
{
	in_ns rcv ip -j -s link show r0 | jq '.[0].stats64 | .rx.packets + .tx.packets'
}

# measure VARIANT ROUND: one line of JSON to $tmp/runs
measure()
{
	local before

	set_up "$1"
	before=$(packets)
	timeout 60 "$RR" -c snd -s rcv -a "$SERVER" -r "$BYTES" -t $SLICE >"$tmp/run" 2>"$tmp/err" ||
		net_die "$1: $(cat "$tmp/run" "$tmp/err")"
	[ -n "$2" ] || return 0
	jq -c --arg v "$1" --argjson r "$2" --argjson p $(($(packets) - before)) '{variant: $v, round: $r, tps,
		p50: .us.p50, p90: .us.p90, p99: .us.p99, cpu_us, retrans, histogram,
		packets: ($p / .connections[0].answers)}' "$tmp/run" >>"$tmp/runs"
}

# Nothing is worth a number if the packets were not what the table says, or were lost.
believe()
{
	local jumbo lost bad

	bad=$(net_bad snd rcv)
	[ -z "$bad" ] || net_die "packets were broken: $bad"
	read -r jumbo lost <<<"$(twin_state "$(twin_map "$(bpftool -j prog show pinned $TWIN | jq .id)")")"
	[ "$jumbo" -gt 100 ] || net_die "the twin saw $jumbo jumbo packets"
	[ "$lost" = 0 ] || net_die "the twin lost $lost packets"
}

# summary: of $tmp/runs, as one object a variant
summary()
{
	jq -s --arg variants "$VARIANTS" '

		def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		def low: sort | .[(length - 1) / 4 | floor];
		def high: sort | .[(length - 1) * 3 / 4 | ceil];
		def mean: add / length;
		# of each round, the mean of its two measurements
		(group_by([.round, .variant]) | map({variant: .[0].variant, round: .[0].round,
			tps: (map(.tps) | mean)})) as $rounds |
		def tps_of(v): $rounds | map(select(.variant == v)) | sort_by(.round) | map(.tps);
		def ratios(a; b): [tps_of(a), tps_of(b)] | transpose | map(.[0] / .[1]);
		. as $runs | ($variants | split(" ")) as $names | {
			rounds: ($rounds | map(.round) | max + 1),
			full_to_big: (ratios("full"; "big") | {ratio: median, low: low, high: high}),
			variants: ($names | map(. as $v | ($runs | map(select(.variant == $v))) as $mine |
				ratios($v; $names[0]) as $r | {
				name: $v, tps: ($mine | map(.tps) | median),
				tps_low: ($mine | map(.tps) | low), tps_high: ($mine | map(.tps) | high),
				ratio: ($r | median), ratio_low: ($r | low), ratio_high: ($r | high),
				p50: ($mine | map(.p50) | median), p90: ($mine | map(.p90) | median),
				p99: ($mine | map(.p99) | median), cpu_us: ($mine | map(.cpu_us) | median),
				packets: ($mine | map(.packets) | median), retrans: ($mine | map(.retrans) | add),
				histogram: ($mine | map(.histogram[]) | group_by(.[0]) |
					map([.[0][0], (map(.[1]) | add)])) })) }' "$tmp/runs"
}

TITLES='{"64k": "64 KiB", "big": "BIG TCP", "full": "BIG TCP, observed, guarded, firewall twin"}'

rows()
{
	jq -r --argjson titles "$TITLES" '
		def r(d): . * pow(10; d) | round / pow(10; d);
		.variants[] | [$titles[.name], (.tps | round), (.ratio | r(2)),
			"\(.ratio_low | r(2)) to \(.ratio_high | r(2))", (.p50 | r(1)), (.p90 | r(1)), (.p99 | r(1)),
			(.cpu_us | r(1)), (.packets | r(1))] | join("|")' "$tmp/summary"
}

table()
{
	rows | awk -F'|' '
		BEGIN { printf "%-42s%8s%7s%14s%8s%8s%8s%8s%9s\n", "", "per sec.", "ratio", "middle half", "p50 us",
			"p90 us", "p99 us", "CPU us", "packets" }
		{ printf "%-42s%8s%7s%14s%8s%8s%8s%8s%9s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 }'
}

cost_line()
{
	jq -r 'def r: . * 1000 | round / 1000; .full_to_big |
		"With the programs, BIG TCP has \(.ratio | r) of the transactions it has without (median of the " +
		"rounds; middle half \(.low | r) to \(.high | r))."' "$tmp/summary"
}

markdown()
{
	cat <<-EOT
		# Requests and answers of $BYTES bytes

		Made by \`make bench-rr\` on $(date -u +%Y-%m-%d): Linux $(uname -r), $(nproc) CPUs ($cpu), a veth pair
		with an MTU of 1500, one TCP connection, $(jq .rounds "$tmp/summary") rounds of $SLICE s
		for each line, there and back. \`gso_max_size\` and \`gro_max_size\` are 65536 or $SIZE.

		| | transactions/s | ratio | middle half | p50, us | p90, us | p99, us | CPU, us | packets |
		|---|---|---|---|---|---|---|---|---|
	EOT
	rows | sed 's/|/ | /g; s/^/| /; s/$/ |/'
	cat <<-EOT

		Medians of the rounds; ratios are those of the same round. CPU and packets are those of one
		transaction, both ends and both directions. The programs are an observer and a guard at both ends, and the twin of
		\`selftests/corpus/fw_naive.bpf.c\` at the server. $(cost_line)

		![Transactions per second, and how long one takes](rr.svg)

		The table that proposed BIG TCP (netperf TCP_RR, 80000 bytes each way, 100 Gbit/s, MTU 4096) has 8183 to
		9562 transactions a second at 64 KiB and 10878 to 14213 with BIG TCP:
		<https://lore.kernel.org/netdev/20220203015140.3022854-1-eric.dumazet@gmail.com/>.
	EOT
}

# The bars' data, and for each variant: microseconds, percent of all transactions that took at most that.
plot_data()
{
	local v

	jq -r --argjson titles "$TITLES" '.variants | to_entries[] | [.key, .value.tps, .value.tps_low,
		.value.tps_high, (.value.ratio * 100 | round / 100), $titles[.value.name]] | @tsv' \
		"$tmp/summary" >"$tmp/bars.tsv"
	for v in $VARIANTS; do
		jq -r --arg v "$v" '.variants[] | select(.name == $v).histogram as $h |
			($h | map(.[1]) | add) as $all | foreach $h[] as $b (0; . + $b[1];
			[$b[0], . * 100 / $all] | @tsv)' "$tmp/summary" >"$tmp/cdf_$v.tsv"
	done
}

plot()
{
	local left right

	# What is slower than all but 1 % of the slowest variant is not shown.
	left=$(jq '[.variants[].p50] | min * 0.7 | round' "$tmp/summary")
	right=$(jq '[.variants[].p99] | max * 1.25 | round' "$tmp/summary")
	gnuplot - <<-EOT
		set terminal svg size 900,360 font "sans,13" background "#ffffff" name "rr"
		set output "$DOCS/rr.svg"
		set multiplot layout 1,2
		set linetype 1 lc rgb "#888888" lw 2
		set linetype 2 lc rgb "#1f77b4" lw 2
		set linetype 3 lc rgb "#d62728" lw 2 dt 2
		set style fill solid 0.75
		set grid ytics lc rgb "#dddddd"
		set border 3
		set tics nomirror
		unset key
		set title "transactions per second, $BYTES bytes each way"
		set yrange [0:*]
		set xrange [-0.6:2.6]
		set boxwidth 0.6
		set offsets 0, 0, graph 0.15, 0
		set xtics ("64 KiB" 0, "BIG TCP" 1, "with programs" 2)
		plot "$tmp/bars.tsv" using 1:2:(\$1 + 1) with boxes lc variable, \
			"" using 1:3:(0):(\$4 - \$3) with vectors heads size 0.05,90 lw 1.5 lc rgb "#000000", \
			"" using 1:4:(sprintf("x %.2f", \$5)) with labels offset 0,1
		set title "of all transactions, percent that took at most so long"
		unset offsets
		set xlabel "microseconds"
		set logscale x
		set xtics (10, 20, 30, 50, 70, 100, 200, 300, 500, 1000, 2000, 5000, 10000)
		set grid xtics
		set xrange [$left:$right]
		set yrange [0:100]
		set key bottom right
		plot "$tmp/cdf_64k.tsv" with lines lt 1 title "64 KiB", \
			"$tmp/cdf_big.tsv" with lines lt 2 title "BIG TCP", \
			"$tmp/cdf_full.tsv" with lines lt 3 title "BIG TCP with programs"
	EOT
}

[ -x "$RR" ] || net_die "run make tests first"
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
cpu=${cpu:-unknown}
net_direct
net_size 65536 snd s0 rcv r0
"$BIGTCP" load "$CORPUS/fw_naive.bpf.o" --pin $TWIN >"$tmp/log" 2>&1 || net_die "$(cat "$tmp/log")"
echo "Requests and answers of $BYTES bytes, on Linux $(uname -r), $SECONDS_MAX seconds ..."
for v in $VARIANTS; do
	measure "$v" ""
done
# shellcheck disable=SC2086 # words
back=$(printf '%s\n' $VARIANTS | tac)
start=$SECONDS
for ((round = 0; round < 3 || SECONDS - start < SECONDS_MAX; round++)); do
	for v in $VARIANTS $back; do
		measure "$v" "$round"
	done
done
believe
summary >"$tmp/summary" || exit 2
mkdir -p "$DOCS"
jq -rs '["round", "variant", "tps", "p50_us", "p90_us", "p99_us", "cpu_us", "packets", "retrans"],
	(.[] | [.round, .variant, .tps, .p50, .p90, .p99, .cpu_us, .packets, .retrans]) | @csv' "$tmp/runs" >"$OUT/rr.csv"
table
cost_line
markdown >"$DOCS/rr.md"
plot_data
plot || net_die "no plot: gnuplot failed"
echo "Table and plot: $DOCS/rr.md, $DOCS/rr.svg; every round: $OUT/rr.csv. Again: make bench-rr"
