# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # what the scripts that source this use
# For tests that hold what a program has booked in its maps against what really passed. Sourced after lib_twin.sh.
: "${tmp:?}"

# book NAME MAP FIELD [SELECT]: sum of FIELD (jq, of one entry as bpftool formats it) over the entries of a pinned
# map whose key SELECT (jq) is true for
book()
{
	bpftool -j map dump pinned "$PINS/$1/maps/$2" |
		jq "[.[].formatted | select(.key | ${4:-true}) | $3] | add // 0"
}

# in_cgroup DIR: from here on traffic is that of processes in this cgroup. DIR is below $tmp/cgroup.
in_cgroup()
{
	mkdir "$tmp/cgroup" || net_die "no folder"
	mount -t cgroup2 none "$tmp/cgroup" || net_die "no cgroup2"
	mkdir "$1" || net_die "no cgroup of our own"
	# A tool that puts itself in the cgroup before it opens a socket.
	mv "$tmp/traffic" "$tmp/traffic.real"
	printf '#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s/traffic.real "$@"\n' "$1" "$tmp" \
		>"$tmp/traffic"
	chmod +x "$tmp/traffic"
}

# some NAME ARG...: runs it, if it is one of $BT_SOME
some()
{
	case " ${BT_SOME:-$1} " in
	*" $1 "*) "$@" ;;
	esac
}

# two_flows NAME/PROG MAP BYTE...: two flows at once, to ports 443 and 5201. When the program has seen jumbo
# packets, the element of MAP with these bytes as key, which stands for port 443, is removed. Adds to $wrong
# unless the first flow stops and all of the second arrives.
two_flows()
{
	local j _ j0 first second

	read -r j0 _ <<<"$(jumbo_of "$1")"
	timeout 30 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 443 -t 8 -d 0.5 >"$tmp/first" 2>&1 &
	first=$!
	timeout 30 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 5201 -t 8 -d 10 -S 7 >"$tmp/run" 2>&1 &
	second=$!
	for _ in $(seq 100); do
		read -r j _ <<<"$(jumbo_of "$1")"
		[ "$j" -lt $((j0 + 20)) ] || break
		sleep 0.02
	done
	bpftool map delete pinned "$2" key hex "${@:3}" || wrong+="no such element; "
	wait $first
	expect "status of the flow that is stopped" $? 1
	wait $second
	expect "status of the other flow" $? 0
	above "bytes of the other flow" "$(jq '.flows[0].received' "$tmp/run")" 100000
	expect "the stopped flow: bytes that are wrong" "$(jq '.flows[0].bad_at' "$tmp/first")" -1
	seen="$(jq '.flows[0].received' "$tmp/first") of $(jq '.flows[0].sent' "$tmp/first") bytes before it stopped"
}
