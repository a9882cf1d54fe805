// SPDX-License-Identifier: GPL-2.0
/*
 * The XDP half of a classifier: leaves a mark and a hash over the connection in front of the packet, for
 * a tc program (or the next XDP program) to find. What it can't classify has mark 0 and hash 0.
 */
/* expect: x_meta audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define XME_MAGIC 0x6d657461u

struct xme_meta {
	__u32 magic;
	__u32 mark;
	__u32 hash;
	__u32 len;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} xme_marks SEC(".maps");

static __always_inline __u32 xme_mark(__u16 port)
{
	switch (port) {
	case 22:
		return 2;
	case 53:
		return 3;
	case 80:
	case 443:
	case 5201:
		return 1;
	}
	return 0;
}

static __always_inline void xme_classify(void *data, void *end, struct xme_meta *m)
{
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct udphdr *ports = (void *)(ip6 + 1);
	const __u32 *a;

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return;
	if (ip6->nexthdr != IPPROTO_TCP && ip6->nexthdr != IPPROTO_UDP)
		return;
	if ((void *)(ports + 1) > end)
		return;
	m->mark = xme_mark(bpf_ntohs(ports->dest));
	if (!m->mark)
		m->mark = xme_mark(bpf_ntohs(ports->source));
	a = ip6->saddr.s6_addr32;
	m->hash = ((__u32)ports->source << 16 | ports->dest) ^ ip6->nexthdr;
	for (int i = 0; i < 8; i++)
		m->hash = (m->hash ^ a[i]) * 0x9e3779b1;
}

SEC("xdp")
int x_meta(struct xdp_md *ctx)
{
	struct xme_meta m = { .magic = XME_MAGIC }, *at;
	void *data, *end;
	__u32 key;
	__u64 *n;

	m.len = ctx->data_end - ctx->data;
	xme_classify((void *)(long)ctx->data, (void *)(long)ctx->data_end, &m);
	key = m.mark;
	n = bpf_map_lookup_elem(&xme_marks, &key);
	if (n)
		(*n)++;
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(m)))
		return XDP_PASS;
	at = (void *)(long)ctx->data_meta;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((void *)(at + 1) > data || data + ETH_HLEN > end)
		return XDP_ABORTED;
	*at = m;
	return XDP_PASS;
}
