# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bigtcp audit of XDP, cgroup and socket programs on this kernel: those that decide by the length, where
# verdicts hang on how the kernel lays out its packets (selftests/net/audit_xdp.sh has them all), the
# programs of a libxdp dispatcher, and what XDP does to the other end of a veth.
. selftests/vm/guest.sh

bigtcp=.output/bigtcp
object=.output/objects/audit_hooks.bpf.o
source=selftests/net/objects/audit_hooks.bpf.c
some=" x_naive x_counts x_too_long x_huge x_large c_naive c_counts c_too_long s_l2 lookup "

# judged PROGRAM VERDICT
judged()
{
	local got

	$bigtcp audit -j --obj "$object" --prog "$1" >"$tmp/json" 2>"$tmp/err"
	got=$(jq -r '.[0].verdict' "$tmp/json")
	[ "$got" = "$2" ] && return
	echo "got $got"
	cat "$tmp/err"
	jq -c '.[0] | .evidence' "$tmp/json"
	return 1
}

# What the tests below leave: devices with chains, pins.
clean()
{
	local d

	for d in d0 e0 f0; do
		[ -e /sys/class/net/$d ] && xdp-loader unload $d --all
	done
	for d in d0 e0 f0 n0 k0; do
		ip link del $d
	done
	rm -rf /sys/fs/bpf/hooks /sys/fs/bpf/fw /sys/fs/bpf/fw-link
} 2>/dev/null

pair()
{
	ip link add "$1" type veth peer name "$2" && ip link set "$1" up && ip link set "$2" up
}

# The dispatcher is judged with all it runs; libxdp's bpffs holds the links.
dispatcher()
{
	pair d0 d1 && xdp-loader load -m skb d0 "$object" -n x_counts &&
		xdp-loader load -m skb d0 "$object" -n x_naive || return 1
	$bigtcp audit -j d0 >"$tmp/json"
	[ $? = 3 ] || return 1
	jq -c '.[] | del(.forms)' "$tmp/json"
	jq -e '(map(select(.hook == "xdp/generic" and .dispatcher == null)) | length == 1 and
			.[0].verdict == "drops") and
		(map(select(.dispatcher != null) | .name) | sort == ["x_counts", "x_naive"]) and
		(map(select(.dispatcher != null)) | all(.verdict == "unknown" and
			(.evidence | test("--obj"))))' "$tmp/json"
}

# Nothing wrong with any of them: nothing wrong with the whole.
dispatcher_safe()
{
	pair e0 e1 && xdp-loader load -m skb e0 "$object" -n x_counts &&
		xdp-loader load -m skb e0 "$object" -n x_frags_counts || return 1
	$bigtcp audit -j e0 >"$tmp/json"
	jq -c '.[] | del(.forms)' "$tmp/json"
	jq -e 'map(select(.hook == "xdp/generic")) | length == 3 and all(.verdict == "safe")' "$tmp/json"
}

# Twins in a dispatcher: it has nothing else in it, so it is one as a whole.
dispatcher_twin()
{
	pair f0 f1 && $bigtcp exec -- xdp-loader load -m skb f0 "$object" -n x_naive || return 1
	$bigtcp audit -j f0 >"$tmp/json" || echo "status $?"
	jq -c '.[] | del(.forms)' "$tmp/json"
	jq -e 'map(select(.hook == "xdp/generic")) | length == 2 and all(.verdict == "twin")' "$tmp/json"
}

native()
{
	pair n0 n1 && bpftool prog loadall "$object" /sys/fs/bpf/hooks &&
		ip link set n0 xdpdrv pinned /sys/fs/bpf/hooks/x_naive || return 1
	$bigtcp audit -j n0 >"$tmp/json"
	jq -c '.[] | del(.forms)' "$tmp/json"
	jq -e '.[0].sees_jumbo == false and .[1].name == "xdp-native-veth" and
		(.[1].found | test("n1: off \\[fixed\\]"))' "$tmp/json" || return 1
	$bigtcp audit -j n1 >"$tmp/json"
	jq -e '.[0].name == "xdp-native-peer"' "$tmp/json"
}

# What a pod's device is on newer hosts: tc programs at a hook of its own.
netkit()
{
	ip link add k0 type netkit && ip link set k0 up || return 1
	bpftool prog load .output/corpus/clang-16/fw_naive.bpf.o /sys/fs/bpf/fw type classifier &&
		.output/tools/netkit k0 primary /sys/fs/bpf/fw /sys/fs/bpf/fw-link || return 1
	$bigtcp audit -j k0 >"$tmp/json"
	jq -c '.[] | del(.forms)' "$tmp/json"
	jq -e 'length == 1 and .[0].hook == "netkit/primary" and .[0].verdict == "drops"' "$tmp/json"
}

if [ ! -x $bigtcp ] || [ ! -s "$object" ]; then
	not_ok "bigtcp and the cases are in the guest"
	finish
fi
while read -r prog want; do
	[[ $some == *[[:space:]]"$prog"[[:space:]]* ]] || continue
	# Test runs of older kernels show cgroup programs no byte by packet pointers.
	[ "$prog" = c_naive ] && ! kernel_has 6.18 && want=unknown
	try "audit: $prog is $want" judged "$prog" "$want"
done < <(sed -n 's|^/\* expect: \([^ ]*\) audit=\([a-z]*\).* \*/$|\1 \2|p' $source)
try "audit: native XDP on a veth" native
if kernel_has 6.7; then
	try "audit: a program at a netkit device" netkit
else
	skip "audit: a program at a netkit device" "needs kernel 6.7"
fi
if type -P xdp-loader >/dev/null; then
	try "audit: a libxdp dispatcher and its programs" dispatcher
	try "audit: a libxdp dispatcher of safe programs" dispatcher_safe
	try "audit: a libxdp dispatcher of twins" dispatcher_twin
else
	skip "audit: a libxdp dispatcher and its programs" "no xdp-loader in the guest"
fi
clean
finish
