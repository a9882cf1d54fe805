# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Private networks for tests with traffic. A script that sources this calls net_private first; after that
# it is in namespaces of its own (mount, network, processes), with a bpffs and a /run/netns that nobody else
# sees, and all of it is gone when the script ends, however it ends.
#
# Two layouts, both with IPv6 and IPv4:
#   net_direct   snd (s0, 2001:db8:1::1) ---- (r0, 2001:db8:2::2) rcv
#   net_routed   snd (s0, 2001:db8:1::1) ---- (f0) fwd (f1) ---- (r0, 2001:db8:2::2) rcv
set -u
export LC_ALL=C
OUT=${OUT:-.output}
BIGTCP=$(realpath -m "${BIGTCP:-$OUT/bigtcp}")
# What the scripts that source this use.
TRAFFIC=$(realpath -m "$OUT/tools/traffic")
CORPUS=$(realpath -m "$OUT/corpus/clang-16")
export TRAFFIC CORPUS CLIENT=2001:db8:1::1 SERVER=2001:db8:2::2 CLIENT4=192.0.2.1 SERVER4=198.51.100.2

net_die()
{
	echo "Error: $*" >&2
	exit 2
}

# net_loaders: builds what is in loaders/, if there is a compiler (a VM's guest is given it); before net_private.
net_loaders()
{
	L=$(realpath -m "$OUT/loaders")
	export L
	[ -n "${BT_NET_INSIDE:-}" ] || ! command -v make >/dev/null || make -s -C selftests/net/loaders O="$L" >&2
}

# net_private SCRIPT ARG...: goes on in the namespaces described above. Sets $tmp, a folder there.
net_private()
{
	if [ "${BT_NET_INSIDE:-}" != "$0" ]; then
		[ "$(id -u)" = 0 ] || net_die "this needs root"
		mkdir -p /run/netns
		BT_NET_INSIDE=$0 exec unshare --mount --net --pid --fork --kill-child --mount-proc \
			--propagation private bash "$@"
	fi
	mount -t tmpfs netns /run/netns || net_die "no tmpfs for /run/netns"
	mount -t tmpfs tmp /mnt || net_die "no tmpfs for /mnt"
	# Not over the host's: what is below would count.
	while umount /sys/fs/bpf 2>/dev/null; do :; done
	mount -t bpf bpf /sys/fs/bpf || net_die "no bpffs"
	export tmp=/mnt
	# Copies, which nobody builds anew while they are used.
	cp "$BIGTCP" "$TRAFFIC" $tmp/ || net_die "run make first"
	BIGTCP=$tmp/$(basename "$BIGTCP") TRAFFIC=$tmp/traffic
	ip link set lo up
	# The first process of a PID namespace ignores signals that it has no trap for.
	trap 'exit 143' TERM
	trap 'exit 130' INT
}

# in_ns NS COMMAND...: `ip netns exec` would hide bpffs.
in_ns()
{
	local ns=$1

	shift
	nsenter --net="/run/netns/$ns" "$@"
}

# net_ns NS...: makes them, with buffers large enough for packets of 512 KiB.
net_ns()
{
	local ns

	for ns in "$@"; do
		ip netns add "$ns" || net_die "cannot make namespace $ns"
		in_ns "$ns" sh -c 'ip link set lo up
			echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
			echo 0 >/proc/sys/net/ipv6/conf/default/router_solicitations
			echo "4096 2097152 33554432" >/proc/sys/net/ipv4/tcp_rmem
			echo "4096 2097152 33554432" >/proc/sys/net/ipv4/tcp_wmem'
	done
}

# net_veth NS1 DEV1 NS2 DEV2: a pair, up.
net_veth()
{
	ip link add "$2" netns "$1" type veth peer name "$4" netns "$3" || net_die "no veth pair"
	in_ns "$1" ip link set "$2" up
	in_ns "$3" ip link set "$4" up
}

# net_addr NS DEV ADDRESS/LEN...
net_addr()
{
	local ns=$1 dev=$2 a

	shift 2
	for a in "$@"; do
		# IPv4 has no nodad, and takes none
		case $a in
		*:*) in_ns "$ns" ip addr add "$a" dev "$dev" nodad ;;
		*) in_ns "$ns" ip addr add "$a" dev "$dev" ;;
		esac
	done
}

# net_size SIZE NS DEV...: gso_max_size and gro_max_size, IPv6
net_size()
{
	local size=$1

	shift
	while [ $# -gt 0 ]; do
		in_ns "$1" ip link set "$2" gso_max_size "$size" gro_max_size "$size" ||
			net_die "$2 does not take a size of $size"
		shift 2
	done
}

net_direct()
{
	net_ns snd rcv
	net_veth snd s0 rcv r0
	net_addr snd s0 $CLIENT/64 $CLIENT4/24
	net_addr rcv r0 $SERVER/64 2001:db8:2::3/64 $SERVER4/24
	in_ns snd ip -6 route add default dev s0
	in_ns snd ip route add default dev s0
	in_ns rcv ip -6 route add default dev r0
	in_ns rcv ip route add default dev r0
}

# The sender's MTU is 8 lower, since a forwarding kernel counts the jumbo header in (ip6_forward).
net_routed()
{
	net_ns snd fwd rcv
	net_veth snd s0 fwd f0
	net_veth fwd f1 rcv r0
	net_addr snd s0 $CLIENT/64 $CLIENT4/24
	net_addr fwd f0 2001:db8:1::fe/64 192.0.2.254/24
	net_addr fwd f1 2001:db8:2::fe/64 198.51.100.254/24
	net_addr rcv r0 $SERVER/64 2001:db8:2::3/64 $SERVER4/24
	in_ns snd ip link set s0 mtu 1492
	in_ns snd ip -6 route add default via 2001:db8:1::fe
	in_ns snd ip route add default via 192.0.2.254
	in_ns rcv ip -6 route add default via 2001:db8:2::fe
	in_ns rcv ip route add default via 198.51.100.254
	in_ns fwd sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 1 >/proc/sys/net/ipv4/ip_forward'
}

# net_counters NS: the counters that tell of broken packets, one NAME VALUE a line.
net_counters()
{
	in_ns "$1" cat /proc/self/net/snmp6 /proc/self/net/snmp /proc/self/net/netstat | awk '
		NF == 2 { print; next } # snmp6
		$1 != group { group = $1; for (i = 2; i <= NF; i++) name[i] = $i; next }
		{ for (i = 2; i <= NF; i++) print substr($1, 1, length($1) - 1) name[i], $i }'
}

NET_BAD='Ip6InHdrErrors Ip6InTruncatedPkts Ip6InTooBigErrors Ip6InDiscards Ip6FragFails
Ip6OutDiscards Icmp6OutPktTooBigs Icmp6InPktTooBigs TcpInCsumErrors TcpInErrs UdpInCsumErrors
Ip6InAddrErrors Ip6InUnknownProtos TcpExtTCPHdrErrors'

# net_bad NS...: "NS NAME VALUE" of those that are not 0; must be silent.
net_bad()
{
	local ns

	for ns in "$@"; do
		net_counters "$ns" | awk -v ns="$ns" -v bad="$NET_BAD" '
			BEGIN { n = split(bad, a); for (i = 1; i <= n; i++) want[a[i]] = 1 }
			($1 in want) && $2 > 0 { print ns, $1, $2 }'
	done
}

# net_retrans NS: TCP segments sent again
net_retrans()
{
	net_counters "$1" | awk '$1 == "TcpRetransSegs" { print $2 }'
}

# twin_map PROG_ID: the id of the twin's state map (include/bigtcp/twin.h); nothing if it is no twin.
twin_map()
{
	local m

	for m in $(bpftool -j prog show id "$1" | jq -r '.map_ids[]?'); do
		[ "$(bpftool -j map show id "$m" | jq -r .name)" = bigtcp_twin ] || continue
		echo "$m"
		return
	done
}

# twin_state MAP_ID: "JUMBO LOST", its two counters
twin_state()
{
	# Two words of 32 bits, two of 64; bytes in the host's (little-endian) order.
	bpftool -j map dump id "$1" | jq -r '
		def hex: ltrimstr("0x") | explode
			| reduce .[] as $c (0; . * 16 + ($c | if . > 96 then . - 87 else . - 48 end));
		def num: reduce (reverse[] | hex) as $b (0; . * 256 + $b);
		.[0].value | "\(.[8:16] | num) \(.[16:24] | num)"'
}
