// SPDX-License-Identifier: GPL-2.0
/*
 * A gate before an accounting stage: the gate is asked by a tail call from a subprogram, and what
 * it let pass is booked under the packet's protocol and source network, read again afterwards.
 */
/* expect: tail_back audit=misreads twin=made kernel=6.1 */
/* expect: tb_gate audit=unknown twin=made kernel=6.1 */
/* fill: gates[0]=tb_gate */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} gates SEC(".maps");

struct book_key {
	__u32 net; /* third and fourth 16 bits of an IPv6 source, or an IPv4 source */
	__u8 proto;
	__u8 hops;
	__u16 family; /* ethertype, network byte order */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct book_key);
	__type(value, __u64);
} books SEC(".maps");

static __noinline int ask_gate(struct __sk_buff *skb, __u32 gate)
{
	bpf_tail_call(skb, &gates, gate);
	return TC_ACT_OK;
}

/* Lets everything pass but packets about to die. */
SEC("tc")
int tb_gate(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return TC_ACT_OK;
	return ip6->hop_limit > 3 || ip6->nexthdr == IPPROTO_ICMPV6 ? TC_ACT_OK : TC_ACT_SHOT;
}

static __always_inline void book(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct book_key key = {};
	__u64 one = 1, *n;

	if ((void *)(eth + 1) > end)
		return;
	key.family = eth->h_proto;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return;
		key.net = ip6->saddr.in6_u.u6_addr32[1];
		key.proto = ip6->nexthdr;
		key.hops = ip6->hop_limit;
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return;
		key.net = ip->saddr;
		key.proto = ip->protocol;
		key.hops = ip->ttl;
	}
	n = bpf_map_lookup_elem(&books, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&books, &key, &one, BPF_NOEXIST);
}

SEC("tc")
int tail_back(struct __sk_buff *skb)
{
	int ret = ask_gate(skb, 0);

	if (ret == TC_ACT_OK)
		book(skb);
	return ret;
}
