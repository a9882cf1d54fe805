// SPDX-License-Identifier: GPL-2.0
/*
 * Ingress policy with one path for both families: the length of the network header is a constant of
 * IPv6 and a variable of IPv4, and what comes after it is read at that offset. What comes from or goes to no
 * open port is refused.
 */
/* expect: cg_var_ihl audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

struct cgv_count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct cgv_count);
} cgv_open SEC(".maps");

static __always_inline int cgv_policy(__be16 sport, __be16 dport, __u32 bytes)
{
	__u16 key = bpf_ntohs(dport);
	struct cgv_count *c = bpf_map_lookup_elem(&cgv_open, &key);

	if (!c) {
		key = bpf_ntohs(sport);
		c = bpf_map_lookup_elem(&cgv_open, &key);
	}
	if (!c)
		return 0;
	__sync_fetch_and_add(&c->packets, 1);
	__sync_fetch_and_add(&c->bytes, bytes);
	return 1;
}

SEC("cgroup_skb/ingress")
int cg_var_ihl(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct udphdr *ports;
	__u32 l4_off;
	__u8 proto;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = data;

		if ((void *)(ip6 + 1) > end)
			return 0;
		proto = ip6->nexthdr;
		l4_off = sizeof(*ip6);
	} else if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data;

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return 0;
		proto = ip->protocol;
		l4_off = ip->ihl * 4;
	} else {
		return 1;
	}
	if (proto == IPPROTO_ICMPV6 || proto == IPPROTO_ICMP)
		return 1;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return 0;
	ports = data + l4_off;
	if ((void *)(ports + 1) > end)
		return 0;
	return cgv_policy(ports->source, ports->dest, skb->len - l4_off);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 22, 443, 5201, 8443 };
	struct cgv_count none = {};
	long err = 0;

	for (int i = 0; i < 4; i++)
		err |= bpf_map_update_elem(&cgv_open, &ports[i], &none, BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
