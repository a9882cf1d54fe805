// SPDX-License-Identifier: GPL-2.0
/*
 * A port policy that is right about extension headers: it walks the chain, and takes lengths from
 * the packet and not from the IP header, which cannot hold those of jumbo packets.
 */
/* expect: correct audit=safe twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=25 */
#include "corpus.h"

#define MAX_HEADERS 6

struct pkt {
	__u32 l4; /* offset from the Ethernet header */
	__u8 proto;
	bool fragment; /* not the first: no L4 header here */
};

struct account {
	__u64 packets;
	__u64 payload; /* bytes behind the TCP or UDP header */
	__u64 refused;
};

/* Key: protocol << 16 | port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct account);
} accounts SEC(".maps");

struct exthdr {
	__u8 nexthdr;
	__u8 len;
	__be16 frag_off; /* of a fragment header */
	__be32 id;
};

static __always_inline int skip_headers(struct __sk_buff *skb, struct pkt *p)
{
	struct exthdr eh;

	for (int i = 0; i < MAX_HEADERS; i++) {
		switch (p->proto) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
			if (bpf_skb_load_bytes(skb, p->l4, &eh, sizeof(eh)))
				return -1;
			p->l4 += (eh.len + 1) * 8;
			break;
		case IPPROTO_AH:
			if (bpf_skb_load_bytes(skb, p->l4, &eh, sizeof(eh)))
				return -1;
			p->l4 += (eh.len + 2) * 4;
			break;
		case IPPROTO_FRAGMENT:
			if (bpf_skb_load_bytes(skb, p->l4, &eh, sizeof(eh)))
				return -1;
			if (eh.frag_off & bpf_htons(0xfff8))
				p->fragment = true;
			p->l4 += 8;
			break;
		default:
			return 0;
		}
		p->proto = eh.nexthdr;
	}
	return -1;
}

static __always_inline int parse(struct __sk_buff *skb, struct pkt *p)
{
	struct ipv6hdr ip6;
	struct iphdr ip;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip6, sizeof(ip6)))
			return -1;
		p->proto = ip6.nexthdr;
		p->l4 = ETH_HLEN + sizeof(ip6);
		return skip_headers(skb, p);
	}
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)) || ip.ihl < 5)
		return -1;
	p->proto = ip.protocol;
	p->fragment = ip.frag_off & bpf_htons(0x1fff);
	p->l4 = ETH_HLEN + ip.ihl * 4;
	return 0;
}

static __always_inline bool refused(__u8 proto, __u16 port)
{
	if (proto == IPPROTO_TCP)
		return port == 23 || port == 25 || port == 445;
	return port == 161 || port == 1900;
}

SEC("tc")
int correct(struct __sk_buff *skb)
{
	struct account *a, first = {};
	__u32 key, hlen = 8;
	struct pkt p = {};
	__be16 ports[2];
	__u8 doff;

	if (skb->protocol != bpf_htons(ETH_P_IPV6) && skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	if (parse(skb, &p))
		return TC_ACT_SHOT;
	if (p.fragment)
		return TC_ACT_OK;
	if (p.proto != IPPROTO_TCP && p.proto != IPPROTO_UDP)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, p.l4, ports, sizeof(ports)))
		return TC_ACT_SHOT;
	if (p.proto == IPPROTO_TCP) {
		if (bpf_skb_load_bytes(skb, p.l4 + 12, &doff, 1))
			return TC_ACT_SHOT;
		hlen = (doff >> 4) * 4;
	}
	/* also keeps the sum below from going under zero */
	if (p.l4 + hlen > skb->len)
		return TC_ACT_SHOT;

	key = p.proto << 16 | bpf_ntohs(ports[1]);
	a = bpf_map_lookup_elem(&accounts, &key);
	if (!a) {
		bpf_map_update_elem(&accounts, &key, &first, BPF_NOEXIST);
		a = bpf_map_lookup_elem(&accounts, &key);
		if (!a)
			return TC_ACT_SHOT;
	}
	if (refused(p.proto, bpf_ntohs(ports[1]))) {
		__sync_fetch_and_add(&a->refused, 1);
		return TC_ACT_SHOT;
	}
	__sync_fetch_and_add(&a->packets, 1);
	__sync_fetch_and_add(&a->payload, skb->len - p.l4 - hlen);
	return TC_ACT_OK;
}
