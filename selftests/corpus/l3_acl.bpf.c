// SPDX-License-Identifier: GPL-2.0
/*
 * Access list and counters by TCP port for a device without link-layer header (tun, WireGuard): the IP
 * header is at offset 0. A packet is booked on the lower of its ports that the list has; what it has
 * neither of, and what is not TCP, is booked on port 0. l3_mark writes the traffic class of a port's
 * packets, IPv6 only.
 */
/* expect: l3_acl audit=unknown twin=made kernel=6.1 */
/* expect: l3_mark audit=unknown twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=5201 */
#include "corpus.h"

struct rule {
	__u64 packets;
	__u64 bytes; /* of the IP packets */
	__u32 deny;
	__u32 dscp;
};

/* Key: a port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct rule);
} rules SEC(".maps");

static __always_inline struct tcphdr *l3_tcp(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip6 = data;
	struct iphdr *ip = data;
	struct tcphdr *tcp;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(ip6 + 1) > end || ip6->version != 6 || ip6->nexthdr != IPPROTO_TCP)
			return NULL;
		tcp = (void *)(ip6 + 1);
	} else if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if ((void *)(ip + 1) > end || ip->version != 4 || ip->protocol != IPPROTO_TCP)
			return NULL;
		tcp = data + ip->ihl * 4;
	} else {
		return NULL;
	}
	return (void *)(tcp + 1) > end ? NULL : tcp;
}

static __always_inline struct rule *l3_rule(const struct tcphdr *tcp)
{
	struct rule *rule = NULL;
	__u16 port = 0;

	if (tcp) {
		__u16 sport = bpf_ntohs(tcp->source), dport = bpf_ntohs(tcp->dest);

		port = sport < dport ? sport : dport;
		rule = bpf_map_lookup_elem(&rules, &port);
		if (!rule) {
			port = sport < dport ? dport : sport;
			rule = bpf_map_lookup_elem(&rules, &port);
		}
		port = 0;
	}
	return rule ? rule : bpf_map_lookup_elem(&rules, &port);
}

SEC("tc")
int l3_acl(struct __sk_buff *skb)
{
	struct rule *rule = l3_rule(l3_tcp(skb));

	if (!rule)
		return TC_ACT_OK;
	__sync_fetch_and_add(&rule->packets, 1);
	__sync_fetch_and_add(&rule->bytes, skb->len);
	return rule->deny ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("tc")
int l3_mark(struct __sk_buff *skb)
{
	struct tcphdr *tcp = l3_tcp(skb);
	struct rule *rule = l3_rule(tcp);
	__u8 *ip6;

	if (!tcp || !rule || skb->protocol != bpf_htons(ETH_P_IPV6))
		return TC_ACT_OK;
	ip6 = (__u8 *)(long)skb->data;
	if ((void *)(ip6 + sizeof(struct ipv6hdr)) > (void *)(long)skb->data_end)
		return TC_ACT_OK;
	ip6[0] = 0x60 | (rule->dscp & 0x3f) >> 2;
	ip6[1] = (ip6[1] & 0x3f) | rule->dscp << 6;
	__sync_fetch_and_add(&rule->packets, 1);
	__sync_fetch_and_add(&rule->bytes, skb->len);
	return TC_ACT_OK;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	__u16 ports[] = { 0, 22, 443, 5201, 8443 };
	struct rule rule = {};

	for (int i = 0; i < 5; i++) {
		rule.deny = ports[i] == 22;
		rule.dscp = i;
		bpf_map_update_elem(&rules, &ports[i], &rule, BPF_ANY);
	}
	return TC_ACT_OK;
}
