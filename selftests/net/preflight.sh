#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp preflight: each check in its good and its bad state, with devices the host has.
#   a (a0) ---- (b0) b
# Prints TAP. Root. Namespaces, the cgroup and systemd's files are of its own.
# shellcheck disable=SC2015,SC2329 # the tests are called by name
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
TAB=$(realpath loader/core/preflight.tab.h)
net_private "$0" "$@"
. selftests/net/lib_tap.sh
# shellcheck source=selftests/net/lib_preflight.sh
. selftests/net/lib_preflight.sh
FW=$CORPUS/fw_naive.bpf.o

net_ns a b
net_veth a a0 b b0

# What this kernel does, seen live: on a host that is very busy a look may see nothing.
for _ in 1 2 3 4 5; do
	form=$("$BIGTCP" probe -j | jq -r .big_tcp.send.form)
	[ "$form" = unknown ] || break
done

# a preflight whose own look saw something
seen_live()
{
	for _ in 1 2 3 4 5; do
		pf "$@" || return 1
		row hbh warning 'no such packet was seen' >/dev/null || return 0
	done
}

# tc_bpf NS DEV ingress|egress OBJECT: a program as tc attaches it
tc_bpf()
{
	in_ns "$1" tc qdisc replace dev "$2" clsact &&
		in_ns "$1" tc filter add dev "$2" "$3" bpf da obj "$4" sec tc
}

# no_bpf NS DEV
no_bpf()
{
	in_ns "$1" tc qdisc del dev "$2" clsact
}

fresh()
{
	seen_live a 0 a0 && row tso-max ok 'driver veth' && row frags note '1428 bytes each' &&
		row stack warning 'b0 opposite a0: veth in another namespace.*bigtcp -n b enable b0' &&
		only tunnel ok && only native-xdp ok && row unsafe-program ok && only forward ok &&
		only qdisc ok && only link-file ok && only kernel ok &&
		if [ "$form" = hbh ]
		then row hbh note 'TCP starts 8 bytes later'
		else row hbh note 'length field is 0'
		fi
}

good()
{
	local rc

	in_ns a ip link set a0 mtu 9000 && in_ns b ip link set b0 mtu 9000 &&
		net_size 66000 a a0 b b0 && pf a 0 a0 --only-ipv6 --size 66000 &&
		only stack ok && only frags ok && pf a 0 a0 --only-ipv4 --size 66000 && row hbh ok 'IPv6 packets stay'
	rc=$?
	in_ns a ip link set a0 mtu 1500 && in_ns b ip link set b0 mtu 1500
	net_size 65536 a a0 b b0
	return $rc
}

drivers()
{
	local rc

	pf a 0 a0 --size 600000 && row tso-max warning 'the size becomes 524280' || return 1
	in_ns a ip tuntap add tap0 mode tap || return 1
	pf a 3 tap0 && row tso-max refuse 'takes no packet above 64 KiB'
	rc=$?
	in_ns a ip link del tap0
	return $rc
}

# Ports of a bridge: the bridge above, the other port beside, whose egress alone sees what a port receives.
bridge()
{
	local rc

	in_ns b ip link add br0 type bridge && in_ns b ip link add c0 type veth peer name c1 &&
		in_ns b ip link set b0 master br0 && in_ns b ip link set c0 master br0 &&
		tc_bpf b c0 ingress "$FW" && pf b 0 b0 && row stack warning 'br0 above b0: bridge' &&
		row stack warning 'c0 beside b0: .*bigtcp enable c0' && row stack warning 'a0 opposite b0' &&
		row unsafe-program ok && tc_bpf b c0 egress "$FW" && pf b 3 b0 &&
		row unsafe-program refuse 'c0 fw_naive .*egress.*: drops' &&
		no_row unsafe-program ingress && pf b 3 br0 && row stack warning 'b0 below br0' &&
		row stack warning 'a0 opposite br0'
	rc=$?
	in_ns b ip link del c0
	in_ns b ip link set b0 nomaster
	in_ns b ip link del br0
	return $rc
}

macvlan()
{
	local rc

	in_ns a ip link add mv0 link a0 type macvlan || { echo "no macvlan"; return 77; }
	in_ns a ip link set a0 xdpgeneric obj "$CORPUS/x_fw.bpf.o" sec xdp && pf a 0 mv0 &&
		row stack warning 'a0 below mv0: .*bigtcp enable a0' && row stack warning 'b0 opposite' &&
		row native-xdp warning 'a0 generic XDP' && in_ns a ip link set a0 xdpgeneric off &&
		pf a 0 a0 && row stack warning 'mv0 above a0: macvlan'
	rc=$?
	in_ns a ip link del mv0
	return $rc
}

tunnel()
{
	local rc

	in_ns a ip link add vx0 type vxlan id 7 dev a0 dstport 4789 || { echo "no vxlan"; return 77; }
	pf a 0 a0 && row tunnel note 'vx0 is a tunnel \(vxlan\)' && row stack note 'vx0 above a0: vxlan'
	rc=$?
	if [ $rc = 0 ] && [ "$form" = hbh ]; then
		pf a 3 vx0 && row tunnel refuse 'leave tunnels at 64 KiB' &&
			row stack warning 'a0 below vx0'
		rc=$?
		# kernels before that don't know their lower device's size refuse it themselves
		if [ $rc = 0 ] && in_ns a ip link set vx0 gso_max_size 100000 2>/dev/null; then
			pf a 3 a0 && row tunnel refuse 'set it back: ip link set vx0'
			rc=$?
		fi
	fi
	in_ns a ip link del vx0
	return $rc
}

xdp()
{
	local rc obj=$CORPUS/x_fw.bpf.o

	in_ns b ip link set b0 xdpdrv obj "$obj" sec xdp || return 1
	pf a "" a0 && row native-xdp warning 'native XDP.* on b0, the other end.*is off in this direction' &&
		no_row unsafe-program x_fw && pf b "" b0 && row native-xdp warning 'the other end cuts' &&
		in_ns b ip link set b0 xdpdrv off && in_ns b ip link set b0 xdpgeneric obj "$obj" sec xdp &&
		pf b 3 b0 && row native-xdp warning 'GRO is off' && row unsafe-program refuse 'xdp/generic'
	rc=$?
	in_ns b ip link set b0 xdp off
	in_ns b ip link set b0 xdpgeneric off
	return $rc
}

firewall()
{
	local rc

	tc_bpf a a0 ingress "$FW" && tc_bpf b b0 ingress "$FW" && pf a 3 a0 &&
		row unsafe-program refuse 'a0 fw_naive .*ingress.*: drops: .*bigtcp exec' &&
		row unsafe-program refuse 'b0 fw_naive .*ingress' && no_bpf a a0 && no_bpf b b0 &&
		tc_bpf b b0 egress "$FW" && pf a 0 a0 && row unsafe-program ok
	rc=$?
	no_bpf a a0 2>/dev/null
	no_bpf b b0 2>/dev/null
	return $rc
}

# What bigtcp itself did to it is safe; so are programs that skip the header. One that can't be shown to be is not.
twins()
{
	local rc

	in_ns a tc qdisc replace dev a0 clsact &&
		in_ns a "$BIGTCP" exec -- tc filter add dev a0 ingress bpf da obj "$FW" sec tc &&
		in_ns a tc filter add dev a0 egress bpf da obj "$CORPUS/correct.bpf.o" sec tc &&
		pf a 0 a0 && row unsafe-program ok '2 programs see its packets' &&
		in_ns a tc filter add dev a0 egress bpf da obj "$CORPUS/adj_room.bpf.o" sec tc &&
		pf a 3 a0 && row unsafe-program refuse 'adj_room.*: unknown: .*bigtcp audit'
	rc=$?
	no_bpf a a0
	return $rc
}

# A program of a cgroup counts if one of its processes is in this namespace.
cgroups()
{
	local rc cg=$tmp/cg top pid

	mkdir -p "$cg"
	mount -t cgroup2 none "$cg" 2>/dev/null || { echo "cgroup2 can't be mounted here"; return 77; }
	top=$(mktemp -d "$cg/bigtcp-preflight-XXXXXX") || return 1
	mkdir "$top/in" &&
		bpftool prog loadall "$CORPUS/cg_acct.bpf.o" /sys/fs/bpf/cg &&
		bpftool cgroup attach "$top" cgroup_inet_egress pinned /sys/fs/bpf/cg/cg_acct_out &&
		pf a "" a0 && no_row unsafe-program "$(basename "$top")"
	rc=$?
	nsenter --net=/run/netns/a sleep 600 &
	pid=$!
	echo $pid >"$top/in/cgroup.procs"
	if [ $rc = 0 ]; then
		pf a 3 a0 && row unsafe-program refuse "$(basename "$top")"
		rc=$?
	fi
	kill $pid
	wait $pid 2>/dev/null
	bpftool cgroup detach "$top" cgroup_inet_egress pinned /sys/fs/bpf/cg/cg_acct_out 2>/dev/null
	rm -rf /sys/fs/bpf/cg
	rmdir "$top/in" "$top"
	umount "$cg"
	return $rc
}

forwarding()
{
	local rc all=/proc/sys/net/ipv6/conf/all/forwarding

	in_ns a ip link add f0 type veth peer name f1 && in_ns a ip link set f0 mtu 1508 &&
		in_ns a ip link set f0 up && in_ns a sh -c "echo 1 >$all" && pf a 0 a0 &&
		only forward ok && in_ns a ip link set f0 mtu 1500 && pf a "" a0 || { rc=$?; }
	if [ -z "${rc:-}" ] && [ "$form" = hbh ]; then
		row forward refuse 'to f0 \(1500\).*: 1492' && pf a 0 a0 --only-ipv4 && only forward ok
		rc=$?
	fi
	in_ns a sh -c "echo 0 >$all"
	in_ns a ip link del f0
	return "${rc:-0}"
}

# More ports beside it than are looked at: that is said.
crowd()
{
	local i rc

	in_ns b ip link add br0 type bridge && in_ns b ip link set b0 master br0 || return 1
	for i in {1..70}; do
		echo "link add c$i type veth peer name d$i"
		echo "link set c$i master br0"
	done | in_ns b ip -batch -
	pf b 0 b0 --only-ipv6 && row stack warning ' 8 more devices .* too many' &&
		row stack warning 'c60 beside b0'
	rc=$?
	for i in {1..70}; do
		echo "link del c$i"
	done | in_ns b ip -batch -
	in_ns b ip link set b0 nomaster
	in_ns b ip link del br0
	return $rc
}

# qdisc OPTION...: at the root of a0
qdisc()
{
	in_ns a tc qdisc replace dev a0 root "$@"
}

queues()
{
	local rc

	qdisc tbf rate 1gbit burst 5kb limit 3000 || { echo "no tbf"; return 77; }
	pf a 0 a0 && row qdisc warning 'tbf .*burst of 5120 bytes: .*cut to pieces' &&
		qdisc tbf rate 1gbit burst 1mb limit 100000 && pf a 3 a0 &&
		row qdisc refuse 'tbf .*limit of 100000 bytes: .*dropped' &&
		qdisc tbf rate 1gbit burst 1mb limit 1000000 && pf a 0 a0 &&
		row qdisc ok 'limits in bytes .* are above 196608' &&
		qdisc bfifo limit 100000 && pf a 3 a0 && row qdisc refuse 'bfifo .*limit of 100000' &&
		qdisc handle 1: htb default 1 &&
		in_ns a tc class add dev a0 parent 1: classid 1:1 htb rate 10mbit burst 5k &&
		pf a 0 a0 && row qdisc note 'htb 1:1 has a (c)?burst of [0-9]+ bytes'
	rc=$?
	in_ns a tc qdisc del dev a0 root
	return $rc
}

files()
{
	local f=$ROOT/etc/systemd/network/50-test.link rc

	printf '[Match]\nDriver=veth\n\n[Link]\nGenericSegmentOffloadMaxBytes=65536\n' >"$f"
	echo "Ubuntu 6.8.0-45.45-generic 6.8.12" >"$ROOT/proc/version_signature"
	pf a 0 a0 --only-ipv4 && row link-file warning '50-test.link: GenericSegmentOffloadMaxBytes=65536' &&
		row kernel warning "IPv4 packets are cut in software.*e609c959a939" &&
		printf '[Match]\nDriver=ixgbe\n\n[Link]\nGenericSegmentOffloadMaxBytes=65536\n' >"$f" &&
		pf a 0 a0 && only link-file ok && row kernel ok 'Linux 6.8.12'
	rc=$?
	rm -f "$f" "$ROOT/proc/version_signature"
	return $rc
}

# What can't be looked at is never ok.
blind()
{
	in_ns a setpriv --inh-caps=-all --bounding-set=-all "$BIGTCP" preflight -j a0 >"$rows" 2>"$tmp/err"
	[ $? = 3 ] || { cat "$rows" "$tmp/err"; return 1; }
	row hbh warning 'not looked at' && row unsafe-program refuse 'not looked at' && no_row hbh ' ok' &&
		row tso-max ok
}

errors()
{
	local rc

	in_ns a "$BIGTCP" preflight >/dev/null 2>"$tmp/err"
	[ $? = 1 ] && grep -q 'wants one device' "$tmp/err" || return 1
	in_ns a "$BIGTCP" preflight nodev0 2>"$tmp/err"
	rc=$?
	cat "$tmp/err"
	[ $rc = 2 ] && grep -q "no device 'nodev0'" "$tmp/err" || return 1
	in_ns a "$BIGTCP" preflight a0 --size 65536 2>"$tmp/err"
	[ $? = 1 ] && grep -q "no size above 65536" "$tmp/err"
}

table()
{
	in_ns a "$BIGTCP" preflight --root "$ROOT" a0 >"$tmp/text" || return 1
	head -n 1 "$tmp/text" | grep -q '^CHECK  *LEVEL  *DEV  *FOUND' || { cat "$tmp/text"; return 1; }
	awk 'length > 80 { print "too long: " $0; bad = 1 } END { exit bad }' "$tmp/text"
}

# Every check there is was seen, with a row that says that all is well and with another.
all_checks()
{
	local code bad=0

	while read -r code; do
		grep -qx "$code ok" "$seen_levels" || { echo "$code: never ok"; bad=1; }
		grep -v ' ok$' "$seen_levels" | grep -q "^$code " || { echo "$code: never anything but ok"; bad=1; }
	done < <(sed -n 's/^CHECK("\([^"]*\)".*/\1/p' "$TAB")
	[ "$(grep -c '^CHECK(' "$TAB")" -ge 11 ] && return $bad
}

t fresh "a fresh veth: all there is to know"
t good "sizes, MTU and IP version as they should be"
t drivers "what the driver takes: less than is wanted, nothing"
t bridge "ports of a bridge, and programs beside"
t crowd "a bridge with many ports"
t macvlan "macvlan: above and below"
t tunnel "tunnels: on the device, and the device itself"
t xdp "XDP, native and generic, here and opposite"
t firewall "an unsafe firewall, here and opposite; not where the packets don't pass"
t twins "twins and right programs are safe, what is unknown is not"
t cgroups "programs of cgroups, by where their processes are"
t forwarding "forwarding at equal MTU"
t queues "qdiscs with limits in bytes"
t files "systemd's .link files; a kernel with a fault"
t blind "without privileges nothing is ok that was not looked at"
t errors "wrong usage, no such device"
t table "a table of 80 columns"
t all_checks "every check was seen in a good and a bad state"
finish
