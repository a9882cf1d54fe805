// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that write at the place where the TCP header is in a packet without extension headers.
 *
 * - fixed_write leaves a tenant's number in the urgent pointer, which nobody reads as long as
 *   nobody sends urgent data. It takes all that is not ICMP or UDP for TCP;
 * - fixed_dnat sends what comes for a service address to another port, and answers back, with
 *   direct writes. Nothing but TCP is expected at that address;
 * - dscp_mark marks by port: it writes to the IP header only, but reads ports at a fixed place.
 */
/* expect: fixed_write audit=corrupts twin=made kernel=6.1 */
/* expect: fixed_dnat audit=corrupts twin=made kernel=6.1 */
/* expect: dscp_mark audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=2001:db8::1 dst=2001:db8::80 sport=40000 dport=80 */
/* flow: src=2001:db8::80 dst=2001:db8::1 sport=8080 dport=40000 */
#include "corpus.h"

#define L4_OFF4	 (ETH_HLEN + sizeof(struct iphdr))
#define L4_OFF6	 (ETH_HLEN + sizeof(struct ipv6hdr))
#define CSUM_OFF 16
#define URG_OFF	 18

const volatile __u16 tenant = 0x2a07;

/* The service: address 2001:db8::80 or 192.0.2.80, port outside and inside. */
#define VIP6_HEAD bpf_htonl(0x20010db8)
#define VIP6_TAIL bpf_htonl(0x00000080)
#define VIP4	  bpf_htonl(0xc0000250)
#define PORT_OUT  bpf_htons(80)
#define PORT_IN	  bpf_htons(8080)

/* The offset of what is taken for a TCP header, 0 if there is none. */
static __always_inline __u32 tcp_offset(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(eth + 1) > end)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(ip6 + 1) + sizeof(struct tcphdr) > end)
			return 0;
		if (ip6->nexthdr == IPPROTO_UDP || ip6->nexthdr == IPPROTO_ICMPV6)
			return 0;
		return L4_OFF6;
	}
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		if ((void *)(ip + 1) + sizeof(struct tcphdr) > end || ip->ihl != 5)
			return 0;
		if (ip->protocol == IPPROTO_UDP || ip->protocol == IPPROTO_ICMP)
			return 0;
		return L4_OFF4;
	}
	return 0;
}

SEC("tc")
int fixed_write(struct __sk_buff *skb)
{
	__u32 l4 = tcp_offset(skb);
	__be16 old, tag;

	if (!l4)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, l4 + URG_OFF, &old, sizeof(old)))
		return TC_ACT_SHOT;
	tag = bpf_htons(tenant);
	if (old == tag)
		return TC_ACT_OK;
	/* no pseudo header flag: a checksum that is left to the device stays as it is */
	if (bpf_l4_csum_replace(skb, l4 + CSUM_OFF, old, tag, sizeof(tag)) ||
	    bpf_skb_store_bytes(skb, l4 + URG_OFF, &tag, sizeof(tag), 0))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

static __always_inline bool is_vip6(const struct in6_addr *a)
{
	return a->s6_addr32[0] == VIP6_HEAD && !a->s6_addr32[1] && !a->s6_addr32[2] &&
	       a->s6_addr32[3] == VIP6_TAIL;
}

SEC("tc")
int fixed_dnat(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__be16 old, new, *port;
	bool to, from;
	__be16 *ports;
	__u32 l4;

	if ((void *)(eth + 1) > end)
		return TC_ACT_OK;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) + sizeof(struct tcphdr) > end)
			return TC_ACT_OK;
		to = is_vip6(&ip6->daddr);
		from = is_vip6(&ip6->saddr);
		ports = (void *)(ip6 + 1);
		l4 = L4_OFF6;
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) + sizeof(struct tcphdr) > end)
			return TC_ACT_OK;
		to = ip->daddr == VIP4;
		from = ip->saddr == VIP4;
		ports = (void *)(ip + 1);
		l4 = L4_OFF4;
	} else {
		return TC_ACT_OK;
	}

	if (to) {
		port = ports + 1;
		new = PORT_IN;
	} else if (from) {
		port = ports;
		new = PORT_OUT;
	} else {
		return TC_ACT_OK;
	}
	old = *port;
	*port = new;
	if (bpf_l4_csum_replace(skb, l4 + CSUM_OFF, old, new, sizeof(new)))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

static __always_inline __u8 dscp_of(__be16 sport, __be16 dport)
{
	if (sport == bpf_htons(22) || dport == bpf_htons(22))
		return 0x12;
	if (sport == bpf_htons(5201) || dport == bpf_htons(5201))
		return 0x08;
	return 0;
}

SEC("tc")
int dscp_mark(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__u8 dscp;

	if ((void *)(eth + 1) > end)
		return TC_ACT_OK;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);
		struct tcphdr *tcp = (void *)(ip6 + 1);

		if ((void *)(tcp + 1) > end)
			return TC_ACT_OK;
		dscp = dscp_of(tcp->source, tcp->dest);
		ip6->priority = dscp >> 2;
		ip6->flow_lbl[0] = (ip6->flow_lbl[0] & 0x3f) | (dscp & 0x3) << 6;
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);
		struct tcphdr *tcp = (void *)(ip + 1);
		__u8 tos;

		if ((void *)(tcp + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_TCP)
			return TC_ACT_OK;
		tos = (ip->tos & 0x3) | dscp_of(tcp->source, tcp->dest) << 2;
		if (tos == ip->tos)
			return TC_ACT_OK;
		if (bpf_l3_csum_replace(skb, ETH_HLEN + offsetof(struct iphdr, check),
					bpf_htons(ip->tos), bpf_htons(tos), 2) ||
		    bpf_skb_store_bytes(skb, ETH_HLEN + offsetof(struct iphdr, tos), &tos, 1, 0))
			return TC_ACT_SHOT;
	}
	return TC_ACT_OK;
}
