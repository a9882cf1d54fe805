// SPDX-License-Identifier: GPL-2.0
/*
 * A dispatcher by protocol number: an agent fills the program array at run time, and protocols
 * without a handler fall through and are let pass and counted as unknown. The handlers end in a
 * common last stage. Handlers parse again, from the offset that the dispatcher left in skb->cb.
 */
/* expect: tail_runtime audit=misreads twin=made kernel=6.1 */
/* expect: tr_tcp audit=unknown twin=made kernel=6.1 */
/* expect: tr_udp audit=unknown twin=made kernel=6.1 */
/* expect: tr_icmp6 audit=unknown twin=made kernel=6.1 */
/* expect: tr_finish audit=safe twin=made kernel=6.1 */
/* fill: handlers[6]=tr_tcp */
/* fill: handlers[17]=tr_udp */
/* fill: handlers[58]=tr_icmp6 */
/* fill: handlers[256]=tr_finish */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define HANDLER_FINISH 256
#define CB_VALID       0x10000u /* in cb[0], beside the L4 offset */

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 260);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} handlers SEC(".maps");

enum counter {
	C_TCP_SYN,
	C_TCP_DATA,
	C_UDP,
	C_ICMP6,
	C_UNKNOWN,
	C_DROPPED,
	C_MAX,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, C_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* Ports closed by the agent; empty at the start. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u16);
	__type(value, __u8);
} closed SEC(".maps");

static __always_inline void count(__u32 c)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &c);

	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline bool is_closed(__be16 port)
{
	__u16 key = bpf_ntohs(port);

	return bpf_map_lookup_elem(&closed, &key);
}

SEC("tc")
int tr_finish(struct __sk_buff *skb)
{
	if (!(skb->cb[0] & CB_VALID))
		return TC_ACT_OK;
	if (skb->cb[1]) {
		count(C_DROPPED);
		return TC_ACT_SHOT;
	}
	skb->priority = skb->cb[2];
	return TC_ACT_OK;
}

SEC("tc")
int tr_tcp(struct __sk_buff *skb)
{
	__u32 l4 = skb->cb[0] & 0xffff;
	struct tcphdr tcp;

	if (!(skb->cb[0] & CB_VALID) || bpf_skb_load_bytes(skb, l4, &tcp, sizeof(tcp)))
		return TC_ACT_OK;
	count(tcp.syn ? C_TCP_SYN : C_TCP_DATA);
	skb->cb[1] = is_closed(tcp.dest);
	skb->cb[2] = tcp.dest == bpf_htons(22) ? 6 : 2;
	bpf_tail_call(skb, &handlers, HANDLER_FINISH);
	return TC_ACT_OK;
}

SEC("tc")
int tr_udp(struct __sk_buff *skb)
{
	__u32 l4 = skb->cb[0] & 0xffff;
	struct udphdr udp;

	if (!(skb->cb[0] & CB_VALID) || bpf_skb_load_bytes(skb, l4, &udp, sizeof(udp)))
		return TC_ACT_OK;
	count(C_UDP);
	skb->cb[1] = is_closed(udp.dest);
	skb->cb[2] = 0;
	bpf_tail_call(skb, &handlers, HANDLER_FINISH);
	return TC_ACT_OK;
}

SEC("tc")
int tr_icmp6(struct __sk_buff *skb)
{
	__u32 l4 = skb->cb[0] & 0xffff;
	__u8 type;

	if (!(skb->cb[0] & CB_VALID) || bpf_skb_load_bytes(skb, l4, &type, sizeof(type)))
		return TC_ACT_OK;
	count(C_ICMP6);
	/* redirects have no place on a point to point link */
	skb->cb[1] = type == 137;
	skb->cb[2] = 6;
	bpf_tail_call(skb, &handlers, HANDLER_FINISH);
	return TC_ACT_OK;
}

SEC("tc")
int tail_runtime(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__u32 l4, proto;

	if ((void *)(eth + 1) > end)
		return TC_ACT_OK;

	switch (bpf_ntohs(eth->h_proto)) {
	case ETH_P_IPV6: {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return TC_ACT_OK;
		proto = ip6->nexthdr;
		l4 = ETH_HLEN + sizeof(*ip6);
		break;
	}
	case ETH_P_IP: {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return TC_ACT_OK;
		/* later fragments have no L4 header */
		if (ip->frag_off & bpf_htons(0x1fff))
			return TC_ACT_OK;
		proto = ip->protocol;
		l4 = ETH_HLEN + ip->ihl * 4;
		break;
	}
	default:
		return TC_ACT_OK;
	}

	skb->cb[0] = CB_VALID | l4;
	skb->cb[1] = 0;
	skb->cb[2] = 0;
	bpf_tail_call(skb, &handlers, proto);
	count(C_UNKNOWN);
	return TC_ACT_OK;
}
