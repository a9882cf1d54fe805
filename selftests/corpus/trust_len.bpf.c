// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that take the length in the IP header for true, which is 0 in a jumbo packet:
 *
 * - trust_len drops TCP packets with a payload shorter than a TCP header;
 * - trust_len_eq drops packets whose length does not agree with the frame's, as traps for
 *   trailing data do; it is right about extension headers and still drops jumbo packets;
 * - trust_acct books that length per port, right about extension headers too.
 *
 * A twin is not a cure here by itself: it too reads 0, as the kernel has it. Made with another length in
 * place of 0 (--max-payload-len, --length), it cures the first, and the third as far as 16 bits go.
 */
/* expect: trust_len audit=drops twin=made kernel=6.1 */
/* expect: trust_len_eq audit=drops twin=made kernel=6.1 */
/* expect: trust_acct audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

struct bytes {
	__u64 packets;
	__u64 bytes;
};

/* Key: destination port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct bytes);
} port_bytes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} bad_len SEC(".maps");

struct l3 {
	__u32 payload; /* bytes behind the IP header, by the IP header */
	__u32 l4; /* offset */
	__u8 proto;
};

static __always_inline void bad(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&bad_len, &which);

	if (n)
		(*n)++;
}

/* 1: not IP. @skip: step over a hop-by-hop or destination options header. */
static __always_inline int parse_l3(struct __sk_buff *skb, struct l3 *l3, bool skip)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);
		struct ipv6_opt_hdr *opt = (void *)(ip6 + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		l3->proto = ip6->nexthdr;
		l3->l4 = sizeof(*eth) + sizeof(*ip6);
		l3->payload = bpf_ntohs(ip6->payload_len);
		if (skip && (l3->proto == IPPROTO_HOPOPTS || l3->proto == IPPROTO_DSTOPTS)) {
			if ((void *)(opt + 1) > end)
				return -1;
			l3->proto = opt->nexthdr;
			l3->l4 += (opt->hdrlen + 1) * 8;
		}
		return 0;
	}
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);
		__u32 tot, hlen;

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return -1;
		tot = bpf_ntohs(ip->tot_len);
		hlen = ip->ihl * 4;
		l3->proto = ip->protocol;
		l3->l4 = sizeof(*eth) + hlen;
		l3->payload = tot > hlen ? tot - hlen : 0;
		return 0;
	}
	return 1;
}

SEC("tc")
int trust_len(struct __sk_buff *skb)
{
	struct l3 l3 = {};
	int ret = parse_l3(skb, &l3, false);

	if (ret)
		return ret < 0 ? TC_ACT_SHOT : TC_ACT_OK;
	switch (l3.proto) {
	case IPPROTO_TCP:
		if (l3.payload >= sizeof(struct tcphdr))
			return TC_ACT_OK;
		break;
	case IPPROTO_UDP:
		if (l3.payload >= sizeof(struct udphdr))
			return TC_ACT_OK;
		break;
	default:
		if (l3.payload)
			return TC_ACT_OK;
	}
	bad(0);
	return TC_ACT_SHOT;
}

SEC("tc")
int trust_len_eq(struct __sk_buff *skb)
{
	struct l3 l3 = {};
	int ret = parse_l3(skb, &l3, true);
	__u32 frame;

	if (ret)
		return ret < 0 ? TC_ACT_SHOT : TC_ACT_OK;
	/* short frames are padded to 60 bytes */
	if (skb->len <= ETH_ZLEN)
		return TC_ACT_OK;
	frame = skb->len - sizeof(struct ethhdr);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		frame -= sizeof(struct ipv6hdr);
	else
		frame -= l3.l4 - sizeof(struct ethhdr);
	if (frame == l3.payload)
		return TC_ACT_OK;
	bad(1);
	return TC_ACT_SHOT;
}

SEC("tc")
int trust_acct(struct __sk_buff *skb)
{
	struct bytes *b, first = {};
	struct l3 l3 = {};
	__be16 dport;
	__u32 key;

	if (parse_l3(skb, &l3, true))
		return TC_ACT_OK;
	if (l3.proto != IPPROTO_TCP && l3.proto != IPPROTO_UDP)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, l3.l4 + 2, &dport, sizeof(dport)))
		return TC_ACT_OK;
	key = bpf_ntohs(dport);
	b = bpf_map_lookup_elem(&port_bytes, &key);
	if (!b) {
		bpf_map_update_elem(&port_bytes, &key, &first, BPF_NOEXIST);
		b = bpf_map_lookup_elem(&port_bytes, &key);
		if (!b)
			return TC_ACT_OK;
	}
	__sync_fetch_and_add(&b->packets, 1);
	__sync_fetch_and_add(&b->bytes, l3.payload);
	return TC_ACT_OK;
}
