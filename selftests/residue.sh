#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What a test run could leave behind on a host, one thing a line, sorted: namespaces, links, qdiscs,
# BPF objects, pins, congestion controls. Taken before and after a run, the two lists must be equal.
set -u
export LC_ALL=C

{
	ip netns list 2>/dev/null | awk '{ print "netns", $1 }'
	ip -o link show | awk -F': ' '{ print "link", $2 }'
	tc qdisc show | awk '{ sub(/ refcnt [0-9]+/, ""); print }'
	# systemd attaches programs of its own (sd_*) to control groups whenever a service starts.
	bpftool -j prog show 2>/dev/null |
		jq -r '.[]? | select((.name // "") | startswith("sd_") | not)
			| "bpf program \(.id) \(.type) \(.name // "-")"'
	bpftool -j link show 2>/dev/null |
		jq -r '.[]? | select(.type != "cgroup") | "bpf link \(.id) \(.type)"'
	find /sys/fs/bpf -mindepth 1 2>/dev/null | sed 's/^/pin /'
	tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control |
		sed '/^$/d; s/^/congestion control /'
} | sort
