// SPDX-License-Identifier: GPL-2.0
/*
 * An encapsulator: TCP and UDP packets for port 8443 are put into an outer IPv6 and UDP header
 * (as of GUE) and on their way to a gateway. Room is made by bpf_skb_adjust_room. What can't be
 * encapsulated passes as it is and is counted.
 */
/* expect: adj_room audit=misreads twin=refused:helper kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=8443 */
#include "corpus.h"

#define GUE_PORT     6080
#define SERVICE_PORT 8443

struct outer {
	struct ipv6hdr ip6;
	struct udphdr udp;
} __attribute__((packed));

struct tunnel {
	struct in6_addr local;
	struct in6_addr remote;
	__u64 packets;
	__u64 failed;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tunnel);
} tunnels SEC(".maps");

/* 1 if the packet is for the service; its L3 protocol in @inner. */
static __always_inline int for_service(struct __sk_buff *skb, __be16 *inner)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct udphdr *l4;
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return 0;
	*inner = eth->h_proto;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return 0;
		proto = ip6->nexthdr;
		l4 = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return 0;
		proto = ip->protocol;
		l4 = (void *)(ip + 1);
	} else {
		return 0;
	}
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return 0;
	return (void *)(l4 + 1) <= end && l4->dest == bpf_htons(SERVICE_PORT);
}

SEC("tc")
int adj_room(struct __sk_buff *skb)
{
	__u64 flags = BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |
		      BPF_F_ADJ_ROOM_FIXED_GSO;
	__be16 inner, outer_proto = bpf_htons(ETH_P_IPV6);
	__u32 key = 0, payload;
	struct outer o = {};
	struct tunnel *t;

	if (!for_service(skb, &inner))
		return TC_ACT_OK;
	t = bpf_map_lookup_elem(&tunnels, &key);
	if (!t || !t->remote.s6_addr32[0])
		return TC_ACT_OK;

	payload = skb->len - ETH_HLEN + sizeof(o.udp);
	if (payload > 0xffff || bpf_skb_adjust_room(skb, sizeof(o), BPF_ADJ_ROOM_MAC, flags)) {
		__sync_fetch_and_add(&t->failed, 1);
		return TC_ACT_OK;
	}

	o.ip6.version = 6;
	o.ip6.payload_len = bpf_htons(payload);
	o.ip6.nexthdr = IPPROTO_UDP;
	o.ip6.hop_limit = 64;
	o.ip6.saddr = t->local;
	o.ip6.daddr = t->remote;
	o.udp.source = bpf_htons(0xc000 | (bpf_get_hash_recalc(skb) & 0x3fff));
	o.udp.dest = bpf_htons(GUE_PORT);
	o.udp.len = bpf_htons(payload);
	if (bpf_skb_store_bytes(skb, ETH_HLEN, &o, sizeof(o), BPF_F_INVALIDATE_HASH))
		return TC_ACT_SHOT;
	if (inner == bpf_htons(ETH_P_IP) &&
	    bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_proto), &outer_proto,
				sizeof(outer_proto), 0))
		return TC_ACT_SHOT;
	__sync_fetch_and_add(&t->packets, 1);
	return TC_ACT_OK;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	struct tunnel t = {};
	__u32 key = 0;

	t.local.s6_addr32[0] = bpf_htonl(0x20010db8);
	t.local.s6_addr32[3] = bpf_htonl(0x100);
	t.remote.s6_addr32[0] = bpf_htonl(0x20010db8);
	t.remote.s6_addr32[3] = bpf_htonl(0x200);
	bpf_map_update_elem(&tunnels, &key, &t, BPF_ANY);
	return TC_ACT_OK;
}
