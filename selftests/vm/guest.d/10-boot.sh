# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Is the guest what the later scripts take for granted?
. selftests/vm/guest.sh

try "kernel $BT_KERNEL or a patch of it runs" grep -q "^$BT_KERNEL" /proc/sys/kernel/osrelease
try "the kernel has BTF" test -s /sys/kernel/btf/vmlinux
try "bpffs is mounted" test "$(stat -f -c %T /sys/fs/bpf)" = bpf_fs
try "/dev/shm can be written" touch /dev/shm/x
try "cgroup2 is mounted" test -e /sys/fs/cgroup/cgroup.procs

two_namespaces()
{
	ip netns add bt_a && ip netns add bt_b &&
		ip link add bt0 netns bt_a type veth peer name bt1 netns bt_b &&
		ip -n bt_a addr add fd00::1/64 dev bt0 nodad && ip -n bt_b addr add fd00::2/64 dev bt1 nodad &&
		ip -n bt_a link set bt0 up && ip -n bt_b link set bt1 up &&
		nsenter --net=/run/netns/bt_a ping -6 -c 1 -W 5 fd00::2
}
try "a veth pair joins two namespaces" two_namespaces
try "veth takes BIG TCP sizes" ip -n bt_a link set bt0 gso_max_size 185000 gro_max_size 185000
ip netns del bt_a
ip netns del bt_b

cls_bpf()
{
	ip link add bt0 type veth peer name bt1 && tc qdisc add dev bt0 clsact &&
		tc filter add dev bt0 ingress matchall action drop && tc qdisc del dev bt0 clsact &&
		modprobe cls_bpf
}
try "clsact and cls_bpf are there" cls_bpf
ip link del bt0
for m in dummy 8021q tun ipvlan macvlan bridge vxlan sch_fq sch_netem tcp_bbr; do
	modprobe $m 2>>"$tmp/modprobe" || echo "no $m" >>"$tmp/modprobe"
done
try "the other modules load" test ! -s "$tmp/modprobe"
finish
