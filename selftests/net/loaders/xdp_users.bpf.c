// SPDX-License-Identifier: GPL-2.0
/*
 * XDP programs such as people load into a libxdp chain: they know nothing of jumbo packets. Each is
 * loaded by its name; priorities and chain call actions come from the loader's command line.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define BLOCKED 9999

/* What xu_fw has seen: 0 TCP packets, 1 their bytes, 2 those above 64 KiB, 3 the blocked port, 4 not TCP. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 5);
	__type(key, __u32);
	__type(value, __u64);
} xu_seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} xu_verdict SEC(".maps");

static __always_inline void add(__u32 slot, __u64 n)
{
	__u64 *val = bpf_map_lookup_elem(&xu_seen, &slot);

	if (val)
		__sync_fetch_and_add(val, n);
}

/* A firewall: nothing but TCP and ICMPv6 over IPv6 gets in, and not to one port. */
SEC("xdp")
int xu_fw(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = data + sizeof(*eth);
	struct tcphdr *tcp = data + sizeof(*eth) + sizeof(*ip6);

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_PASS;
	if (ip6->nexthdr == IPPROTO_ICMPV6)
		return XDP_PASS;
	if (ip6->nexthdr != IPPROTO_TCP || (void *)(tcp + 1) > end) {
		add(4, 1);
		return XDP_DROP;
	}
	if (tcp->dest == bpf_htons(BLOCKED)) {
		add(3, 1);
		return XDP_DROP;
	}
	add(0, 1);
	add(1, end - data);
	if (end - data > 65536)
		add(2, 1);
	return XDP_PASS;
}

/* Answers packets of one port itself. */
SEC("xdp")
int xu_tx(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct tcphdr *tcp = data + 54;

	if ((void *)(tcp + 1) > end || tcp->dest != bpf_htons(7))
		return XDP_PASS;
	return XDP_TX;
}

SEC("xdp")
int xu_redirect(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct tcphdr *tcp = data + 54;

	if ((void *)(tcp + 1) > end || tcp->dest != bpf_htons(7))
		return XDP_PASS;
	return bpf_redirect(1, 0);
}

/* What is done is in a map. */
SEC("xdp")
int xu_policy(struct xdp_md *ctx)
{
	__u32 key = 0, *verdict = bpf_map_lookup_elem(&xu_verdict, &key);

	return verdict && *verdict ? *verdict : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
