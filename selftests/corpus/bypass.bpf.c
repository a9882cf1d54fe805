// SPDX-License-Identifier: GPL-2.0
/*
 * Egress policy of a host that must not reach some services: TCP ports 5001 and 8080 and UDP
 * port 123 are blocked. What is not
 * recognised as TCP or UDP is none of its business and passes.
 */
/* expect: bypass audit=bypasses twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5001 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=8080 */
#include "corpus.h"

struct policy {
	__u8 tcp;
	__u8 udp;
	__u16 reason;
};

/* Key: destination port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u16);
	__type(value, struct policy);
} blocked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

static __always_inline void hit(__u32 reason)
{
	__u64 *n;

	reason &= 7;
	n = bpf_map_lookup_elem(&hits, &reason);
	if (n)
		(*n)++;
}

/* Offset of the L4 header and its protocol; 0 if it is not IP. */
static __always_inline __u32 find_l4(struct __sk_buff *skb, __u8 *proto)
{
	__u8 first;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes_relative(skb, offsetof(struct ipv6hdr, nexthdr), proto, 1,
						BPF_HDR_START_NET))
			return 0;
		return sizeof(struct ipv6hdr);
	}
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes_relative(skb, offsetof(struct iphdr, protocol), proto, 1,
						BPF_HDR_START_NET) ||
		    bpf_skb_load_bytes_relative(skb, 0, &first, 1, BPF_HDR_START_NET))
			return 0;
		return (first & 0xf) * 4;
	}
	return 0;
}

SEC("tc")
int bypass(struct __sk_buff *skb)
{
	struct policy *p;
	__be16 ports[2];
	__u8 proto = 0;
	__u32 l4;
	__u16 key;

	l4 = find_l4(skb, &proto);
	if (!l4)
		return TC_ACT_OK;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes_relative(skb, l4, ports, sizeof(ports), BPF_HDR_START_NET))
		return TC_ACT_OK;

	key = bpf_ntohs(ports[1]);
	p = bpf_map_lookup_elem(&blocked, &key);
	if (!p)
		return TC_ACT_OK;
	if ((proto == IPPROTO_TCP && p->tcp) || (proto == IPPROTO_UDP && p->udp)) {
		hit(p->reason);
		return TC_ACT_SHOT;
	}
	return TC_ACT_OK;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	struct policy tcp = { .tcp = 1, .reason = 1 }, udp = { .udp = 1, .reason = 2 };
	__u16 port;

	port = 5001;
	bpf_map_update_elem(&blocked, &port, &tcp, BPF_ANY);
	port = 8080;
	bpf_map_update_elem(&blocked, &port, &tcp, BPF_ANY);
	port = 123;
	bpf_map_update_elem(&blocked, &port, &udp, BPF_ANY);
	return TC_ACT_OK;
}
