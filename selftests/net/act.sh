#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of type BPF_PROG_TYPE_SCHED_ACT, tc actions: they get twins as classifiers do, whoever loads them.
# Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh

BYTES=40000000

# is_twin PATH: what is wrong with the pinned program, if anything
is_twin()
{
	local type

	type=$(bpftool -j prog show pinned "$1" | jq -r .type)
	[ "$type" = sched_act ] || echo "its type is $type"
	[ -n "$(twin_map "$(bpftool -j prog show pinned "$1" | jq .id)")" ] || echo "it is no twin"
}

# reported FILE: what exec's report says of the program
reported()
{
	jq -r 'select(.prog_name == "act_tcp") | "\(.type) \(.status)"' "$1"
}

verdict_of()
{
	timeout 60 "$BIGTCP" audit --prog-id "$1" -j 2>"$tmp/err" | jq -r '.[0].verdict'
}

loads()
{
	"$BIGTCP" load "$tmp/action.o" --pin "$PINS/by_load" >"$tmp/log" 2>&1 || wrong=$(cat "$tmp/log")
	result "bigtcp load makes the twin" "$wrong$(is_twin "$PINS/by_load")"

	wrong=
	"$BIGTCP" exec --report "$tmp/report" -- bpftool prog load "$tmp/action.o" "$PINS/by_exec" \
		type action >"$tmp/log" 2>&1 || wrong=$(cat "$tmp/log")
	expect "the report" "$(reported "$tmp/report")" "sched_act twin"
	result "exec: bpftool prog load ... type action" "$wrong$(is_twin "$PINS/by_exec")"

	# tc loads the program, then asks for the action, which is another matter.
	wrong=
	in_ns rcv "$BIGTCP" exec --report "$tmp/report" -- tc filter add dev r0 ingress prio 9 protocol all \
		u32 match u32 0 0 action bpf obj "$tmp/action.o" sec action >"$tmp/log" 2>&1
	expect "the report" "$(reported "$tmp/report")" "sched_act twin"
	result "exec: tc filter ... action bpf obj" "$wrong"
	in_ns rcv tc filter del dev r0 ingress 2>/dev/null
}

# The audit runs it on packets of more than 64 KiB, which a test run alone can't have.
audits()
{
	wrong=
	"$BIGTCP" load "$tmp/action.o" --plain --pin "$PINS/plain" >"$tmp/log" 2>&1
	expect "the original" "$(verdict_of "$(prog_id plain)")" drops
	expect "the twin" "$(verdict_of "$(prog_id by_exec)")" twin
	result "audit: the original drops jumbo packets, the twin does as it should" "$wrong"
}

attach_says_so()
{
	wrong=
	in_ns rcv "$BIGTCP" attach r0 ingress "$tmp/action.o" >"$tmp/log" 2>&1
	expect "status" $? 2
	grep -q '^Error: act_tcp is a tc action' "$tmp/log" || wrong+=$(cat "$tmp/log")
	result "attach refuses an action, and says where it belongs" "$wrong"
}

# with PIN: the action, behind a filter that takes everything
with()
{
	in_ns rcv tc filter add dev r0 ingress prio 1 protocol all u32 match u32 0 0 \
		action bpf object-pinned "$PINS/$1" >"$tmp/log" 2>&1
}

traffic()
{
	local name="traffic through the action" jumbo lost

	if ! with by_exec; then
		# Where the kernel has actions of this kind this must not fail.
		if grep -q 'Failed to load TC action module' "$tmp/log"; then
			skip "$name" "the kernel has no act_bpf (CONFIG_NET_ACT_BPF)"
		else
			result "$name" "$(cat "$tmp/log")"
		fi
		return
	fi
	send $BYTES
	read -r jumbo lost <<<"$(jumbo_of by_exec)"
	above "jumbo packets that the twin saw" "$jumbo" 10
	expect "packets lost" "$lost" 0
	no_bad snd rcv
	seen="$jumbo jumbo packets; $(jq .gbps "$tmp/run") Gbit/s"
	result "$name" "$wrong"
	in_ns rcv tc filter del dev r0 ingress
}

need_hbh "twins of actions"
build action
net_direct
net_size 185000 snd s0 rcv r0
in_ns rcv tc qdisc add dev r0 clsact || net_die "no clsact"
wrong=
loads
audits
attach_says_so
traffic
finish
