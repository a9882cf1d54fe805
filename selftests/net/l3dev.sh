#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins on a device without link-layer header, where IPv6 is at offset 0:
#   snd (s0) ---- (f0) fwd (t0) ==tun== (t1) rcv
# The hook at t0 egress sees jumbo packets before they are segmented, the one at t1 ingress those that GRO
# makes. Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh

BYTES=20000000
# Its bytes 4 and 5 are the EtherType of IPv6, or of a VLAN tag, where Ethernet has one: bytes 12 and 13.
SRC_IPV6=2001:db8:86dd::1
SRC_VLAN=2001:db8:8100::1

start_relay()
{
	cp "$OUT/tools/tunrelay" "$tmp/" || net_die "run make tests first"
	"$tmp/tunrelay" -g -t 60 fwd t0 rcv t1 >"$tmp/relay" 2>&1 &
	relay=$!
	for _ in $(seq 50); do
		grep -q ready "$tmp/relay" && return
		kill -0 $relay 2>/dev/null || break
		sleep 0.1
	done
	skip "twins on an L3 device" "no tun device: $(tail -n 1 "$tmp/relay")"
	finish
	exit
}

topology()
{
	net_ns snd fwd rcv
	net_veth snd s0 fwd f0
	start_relay
	# Room for what a jumbo packet is segmented into.
	in_ns fwd ip link set t0 mtu 1500 txqueuelen 20000 up
	in_ns rcv ip link set t1 mtu 1500 txqueuelen 20000 up
	net_addr snd s0 $CLIENT/64 $SRC_IPV6/64 $SRC_VLAN/64
	net_addr fwd f0 2001:db8:1::fe/64
	net_addr fwd t0 2001:db8:2::fe/64
	net_addr rcv t1 $SERVER/64
	in_ns snd ip link set s0 mtu 1492
	in_ns snd ip -6 route add default via 2001:db8:1::fe
	in_ns rcv ip -6 route add default dev t1
	in_ns fwd ip -6 route add 2001:db8:86dd::/48 dev f0
	in_ns fwd ip -6 route add 2001:db8:8100::/48 dev f0
	in_ns fwd sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
	net_size 185000 snd s0 fwd f0
	in_ns rcv ip link set t1 gro_max_size 185000 || net_die "t1 takes no gro_max_size"
	# A packet is written to tun at a time: without this GRO would be over after each.
	in_ns rcv unshare --mount sh -c 'mount -t sysfs sysfs /sys &&
		echo 200000 >/sys/class/net/t1/gro_flush_timeout &&
		echo 1 >/sys/class/net/t1/napi_defer_hard_irqs' || net_die "no GRO on t1"
}

# rules NAME: "PACKETS BYTES" that the access list has booked on the port, and packets on none
rules()
{
	bpftool -j map dump pinned "$PINS/$1/maps/rules" | jq -r 'map(.formatted | { (.key | tostring): .value }) | add |
		"\(."5201".packets) \(."5201".bytes) \(."0".packets)"'
}

# truth NAME: "PACKETS BYTES JUMBO MARKED"
truth()
{
	bpftool -j map dump pinned "$PINS/$1/maps/truth_map" |
		jq -r '.[0].formatted.value | "\(.packets) \(.bytes) \(.jumbo) \(.marked)"'
}

# account NAME/PROG: what it and the truth say now
account()
{
	echo "$(rules "${1%%/*}") $(truth wire_here) $(jumbo_of "$1")"
}

# run NS DEV HOOK NAME/PROG: traffic with the program there, and the truth beside it. Sets
# $acl_packets, $acl_bytes, $none (packets on port 0), $packets, $bytes, $jumbo, $marked, $twin_jumbo, $lost.
run()
{
	local ns=$1 dev=$2 hook=$3 prog=$4 a b i d=()

	hook_on "$ns" "$dev" "$hook" wire_here/truth
	hook_on "$ns" "$dev" "$hook" "$prog" --place tail
	read -r -a a <<<"$(account "$prog")"
	send $BYTES
	read -r -a b <<<"$(account "$prog")"
	hook_off "$ns" "$dev" "$hook"
	hook_off "$ns" "$dev" "$hook"
	for i in "${!b[@]}"; do
		d+=($((b[i] - a[i])))
	done
	acl_packets=${d[0]} acl_bytes=${d[1]} none=${d[2]} packets=${d[3]} bytes=${d[4]} jumbo=${d[5]}
	marked=${d[6]} twin_jumbo=${d[7]} lost=${d[8]}
	seen="$packets packets, $jumbo of them jumbo; $(jq .gbps "$tmp/run") Gbit/s"
	above "jumbo packets at the hook" "$jumbo" 10
}

# What is true of a twin's run.
right()
{
	expect "packets of the port" "$acl_packets" "$packets"
	expect "bytes of the port" "$acl_bytes" "$bytes"
	expect "jumbo packets the twin saw" "$twin_jumbo" "$jumbo"
	expect "packets lost" "$lost" 0
	# MLD, neighbours
	[ "$none" -lt 20 ] || wrong+="$none packets without a port; "
	no_bad snd fwd rcv
}

original_is_wrong()
{
	run fwd t0 egress plain/l3_acl
	expect "packets of the port that it missed" $((packets - acl_packets)) "$jumbo"
	[ "$none" -ge "$jumbo" ] || wrong+="$none packets without a port, of $jumbo; "
	above "bytes of the port that it missed" $((bytes - acl_bytes)) 65536
	result "egress: the original books jumbo packets on no port" "$wrong"
}

mark_is_written()
{
	local a b

	hook_on rcv t1 ingress wire_there/truth
	read -r -a a <<<"$(truth wire_there)"
	run fwd t0 egress twin/l3_mark
	read -r -a b <<<"$(truth wire_there)"
	hook_off rcv t1 ingress
	right
	above "packets that came" $((b[0] - a[0])) 0
	expect "marked, of those that came" $((b[3] - a[3])) $((b[0] - a[0]))
	expect "marked before" "$marked" 0
	result "egress: a twin that writes, l3_mark" "$wrong"
}

# source ADDRESS WHAT: traffic from there
source_like()
{
	in_ns snd ip -6 route replace default via 2001:db8:1::fe src "$1"
	run fwd t0 egress twin/l3_acl
	right
	result "egress: l3_acl, a source address like $2" "$wrong"
	in_ns snd ip -6 route replace default via 2001:db8:1::fe
}

# audit_says NS DEV HOOK NAME/PROG: the verdict on the program that is attached there
audit_says()
{
	hook_on "$1" "$2" "$3" "$4"
	timeout 60 "$BIGTCP" -n "$1" audit "$2" -j >"$tmp/audit" 2>"$tmp/err"
	hook_off "$1" "$2" "$3"
	jq -r '[.[].verdict] | join(" ")' "$tmp/audit"
}

not_safe()
{
	[ -n "$1" ] && [ "$1" != safe ] || echo "it misreads jumbo packets there"
}

need_hbh "twins on an L3 device"
topology
build wire
build l3_ports
for o in wire_here:$tmp/wire.o wire_there:$tmp/wire.o ports:$tmp/l3_ports.o plain:$CORPUS/l3_acl.bpf.o; do
	pin_obj "${o%%:*}" "${o#*:}" || net_die "$(cat "$tmp/log")"
done
pin_obj twin "$CORPUS/l3_acl.bpf.o" twin
result "twins of l3_acl and l3_mark load" "$([ -n "$(twin_map "$(prog_id twin/l3_acl)")" ] || echo "it is none: $(cat "$tmp/log")")"

send $BYTES
result "without a program" "$wrong"
original_is_wrong
run fwd t0 egress twin/l3_acl
right
result "egress: l3_acl" "$wrong"
run rcv t1 ingress twin/l3_acl
right
result "ingress, GRO: l3_acl" "$wrong"
mark_is_written
run rcv t1 ingress twin/l3_mark
right
result "ingress, GRO: a twin that writes, l3_mark" "$wrong"
source_like $SRC_IPV6 "the EtherType of IPv6"
source_like $SRC_VLAN "the EtherType of a VLAN tag"
verdict=$(audit_says fwd t0 egress ports/l3_ports)
seen="verdict: $verdict"
result "audit of a program on a tun device: not safe" "$(not_safe "$verdict")"
verdict=$(timeout 60 "$BIGTCP" audit --obj "$tmp/l3_ports.o" -j 2>"$tmp/err" | jq -r '.[0].verdict')
seen="verdict: $verdict"
result "audit of its object: not safe" "$(not_safe "$verdict")"

kill $relay
wait $relay
finish
