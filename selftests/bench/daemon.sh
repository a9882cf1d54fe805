#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What bigtcpd costs where there are many devices: 1,000 veth pairs whose other ends are in 16 network namespaces. The first
# round, CPU time of the rounds in which nothing is to be done, memory, and whether memory or file
# descriptors grow while devices are made, renamed, moved and removed, as many as in an hour of a busy host. A
# table on stdout, the numbers in .output/bench_daemon.json. Root; three minutes.
#
# BT_PAIRS, BT_CHANGES: pairs of devices (1000), changes (3600: one a second for an hour).
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_tap.sh
. selftests/net/lib_tap.sh
# shellcheck source=selftests/net/lib_daemon.sh
. selftests/net/lib_daemon.sh
# shellcheck source=selftests/net/lib_scale.sh
. selftests/net/lib_scale.sh
PAIRS=${BT_PAIRS:-1000} CHANGES=${BT_CHANGES:-3600} SIZE=185000
trap '[ -z "$dpid" ] || daemon_end TERM' EXIT

# must COMMAND...: or that is the end
must()
{
	"$@" >"$tmp/must" 2>&1 || net_die "$*: $(cat "$tmp/must")"
}

now()
{
	date +%s.%N
}

# per_minute ROUNDS: CPU seconds of so many rounds with nothing to do, for the six of a minute
per_minute()
{
	local before from

	from=$(rounds) before=$(cpu_ticks)
	must within "$1 rounds" more_rounds $((from + $1))
	awk -v t="$(($(cpu_ticks) - before))" -v hz="$(getconf CLK_TCK)" -v n="$(($(rounds) - from))" \
		'BEGIN { print t / hz / n * 6 }'
}

# As within, for what takes longer: attaching 2,000 programs waits 2,000 times for RCU.
within_minutes()
{
	local i

	for ((i = 0; i < 20; i++)); do
		within "$@" >"$tmp/must" && return
	done
	net_die "$(cat "$tmp/must")"
}

# dressed OBSERVE: observers at ingress and egress of every pair, if there are to be any; they come between the rounds
dressed()
{
	[ "$1" = no ] ||
		[ "$(find /sys/fs/bpf/bigtcp/v1/links -name '*bigtcp_observe' | wc -l)" -ge $((2 * PAIRS)) ]
}

# run OBSERVE: the numbers of a daemon with or without observers, as JSON
run()
{
	local i began first all steady rss hwm fds0 fds1 rss1 took

	conf <<-EOT
		[daemon]
		interval = 1
		[device bt*]
		size = $SIZE
		observe = $1
	EOT
	began=$(now)
	must daemon_start
	first=$(first_ms)
	within_minutes "a round with nothing to do" idle
	within_minutes "observers everywhere" dressed "$1"
	all=$(awk -v a="$began" -v b="$(now)" 'BEGIN { print b - a }')
	within_minutes "all devices as the configuration says" settled "$PAIRS" $SIZE
	must some_rounds
	steady=$(per_minute 10)
	rss=$(memory VmRSS) fds0=$(fds) took=$SECONDS
	for ((i = 0; i < CHANGES; i += 200)); do
		churn 200
	done
	took=$((SECONDS - took))
	within_minutes "a round with nothing to do" idle
	within_minutes "observers everywhere" dressed "$1"
	within_minutes "all devices as the configuration says" settled "$PAIRS" $SIZE
	must some_rounds
	rss1=$(memory VmRSS) hwm=$(memory VmHWM) fds1=$(fds)
	daemon_end TERM
	[ "$status" = 0 ] || net_die "bigtcpd ended with $status"
	jq -n --arg observe "$1" --argjson first "$first" --argjson all "$all" --argjson steady "$steady" \
		--argjson rss "$rss" --argjson rss1 "$rss1" --argjson hwm "$hwm" --argjson fds0 "$fds0" \
		--argjson fds1 "$fds1" --argjson took "$took" --argjson pairs "$PAIRS" --argjson n "$CHANGES" '{
		pairs: $pairs, observe: ($observe == "yes"), first_round_ms: $first, all_seconds: $all,
		steady_cpu_seconds_per_minute: $steady, rss_kb: $rss, changes: $n, changes_took_seconds: $took,
		rss_after_kb: $rss1, rss_peak_kb: $hwm, fds: $fds0, fds_after: $fds1 }'
}

scale_namespaces
echo "bigtcpd with $PAIRS veth pairs, on Linux $(uname -r) ..."
pairs "$PAIRS"
for observe in no yes; do
	run $observe >"$tmp/$observe.json" || exit 2
done
jq -s . "$tmp/no.json" "$tmp/yes.json" >"$OUT/bench_daemon.json"
jq -r 'def r(d): . * pow(10; d) | round / pow(10; d);
	def line(name; f): "  \(name + " " * (52 - (name | length)))" +
		(map(f | tostring | " " * (14 - length) + .) | join(""));
	line(""; if .observe then "and observers" else "sizes" end),
	line("first round, seconds"; .first_round_ms / 1000 | r(2)),
	line("all done, seconds"; .all_seconds | r(1)),
	line("nothing to do, CPU seconds a minute (6 rounds)"; .steady_cpu_seconds_per_minute | r(2)),
	line("memory (RSS), MB"; .rss_kb / 1024 | r(1)),
	line("memory after \(.[0].changes) changes, MB"; .rss_after_kb / 1024 | r(1)),
	line("memory at its peak, MB"; .rss_peak_kb / 1024 | r(1)),
	line("file descriptors"; .fds),
	line("file descriptors after the changes"; .fds_after)' "$OUT/bench_daemon.json"
echo "Numbers: $OUT/bench_daemon.json. Again: make bench-daemon"
jq -e 'all(.rss_after_kb < 10240 and .fds_after <= .fds)' "$OUT/bench_daemon.json" >/dev/null ||
	net_die "a budget is not kept: RSS below 10 MB, no more file descriptors than before"
