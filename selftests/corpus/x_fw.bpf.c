// SPDX-License-Identifier: GPL-2.0
/*
 * Stateless firewall in front of the stack: of TCP and UDP only what comes from or goes to an open port
 * passes, ICMP and ARP do, the rest is dropped. The transport header is taken to follow the fixed
 * IPv6 header.
 */
/* expect: x_fw audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=5201 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

struct xfw_key {
	__be16 port;
	__u8 proto;
	__u8 pad;
};

struct xfw_rule {
	__u64 packets;
	__u64 bytes;
};

enum {
	XFW_PASS,
	XFW_SHORT,
	XFW_PROTO,
	XFW_PORT,
	XFW_MAX,
};

/* Open ports. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct xfw_key);
	__type(value, struct xfw_rule);
} xfw_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XFW_MAX);
	__type(key, __u32);
	__type(value, struct xfw_rule);
} xfw_stats SEC(".maps");

static __always_inline int xfw_end(struct xdp_md *ctx, __u32 why)
{
	struct xfw_rule *s = bpf_map_lookup_elem(&xfw_stats, &why);

	if (s) {
		s->packets++;
		s->bytes += ctx->data_end - ctx->data;
	}
	return why == XFW_PASS ? XDP_PASS : XDP_DROP;
}

static __always_inline bool xfw_open(struct xdp_md *ctx, __be16 port, __u8 proto)
{
	struct xfw_key key = { .port = port, .proto = proto };
	struct xfw_rule *rule = bpf_map_lookup_elem(&xfw_rules, &key);

	if (!rule)
		return false;
	__sync_fetch_and_add(&rule->packets, 1);
	__sync_fetch_and_add(&rule->bytes, ctx->data_end - ctx->data);
	return true;
}

SEC("xdp")
int x_fw(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct udphdr *ports;
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return xfw_end(ctx, XFW_SHORT);
	if (eth->h_proto == bpf_htons(ETH_P_ARP))
		return xfw_end(ctx, XFW_PASS);
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return xfw_end(ctx, XFW_SHORT);
		proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return xfw_end(ctx, XFW_SHORT);
		proto = ip->protocol;
		ports = (void *)ip + ip->ihl * 4;
	} else {
		return xfw_end(ctx, XFW_PROTO);
	}

	if (proto == IPPROTO_ICMPV6 || proto == IPPROTO_ICMP)
		return xfw_end(ctx, XFW_PASS);
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return xfw_end(ctx, XFW_PROTO);
	if ((void *)(ports + 1) > end)
		return xfw_end(ctx, XFW_SHORT);
	if (xfw_open(ctx, ports->dest, proto) || xfw_open(ctx, ports->source, proto))
		return xfw_end(ctx, XFW_PASS);
	return xfw_end(ctx, XFW_PORT);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 open[] = { 22, 80, 443, 5201, 8443 };
	struct xfw_rule none = {};
	long err = 0;

	for (unsigned int i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		struct xfw_key key = { .port = bpf_htons(open[i]), .proto = IPPROTO_TCP };

		err |= bpf_map_update_elem(&xfw_rules, &key, &none, BPF_ANY);
		key.proto = IPPROTO_UDP;
		err |= bpf_map_update_elem(&xfw_rules, &key, &none, BPF_ANY);
	}
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
