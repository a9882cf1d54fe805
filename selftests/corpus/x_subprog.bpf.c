// SPDX-License-Identifier: GPL-2.0
/*
 * Guard built from subprograms that the compiler may not inline, two of them global (verified on their
 * own, from the context), and a loop callback that walks the TCP options. Blocked ports and SYNs with an MSS
 * that is too small are dropped and everything else passes.
 */
/* expect: x_subprog audit=bypasses twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=445 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

#define XSU_MIN_MSS  500
#define XSU_MAX_OPTS 40

struct xsu_count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u8);
} xsu_blocked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct xsu_count);
} xsu_counts SEC(".maps");

struct xsu_pkt {
	struct xdp_md *ctx;
	__u32 l4_off;
	__u8 proto;
};

static __noinline int xsu_parse(struct xsu_pkt *p)
{
	void *data = (void *)(long)p->ctx->data;
	void *end = (void *)(long)p->ctx->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		p->proto = ip6->nexthdr;
		p->l4_off = sizeof(*eth) + sizeof(*ip6);
		return 0;
	}
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return -1;
		p->proto = ip->protocol;
		p->l4_off = sizeof(*eth) + ip->ihl * 4;
		return 0;
	}
	return -1;
}

/* Destination port of what is at @off, or 0. */
__noinline int xsu_port(struct xdp_md *ctx, __u32 off)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct udphdr *ports;

	if (off > 128)
		return 0;
	ports = data + off;
	if ((void *)(ports + 1) > end)
		return 0;
	return bpf_ntohs(ports->dest);
}

__noinline int xsu_count(struct xdp_md *ctx, __u32 what)
{
	struct xsu_count *c = bpf_map_lookup_elem(&xsu_counts, &what);

	if (!c)
		return 0;
	c->packets++;
	c->bytes += ctx->data_end - ctx->data;
	return 0;
}

struct xsu_walk {
	struct xdp_md *ctx;
	__u32 at, stop;
	__u32 mss;
};

static long xsu_option(__u32 i, void *arg)
{
	struct xsu_walk *w = arg;
	void *data = (void *)(long)w->ctx->data;
	void *end = (void *)(long)w->ctx->data_end;
	__u32 at = w->at;
	__u8 *opt;

	if (at >= w->stop || at > 256)
		return 1;
	opt = data + at;
	if ((void *)(opt + 4) > end || *opt == 0)
		return 1;
	if (*opt == 1) {
		w->at = at + 1;
		return 0;
	}
	if (opt[1] < 2)
		return 1;
	if (*opt == 2 && opt[1] == 4)
		w->mss = opt[2] << 8 | opt[3];
	w->at = at + opt[1];
	return 0;
}

/* MSS option of a SYN; -1: there is none, or it is no SYN. */
static __noinline int xsu_mss(struct xdp_md *ctx, __u32 off)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct xsu_walk w = { .ctx = ctx, .mss = ~0u };
	struct tcphdr *tcp;

	if (off > 128)
		return -1;
	tcp = data + off;
	if ((void *)(tcp + 1) > end || !tcp->syn)
		return -1;
	w.at = off + sizeof(*tcp);
	w.stop = off + tcp->doff * 4;
	bpf_loop(XSU_MAX_OPTS, xsu_option, &w, 0);
	return w.mss;
}

SEC("xdp")
int x_subprog(struct xdp_md *ctx)
{
	struct xsu_pkt p = { .ctx = ctx };
	__u16 port;
	int mss;

	if (xsu_parse(&p) || (p.proto != IPPROTO_TCP && p.proto != IPPROTO_UDP)) {
		xsu_count(ctx, 0);
		return XDP_PASS;
	}
	port = xsu_port(ctx, p.l4_off);
	if (bpf_map_lookup_elem(&xsu_blocked, &port)) {
		xsu_count(ctx, 2);
		return XDP_DROP;
	}
	if (p.proto == IPPROTO_TCP) {
		mss = xsu_mss(ctx, p.l4_off);
		if (mss >= 0 && mss < XSU_MIN_MSS) {
			xsu_count(ctx, 3);
			return XDP_DROP;
		}
	}
	xsu_count(ctx, 1);
	return XDP_PASS;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 25, 445, 1119 };
	__u8 on = 1;
	long err = 0;

	for (int i = 0; i < 3; i++)
		err |= bpf_map_update_elem(&xsu_blocked, &ports[i], &on, BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
