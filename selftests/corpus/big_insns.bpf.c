// SPDX-License-Identifier: GPL-2.0
/*
 * A generated access list: 448 rules compiled to straight code, as a controller does that wants no
 * map lookups in the packet path. The first rule that matches decides; TCP, UDP and ICMP pass if
 * none does, everything else is dropped. Compiles to more than 5,000 instructions.
 */
/* expect: big_insns audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=2001:db8:111::1 dst=2001:db8::2 sport=40000 dport=1119 */
#include "corpus.h"

#define RULES	448
#define R_NONE	(RULES + 0) /* no rule, known protocol */
#define R_PROTO (RULES + 1)
#define R_SHORT (RULES + 2)

/* Addresses in host byte order; IPv4 as ::ffff:a.b.c.d. */
struct flow {
	__u32 src[4];
	__u32 dst[4];
	__u32 sport;
	__u32 dport;
	__u8 proto;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RULES + 3);
	__type(key, __u32);
	__type(value, __u64);
} rule_hits SEC(".maps");

static __always_inline int load_ports(struct __sk_buff *skb, struct flow *f, __u32 off)
{
	__be16 ports[2];

	if (f->proto != IPPROTO_TCP && f->proto != IPPROTO_UDP)
		return 0;
	if (bpf_skb_load_bytes(skb, off, ports, sizeof(ports)))
		return -1;
	f->sport = bpf_ntohs(ports[0]);
	f->dport = bpf_ntohs(ports[1]);
	return 0;
}

static __always_inline int parse(struct __sk_buff *skb, struct flow *f)
{
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip6;

		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip6, sizeof(ip6)))
			return -1;
		for (int i = 0; i < 4; i++) {
			f->src[i] = bpf_ntohl(ip6.saddr.s6_addr32[i]);
			f->dst[i] = bpf_ntohl(ip6.daddr.s6_addr32[i]);
		}
		f->proto = ip6.nexthdr;
		return load_ports(skb, f, ETH_HLEN + sizeof(ip6));
	} else {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
			return -1;
		f->src[2] = 0xffff;
		f->dst[2] = 0xffff;
		f->src[3] = bpf_ntohl(ip.saddr);
		f->dst[3] = bpf_ntohl(ip.daddr);
		f->proto = ip.protocol;
		return load_ports(skb, f, ETH_HLEN + ip.ihl * 4);
	}
}

/*
 * One branch a rule: @miss is what differs between rule and packet. A branch for each condition
 * would make the verifier follow too many paths.
 */
#define MATCH(miss, n, verdict)         \
	do {                            \
		if (!(miss)) {          \
			*rule = (n);    \
			return verdict; \
		}                       \
	} while (0)

#define DIFF(field, value)   ((field) ^ (value))
#define DIFF16(field, value) (((field) >> 16) ^ (value))
/* ports lo to lo + 3 */
#define OUTSIDE4(port, lo) (((port) - (lo)) & ~3u)

/* tenant n, 2001:db8:1nn::/48, must not reach its neighbours' service ports */
#define RULE_TENANT6(n)                                                                    \
	MATCH(DIFF(f->proto, IPPROTO_TCP) | DIFF(f->src[0], 0x20010db8) |                  \
		      DIFF16(f->src[1], 0x100 + (n)) | OUTSIDE4(f->dport, 1000 + 7 * (n)), \
	      n, TC_ACT_SHOT)

/* the services of site n, 2001:db8:2nn::/48, are not for the guests of 2001:db8:ffff::/48 */
#define RULE_SITE6(n)                                                              \
	MATCH(DIFF(f->proto, IPPROTO_UDP) | DIFF(f->dst[0], 0x20010db8) |          \
		      DIFF16(f->dst[1], 0x200 + (n)) | DIFF16(f->src[1], 0xffff) | \
		      DIFF(f->dport, 20000 + (n)),                                 \
	      n, TC_ACT_SHOT)

/* IPv4 tenants: 10.n.0.0/16 */
#define RULE_TENANT4(n)                                                                            \
	MATCH(DIFF(f->proto, IPPROTO_TCP) | DIFF(f->src[2], 0xffff) |                              \
		      DIFF16(f->src[3], 0x0a00 | ((n)&0xff)) | OUTSIDE4(f->dport, 3000 + 5 * (n)), \
	      n, TC_ACT_SHOT)

/* probes of the monitoring hosts, 2001:db8:feed::n, pass before any later rule */
#define RULE_PROBE(n)                                                     \
	MATCH(DIFF(f->proto, IPPROTO_TCP) | DIFF(f->src[0], 0x20010db8) | \
		      DIFF(f->src[1], 0xfeed0000) | DIFF(f->src[3], n) |  \
		      DIFF(f->dport, 9000 + (n)),                         \
	      n, TC_ACT_OK)

#define RULES_4(n)             \
	RULE_PROBE(n);         \
	RULE_TENANT6((n) + 1); \
	RULE_SITE6((n) + 2);   \
	RULE_TENANT4((n) + 3)
#define RULES_16(n)       \
	RULES_4(n);       \
	RULES_4((n) + 4); \
	RULES_4((n) + 8); \
	RULES_4((n) + 12)
#define RULES_64(n)         \
	RULES_16(n);        \
	RULES_16((n) + 16); \
	RULES_16((n) + 32); \
	RULES_16((n) + 48)

/* volatile: each rule reads what it compares, or the compiler keeps too many common terms */
static __always_inline int match(const volatile struct flow *f, __u32 *rule)
{
	RULES_64(0);
	RULES_64(64);
	RULES_64(128);
	RULES_64(192);
	RULES_64(256);
	RULES_64(320);
	RULES_64(384);

	switch (f->proto) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		*rule = R_NONE;
		return TC_ACT_OK;
	}
	*rule = R_PROTO;
	return TC_ACT_SHOT;
}

SEC("tc")
int big_insns(struct __sk_buff *skb)
{
	int verdict = TC_ACT_SHOT;
	__u32 rule = R_SHORT;
	struct flow f = {};
	__u64 *hits;

	if (skb->protocol != bpf_htons(ETH_P_IPV6) && skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	if (!parse(skb, &f))
		verdict = match(&f, &rule);
	hits = bpf_map_lookup_elem(&rule_hits, &rule);
	if (hits)
		__sync_fetch_and_add(hits, 1);
	return verdict;
}
