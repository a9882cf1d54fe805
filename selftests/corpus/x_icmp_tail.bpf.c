// SPDX-License-Identifier: GPL-2.0
/*
 * A router's answer made of the packet itself: a TCP packet whose hop limit ends here is cut to its first
 * bytes, gets an ICMPv6 Time Exceeded and an IPv6 header of its own in front, and goes back.
 */
/* expect: x_icmp_tail audit=unknown twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define XIC_QUOTE    (sizeof(struct ipv6hdr) + 20) /* of the packet that is answered */
#define XIC_FRONT    (sizeof(struct ipv6hdr) + sizeof(struct icmp6hdr))
#define XIC_MIN_HOPS 4
#define XIC_EXCEEDED 3

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} xic_stats SEC(".maps");

enum {
	XIC_SENT,
	XIC_FAILED,
	XIC_NONE,
	XIC_BYTES, /* that were not quoted */
};

static __always_inline void xic_count(__u32 what, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(&xic_stats, &what);

	if (v)
		__sync_fetch_and_add(v, n);
}

static __always_inline __sum16 xic_csum(struct ipv6hdr *ip6, struct icmp6hdr *icmp)
{
	/* Of an even number of bytes, known at compile time. */
	__be32 tail[2] = { bpf_htonl(sizeof(*icmp) + XIC_QUOTE), bpf_htonl(IPPROTO_ICMPV6) };
	__u64 sum;

	sum = bpf_csum_diff(0, 0, (__be32 *)&ip6->saddr, 32, 0);
	sum = bpf_csum_diff(0, 0, tail, sizeof(tail), sum);
	sum = bpf_csum_diff(0, 0, (__be32 *)icmp, sizeof(*icmp) + XIC_QUOTE, sum);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline int xic_answer(struct xdp_md *ctx, const struct ethhdr *old,
				      const struct in6_addr *to)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct icmp6hdr *icmp = (void *)(ip6 + 1);

	if ((void *)(icmp + 1) + XIC_QUOTE > end)
		return -1;
	__builtin_memcpy(eth->h_dest, old->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, old->h_dest, ETH_ALEN);
	eth->h_proto = old->h_proto;
	__builtin_memset(ip6, 0, XIC_FRONT);
	ip6->version = 6;
	ip6->payload_len = bpf_htons(sizeof(*icmp) + XIC_QUOTE);
	ip6->nexthdr = IPPROTO_ICMPV6;
	ip6->hop_limit = 64;
	ip6->saddr.s6_addr32[0] = bpf_htonl(0x20010db8);
	ip6->saddr.s6_addr32[3] = bpf_htonl(0xfe);
	ip6->daddr = *to;
	icmp->icmp6_type = XIC_EXCEEDED;
	icmp->icmp6_cksum = xic_csum(ip6, icmp);
	return 0;
}

SEC("xdp")
int x_icmp_tail(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data, old;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	int cut = (int)(end - data) - (int)(ETH_HLEN + XIC_QUOTE);
	struct in6_addr from;

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_PASS;
	if (ip6->nexthdr != IPPROTO_TCP || ip6->hop_limit >= XIC_MIN_HOPS || cut < 0) {
		xic_count(XIC_NONE, 1);
		return XDP_PASS;
	}
	old = *eth;
	from = ip6->saddr;
	if (bpf_xdp_adjust_tail(ctx, -cut) || bpf_xdp_adjust_head(ctx, -(int)XIC_FRONT) ||
	    xic_answer(ctx, &old, &from)) {
		xic_count(XIC_FAILED, 1);
		return XDP_DROP;
	}
	xic_count(XIC_SENT, 1);
	xic_count(XIC_BYTES, cut);
	return XDP_TX;
}
