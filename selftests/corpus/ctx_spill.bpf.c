// SPDX-License-Identifier: GPL-2.0
/*
 * A policy engine in the style of code that keeps everything about a packet in one struct, the
 * context among it, and hands the struct's address to its subprograms. The main program has more
 * live values than registers, so the compiler keeps the context on the stack across calls too.
 */
/* expect: ctx_spill audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

struct pkt {
	struct __sk_buff *skb;
	__u32 l3;
	__u32 l4;
	__u32 hash;
	__be16 sport;
	__be16 dport;
	__u16 window;
	__u8 proto;
	__u8 ttl;
	__u8 flags;
	__u8 version;
};

struct score {
	__u64 packets;
	__u64 sum;
	__u32 max;
	__u32 last;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct score);
} scores SEC(".maps");

static __noinline int parse_l3(struct pkt *p)
{
	struct __sk_buff *skb = p->skb;
	__u8 b[20];

	if (bpf_skb_load_bytes(skb, p->l3, b, sizeof(b)))
		return -1;
	p->version = b[0] >> 4;
	if (p->version == 6) {
		p->proto = b[6];
		p->ttl = b[7];
		p->l4 = p->l3 + sizeof(struct ipv6hdr);
	} else if (p->version == 4) {
		p->ttl = b[8];
		p->proto = b[9];
		p->l4 = p->l3 + (b[0] & 0xf) * 4;
	} else {
		return -1;
	}
	return 0;
}

static __noinline int parse_l4(struct pkt *p)
{
	struct tcphdr tcp;
	struct udphdr udp;

	switch (p->proto) {
	case IPPROTO_TCP:
		if (bpf_skb_load_bytes(p->skb, p->l4, &tcp, sizeof(tcp)))
			return -1;
		p->sport = tcp.source;
		p->dport = tcp.dest;
		p->window = bpf_ntohs(tcp.window);
		if (bpf_skb_load_bytes(p->skb, p->l4 + 13, &p->flags, 1))
			return -1;
		return 0;
	case IPPROTO_UDP:
		if (bpf_skb_load_bytes(p->skb, p->l4, &udp, sizeof(udp)))
			return -1;
		p->sport = udp.source;
		p->dport = udp.dest;
		return 0;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return 0;
	}
	return -1;
}

/* Bytes @off of the packet, 0 where there are none. */
static __noinline __u32 word_at(struct __sk_buff *skb, __u32 off)
{
	__be32 w = 0;

	bpf_skb_load_bytes(skb, off, &w, sizeof(w));
	return bpf_ntohl(w);
}

static __noinline void record(struct pkt *p, __u32 value)
{
	__u32 key = (__u32)p->proto << 16 | bpf_ntohs(p->dport);
	struct score *s = bpf_map_lookup_elem(&scores, &key);
	struct score first = { .packets = 1, .sum = value, .max = value, .last = value };

	if (!s) {
		bpf_map_update_elem(&scores, &key, &first, BPF_NOEXIST);
		return;
	}
	s->packets++;
	s->sum += value;
	s->last = value;
	if (value > s->max)
		s->max = value;
	/* through the struct on purpose */
	p->skb->priority = value & 7;
}

SEC("tc")
int ctx_spill(struct __sk_buff *skb)
{
	struct pkt p = { .skb = skb, .l3 = ETH_HLEN };
	__u32 a, b, c, d, e, f, value;

	if (skb->protocol != bpf_htons(ETH_P_IPV6) && skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	if (parse_l3(&p))
		return TC_ACT_SHOT;
	if (parse_l4(&p))
		return TC_ACT_SHOT;

	/* six values that live across calls, beside the context and the struct */
	a = word_at(skb, p.l3 + 4);
	b = word_at(skb, p.l4);
	c = word_at(skb, p.l4 + 4);
	d = word_at(skb, p.l4 + 8);
	e = word_at(skb, p.l3 + 12);
	f = word_at(skb, p.l3 + 16);
	value = (a ^ e) + (b ^ f) * 3 + (c ^ d) * 5 + (a & c) + (b & e) + (d & f);
	value += skb->len + p.ttl;
	record(&p, value);

	/* telnet, and a zero window with SYN, are not for here */
	if (p.proto == IPPROTO_TCP && (p.dport == bpf_htons(23) || (p.flags & 2 && !p.window)))
		return TC_ACT_SHOT;
	skb->mark = value;
	return TC_ACT_OK;
}
