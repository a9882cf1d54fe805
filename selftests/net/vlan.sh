#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins on jumbo packets with 802.1Q tags in the packet. Programs put the tags on and take them off: the first
# that bpf_skb_vlan_push() puts on stays in the metadata until there is a second, and goes into the packet
# then. With two, tc sees one in the packet; with three, two. veth takes them so, unsegmented.
#   snd (s0: push, [program]) ---- (r0: [program], count, pop) rcv
# Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh

BYTES=40000000

# flows NAME VLAN: "PACKETS BYTES" of TCP to the port in that VLAN; then the packets of no port
flows()
{
	bpftool -j map dump pinned "$PINS/$1/maps/flows" | jq -r --argjson vlan "$2" '
		def be: (. % 256) * 256 + (. / 256 | floor);
		def sum(f): [f] | add // 0;
		[.[].formatted] | [.[] | select(.key.proto == 6 and (.key.dport | be) == 5201 and
			(.key.vlan | be) == $vlan).values[].value] as $v |
		[.[] | select(.key.proto == 0).values[].value] as $none |
		"\(sum($v[].packets)) \(sum($v[].bytes)) \(sum($none[].packets))"'
}

# truth NAME: "PACKETS BYTES JUMBO TAGGED STACKED FAILED"
truth()
{
	bpftool -j map dump pinned "$PINS/$1/maps/truth_map" | jq -r '.[0].formatted.value |
		"\(.packets) \(.bytes) \(.jumbo) \(.tagged) \(.stacked) \(.failed)"'
}

# run NAME/PROG TRUTH VLAN: traffic; sets the differences of both accounts
run()
{
	local a b i d=()

	read -r -a a <<<"$(flows "${1%%/*}" "$3") $(truth "$2") $(jumbo_of "$1")"
	send $BYTES
	read -r -a b <<<"$(flows "${1%%/*}" "$3") $(truth "$2") $(jumbo_of "$1")"
	for i in "${!b[@]}"; do
		d+=($((b[i] - a[i])))
	done
	flow_packets=${d[0]} flow_bytes=${d[1]} none=${d[2]} packets=${d[3]} bytes=${d[4]}
	jumbo=${d[5]} tagged=${d[6]} stacked=${d[7]} failed=${d[8]} twin_jumbo=${d[9]} lost=${d[10]}
	seen="$packets packets, $jumbo of them jumbo; $(jq .gbps "$tmp/run") Gbit/s"
	above "jumbo packets at the hook" "$jumbo" 10
	expect "tags not put on or taken off" "$failed" 0
	no_bad snd rcv
}

# right TAGS: what is true of a twin's run; TAGS in the packet
right()
{
	expect "jumbo packets with a tag in them" "$tagged" "$jumbo"
	expect "... with two" "$stacked" "$([ "$1" = 2 ] && echo "$jumbo" || echo 0)"
	expect "packets of the flow" "$flow_packets" "$packets"
	expect "bytes of the flow" "$flow_bytes" "$bytes"
	expect "jumbo packets the twin saw" "$twin_jumbo" "$jumbo"
	expect "packets lost" "$lost" 0
	[ "$none" -lt 20 ] || wrong+="$none packets without a protocol; "
}

pop_at_receiver()
{
	in_ns rcv tc filter add dev r0 ingress prio 2 bpf da object-pinned "$PINS/wire_rcv/pop_all" ||
		net_die "no filter"
}

# The outermost tag is in the metadata, and the last one in the packet is the first that was put on: 100.
egress()
{
	local tags=$1

	hook_on snd s0 egress "wire_snd/push$((tags + 1))"
	hook_on snd s0 egress "$2" --place tail
	run "$2" wire_snd 100
	hook_off snd s0 egress
	hook_off snd s0 egress
}

# The program's verdict ends the chain of tcx; as a cls_bpf filter without direct action it does not.
ingress()
{
	local tags=$1

	hook_on snd s0 egress "wire_snd/push$((tags + 1))"
	in_ns rcv tc filter add dev r0 ingress prio 1 bpf object-pinned "$PINS/$2" || net_die "no filter"
	pop_at_receiver
	run "$2" wire_rcv 100
	in_ns rcv tc filter del dev r0 ingress
	hook_off snd s0 egress
}

need_hbh "twins on tagged packets"
net_direct
net_size 185000 snd s0 rcv r0
# A packet with a tag in it has the tag's protocol, and the kernel takes IPv4's limit for it. Above that it would
# segment the packet in software, and leave the jumbo header in (ipv6_hopopt_jumbo_remove).
cp "$OUT/tools/ipv4size" "$tmp/" || net_die "run make tests first"
if ! in_ns snd "$tmp/ipv4size" s0 185000 2>"$tmp/err"; then
	skip "twins on tagged packets" "no gso_ipv4_max_size (Linux 6.3)"
	finish
	exit
fi
in_ns rcv tc qdisc add dev r0 clsact || net_die "no clsact"
build wire
for o in wire_snd:$tmp/wire.o wire_rcv:$tmp/wire.o plain:$CORPUS/flow_pcpu.bpf.o; do
	pin_obj "${o%%:*}" "${o#*:}" || net_die "$(cat "$tmp/log")"
done
pin_obj twin "$CORPUS/flow_pcpu.bpf.o" twin
result "the twin of flow_pcpu loads" "$([ -n "$(twin_map "$(prog_id twin/flow_pcpu)")" ] || echo "it is none: $(cat "$tmp/log")")"

send $BYTES
result "without tags" "$wrong"

ingress 1 plain/flow_pcpu
expect "packets that the original missed" $((packets - flow_packets)) "$jumbo"
result "ingress, one tag: the original misses jumbo packets" "$wrong"
for t in 1 2; do
	ingress $t twin/flow_pcpu
	right $t
	result "ingress, tags in the packet: $t" "$wrong"
done

# What the egress hook leaves in the packet is taken off at the receiver.
pop_at_receiver
for t in 1 2; do
	egress $t twin/flow_pcpu
	right $t
	result "egress, tags in the packet: $t" "$wrong"
done
finish
