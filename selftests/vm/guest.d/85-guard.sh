# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The guard on this kernel: part of the net suite's script; and as a plain object in a chain of libxdp.
. selftests/vm/guest.sh

forge=.output/tools/forge

# dropped: packets that a guard nobody configured has dropped
dropped()
{
	bpftool -j map dump name guard_counts | jq '[.[].formatted.values[].value.dropped] | add // 0'
}

in_chain()
{
	local rc=0

	ip link add g0 type veth peer name g1 && ip link set g0 up && ip link set g1 up || return 1
	xdp-loader load -m skb g0 .output/bpf/guard_xdp.bpf.o -n guard_xdp || return 1
	$forge /proc/self/ns/net g1 beyond && $forge /proc/self/ns/net g1 mld
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(dropped)" = 1 ] && break
		sleep 0.3
	done
	[ "$(dropped)" = 1 ] || { bpftool map dump name guard_counts; rc=1; }
	xdp-loader unload g0 --all || rc=1
	ip link del g0
	return "$rc"
}

BT_GUARD_SHORT=1 bash selftests/net/guard.sh 2>"$tmp/err" || tap_failed=1
note_tail "$tmp/err"
if type -P xdp-loader >/dev/null; then
	try "guard: in a chain of libxdp" in_chain
else
	skip "guard: in a chain of libxdp" "no xdp-loader in the guest"
fi
finish
