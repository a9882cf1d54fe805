// SPDX-License-Identifier: GPL-2.0
/* A tc action (BPF_PROG_TYPE_SCHED_ACT): drops what is no TCP, and counts by destination port. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __be16);
	__type(value, __u64);
} act_ports SEC(".maps");

SEC("action")
int act_tcp(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip6 + 1);
	__u64 one = 1, *v;

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return TC_ACT_OK;
	if (ip6->nexthdr == IPPROTO_ICMPV6)
		return TC_ACT_OK;
	if (ip6->nexthdr != IPPROTO_TCP || (void *)(tcp + 1) > end)
		return TC_ACT_SHOT;
	v = bpf_map_lookup_elem(&act_ports, &tcp->dest);
	if (v)
		__sync_fetch_and_add(v, 1);
	else
		bpf_map_update_elem(&act_ports, &tcp->dest, &one, BPF_ANY);
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
