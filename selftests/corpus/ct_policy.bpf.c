// SPDX-License-Identifier: GPL-2.0
/*
 * Network policy of a pod: ingress and egress rules by protocol and port, and a connection
 * table of its own, so that answers to what was let out are let in and the other way round. The
 * protocol of the key is the Next Header field of the fixed IPv6 header.
 */
/* expect: ct_policy audit=drops twin=made kernel=6.1 */
/* expect: ct_policy_out audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:2::2 dst=2001:db8:1::1 sport=443 dport=40001 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

enum ct_dir {
	CT_INGRESS,
	CT_EGRESS,
};

struct policy_key {
	__u8 dir;
	__u8 proto;
	__u16 port; /* host order; 0: every port */
};

struct ct_tuple {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__u16 sport;
	__u16 dport;
	__u8 proto;
	__u8 pad[3];
};

struct ct_entry {
	__u64 last_seen;
	__u64 packets;
	__u64 bytes;
	__u8 dir;
	__u8 fin;
	__u8 pad[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct policy_key);
	__type(value, __u64); /* connections let in by this rule */
} policies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct ct_tuple);
	__type(value, struct ct_entry);
} conntrack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} denied SEC(".maps");

/* Returns 1 and fills @t, 0 if the packet is not IP, or -1 if it is broken. */
static __always_inline int ct_parse(struct __sk_buff *skb, struct ct_tuple *t, __u8 *fin)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	void *l4;

	if ((void *)(eth + 1) > data_end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > data_end || ip->ihl < 5)
			return -1;
		t->saddr.s6_addr32[2] = bpf_htonl(0xffff);
		t->saddr.s6_addr32[3] = ip->saddr;
		t->daddr.s6_addr32[2] = bpf_htonl(0xffff);
		t->daddr.s6_addr32[3] = ip->daddr;
		t->proto = ip->protocol;
		l4 = (void *)ip + ip->ihl * 4;
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > data_end)
			return -1;
		t->saddr = ip6->saddr;
		t->daddr = ip6->daddr;
		t->proto = ip6->nexthdr;
		l4 = ip6 + 1;
	} else {
		return 0;
	}

	if (t->proto == IPPROTO_TCP) {
		struct tcphdr *th = l4;

		if ((void *)(th + 1) > data_end)
			return -1;
		t->sport = th->source;
		t->dport = th->dest;
		*fin = th->fin || th->rst;
	} else if (t->proto == IPPROTO_UDP) {
		struct udphdr *uh = l4;

		if ((void *)(uh + 1) > data_end)
			return -1;
		t->sport = uh->source;
		t->dport = uh->dest;
	}
	return 1;
}

static __always_inline bool ct_seen(struct ct_tuple *t, __u32 len, __u8 fin)
{
	struct ct_entry *e = bpf_map_lookup_elem(&conntrack, t);

	if (!e)
		return false;
	e->last_seen = bt_now();
	e->fin |= fin;
	__sync_fetch_and_add(&e->packets, 1);
	__sync_fetch_and_add(&e->bytes, len);
	return true;
}

static __always_inline bool policy_allows(const struct ct_tuple *t, __u8 dir)
{
	struct policy_key key = { .dir = dir, .proto = t->proto, .port = bpf_ntohs(t->dport) };
	__u64 *hits = bpf_map_lookup_elem(&policies, &key);

	if (!hits) {
		key.port = 0;
		hits = bpf_map_lookup_elem(&policies, &key);
	}
	if (!hits)
		return false;
	__sync_fetch_and_add(hits, 1);
	return true;
}

static __always_inline int ct_handle(struct __sk_buff *skb, __u8 dir)
{
	struct ct_tuple t = {}, rev = {};
	struct ct_entry e = {};
	__u32 slot = dir;
	__u64 *drops;
	__u8 fin = 0;
	int ret;

	ret = ct_parse(skb, &t, &fin);
	if (ret == 0)
		return TC_ACT_OK;
	if (ret < 0)
		return TC_ACT_SHOT;

	if (ct_seen(&t, skb->len, fin))
		return TC_ACT_OK;

	rev.saddr = t.daddr;
	rev.daddr = t.saddr;
	rev.sport = t.dport;
	rev.dport = t.sport;
	rev.proto = t.proto;
	if (ct_seen(&rev, skb->len, fin))
		return TC_ACT_OK;

	if (policy_allows(&t, dir)) {
		e.last_seen = bt_now();
		e.packets = 1;
		e.bytes = skb->len;
		e.dir = dir;
		e.fin = fin;
		bpf_map_update_elem(&conntrack, &t, &e, BPF_ANY);
		return TC_ACT_OK;
	}

	drops = bpf_map_lookup_elem(&denied, &slot);
	if (drops)
		__sync_fetch_and_add(drops, 1);
	return TC_ACT_SHOT;
}

SEC("tc")
int ct_policy(struct __sk_buff *skb)
{
	return ct_handle(skb, CT_INGRESS);
}

SEC("tc")
int ct_policy_out(struct __sk_buff *skb)
{
	return ct_handle(skb, CT_EGRESS);
}

static __always_inline long policy_add(__u8 proto, __u16 port)
{
	struct policy_key in = { .dir = CT_INGRESS, .proto = proto, .port = port };
	struct policy_key out = { .dir = CT_EGRESS, .proto = proto, .port = port };
	__u64 zero = 0;

	return bpf_map_update_elem(&policies, &in, &zero, BPF_ANY) |
	       bpf_map_update_elem(&policies, &out, &zero, BPF_ANY);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	long err = 0;

	err |= policy_add(IPPROTO_TCP, 443);
	err |= policy_add(IPPROTO_TCP, 5201);
	err |= policy_add(IPPROTO_TCP, 5202);
	err |= policy_add(IPPROTO_UDP, 53);
	err |= policy_add(IPPROTO_UDP, 5201);
	err |= policy_add(IPPROTO_ICMP, 0);
	err |= policy_add(IPPROTO_ICMPV6, 0);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
