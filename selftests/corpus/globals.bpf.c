// SPDX-License-Identifier: GPL-2.0
/*
 * Port policy built from global functions, which the verifier checks one by one, with the
 * context as the only thing it knows about: each of them parses the packet again. What is
 * neither TCP, UDP nor ICMP is dropped.
 */
/* expect: globals audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=25 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

#define L4_NONE	       0
#define L4_OFF(v)      ((v)&0xffff)
#define L4_PROTO(v)    ((v) >> 16)
#define L4(proto, off) ((proto) << 16 | (off))

struct service {
	__u64 packets;
	__u64 bytes;
	__u64 syns;
	__u32 allowed;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u32); /* IP protocol << 16 | port */
	__type(value, struct service);
} services SEC(".maps");

/* Totals, in .bss. */
__u64 total_packets;
__u64 dropped_proto;
__u64 dropped_port;

/* IP protocol and offset of the transport header, see L4(); L4_NONE if not IP, -1 if short. */
__noinline int find_l4(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = data + sizeof(*eth);
	struct iphdr *ip = data + sizeof(*eth);

	if ((void *)(eth + 1) > data_end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(ip6 + 1) > data_end)
			return -1;
		return L4(ip6->nexthdr, ETH_HLEN + (int)sizeof(*ip6));
	}
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		if ((void *)(ip + 1) > data_end || ip->ihl < 5)
			return -1;
		return L4(ip->protocol, ETH_HLEN + ip->ihl * 4);
	}
	return L4_NONE;
}

/* The destination port (@dst) or the source port at @off; -1 if the packet is short. */
__noinline int read_port(struct __sk_buff *skb, __u32 off, int dst)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	__be16 *ports;

	if (off > 128)
		return -1;
	ports = data + off;
	if ((void *)(ports + 2) > data_end)
		return -1;
	return bpf_ntohs(dst ? ports[1] : ports[0]);
}

/* 1 for the first segment of a connection. */
__noinline int is_syn(struct __sk_buff *skb, __u32 off)
{
	__u8 flags = 0;

	if (bpf_skb_load_bytes(skb, off + 13, &flags, sizeof(flags)))
		return 0;
	return (flags & 0x12) == 0x02;
}

/* 1 if @proto and @port belong to a service that is let in; books the packet on it. */
__noinline int book(struct __sk_buff *skb, __u32 proto, __u32 port, __u32 off)
{
	__u32 key = proto << 16 | (port & 0xffff);
	struct service *s = bpf_map_lookup_elem(&services, &key);

	if (!s)
		return 0;
	__sync_fetch_and_add(&s->packets, 1);
	__sync_fetch_and_add(&s->bytes, skb->len);
	if (proto == IPPROTO_TCP && is_syn(skb, off))
		__sync_fetch_and_add(&s->syns, 1);
	return s->allowed;
}

SEC("tc")
int globals(struct __sk_buff *skb)
{
	int l4, sport, dport;

	__sync_fetch_and_add(&total_packets, 1);
	l4 = find_l4(skb);
	if (l4 == L4_NONE)
		return TC_ACT_OK;
	if (l4 < 0)
		return TC_ACT_SHOT;

	switch (L4_PROTO(l4)) {
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return TC_ACT_OK;
	case IPPROTO_TCP:
	case IPPROTO_UDP:
		dport = read_port(skb, L4_OFF(l4), 1);
		sport = read_port(skb, L4_OFF(l4), 0);
		if (dport < 0 || sport < 0)
			return TC_ACT_SHOT;
		if (book(skb, L4_PROTO(l4), dport, L4_OFF(l4)) ||
		    book(skb, L4_PROTO(l4), sport, L4_OFF(l4)))
			return TC_ACT_OK;
		__sync_fetch_and_add(&dropped_port, 1);
		return TC_ACT_SHOT;
	default:
		__sync_fetch_and_add(&dropped_proto, 1);
		return TC_ACT_SHOT;
	}
}

static __always_inline long add_service(__u32 proto, __u16 port, __u32 allowed)
{
	struct service s = { .allowed = allowed };
	__u32 key = proto << 16 | port;

	return bpf_map_update_elem(&services, &key, &s, BPF_ANY);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	long err = 0;

	err |= add_service(IPPROTO_TCP, 443, 1);
	err |= add_service(IPPROTO_TCP, 5201, 1);
	err |= add_service(IPPROTO_TCP, 5202, 1);
	err |= add_service(IPPROTO_TCP, 25, 0);
	err |= add_service(IPPROTO_UDP, 53, 1);
	err |= add_service(IPPROTO_UDP, 443, 1);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
