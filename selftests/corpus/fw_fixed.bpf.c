// SPDX-License-Identifier: GPL-2.0
/*
 * fw_naive.bpf.c as its author would repair it, with the parser of <bigtcp/parse.bpf.h>. The
 * rules and the counters are the same; what the parser finds broken is counted as short.
 */
/* expect: fw_fixed audit=safe twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"
#include <bigtcp/parse.bpf.h>

struct fw_rule {
	__u16 lo;
	__u16 hi;
	__u8 proto;
};

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
	FW_FRAGMENT, /* dropped: has no ports, or only the first of several has */
	FW_ETHERTYPE, /* dropped */
	FW_PROTO, /* dropped: IP protocol not allowed */
	FW_PORT, /* dropped: no rule for these ports */
	FW_COUNTERS,
};

struct fw_counter {
	__u64 packets;
	__u64 bytes; /* without the kernel's jumbo header, which never is on the wire */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FW_COUNTERS);
	__type(key, __u32);
	__type(value, struct fw_counter);
} fw_counters SEC(".maps");

static __always_inline int fw_count(__u32 len, __u32 slot, int verdict)
{
	struct fw_counter *c = bpf_map_lookup_elem(&fw_counters, &slot);

	if (c) {
		c->packets++;
		c->bytes += len;
	}
	return verdict;
}

static __always_inline int fw_ports(__u32 len, __u8 proto, __u16 sport, __u16 dport)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < FW_RULES; i++) {
		const struct fw_rule *r = &fw_rules[i];

		if (r->proto != proto)
			continue;
		if ((dport >= r->lo && dport <= r->hi) || (sport >= r->lo && sport <= r->hi))
			return fw_count(len, i, TC_ACT_OK);
	}
	return fw_count(len, FW_PORT, TC_ACT_SHOT);
}

static __always_inline int fw_l4(struct __sk_buff *skb, const struct bigtcp_pkt *pkt, __u32 len)
{
	struct tcphdr *th;
	struct udphdr *uh;

	switch (pkt->l4_proto) {
	case IPPROTO_TCP:
		th = bigtcp_l4(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), pkt, sizeof(*th));
		if (!th || pkt->l4_len < sizeof(*th) || th->doff < 5)
			return fw_count(len, FW_SHORT, TC_ACT_SHOT);
		return fw_ports(len, IPPROTO_TCP, bpf_ntohs(th->source), bpf_ntohs(th->dest));
	case IPPROTO_UDP:
		uh = bigtcp_l4(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), pkt, sizeof(*uh));
		if (!uh || pkt->l4_len < sizeof(*uh))
			return fw_count(len, FW_SHORT, TC_ACT_SHOT);
		return fw_ports(len, IPPROTO_UDP, bpf_ntohs(uh->source), bpf_ntohs(uh->dest));
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return fw_count(len, FW_ICMP, TC_ACT_OK);
	default:
		return fw_count(len, FW_PROTO, TC_ACT_SHOT);
	}
}

SEC("tc")
int fw_fixed(struct __sk_buff *skb)
{
	struct bigtcp_pkt pkt;
	__u32 len = skb->len;
	int ret;

	ret = bigtcp_parse_skb_eth(skb, &pkt);
	if (ret == BIGTCP_PARSE_NOT_IP) {
		if (pkt.l3_proto == ETH_P_ARP)
			return fw_count(len, FW_ARP, TC_ACT_OK);
		return fw_count(len, FW_ETHERTYPE, TC_ACT_SHOT);
	}
	if (ret != BIGTCP_PARSE_OK)
		return fw_count(len, FW_SHORT, TC_ACT_SHOT);
	if (pkt.nr_vlan)
		return fw_count(len, FW_ETHERTYPE, TC_ACT_SHOT);
	if (pkt.fragment)
		return fw_count(len, FW_FRAGMENT, TC_ACT_SHOT);
	if (pkt.is_jumbo == BIGTCP_JUMBO_HBH)
		len -= BIGTCP_JUMBO_HDR_LEN;
	return fw_l4(skb, &pkt, len);
}
