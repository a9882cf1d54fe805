# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Many devices that come, go, and change under a daemon, and what that costs it. Sourced after lib_daemon.sh.
: "${tmp:?}" "${dpid=}"
SCALE_NS=${SCALE_NS:-16} # network namespaces for the other ends of the pairs
# shellcheck disable=SC2034 # of the scripts that source this
scale_next=0 # number of the next pair: none is given out twice

scale_namespaces()
{
	local i

	for ((i = 0; i < SCALE_NS; i++)); do
		ip netns add "c$i" || net_die "no namespace"
	done
}

# pairs N: makes them, bt0, bt1 ... here and p0, p1 ... in the namespaces in turn
pairs()
{
	local i end=$((scale_next + $1))

	for ((i = scale_next; i < end; i++)); do
		echo "link add bt$i up type veth peer name p$i netns c$((i % SCALE_NS))"
	done >"$tmp/batch"
	ip -batch "$tmp/batch" || net_die "cannot make pairs"
	scale_next=$end
}

# cpu_ticks: of the daemon, user and system, in clock ticks
cpu_ticks()
{
	awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$dpid/stat"
}

# memory FIELD: of the daemon, in kB: VmRSS, VmHWM
memory()
{
	awk -v f="$1:" '$1 == f { print $2 }' "/proc/$dpid/status"
}

fds()
{
	find "/proc/$dpid/fd" -mindepth 1 | wc -l
}

# first_ms: how long the daemon's first round took, in ms
first_ms()
{
	sed -n 's/^<7>round 1: .* \([0-9.]*\) ms$/\1/p' "$LOG"
}

# all_sized SIZE: every pair's end here, and in the namespaces, has this size. Says which has not.
all_sized()
{
	local i

	{
		ip -d -j link show type veth
		for ((i = 0; i < SCALE_NS; i++)); do
			ip -n "c$i" -d -j link show type veth
		done
	} | jq -es --argjson s "$1" 'add | map(select(.ifname) | select(.gso_max_size != $s or .gro_max_size != $s).ifname) |
		if . == [] then true else (.[:5] | tostring | halt_error(1)) end' >/dev/null 2>"$tmp/unsized"
}

# kept: of how many devices, here and in the namespaces, the kernel's map has sizes
kept()
{
	bpftool -j map dump pinned /sys/fs/bpf/bigtcp/v1/sizes | jq length
}

# settled PAIRS SIZE: the kernel's map has the ends of so many pairs and no others, and all are of this size. What is not so is
# in $tmp/kept and $tmp/unsized.
settled()
{
	kept >"$tmp/kept"
	[ "$(cat "$tmp/kept")" = $((2 * $1)) ] && all_sized "$2"
}

# The last round had nothing to do.
idle()
{
	[ "$(sed -n 's/^<7>round [0-9]*: .* 0 failed, \([0-9]*\) changes.*/\1/p' "$LOG" | tail -n 1)" = 0 ]
}

# churn N: N changes: of each ten, three pairs made, one end renamed twice, one moved to another namespace, one set down, and three
# pairs removed, oldest first. Renamed and moved ones are among the removed later.
churn()
{
	local i old gone=$scale_gone

	for ((i = 0; i < $1; i += 10)); do
		old=$((gone + 3))
		echo "link add bt$scale_next up type veth peer name p$scale_next netns c$((scale_next % SCALE_NS))"
		echo "link add bt$((scale_next + 1)) type veth peer name p$((scale_next + 1))"
		echo "link add bt$((scale_next + 2)) up type veth peer name p$((scale_next + 2)) netns c0"
		# moved while the daemon may be about to set it
		echo "link set p$((scale_next + 1)) netns c1"
		echo "link set bt$old down"
		echo "link set bt$old name btx$old"
		echo "link set btx$old name bt$old"
		echo "link del bt$gone"
		echo "link del bt$((gone + 1))"
		echo "link del bt$((gone + 2))"
		gone=$((gone + 3)) scale_next=$((scale_next + 3))
	done >"$tmp/batch"
	ip -batch "$tmp/batch" || net_die "churn failed"
	scale_gone=$gone
}
scale_gone=0
