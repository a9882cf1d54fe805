// SPDX-License-Identifier: GPL-2.0
/*
 * Tail calls from a subprogram (x86-64, kernel 5.10 and later): the verdict of the called program
 * comes back to the caller of the subprogram, which goes on with it. The caller here looks at the
 * packet again afterwards, to note what was let pass.
 */
/* expect: tail_sub audit=drops twin=made kernel=6.1 */
/* expect: tsub_tcp audit=safe twin=made kernel=6.1 */
/* fill: by_proto[6]=tsub_tcp */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define CB_READY 0x5b5b0000u

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 256);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} by_proto SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} passed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} tcp_seen SEC(".maps");

/* What protocols without a program of their own get. */
static __noinline int fallback(struct __sk_buff *skb, __u32 proto)
{
	switch (proto) {
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
	case IPPROTO_UDP:
		return TC_ACT_OK;
	default:
		return TC_ACT_SHOT;
	}
}

static __noinline int dispatch(struct __sk_buff *skb, __u32 proto)
{
	bpf_tail_call(skb, &by_proto, proto);
	return fallback(skb, proto);
}

/* Counts the packet under its destination port. */
static __noinline void note(struct __sk_buff *skb, __u32 l4)
{
	__u64 one = 1, *n;
	__be16 ports[2];
	__u32 key;

	if (bpf_skb_load_bytes(skb, l4, ports, sizeof(ports)))
		return;
	key = bpf_ntohs(ports[1]);
	n = bpf_map_lookup_elem(&passed, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&passed, &key, &one, BPF_NOEXIST);
}

SEC("tc")
int tsub_tcp(struct __sk_buff *skb)
{
	__u32 l4 = skb->cb[0] & 0xffff;
	__u64 *n;
	__u32 key;
	__u8 flags;

	if ((skb->cb[0] & 0xffff0000) != CB_READY)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, l4 + 13, &flags, sizeof(flags)))
		return TC_ACT_SHOT;
	/* SYN+FIN, and no flag at all, are scans */
	if ((flags & 0x03) == 0x03 || !(flags & 0x3f))
		return TC_ACT_SHOT;
	key = !!(flags & 0x02);
	n = bpf_map_lookup_elem(&tcp_seen, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	return TC_ACT_OK;
}

SEC("tc")
int tail_sub(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6;
	__u32 proto, l4;
	struct iphdr *ip;
	int ret;

	if ((void *)(eth + 1) > end)
		return TC_ACT_SHOT;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		ip6 = (void *)(eth + 1);
		if ((void *)(ip6 + 1) > end)
			return TC_ACT_SHOT;
		proto = ip6->nexthdr;
		l4 = sizeof(*eth) + sizeof(*ip6);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		ip = (void *)(eth + 1);
		if ((void *)(ip + 1) > end)
			return TC_ACT_SHOT;
		proto = ip->protocol;
		l4 = sizeof(*eth) + ip->ihl * 4;
	} else {
		return TC_ACT_OK;
	}

	skb->cb[0] = CB_READY | l4;
	ret = dispatch(skb, proto);
	if (ret != TC_ACT_OK)
		return ret;
	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP)
		note(skb, l4);
	return TC_ACT_OK;
}
