// SPDX-License-Identifier: GPL-2.0
/*
 * A router's answer made of the packet itself: a TCP packet whose hop limit ends here is cut to its
 * first bytes and sent back as an ICMPv6 Time Exceeded, as service load balancers do.
 */
/* expect: cut_reply audit=unknown twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define KEEP	    (ETH_HLEN + sizeof(struct ipv6hdr) + 20)
#define MIN_HOPS    4
#define OUR_HOPS    64
#define TIME_EXCEED 3

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} replies SEC(".maps");

enum {
	REPLY_SENT,
	REPLY_FAILED,
	REPLY_NONE,
};

static __always_inline void count(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&replies, &which);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* Addresses swapped, an ICMPv6 header in place of the TCP header's start. */
static __always_inline int answer(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct icmp6hdr *icmp = (void *)(ip6 + 1);
	struct in6_addr addr;

	if ((void *)(icmp + 1) > end)
		return -1;
	addr = ip6->saddr;
	ip6->saddr = ip6->daddr;
	ip6->daddr = addr;
	ip6->nexthdr = IPPROTO_ICMPV6;
	ip6->hop_limit = OUR_HOPS;
	ip6->payload_len = bpf_htons(KEEP - ETH_HLEN - sizeof(*ip6));
	__builtin_memset(icmp, 0, sizeof(*icmp));
	icmp->icmp6_type = TIME_EXCEED;
	return 0;
}

SEC("tc")
int cut_reply(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return TC_ACT_OK;
	if (ip6->nexthdr != IPPROTO_TCP || ip6->hop_limit >= MIN_HOPS) {
		count(REPLY_NONE);
		return TC_ACT_OK;
	}
	if (bpf_skb_change_tail(skb, KEEP, 0) || answer(skb)) {
		count(REPLY_FAILED);
		return TC_ACT_SHOT;
	}
	count(REPLY_SENT);
	return TC_ACT_UNSPEC;
}
