// SPDX-License-Identifier: GPL-2.0
/*
 * A pipeline of tail calls in XDP: parse, policy, account. What the parser found travels in a per-CPU
 * map. The slot of the debug stage is left empty in production, so the call to it falls through. Each stage
 * looks at the packet again for what it needs.
 */
/* expect: x_tail audit=drops twin=made kernel=6.1 */
/* expect: xta_policy audit=unknown twin=made kernel=6.1 */
/* expect: xta_account audit=unknown twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

enum {
	XTA_POLICY,
	XTA_DEBUG,
	XTA_ACCOUNT,
	XTA_STAGES,
};

struct xta_found {
	__u32 valid;
	__u32 l4_off;
	__u16 sport;
	__u16 dport;
	__u8 proto;
	__u8 pad[3];
};

struct xta_count {
	__u64 packets;
	__u64 bytes;
	__u64 windows; /* sum of TCP windows */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xta_found);
} xta_found SEC(".maps");

/* By protocol. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct xta_count);
} xta_counts SEC(".maps");

int xta_policy(struct xdp_md *ctx);
int xta_account(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, XTA_STAGES);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct xdp_md *));
} xta_stages SEC(".maps") = {
	.values = {
		[XTA_POLICY] = &xta_policy,
		[XTA_ACCOUNT] = &xta_account,
	},
};

static __always_inline struct xta_found *xta_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&xta_found, &zero);
}

SEC("xdp")
int xta_account(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct xta_found *f = xta_get();
	struct xta_count *c;
	struct tcphdr *tcp;
	__u32 proto;

	if (!f || !f->valid)
		return XDP_PASS;
	proto = f->proto;
	c = bpf_map_lookup_elem(&xta_counts, &proto);
	if (!c)
		return XDP_ABORTED;
	c->packets++;
	c->bytes += end - data;
	f->valid = 0;
	if (f->l4_off > 128)
		return XDP_ABORTED;
	tcp = data + f->l4_off;
	if (f->proto == IPPROTO_TCP && (void *)(tcp + 1) <= end)
		c->windows += bpf_ntohs(tcp->window);
	return XDP_PASS;
}

SEC("xdp")
int xta_policy(struct xdp_md *ctx)
{
	struct xta_found *f = xta_get();

	if (!f || !f->valid)
		return XDP_PASS;
	switch (f->proto) {
	case IPPROTO_TCP:
		/* no telnet, no SMB */
		if (f->dport == 23 || f->dport == 445)
			return XDP_DROP;
		break;
	case IPPROTO_UDP:
		if (f->dport == 161)
			return XDP_DROP;
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		break;
	default:
		return XDP_DROP;
	}
	bpf_tail_call(ctx, &xta_stages, XTA_DEBUG);
	bpf_tail_call(ctx, &xta_stages, XTA_ACCOUNT);
	return XDP_ABORTED;
}

SEC("xdp")
int x_tail(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct xta_found *f = xta_get();
	struct ethhdr *eth = data;
	struct udphdr *ports;

	if (!f || (void *)(eth + 1) > end)
		return XDP_DROP;
	__builtin_memset(f, 0, sizeof(*f));
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return XDP_DROP;
		f->proto = ip6->nexthdr;
		f->l4_off = sizeof(*eth) + sizeof(*ip6);
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return XDP_DROP;
		f->proto = ip->protocol;
		f->l4_off = sizeof(*eth) + sizeof(*ip);
		ports = (void *)(ip + 1);
	} else {
		return XDP_PASS;
	}
	if (f->proto == IPPROTO_TCP || f->proto == IPPROTO_UDP) {
		if ((void *)(ports + 1) > end)
			return XDP_DROP;
		f->sport = bpf_ntohs(ports->source);
		f->dport = bpf_ntohs(ports->dest);
	}
	f->valid = 1;
	bpf_tail_call(ctx, &xta_stages, XTA_POLICY);
	return XDP_DROP;
}
