// SPDX-License-Identifier: GPL-2.0
/*
 * Uses of a packet's geometry.
 *
 * - geometry: a fingerprint of each flow's latest packet: sum over its L4 header, bytes in the
 *   packet and on the wire. Trailing bytes of small UDP packets are cut off.
 * - rx_hash: spreads flows over eight classes by the kernel's flow hash and counts ports in each.
 */
/* expect: geometry audit=misreads twin=made kernel=6.1 */
/* expect: rx_hash audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define MIN_CUT 256 /* UDP packets above this keep what they carry */

struct print {
	__u32 sum;
	__u32 len;
	__u32 wire_len;
	__u32 segs;
	__u64 packets;
	__u64 cut;
};

/* Key: ports as on the wire. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct print);
} prints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32[8]);
} port_classes SEC(".maps");

struct l4 {
	__u32 off;
	__u8 proto;
	__u32 ip_end; /* end of the packet by its IP header */
};

static __always_inline int parse(struct __sk_buff *skb, struct l4 *l4)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		l4->proto = ip6->nexthdr;
		l4->off = sizeof(*eth) + sizeof(*ip6);
		l4->ip_end = l4->off + bpf_ntohs(ip6->payload_len);
		return 0;
	}
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return -1;
		l4->proto = ip->protocol;
		l4->off = sizeof(*eth) + sizeof(*ip);
		l4->ip_end = sizeof(*eth) + bpf_ntohs(ip->tot_len);
		return 0;
	}
	return -1;
}

static __always_inline struct print *print_of(__u32 key)
{
	struct print *p = bpf_map_lookup_elem(&prints, &key);
	struct print first = {};

	if (p)
		return p;
	bpf_map_update_elem(&prints, &key, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&prints, &key);
}

SEC("tc")
int geometry(struct __sk_buff *skb)
{
	struct l4 l4 = {};
	struct print *p;
	void *data, *end;
	__be32 *hdr;
	__s64 sum;
	__u32 hlen;

	if (parse(skb, &l4))
		return TC_ACT_OK;
	if (l4.proto == IPPROTO_TCP)
		hlen = sizeof(struct tcphdr);
	else if (l4.proto == IPPROTO_UDP)
		hlen = sizeof(struct udphdr);
	else
		return TC_ACT_OK;

	if (bpf_skb_pull_data(skb, l4.off + hlen))
		return TC_ACT_OK;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	hdr = data + (l4.off & 63);
	if ((void *)hdr + sizeof(struct udphdr) > end)
		return TC_ACT_OK;
	p = print_of(hdr[0]);
	if (!p)
		return TC_ACT_OK;

	if (hlen == sizeof(struct tcphdr)) {
		if ((void *)hdr + sizeof(struct tcphdr) > end)
			return TC_ACT_OK;
		sum = bpf_csum_diff(NULL, 0, hdr, sizeof(struct tcphdr), 0);
	} else {
		sum = bpf_csum_diff(NULL, 0, hdr, sizeof(struct udphdr), 0);
	}
	p->sum = sum;
	p->len = skb->len;
	p->wire_len = skb->wire_len;
	p->segs = skb->gso_segs;
	__sync_fetch_and_add(&p->packets, 1);

	if (l4.proto == IPPROTO_UDP && skb->len <= MIN_CUT && l4.ip_end < skb->len &&
	    l4.ip_end >= l4.off + hlen && !bpf_skb_change_tail(skb, l4.ip_end, 0))
		__sync_fetch_and_add(&p->cut, 1);
	return TC_ACT_OK;
}

SEC("tc")
int rx_hash(struct __sk_buff *skb)
{
	__u32 key, class, first[8] = {}, *n;
	struct l4 l4 = {};
	__be16 dport;

	if (parse(skb, &l4))
		return TC_ACT_OK;
	if (l4.proto != IPPROTO_TCP && l4.proto != IPPROTO_UDP)
		return TC_ACT_OK;
	class = bpf_get_hash_recalc(skb) & 7;
	skb->mark = class;
	if (bpf_skb_load_bytes(skb, l4.off + 2, &dport, sizeof(dport)))
		return TC_ACT_OK;
	key = bpf_ntohs(dport);
	n = bpf_map_lookup_elem(&port_classes, &key);
	if (!n) {
		bpf_map_update_elem(&port_classes, &key, first, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&port_classes, &key);
		if (!n)
			return TC_ACT_OK;
	}
	__sync_fetch_and_add(&n[class], 1);
	return TC_ACT_OK;
}
