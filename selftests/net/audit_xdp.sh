#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp audit for XDP, cgroups and sockets: verdicts on object files, programs where they are attached, and
# what XDP does to BIG TCP on a device and on the other end of a veth. Prints TAP. Root. Everything happens in
# namespaces of its own, and in a cgroup of its own.
# shellcheck disable=SC2015,SC2329,SC2154 # the tests are called by name; tmp comes from lib.sh
cd "$(dirname "$0")/../.." || exit 1
. selftests/net/lib.sh
. selftests/net/lib_tap.sh
. selftests/net/lib_audit.sh
net_private "$0" "$@"
CLANG=${CLANG:-clang-16}
SOURCE=selftests/net/objects/audit_hooks.bpf.c
CASES=$tmp/hooks.o
PINS=/sys/fs/bpf/hooks

# build SOURCE OBJECT
build()
{
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -Iinclude -I"/usr/include/$(gcc -print-multiarch)" \
		-x c -c -o "$2" "$1"
}

# q FILE FILTER: true if jq's filter holds for the report in FILE.
q()
{
	jq -e "$2" "$1" >/dev/null && return
	echo "false: $2"
	jq -c '.[] | del(.forms)' "$1"
	return 1
}

# All programs of the cases, by name: /sys/fs/bpf/hooks/NAME.
all_pinned()
{
	bpftool prog loadall "$CASES" $PINS && [ -e $PINS/x_naive ]
}

generic_found()
{
	ip link add g0 type veth peer name g1 && ip link set g0 up && ip link set g1 up || return 1
	ip link set g0 xdpgeneric pinned $PINS/x_naive || return 1
	audit -j g0 >"$tmp/g0.json" 2>/dev/null
	[ $? = 3 ] || fail "exit status" || return 1
	q "$tmp/g0.json" '.[0] | .hook == "xdp/generic" and .name == "x_naive" and .dev == "g0" and
		.verdict == "drops" and .sees_jumbo == true and .forms.hbh.plain.verdict == "pass" and
		.forms.hbh.jumbo.verdict == "drop"'
}

generic_warned()
{
	q "$tmp/g0.json" 'map(select(.verdict == "warning")) | length == 1 and
		(.[0] | .name == "xdp-generic" and .dev == "g0" and .hook == "device" and
		(.found | test("generic XDP \\(program [0-9]+\\)")) and (.why | test("GRO is off")) and
		(.advice | length > 0))'
}

# The kernel's own word: ethtool.
native_found()
{
	ip link add n0 type veth peer name n1 && ip link set n0 up && ip link set n1 up || return 1
	ip link set n0 xdpdrv pinned $PINS/x_lets_pass || return 1
	ethtool -k n1 | grep -q '^\s*tx-tcp6-segmentation: off \[fixed\]$' || fail "TSO is on" || return 1
	audit -j n0 >"$tmp/n0.json" 2>/dev/null ||
		fail "a program that sees no jumbo packet counts" || return 1
	q "$tmp/n0.json" '.[0] | .hook == "xdp/native" and .verdict == "bypasses" and
		.sees_jumbo == false and (.evidence | test("^sees no jumbo packet here: native XDP"))'
}

native_warned()
{
	q "$tmp/n0.json" 'map(select(.verdict == "warning")) | length == 1 and
		(.[0] | .name == "xdp-native-veth" and .dev == "n0" and
		(.found | test("tx-tcp6-segmentation of n1: off \\[fixed\\]")) and
		(.why | test("BIG TCP is off")))'
}

peer_warned()
{
	audit -j n1 >"$tmp/n1.json" 2>/dev/null || fail "exit status" || return 1
	q "$tmp/n1.json" 'length == 1 and (.[0] | .name == "xdp-native-peer" and .dev == "n1" and
		.verdict == "warning" and
		(.found | test("on n0, the other end of the veth, .*of n1: off \\[fixed\\]")))'
}

# The program is in a namespace, as a container's is.
peer_elsewhere()
{
	net_ns pod
	ip link add p0 type veth peer name p1 netns pod && ip link set p0 up || return 1
	audit -j p0 >"$tmp/p0.json" 2>/dev/null || return 1
	q "$tmp/p0.json" 'length == 0' || return 1
	in_ns pod ip link set p1 xdpdrv pinned $PINS/x_counts || return 1
	audit -j p0 >"$tmp/p0.json" 2>/dev/null || return 1
	q "$tmp/p0.json" 'length == 1 and (.[0] | .name == "xdp-native-peer" and
		(.found | test("on p1, the other end of the veth in another namespace")))' || return 1
	in_ns pod ip link set p1 xdpdrv off || return 1
	audit -j p0 >"$tmp/p0.json" 2>/dev/null
	q "$tmp/p0.json" 'length == 0'
}

# Every note of a host, once.
host_warned()
{
	audit -j --no-run >"$tmp/host.json" 2>/dev/null || return 1
	q "$tmp/host.json" 'map(select(.verdict == "warning") | .dev + " " + .name) | sort ==
		["g0 xdp-generic", "n0 xdp-native-veth", "n1 xdp-native-peer"]' &&
		q "$tmp/host.json" 'map(select(.dev == "g0" and .hook == "xdp/generic")) |
			length == 1 and .[0].verdict == null and .[0].name == "x_naive"'
}

as_text()
{
	audit g0 >"$tmp/text" 2>/dev/null
	tr -s ' \n' ' ' <"$tmp/text" | grep -q 'g0 xdp/generic [0-9]* x_naive drops .* g0 device - xdp-generic warning' ||
		{ cat "$tmp/text"; return 1; }
}

off_again()
{
	ip link set n0 xdpdrv off && ip link set g0 xdpgeneric off || return 1
	audit -j n0 >"$tmp/o.json" 2>/dev/null && q "$tmp/o.json" 'length == 0' &&
		audit -j n1 >"$tmp/o.json" 2>/dev/null && q "$tmp/o.json" 'length == 0'
}

netkit_found()
{
	ip link add k0 type netkit 2>"$tmp/err" || {
		echo "no netkit here"
		return 77
	}
	ip link set k0 up
	audit -j k0 >"$tmp/k0.json" && q "$tmp/k0.json" 'length == 0'
}

cgroup_found()
{
	local dir

	mkdir -p "$tmp/cgroup" && mount -t cgroup2 none "$tmp/cgroup" 2>/dev/null || {
		echo "no cgroup2 here"
		return 77
	}
	cg=$(mktemp -d "$tmp/cgroup/bigtcp.XXXXXX") || return 1
	bpftool cgroup attach "$cg" cgroup_inet_egress pinned $PINS/c_naive multi &&
		bpftool cgroup attach "$cg" cgroup_inet_ingress pinned $PINS/c_counts multi || return 1
	audit -j --no-run >"$tmp/cg.json" 2>/dev/null || return 1
	dir=$(basename "$cg")
	q "$tmp/cg.json" 'map(select(.cgroup != null and (.cgroup | endswith("'"$dir"'"))) |
		.hook + " " + .name) | sort == ["cgroup_skb/egress c_naive", "cgroup_skb/ingress c_counts"]'
}

# By id: a run of the whole host would run the cgroup programs of whoever else is on it.
cgroup_judged()
{
	[ -n "${cg:-}" ] || { echo "no cgroup2 here"; return 77; }
	audit -j --prog-id "$(jq '.[] | select(.name == "c_naive") | .id' "$tmp/cg.json")" \
		>"$tmp/id.json" 2>/dev/null
	[ $? = 3 ] || fail "exit status" || return 1
	q "$tmp/id.json" '.[0].verdict == "drops"' || return 1
	audit -j --prog-id "$(jq '.[] | select(.name == "c_counts") | .id' "$tmp/cg.json")" \
		>"$tmp/id.json" 2>/dev/null || fail "exit status of a safe one" || return 1
	q "$tmp/id.json" '.[0].verdict == "safe"'
}

sockets_listed()
{
	q "$tmp/cg.json" 'map(select(.name == "s_l2" and .hook == "socket" and .dev == null)) | length >= 1' &&
		q "$tmp/cg.json" 'map(select(.name == "lookup" and .hook == "sk_lookup")) | length >= 1'
}

lookup_safe()
{
	audit -j --prog-id "$(bpftool -j prog show pinned $PINS/lookup | jq .id)" >"$tmp/id.json" 2>/dev/null ||
		fail "exit status" || return 1
	q "$tmp/id.json" '.[0] | .verdict == "safe" and .runs == 0 and
		(.evidence | test("addresses and ports only"))'
}

# A program with the twin's mark, of which a test run shows the plain half only. It is a twin all the same; one
# made for frags is seen whole, and found out.
marked()
{
	build - "$tmp/marked.o" <<-EOF || return 1
		#include <bigtcp/twin.h>
		#include <bpf/bpf_helpers.h>
		#define MARK asm volatile("r0 = %0" :: "i"((int)BIGTCP_TWIN_MAGIC) : "r0")
		struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__type(key, __u32);
			__type(value, struct bigtcp_twin_state);
		} bigtcp_twin SEC(".maps");
		static __always_inline int is_tcp(struct xdp_md *ctx)
		{
			__u32 key = 0;
			char *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

			MARK;
			bpf_map_lookup_elem(&bigtcp_twin, &key);
			return p + 60 <= end && p[20] == 6 ? 2 : 1;
		}
		SEC("xdp") int m_plain(struct xdp_md *ctx) { return is_tcp(ctx); }
		SEC("xdp.frags") int m_frags(struct xdp_md *ctx) { return is_tcp(ctx); }
		char l[] SEC("license") = "GPL";
	EOF
	audit -j --obj "$tmp/marked.o" --prog m_plain >"$tmp/m.json" || fail "exit status $?" || return 1
	q "$tmp/m.json" '.[0].verdict == "twin"' || return 1
	audit -j --obj "$tmp/marked.o" --prog m_frags >"$tmp/m.json"
	[ $? = 3 ] || fail "a twin that drops is no twin" || return 1
	q "$tmp/m.json" '.[0].verdict == "drops" and (.[0].evidence | test("^is a twin, but"))'
}

# All programs of an object that packets pass, and no others.
whole_object()
{
	local want

	want=$(grep -c '^/\* expect: ' $SOURCE)
	audit -j --obj "$CASES" --no-run >"$tmp/all.json" || return 1
	q "$tmp/all.json" "length == $want"
}

# A program without a place here: of an object, with the words for it.
ext_told()
{
	build - "$tmp/lwt.o" <<-EOF || return 1
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		SEC("lwt_in") int in(struct __sk_buff *skb) { return 0; }
		char l[] SEC("license") = "GPL";
	EOF
	audit -j --obj "$tmp/lwt.o" >"$tmp/lwt.json"
	[ $? = 2 ] && jq -e '.error | test("tc, XDP, cgroup_skb")' "$tmp/lwt.json"
}

cleanup()
{
	[ -z "${cg:-}" ] || rmdir "$cg"
}

cg=
trap cleanup EXIT
build $SOURCE "$CASES" || exit 1
statements $SOURCE "$CASES" case
t all_pinned "the cases load"
t generic_found "generic XDP: found and judged"
t generic_warned "generic XDP: a warning that GRO is off"
t native_found "native XDP on veth: judged, but it sees no jumbo packet"
t native_warned "native XDP on veth: a warning, with the proof"
t peer_warned "native XDP on veth: a warning for the other end"
t peer_elsewhere "native XDP in another namespace: a warning for this end, while it is there"
t host_warned "the whole host: every warning once"
t as_text "the table"
t off_again "XDP taken off: nothing left to say"
t netkit_found "netkit"
t cgroup_found "programs of a cgroup, both directions"
t cgroup_judged "programs of a cgroup are judged"
t sockets_listed "socket filters and sk_lookup are listed"
t lookup_safe "sk_lookup is safe, unrun"
t marked "a twin that no test run reaches; one that is none"
t whole_object "all programs of an object"
t ext_told "an object without such programs"
finish
