#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins of XDP programs in generic XDP on veth, where jumbo packets arrive whole, on real TCP traffic: what they
# let pass, drop, send back (XDP_TX) and redirect. The programs' books are held against what was sent and
# received. The originals first, to show what they get wrong.
#   snd (s0) ---- (r0) rcv
#   snd (s0) ---- (w0) sw (w1) ---- (r0) rcv, with a bridge in sw and (w2) ---- (l0) lb on it
# Prints TAP. Root. BT_BYTES: bytes of a flow; BT_SOME: the tests to run, by the names at the end.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh
# shellcheck source=selftests/net/lib_books.sh
. selftests/net/lib_books.sh

BYTES=${BT_BYTES:-40000000}

# on NS DEV NAME/PROG; off NS DEV
on()
{
	in_ns "$1" "$BIGTCP" attach "$2" xdp --mode skb --pinned "$PINS/$3" >"$tmp/log" 2>&1 ||
		net_die "cannot attach $3 to $2: $(cat "$tmp/log")"
}

off()
{
	in_ns "$1" "$BIGTCP" detach "$2" xdp >"$tmp/log" 2>&1 || net_die "cannot detach: $(cat "$tmp/log")"
}

# stalls NAME: a flow that gets nowhere near what it sends; to $tmp/run
stalls()
{
	timeout 25 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -t 2 -d 0 -p "${1:-5201}" >"$tmp/run" 2>&1
	wrong=
	expect "all bytes came" "$(jq '.flows[0].received == .flows[0].sent' "$tmp/run")" false
}

# jumbo NAME/PROG: packets took the jumbo path and none was lost
jumbo()
{
	local j l

	read -r j l <<<"$(jumbo_of "$1")"
	above "jumbo packets" "$j" 10
	expect "packets lost" "$l" 0
	seen="$j jumbo packets"
}

fw()
{
	local bytes packets

	pin_obj fwplain "$CORPUS/x_fw.bpf.o" || net_die "$(cat "$tmp/log")"
	on rcv r0 fwplain/x_fw
	stalls
	off rcv r0
	above "bytes dropped for their protocol" "$(book fwplain xfw_stats .values[].value.bytes '. == 2')" 65536
	result "DROP: the firewall as it is drops jumbo packets of an open port" "$wrong"

	pin_obj fw "$CORPUS/x_fw.bpf.o" twin || net_die "$(cat "$tmp/log")"
	on rcv r0 fw/x_fw
	send "$BYTES"
	jumbo fw/x_fw
	no_bad snd rcv
	bytes=$(book fw xfw_rules .value.bytes '.port == 20756 and .proto == 6') # 5201 in network order
	packets=$(book fw xfw_rules .value.packets '.port == 20756 and .proto == 6')
	# 14 of Ethernet, 40 of IPv6, 32 of TCP with timestamps, 8 more in the SYN
	expect "bytes booked under the port, less headers" $((bytes - 86 * packets - 8)) \
		"$(jq '.flows[0].received + .flows[0].bytes_retrans' "$tmp/run")"
	expect "bytes dropped for their protocol" "$(book fw xfw_stats .values[].value.bytes '. == 2')" 0
	result "PASS: its twin lets them in and books every byte" "$wrong"

	wrong=
	timeout 25 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 8080 -n 1000 >"$tmp/run" 2>&1
	expect "status of a connection to a closed port" $? 2
	two_flows fw/x_fw "$PINS/fw/maps/xfw_rules" 01 bb 06 00
	off rcv r0
	above "bytes dropped for their port" "$(book fw xfw_stats .values[].value.bytes '. == 3')" 0
	result "DROP: and drops those of a port that is closed, while another flow goes on" "$wrong"
}

# Programs that let everything of the flow pass.
others()
{
	local file prog

	while read -r file prog; do
		wrong=
		if ! pin_obj "$prog" "$CORPUS/$file.bpf.o" twin; then
			# An older kernel may not have what the program needs.
			if bpftool prog loadall "$CORPUS/$file.bpf.o" "$PINS/plain_$prog" >"$tmp/plain" 2>&1; then
				result "PASS: $prog has a twin" "$(cat "$tmp/log")"
			else
				skip "PASS: $prog" "the kernel does not load it"
			fi
			continue
		fi
		on rcv r0 "$prog/$prog"
		send "$BYTES"
		off rcv r0
		jumbo "$prog/$prog"
		no_bad snd rcv
		result "PASS: $prog lets the flow pass" "$wrong"
	done <<-END
		x_flow x_flow
		x_frags x_frags
		x_meta x_meta
		x_tail x_tail
		x_subprog x_subprog
		x_capture x_capture
		x_dynptr x_dynptr
	END
}

# encap_until CONDITION: of j, jumbo packets, and l, those of them lost; or 10 s
encap_until()
{
	local end=$((SECONDS + 10))

	while [ $SECONDS -lt $end ]; do
		read -r j l <<<"$(jumbo_of encap/x_encap)"
		(($1)) && return
		sleep 0.02
	done
	return 1
}

# A tunnel can't hold jumbo packets: the flow's packets are sent into one when it is under way.
encap()
{
	local j l flow from tried=

	pin_obj encap "$CORPUS/x_encap.bpf.o" twin || net_die "$(cat "$tmp/log")"
	# value of port 443, for later
	bpftool -j map lookup pinned "$PINS/encap/maps/xen_reals" key hex bb 01 |
		jq -r '.value | map(ltrimstr("0x")) | join(" ")' >"$tmp/real"
	bpftool map delete pinned "$PINS/encap/maps/xen_reals" key hex bb 01
	on rcv r0 encap/x_encap
	timeout 100 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 443 -t 90 -d 0 >"$tmp/run" 2>&1 &
	flow=$!
	wrong=
	# A flow that had no jumbo packet under way just then stalls without one being lost: again.
	for _ in 1 2 3 4 5 6; do
		# shellcheck disable=SC2034 # in the condition
		read -r from _ <<<"$(jumbo_of encap/x_encap)"
		encap_until 'j >= from + 20'
		[ -n "$tried" ] || expect "packets lost before" "$l" 0
		tried=yes
		# shellcheck disable=SC2046 # bytes
		bpftool map update pinned "$PINS/encap/maps/xen_reals" key hex bb 01 value hex $(cat "$tmp/real")
		encap_until 'l > 0' && break
		bpftool map delete pinned "$PINS/encap/maps/xen_reals" key hex bb 01
	done
	kill $flow
	wait $flow
	off rcv r0
	read -r j l <<<"$(jumbo_of encap/x_encap)"
	above "jumbo packets" "$j" 10
	above "jumbo packets lost" "$l" 0
	seen="$j jumbo packets, $l of them lost"
	result "TX: x_encap drops and counts jumbo packets, which no tunnel can hold" "$wrong"
}

# slot MAP SLOT VALUE [NS]: a device's index, or a CPU's queue length; in the device's namespace
slot()
{
	# shellcheck disable=SC2046 # bytes
	in_ns "${4:-rcv}" bpftool map update pinned "$1" key hex $(le32 "$2") value hex $(le32 "$3")
}

le32()
{
	printf '%02x %02x %02x %02x\n' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255))
}

redirect_cpu()
{
	if [ "$(nproc --all)" -lt 2 ]; then
		skip "REDIRECT: to another CPU" "there is none"
		return
	fi
	pin_obj rdplain "$CORPUS/x_redir.bpf.o" || net_die "$(cat "$tmp/log")"
	slot "$PINS/rdplain/maps/xrd_cpus" 1 192
	on rcv r0 rdplain/x_redir_cpu
	send "$BYTES"
	off rcv r0
	above "packets of no known protocol" "$(book rdplain xrd_others .values[].value '. == 0')" 10
	result "REDIRECT: x_redir_cpu as it is does not find the jumbo packets' port" "$wrong"

	pin_obj rd "$CORPUS/x_redir.bpf.o" twin || net_die "$(cat "$tmp/log")"
	slot "$PINS/rd/maps/xrd_cpus" 1 192
	on rcv r0 rd/x_redir_cpu
	send "$BYTES"
	off rcv r0
	jumbo rd/x_redir_cpu
	no_bad snd rcv
	redirected rd
	result "REDIRECT: its twin hands them to the other CPU, and all of the flow arrives" "$wrong"
}

# redirected NAME: every byte of the flow is under its port
redirected()
{
	local bytes packets

	bytes=$(book "$1" xrd_ports .value.bytes '. == 5201')
	packets=$(book "$1" xrd_ports .value.packets '. == 5201')
	expect "bytes booked under the port, less headers" $((bytes - 86 * packets - 8)) \
		"$(jq '.flows[0].received + .flows[0].bytes_retrans' "$tmp/run")"
}

mac()
{
	in_ns "$1" ip -j link show "$2" | jq -r '.[0].address'
}

# One leg: the balancer gets what is sent to the service's address and sends it on to the server, which has that
# address too (direct server return). Client, server and balancer are on one switch.
net_switch()
{
	local ns

	net_ns snd rcv sw lb
	net_veth snd s0 sw w0
	net_veth rcv r0 sw w1
	net_veth lb l0 sw w2
	# shellcheck disable=SC2016 # the inner shell's
	in_ns sw sh -c 'ip link add br0 type bridge && ip link set br0 up
		for d in w0 w1 w2; do ip link set $d master br0; done'
	net_size 185000 snd s0 rcv r0 lb l0 sw w0 sw w1 sw w2
	net_addr snd s0 $CLIENT/64
	net_addr rcv r0 2001:db8:1::2/64
	net_addr rcv lo $SERVER/128
	in_ns snd ip -6 route add $SERVER dev s0
	in_ns snd ip -6 neigh add $SERVER lladdr "$(mac lb l0)" dev s0
}

# balancer NAME: gets the server, and is put on its device
balancer()
{
	local i maps=$PINS/$1/maps vip='20 01 0d b8 00 02 00 00 00 00 00 00 00 00 00 02'

	for i in 0 1 2 3 4 5 6 7; do
		# addr6: the service's own; addr4: 0; the server's MAC
		# shellcheck disable=SC2046,SC2086 # bytes
		bpftool map update pinned "$maps/xlb_reals" key hex $(le32 $i) \
			value hex $vip 00 00 00 00 $(mac rcv r0 | tr : " ") 00 00 || net_die "no real server"
	done
	on lb l0 "$1/x_lb_tx"
}

tx()
{
	local bytes packets

	pin_obj lbplain "$CORPUS/x_lb_tx.bpf.o" || net_die "$(cat "$tmp/log")"
	balancer lbplain
	stalls 443
	off lb l0
	above "bytes dropped" "$(book lbplain xlb_counts .values[].value.bytes '. == 8')" 65536
	result "TX: the balancer as it is drops jumbo packets" "$wrong"

	pin_obj lb "$CORPUS/x_lb_tx.bpf.o" twin || net_die "$(cat "$tmp/log")"
	balancer lb
	send "$BYTES" -p 443
	off lb l0
	jumbo lb/x_lb_tx
	no_bad snd rcv lb
	packets=$(book lb xlb_counts .values[].value.packets '. < 8')
	bytes=$(book lb xlb_counts .values[].value.bytes '. < 8')
	expect "bytes sent back, less headers" $((bytes - 86 * packets - 8)) \
		"$(jq '.flows[0].received + .flows[0].bytes_retrans' "$tmp/run")"
	expect "bytes dropped" "$(book lb xlb_counts .values[].value.bytes '. == 8')" 0
	result "TX: its twin sends them on, and all of the flow arrives" "$wrong"
}

# Generic XDP hands no packet to another device that is larger than its MTU (xdp_ok_fwd_dev()). Above 65535 only
# loopback has one: a packet that it sends, it receives, and with the MAC address of the packet's first device
# it is one for this host.
net_loop()
{
	in_ns rcv ip link set lo mtu 250000 address "$(mac rcv r0)" || net_die "loopback takes no such MTU"
}

# redirect_load NAME PROG [twin]: with an entry for the port that names loopback, by index and slot
redirect_load()
{
	local dev

	pin_obj "$1" "$CORPUS/x_redir.bpf.o" "${3:-}" || net_die "$(cat "$tmp/log")"
	dev=$(in_ns rcv ip -j link show lo | jq '.[0].ifindex')
	# shellcheck disable=SC2046 # bytes: index, slot, no MAC, two counters
	bpftool map update pinned "$PINS/$1/maps/xrd_ports" key hex 51 14 value hex $(le32 "$dev") \
		$(le32 2) 00 00 00 00 00 00 00 00 $(le32 0) $(le32 0) $(le32 0) $(le32 0)
	slot "$PINS/$1/maps/xrd_devs" 2 "$dev"
	on rcv r0 "$1/$2"
}

redirect_dev()
{
	local prog=$1 before

	redirect_load "plain_$prog" "$prog"
	send "$BYTES"
	off rcv r0
	above "packets of no known protocol" "$(book "plain_$prog" xrd_others .values[].value '. == 0')" 10
	result "REDIRECT: jumbo packets escape $prog as it is" "$wrong"

	redirect_load "$prog" "$prog" twin
	before=$(in_ns rcv ip -j -s link show lo | jq '.[0].stats64.rx.packets')
	send "$BYTES"
	off rcv r0
	jumbo "$prog/$prog"
	no_bad snd rcv
	redirected "$prog"
	expect "packets that the other device got" \
		$(($(in_ns rcv ip -j -s link show lo | jq '.[0].stats64.rx.packets') - before)) \
		"$(book "$prog" xrd_ports .value.packets '. == 5201')"
	result "REDIRECT: its twin hands them to another device, and all of the flow arrives" "$wrong"
}

need_hbh "XDP programs on traffic"
net_direct
net_size 185000 snd s0 rcv r0
some fw
some others
some encap
some redirect_cpu
net_loop
some redirect_dev x_redir
some redirect_dev x_redir_map
ip netns del snd
ip netns del rcv
net_switch
some tx
finish
