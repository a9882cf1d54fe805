#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp exec under loaders of XDP programs, cgroup programs and socket filters: iproute2, bpftool, xdp-tools and
# a Go agent. What they load are twins, and jumbo TCP passes through these as they book it.
#   snd (s0) ---- (r0) rcv
# Prints TAP. Root. Everything happens in namespaces of its own, which go with it.
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
need_hbh "loaders under exec"
net_direct
net_size 185000 snd s0 rcv r0

# run COMMAND...: under exec in the receiver's namespace; report in $tmp/r, what is wrong in $wrong
run()
{
	wrong=
	rm -f "$tmp/r"
	in_ns rcv timeout 60 "$BIGTCP" exec --report "$tmp/r" -- "$@" >"$tmp/stdout" 2>"$tmp/log" ||
		wrong="status $?: $*: $(tail -n 3 "$tmp/log"); "
}

# reported TYPE PROG: "STATUS FORM" of the last load of that program
reported()
{
	jq -rs --arg t "$1" --arg p "$2" \
		'map(select(.type == $t and .prog_name == $p and .loaded))[-1] | "\(.status) \(.form)"' "$tmp/r"
}

# at_r0: id of the XDP program that is attached
at_r0()
{
	ip -n rcv -j link show r0 | jq '.[0].xdp.prog.id'
}

# passes NAME [PROG_ID]: traffic through the XDP program (the one that is attached)
passes()
{
	local id=${2:-$(at_r0)}

	if [ -z "$wrong" ]; then
		send "$BYTES"
		fair_books "$id"
		no_bad snd rcv
	fi
	result "$1" "$wrong"
}

xdp_off()
{
	ip -n rcv link set r0 xdpgeneric off
	rm -rf "$PINS/all"
}

iproute()
{
	run ip link set dev r0 xdpgeneric object "$HOOKS" program fw
	expect "fw" "$(reported xdp fw)" "twin moves headers"
	passes "ip link set xdpgeneric: a twin, which books jumbo packets right"
	xdp_off
	run ip link set dev r0 xdp object "$HOOKS" program fw
	expect "fw" "$(reported xdp fw)" "twin moves headers"
	expect "XDP mode" "$(ip -n rcv -j link show r0 | jq '.[0].xdp.mode')" 1
	ip -n rcv link set r0 xdp off
	result "ip link set xdp: a twin in the driver" "$wrong"
}

with_bpftool()
{
	run bpftool prog loadall "$HOOKS" "$PINS/all"
	expect "fw" "$(reported xdp fw)" "twin moves headers"
	in_ns rcv bpftool net attach xdpgeneric pinned "$PINS/all/fw" dev r0 >&2
	passes "bpftool prog loadall, then net attach: the same"
	xdp_off
}

# agent PROG HOOK TARGET: the Go agent, left running; its program's id in $id, its end in agent_stop
agent()
{
	wrong=
	rm -f "$tmp/fifo" "$tmp/r" "$tmp/agent"
	mkfifo "$tmp/fifo" || net_die "no fifo"
	in_ns rcv "$BIGTCP" exec --report "$tmp/r" -- "$L/gohooks" "$HOOKS" "$@" <"$tmp/fifo" >"$tmp/agent" 2>"$tmp/log" &
	agent=$!
	exec 8>"$tmp/fifo"
	wait_for 20 test -s "$tmp/agent" >/dev/null || wrong="no agent: $(cat "$tmp/log"); "
	id=$(cat "$tmp/agent")
}

agent_stop()
{
	exec 8>&-
	wait "$agent"
}

go_agent()
{
	agent fw xdp r0
	expect "fw" "$(reported xdp fw)" "twin moves headers"
	expect "attached" "$(at_r0)" "$id"
	passes "a Go agent: the same"
	agent_stop
}

# Packets of the port in both directions pass a packet socket, so bytes are above those received.
go_socket()
{
	agent tap socket r0
	expect "tap" "$(reported socket_filter tap)" "twin by addressing"
	if [ -z "$wrong" ]; then
		send "$BYTES"
		fair_books "$id"
		no_bad snd rcv
	fi
	result "SO_ATTACH_BPF: a socket filter's twin" "$wrong"
	agent_stop
}

# cgroup NAME PROG HOOK: the traffic runs in a cgroup of its own
cgroup()
{
	local cg=$tmp/cg/bigtcp-test-$$

	mkdir "$cg" || net_die "no cgroup"
	agent "$2" "$3" "$cg"
	expect "$2" "$(reported cgroup_skb "$2")" "twin by addressing"
	if [ -z "$wrong" ]; then
		# shellcheck disable=SC2031
		(echo $BASHPID >"$cg/cgroup.procs" && send "$BYTES" && echo "$wrong" >"$tmp/wrong")
		wrong=$(cat "$tmp/wrong")
		fair_books "$id"
		no_bad snd rcv
	fi
	result "$1" "$wrong"
	agent_stop
	rmdir "$cg"
}

# With freplace it becomes part of libxdp's chain (type ext); else libxdp attaches the program itself.
loader()
{
	local how

	run xdp-loader load -m skb r0 "$HOOKS" -n fw
	how=$(jq -rs 'map(select(.prog_name == "fw" and .loaded))[-1].type' "$tmp/r")
	expect "fw" "$(reported "$how" fw)" "twin moves headers"
	expect "dispatchers that became twins" "$(jq -s 'map(select(.prog_name == "xdp_dispatcher" and
		.status == "twin")) | length' "$tmp/r")" 0
	in_ns rcv xdp-loader status r0 >"$tmp/status"
	grep -q '\<fw\>' "$tmp/status" || wrong+="status: $(cat "$tmp/status"); "
	passes "xdp-loader load: the same, as a program of type $how" \
		"$(bpftool -j prog show | jq '[.[] | select(.name == "fw")][-1].id')"
	in_ns rcv xdp-loader unload -a r0 >&2
}

# xdp-filter drops all but what it is told to let in; neighbour discovery too.
mac()
{
	ip -n "$1" -j link show "$2" | jq -r '.[0].address'
}

filter_hits()
{
	in_ns rcv xdp-filter status | awk '$1 == 5201 { print $NF }'
}

with_filter()
{
	ip -n snd neigh replace $SERVER dev s0 lladdr "$(mac rcv r0)" nud permanent
	ip -n rcv neigh replace $CLIENT dev r0 lladdr "$(mac snd s0)" nud permanent
	run xdp-filter load -m skb -p deny -f tcp,ipv6 r0
	expect "twins of a filter" "$(jq -rs 'map(select((.prog_name // "" | startswith("xdpfilt")) and .loaded and
		.status == "twin")) | length > 0' "$tmp/r")" true
	in_ns rcv xdp-filter port 5201 -m src,dst -p tcp >&2 || wrong+="no port; "
	if [ -z "$wrong" ]; then
		send "$BYTES"
		no_bad snd rcv
		above "hits of the port" "$(filter_hits)" 20
		seen="$(filter_hits) hits, $(jq .gbps "$tmp/run") Gbit/s"
	fi
	in_ns rcv xdp-filter unload -a >&2
	result "xdp-filter lets jumbo TCP in by port" "$wrong"
	ip -n snd neigh del $SERVER dev s0
	ip -n rcv neigh del $CLIENT dev r0
}

# Jumbo packets take the twin's own copy of the function: that is said, and is no twin.
into_twin()
{
	local rc

	wrong=
	"$BIGTCP" exec --report "$tmp/r" -- "$L/freplace" "$HOOKS" "$OUT/loaders/part.bpf.o" 2>"$tmp/log"
	rc=$?
	[ $rc != 77 ] || { skip "freplace into a twin" "freplace is not to be had here"; return; }
	expect "status" $rc 0
	expect "host" "$(reported xdp host)" "twin moves headers"
	expect "part" "$(reported ext part)" "refused null"
	grep -q 'goes into a function of a twin' "$tmp/r" || wrong+="no reason: $(grep '"part"' "$tmp/r")"
	result "freplace into a twin: jumbo packets do not get there, and that is said" "$wrong"
}

cgroups()
{
	mkdir "$tmp/cg"
	trap 'rmdir "$tmp/cg/bigtcp-test-$$" 2>/dev/null' EXIT
	if ! mount -t cgroup2 none "$tmp/cg" 2>/dev/null; then
		skip "a cgroup's ingress and egress" "cgroup2 can't be mounted here"
		return
	fi
	cgroup "a cgroup's ingress" acct_in cgroup-ingress
	cgroup "a cgroup's egress" acct_out cgroup-egress
	umount "$tmp/cg"
}

xdp_tools()
{
	if ! command -v xdp-loader >/dev/null; then
		skip "xdp-loader and xdp-filter" "this host has no xdp-tools"
		return
	fi
	loader
	with_filter
}

# BT_SOME: names of these functions, for a slow machine
for f in ${BT_SOME:-iproute with_bpftool go_agent xdp_tools into_twin go_socket cgroups}; do
	$f
done
finish
