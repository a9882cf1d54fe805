// SPDX-License-Identifier: GPL-2.0
/*
 * Stateless firewall: everything is dropped but TCP and UDP from or to a few ports, ICMP and
 * ARP. The TCP header is taken to follow the fixed IPv6 header.
 */
/* expect: fw_naive audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

struct fw_rule {
	__u16 lo;
	__u16 hi;
	__u8 proto;
};

/* A packet matches if its source or its destination port is in the range: no state is kept, so
 * answers have to be let in by their source port.
 */
static const struct fw_rule fw_rules[] = {
	{ 443, 443, IPPROTO_TCP },     { 5201, 5202, IPPROTO_TCP }, { 40000, 65535, IPPROTO_TCP },
	{ 53, 53, IPPROTO_UDP },       { 443, 443, IPPROTO_UDP },   { 5201, 5202, IPPROTO_UDP },
	{ 40000, 65535, IPPROTO_UDP },
};

#define FW_RULES (sizeof(fw_rules) / sizeof(fw_rules[0]))

/* Counters: the rules come first, then these. */
enum {
	FW_ARP = FW_RULES,
	FW_ICMP,
	FW_SHORT, /* dropped: truncated or with a bad header */
	FW_FRAGMENT, /* dropped: has no ports */
	FW_ETHERTYPE, /* dropped */
	FW_PROTO, /* dropped: IP protocol not allowed */
	FW_PORT, /* dropped: no rule for these ports */
	FW_COUNTERS,
};

struct fw_counter {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FW_COUNTERS);
	__type(key, __u32);
	__type(value, struct fw_counter);
} fw_counters SEC(".maps");

static __always_inline int fw_count(struct __sk_buff *skb, __u32 slot, int verdict)
{
	struct fw_counter *c = bpf_map_lookup_elem(&fw_counters, &slot);

	if (c) {
		c->packets++;
		c->bytes += skb->len;
	}
	return verdict;
}

static __always_inline int fw_ports(struct __sk_buff *skb, __u8 proto, __u16 sport, __u16 dport)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < FW_RULES; i++) {
		const struct fw_rule *r = &fw_rules[i];

		if (r->proto != proto)
			continue;
		if ((dport >= r->lo && dport <= r->hi) || (sport >= r->lo && sport <= r->hi))
			return fw_count(skb, i, TC_ACT_OK);
	}
	return fw_count(skb, FW_PORT, TC_ACT_SHOT);
}

static __always_inline int fw_l4(struct __sk_buff *skb, __u8 proto, void *l4, void *data_end)
{
	struct tcphdr *th = l4;
	struct udphdr *uh = l4;

	switch (proto) {
	case IPPROTO_TCP:
		if ((void *)(th + 1) > data_end || th->doff < 5)
			return fw_count(skb, FW_SHORT, TC_ACT_SHOT);
		return fw_ports(skb, proto, bpf_ntohs(th->source), bpf_ntohs(th->dest));
	case IPPROTO_UDP:
		if ((void *)(uh + 1) > data_end)
			return fw_count(skb, FW_SHORT, TC_ACT_SHOT);
		return fw_ports(skb, proto, bpf_ntohs(uh->source), bpf_ntohs(uh->dest));
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return fw_count(skb, FW_ICMP, TC_ACT_OK);
	default:
		return fw_count(skb, FW_PROTO, TC_ACT_SHOT);
	}
}

static __always_inline int fw_ipv4(struct __sk_buff *skb, struct iphdr *ip, void *data_end)
{
	if ((void *)(ip + 1) > data_end || ip->version != 4 || ip->ihl < 5)
		return fw_count(skb, FW_SHORT, TC_ACT_SHOT);
	if (ip->frag_off & bpf_htons(0x3fff))
		return fw_count(skb, FW_FRAGMENT, TC_ACT_SHOT);
	return fw_l4(skb, ip->protocol, (void *)ip + ip->ihl * 4, data_end);
}

static __always_inline int fw_ipv6(struct __sk_buff *skb, struct ipv6hdr *ip6, void *data_end)
{
	if ((void *)(ip6 + 1) > data_end || ip6->version != 6)
		return fw_count(skb, FW_SHORT, TC_ACT_SHOT);
	return fw_l4(skb, ip6->nexthdr, ip6 + 1, data_end);
}

SEC("tc")
int fw_naive(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > data_end)
		return fw_count(skb, FW_SHORT, TC_ACT_SHOT);

	switch (eth->h_proto) {
	case bpf_htons(ETH_P_IP):
		return fw_ipv4(skb, (void *)(eth + 1), data_end);
	case bpf_htons(ETH_P_IPV6):
		return fw_ipv6(skb, (void *)(eth + 1), data_end);
	case bpf_htons(ETH_P_ARP):
		return fw_count(skb, FW_ARP, TC_ACT_OK);
	default:
		return fw_count(skb, FW_ETHERTYPE, TC_ACT_SHOT);
	}
}
