// SPDX-License-Identifier: GPL-2.0
/*
 * Rate limits by earliest departure time: each configured port has a rate, each flow of it a next
 * departure time that is put into skb->tstamp for the fq qdisc. Beyond the horizon a packet is
 * dropped; edt_ecn marks congestion first, at a tenth of the horizon. Whatever has no configured
 * port leaves at once.
 */
/* expect: edt_pace audit=misreads twin=made kernel=6.1 */
/* expect: edt_ecn audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=8443 */
#include "corpus.h"

#define HORIZON_NS (2 * BT_NSEC_PER_SEC)
#define ECN_NS	   (HORIZON_NS / 10)

struct flow {
	__u32 addr; /* folded source and destination */
	__be16 sport;
	__be16 dport;
};

struct pace {
	__u64 t_last; /* ns: when the last packet leaves */
	__u64 packets;
	__u64 marked;
	__u64 dropped;
};

/* Bytes per second of a port, which is the key in host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u16);
	__type(value, __u64);
} rates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow);
	__type(value, struct pace);
} flows SEC(".maps");

static __always_inline int parse(struct __sk_buff *skb, struct flow *f)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip6 = data + ETH_HLEN;
	struct iphdr *ip = data + ETH_HLEN;
	struct tcphdr *tcp;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		tcp = (void *)(ip6 + 1);
		if ((void *)(tcp + 1) > end || ip6->nexthdr != IPPROTO_TCP)
			return -1;
		f->addr = ip6->saddr.s6_addr32[2] ^ ip6->saddr.s6_addr32[3] ^
			  ip6->daddr.s6_addr32[2] ^ ip6->daddr.s6_addr32[3];
	} else if (skb->protocol == bpf_htons(ETH_P_IP)) {
		tcp = (void *)(ip + 1);
		if ((void *)(tcp + 1) > end || ip->protocol != IPPROTO_TCP || ip->ihl != 5)
			return -1;
		f->addr = ip->saddr ^ ip->daddr;
	} else {
		return -1;
	}
	f->sport = tcp->source;
	f->dport = tcp->dest;
	return 0;
}

static __always_inline __u64 rate_of(struct flow *f)
{
	__u16 port = bpf_ntohs(f->dport);
	__u64 *rate = bpf_map_lookup_elem(&rates, &port);

	if (!rate) {
		port = bpf_ntohs(f->sport);
		rate = bpf_map_lookup_elem(&rates, &port);
	}
	return rate ? *rate : 0;
}

static __always_inline int pace(struct __sk_buff *skb, bool ecn)
{
	struct pace *p, first = {};
	struct flow f = {};
	__u64 rate, now, next;

	if (parse(skb, &f))
		return TC_ACT_OK;
	rate = rate_of(&f);
	if (!rate)
		return TC_ACT_OK;

	p = bpf_map_lookup_elem(&flows, &f);
	if (!p) {
		bpf_map_update_elem(&flows, &f, &first, BPF_NOEXIST);
		p = bpf_map_lookup_elem(&flows, &f);
		if (!p)
			return TC_ACT_OK;
	}

	now = bt_now();
	next = p->t_last + (__u64)skb->len * BT_NSEC_PER_SEC / rate;
	if (next <= now) {
		p->t_last = now;
		__sync_fetch_and_add(&p->packets, 1);
		return TC_ACT_OK;
	}
	if (next - now > HORIZON_NS) {
		__sync_fetch_and_add(&p->dropped, 1);
		return TC_ACT_SHOT;
	}
	if (ecn && next - now > ECN_NS && bpf_skb_ecn_set_ce(skb))
		__sync_fetch_and_add(&p->marked, 1);
	/* a race between CPUs costs precision only */
	p->t_last = next;
	__sync_fetch_and_add(&p->packets, 1);
	skb->tstamp = next;
	return TC_ACT_OK;
}

SEC("tc")
int edt_pace(struct __sk_buff *skb)
{
	return pace(skb, false);
}

SEC("tc")
int edt_ecn(struct __sk_buff *skb)
{
	return pace(skb, true);
}

/* iperf3's port at 40 Gbit/s, two others at 1 Gbit/s and 100 Mbit/s */
SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const struct {
		__u16 port;
		__u64 rate;
	} init[] = { { 5201, 5000000000ULL }, { 8443, 125000000ULL }, { 8080, 12500000ULL } };

	for (int i = 0; i < 3; i++) {
		__u16 port = init[i].port;
		__u64 rate = init[i].rate;

		bpf_map_update_elem(&rates, &port, &rate, BPF_ANY);
	}
	return TC_ACT_OK;
}
