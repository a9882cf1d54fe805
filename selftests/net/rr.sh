#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tool behind `make bench-rr` counts every byte, says when a peer closes, and its percentiles are those of what it
# measured.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_tap.sh
. selftests/net/lib_tap.sh
cp "$OUT/tools/rr" "$tmp/" || net_die "run make tests first"

# rr STATUS OPTION...: the JSON is in $tmp/run
rr()
{
	local want=$1 rc

	timeout 100 "$tmp/rr" -c snd -s rcv -a "$SERVER" "${@:2}" >"$tmp/run"
	rc=$?
	cat "$tmp/run"
	[ $rc = "$want" ] || { echo "status $rc, not $want"; return 1; }
}

is()
{
	jq -e "$1" "$tmp/run" >/dev/null && return
	echo "not so: $1"
	return 1
}

# The same numbers at both ends, and those that the options say.
bytes()
{
	rr 0 -r 80000 -n 200 -w 20 -t 60 &&
		is '.complete and .transactions == 200 and (.connections | length) == 1' &&
		is '.connections[0] | .requests == 220 and .answers == 220 and .client_sent == 220 * 80000 and
			.server_received == .client_sent and .client_received == .client_sent and
			.server_sent == .client_sent'
}

sizes()
{
	rr 0 -r 1,300001 -n 50 -w 0 -t 60 && is '.connections[0] | .client_sent == 50 and .client_received == 50 * 300001' &&
		rr 0 -r 200000,7 -n 50 -w 0 -t 60 &&
		is '.connections[0] | .server_received == 50 * 200000 and .server_sent == 350'
}

connections()
{
	rr 0 -m 4 -r 5000 -n 100 -w 10 -t 60 &&
		is '.transactions == 400 and ([.connections[] | .answers == 110 and .client_sent == 550000] | all)'
}

# shellcheck disable=SC2016 # jq's variables
# A percentile lies in the histogram's bucket that has it, and a bucket is 1/16 wide.
percentiles()
{
	rr 0 -r 20000 -n 1000 -w 10 -t 60 && is '.us | .min > 0 and .min <= .p50 and .p50 <= .p90 and .p90 <= .p99 and
		.p99 <= .max and .min <= .mean and .mean <= .max' &&
		is '(.histogram | map(.[1]) | add) == 1000' && is '.histogram | . == sort' &&
		is '. as $r | [[50, "p50"], [90, "p90"], [99, "p99"], [100, "max"]] | all(
			. as [$p, $name] | $r.us[$name] as $us |
			([$r.histogram[] | select(.[0] <= $us)[1]] | add // 0) < $p * 10 and
			([$r.histogram[] | select(.[0] <= $us * 1.07)[1]] | add // 0) >= $p * 10)' &&
		is '.tps > 0 and (.tps * .seconds - .transactions | fabs) < 1'
}

time_ends()
{
	rr 0 -r 1000 -t 0.2 -w 5 && is '.transactions > 0 and .seconds < 30'
}

closes()
{
	rr 1 -r 80000 -n 200 -w 20 -t 60 -x 100 &&
		is '(.complete | not) and .connections[0].client == "peer closed the connection"' &&
		is '.connections[0].answers == 100'
}


refuses()
{
	local a

	for a in "-r 0" "-r 10,x" "-t 0" "-m 65" "-n -1" "-q"; do
		# shellcheck disable=SC2086 # words
		rr 2 $a || return
	done
	timeout 20 "$tmp/rr" -c snd -s nowhere -a "$SERVER"
	[ $? = 2 ]
}

net_direct
t bytes "every byte of every transaction is counted at both ends"
t sizes "requests and answers of different sizes"
t connections "several connections"
t percentiles "percentiles, histogram and mean belong together"
t time_ends "a run by time ends"
t closes "a peer that closes is an error"
t refuses "wrong usage"
finish
