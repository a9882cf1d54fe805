# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2015,SC2329 # the tests are called by name
# bigtcp preflight with kinds of devices, qdiscs and faults that an ordinary host may lack.
#   a (a0) ---- (b0) b
exec 2>&1
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh
. selftests/net/lib_preflight.sh
FW=$CORPUS/fw_naive.bpf.o

net_ns a b
net_veth a a0 b b0

kernel_has()
{
	local major minor

	IFS=.- read -r major minor _ <<<"$(uname -r)"
	[ "$major" -gt "$1" ] || { [ "$major" -eq "$1" ] && [ "$minor" -ge "$2" ]; }
}

# A vlan on a bond on a veth, whose other end is elsewhere: what is below all the way, its programs and qdiscs.
stacked()
{
	local rc

	in_ns a ip link add bond0 type bond mode active-backup && in_ns a ip link set a0 down &&
		in_ns a ip link set a0 master bond0 && in_ns a ip link set bond0 up &&
		in_ns a ip link add link bond0 name va type vlan id 5 && in_ns a ip link set va up &&
		in_ns a tc qdisc add dev a0 clsact &&
		in_ns a tc filter add dev a0 egress bpf da obj "$FW" sec tc &&
		in_ns a tc qdisc replace dev a0 root tbf rate 1gbit burst 5kb limit 3000 &&
		pf a 3 va --only-ipv6 && row stack warning 'bond0 below va: bond' &&
		row stack warning 'a0 below va: veth' && row stack warning 'b0 opposite va' &&
		row unsafe-program refuse 'a0 fw_naive .*egress' && row qdisc warning 'a0 tbf .*burst' &&
		in_ns a tc qdisc del dev a0 clsact && in_ns a tc qdisc del dev a0 root &&
		net_size 100000 a a0 a bond0 a va b b0 && pf a 0 bond0 --only-ipv6 --size 100000 &&
		only stack ok && row stack ok 'va above bond0' && row stack ok 'a0 below bond0' &&
		row unsafe-program ok && only qdisc ok
	rc=$?
	in_ns a ip link del va
	in_ns a ip link del bond0
	in_ns a ip link set a0 up
	net_size 65536 a a0 b b0
	return $rc
}

ipvlan()
{
	local rc

	in_ns a ip link add link a0 name iv0 type ipvlan mode l2 || { echo "no ipvlan"; return 77; }
	in_ns a tc qdisc replace dev a0 root fq && pf a 0 iv0 --only-ipv6 &&
		row stack warning 'a0 below iv0' && row stack warning 'b0 opposite iv0' && only qdisc ok
	rc=$?
	in_ns a tc qdisc del dev a0 root
	in_ns a ip link del iv0
	return $rc
}

# The programs of both ends are at the first one, and are seen from either.
netkit()
{
	local rc peer

	in_ns a ip link add k0 type netkit 2>"$tmp/nk" || { cat "$tmp/nk"; echo "no netkit"; return 77; }
	peer=$(in_ns a ip -o link show | sed -n 's/^[0-9]*: \([^@]*\)@k0:.*/\1/p')
	bpftool prog load "$CORPUS/fw_naive.bpf.o" /sys/fs/bpf/nkfw type classifier &&
		in_ns a "$OUT/tools/netkit" k0 primary /sys/fs/bpf/nkfw /sys/fs/bpf/nkfw-link &&
		pf a 3 "$peer" --only-ipv6 && row stack warning "k0 opposite $peer: netkit" &&
		row unsafe-program refuse 'k0 fw_naive .*netkit/primary'
	rc=$?
	rm -f /sys/fs/bpf/nkfw-link /sys/fs/bpf/nkfw
	in_ns a ip link del k0
	return $rc
}

# police BURST: at the ingress of a0
police()
{
	in_ns a tc qdisc replace dev a0 clsact && in_ns a tc filter add dev a0 ingress matchall \
		action police rate 1gbit burst "$1" conform-exceed drop
}

no_police()
{
	in_ns a tc qdisc del dev a0 clsact
}

policers()
{
	local rc

	police 20k && pf a 3 a0 --only-ipv6 && row qdisc refuse 'police has a burst of 20[0-9]{3} bytes'
	rc=$?
	no_police
	return $rc
}

# Before 6.4 ip6tables cuts off what a bridge hands to it; before 6.3 there is no BIG TCP for IPv4.
kernels()
{
	local rc want=0

	kernel_has 6 4 || want=3
	modprobe br_netfilter && in_ns a ip link add br0 type bridge && in_ns a ip link set a0 master br0 &&
		in_ns a sysctl -qw net.bridge.bridge-nf-call-ip6tables=1 && police 1m &&
		pf a $want a0 --only-ipv6 && only qdisc ok || return 1
	if [ $want = 3 ]; then
		row kernel refuse 'ip6tables sees the packets of the bridge.*eaafdaa3e922'
	else
		only kernel ok
	fi
	rc=$?
	no_police
	in_ns a ip link del br0
	rmmod br_netfilter
	[ $rc = 0 ] || return 1
	kernel_has 6 3 || { pf a 3 a0 --only-ipv4 && row hbh refuse 'makes no such packets.*6\.3'; }
}

t stacked "a vlan on a bond on a veth"
t ipvlan "ipvlan, and fq below it"
t netkit "netkit"
t policers "a policer whose bucket is too small"
t kernels "faults and lacks of this kernel"
finish
