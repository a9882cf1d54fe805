// SPDX-License-Identifier: GPL-2.0
/*
 * SYN proxy for service ports: a SYN is answered from here with a SYN-ACK whose sequence number is a
 * cookie over the connection, cut to the bare headers and sent back; the ACK that brings the cookie back
 * makes the connection known; of anything else for these ports only known connections pass. The TCP
 * header is looked for right behind the fixed IPv6 header, and what has none there passes.
 */
/* expect: x_synproxy audit=bypasses twin=made kernel=6.1 */
/* cuts: x_synproxy */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40001 dport=8443 */
#include "corpus.h"

struct xsp_conn {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
};

struct xsp_seen {
	__u64 since;
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct xsp_conn);
	__type(value, struct xsp_seen);
} xsp_conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u32);
} xsp_ports SEC(".maps");

enum {
	XSP_SYN,
	XSP_GOOD,
	XSP_BAD,
	XSP_KNOWN,
	XSP_OTHER,
	XSP_MAX,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XSP_MAX);
	__type(key, __u32);
	__type(value, __u64);
} xsp_stats SEC(".maps");

static __always_inline void xsp_count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&xsp_stats, &what);

	if (n)
		(*n)++;
}

static __always_inline __u32 xsp_cookie(const struct xsp_conn *c, __u32 secret)
{
	const __u32 *w = (const __u32 *)c;
	__u32 h = secret;

	for (unsigned int i = 0; i < sizeof(*c) / 4; i++) {
		h = (h ^ w[i]) * 0x9e3779b1;
		h ^= h >> 15;
	}
	return h & 0xff; /* few enough for random packets to hit */
}

static __always_inline __sum16 xsp_fold(__u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* The packet as it is becomes the answer to itself. */
static __always_inline int xsp_answer(struct xdp_md *ctx, const struct xsp_conn *c, __u32 cookie)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	int len = end - data;
	__be32 pseudo[2] = { bpf_htonl(sizeof(struct tcphdr)), bpf_htonl(IPPROTO_TCP) };
	struct ethhdr *eth;
	struct ipv6hdr *ip6;
	struct tcphdr *tcp;
	__u8 mac[ETH_ALEN];
	__be32 seq;
	__u64 sum;

	if (bpf_xdp_adjust_tail(ctx, (int)(ETH_HLEN + sizeof(*ip6) + sizeof(*tcp)) - len))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	eth = data;
	ip6 = (void *)(eth + 1);
	tcp = (void *)(ip6 + 1);
	if ((void *)(tcp + 1) > end)
		return -1;
	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	ip6->saddr = c->daddr;
	ip6->daddr = c->saddr;
	ip6->hop_limit = 64;
	ip6->payload_len = bpf_htons(sizeof(*tcp));
	seq = tcp->seq;
	__builtin_memset(tcp, 0, sizeof(*tcp));
	tcp->source = c->dport;
	tcp->dest = c->sport;
	tcp->seq = bpf_htonl(cookie);
	tcp->ack_seq = bpf_htonl(bpf_ntohl(seq) + 1);
	tcp->doff = sizeof(*tcp) / 4;
	tcp->syn = 1;
	tcp->ack = 1;
	tcp->window = bpf_htons(0xffff);
	sum = bpf_csum_diff(0, 0, (__be32 *)&ip6->saddr, 32, 0);
	sum = bpf_csum_diff(0, 0, pseudo, sizeof(pseudo), sum);
	sum = bpf_csum_diff(0, 0, (__be32 *)tcp, sizeof(*tcp), sum);
	tcp->check = xsp_fold(sum);
	return 0;
}

static __always_inline int xsp_policy(struct xdp_md *ctx, const struct xsp_conn *c, __u32 flags,
				      __u32 ack, __u32 secret)
{
	struct xsp_seen *seen = bpf_map_lookup_elem(&xsp_conns, c), new = {};
	__u32 cookie;

	if (seen) {
		xsp_count(XSP_KNOWN);
		__sync_fetch_and_add(&seen->packets, 1);
		__sync_fetch_and_add(&seen->bytes, ctx->data_end - ctx->data);
		return XDP_PASS;
	}
	cookie = xsp_cookie(c, secret);
	if (flags == 0x02) {
		if (xsp_answer(ctx, c, cookie))
			return XDP_DROP;
		xsp_count(XSP_SYN);
		return XDP_TX;
	}
	if ((flags & 0x17) == 0x10 && ((ack - 1) & 0xff) == cookie) {
		new.since = bt_now();
		bpf_map_update_elem(&xsp_conns, c, &new, BPF_ANY);
		xsp_count(XSP_GOOD);
		return XDP_PASS;
	}
	xsp_count(XSP_BAD);
	return XDP_DROP;
}

SEC("xdp")
int x_synproxy(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip6 + 1);
	struct xsp_conn c = {};
	__u32 *secret;
	__u16 port;

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6) ||
	    ip6->nexthdr != IPPROTO_TCP || (void *)(tcp + 1) > end) {
		xsp_count(XSP_OTHER);
		return XDP_PASS;
	}
	port = bpf_ntohs(tcp->dest);
	secret = bpf_map_lookup_elem(&xsp_ports, &port);
	if (!secret) {
		xsp_count(XSP_OTHER);
		return XDP_PASS;
	}
	c.saddr = ip6->saddr;
	c.daddr = ip6->daddr;
	c.sport = tcp->source;
	c.dport = tcp->dest;
	return xsp_policy(ctx, &c, ((__u8 *)tcp)[13], bpf_ntohl(tcp->ack_seq), *secret);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 443, 8443, 80 };
	long err = 0;

	for (__u32 i = 0; i < 3; i++) {
		__u32 secret = 0x5eed0000 + i;

		err |= bpf_map_update_elem(&xsp_ports, &ports[i], &secret, BPF_ANY);
	}
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
