// SPDX-License-Identifier: GPL-2.0
/* What the loaders of this directory load: a tc program that counts TCP over IPv6, and its maps. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

__u64 all = 0;

static __always_inline void add(__u32 what)
{
	__u64 *v = bpf_map_lookup_elem(&seen, &what);

	if (v)
		__sync_fetch_and_add(v, 1);
}

SEC("tc")
int count(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip6 = data + sizeof(struct ethhdr);

	__sync_fetch_and_add(&all, 1);
	if ((void *)(ip6 + 1) > end || skb->protocol != bpf_htons(ETH_P_IPV6))
		return TC_ACT_UNSPEC;
	add(ip6->nexthdr != IPPROTO_TCP);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
