# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# BIG TCP over veth between two namespaces: without a program, with the naive firewall as it is,
# and with its twin. Speeds mean nothing under emulation: the firewall's own counters tell.
. selftests/vm/guest.sh

obj=.output/corpus/clang-16/fw_naive.bpf.o
if [ ! -e $obj ] || [ ! -x .output/bigtcp ]; then
	not_ok "bigtcp and the naive firewall are in the guest"
	finish
fi

in_a()
{
	nsenter --net=/run/netns/bt_a "$@"
}

in_b()
{
	nsenter --net=/run/netns/bt_b "$@"
}

# one NAMESPACE DEVICE ADDRESS
one()
{
	ip -n "$1" addr add "$3/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" up gso_max_size 185000 gro_max_size 185000
}

setup()
{
	ip netns add bt_a && ip netns add bt_b &&
		ip link add bt0 netns bt_a type veth peer name bt1 netns bt_b &&
		one bt_a bt0 2001:db8::1 && one bt_b bt1 2001:db8::2 &&
		in_a ping -6 -c 1 -W 5 2001:db8::2
}

# transfer SIZE|SECONDS OF IPERF3...: from a to b.
transfer()
{
	local server rc

	nsenter --net=/run/netns/bt_b timeout 60 iperf3 -s -1 -p 5201 >/dev/null 2>&1 &
	server=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		in_b ss -Hltn 'sport = 5201' | grep -q . && break
		sleep 0.3
	done
	in_a timeout 40 iperf3 -6 -c 2001:db8::2 -p 5201 -l 512K "$@"
	rc=$?
	kill $server 2>/dev/null
	wait $server 2>/dev/null
	return $rc
}

# booked SLOT packets|bytes: what the firewall has counted in this slot of its counters.
booked()
{
	bpftool -j map dump name fw_counters >"$tmp/map" 2>/dev/null &&
		jq --argjson slot "$1" "[.[].formatted | select(.key == \$slot) | .values[].value.$2] | add" \
			"$tmp/map"
}
# Slots of fw_naive.bpf.c: its rule for iperf3's port, and what it drops for the IP protocol.
port=1 proto=12

# counter NAME: one of the IPv6 counters of namespace b.
counter()
{
	in_b sed -n "s/^$1[[:space:]]*//p" /proc/net/snmp6
}

try "two namespaces, veth with BIG TCP sizes" setup || finish
errors=$(counter Ip6InHdrErrors)
try "TCP without a program" transfer -n 24M

# Dropped packets of another kind (MLD) are small: bytes tell whether one was a jumbo packet.
try "the naive firewall is attached as it is" \
	.output/bigtcp -n bt_b attach bt1 ingress "$obj" --prog fw_naive --plain
transfer -t 2 >"$tmp/naive" 2>&1
note "naive firewall: dropped $(booked $proto packets) packets, $(booked $proto bytes) bytes"
try "the naive firewall drops jumbo packets" test "$(booked $proto bytes)" -gt 65536
try "it is detached" .output/bigtcp -n bt_b detach bt1 ingress

try "its twin is attached" .output/bigtcp -n bt_b attach bt1 ingress "$obj" --prog fw_naive
# What iperf3 has written last may still be in its socket when it closes: the receiver's count counts.
try "TCP through the twin" transfer -n 24M -J
received=$(jq '.end.sum_received.bytes' "$tmp/try")
packets=$(booked $port packets) bytes=$(booked $port bytes) dropped=$(booked $proto bytes)
note "twin: let in $packets packets, $bytes bytes of $received received; dropped $dropped bytes"
try "enough was received" test "${received:-0}" -ge $((16 << 20))
try "the twin books all bytes under their port" test "${bytes:-0}" -ge "${received:-1}"
try "most of them came in jumbo packets" test "${bytes:-0}" -gt $((${packets:-0} * 65536))
try "the twin drops no jumbo packet" test "${dropped:-99999}" -lt 65536
try "no packet with a bad header" test "$(counter Ip6InHdrErrors)" = "$errors"
try "it is detached too" .output/bigtcp -n bt_b detach bt1 ingress

ip netns del bt_a
ip netns del bt_b
finish
