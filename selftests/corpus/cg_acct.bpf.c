// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting of a cgroup's traffic: packets and bytes by port of the other side, one program a direction.
 * The packet starts with the IP header. What has no port is booked on port 0.
 */
/* expect: cg_acct_out audit=misreads twin=made kernel=6.1 */
/* expect: cg_acct_in audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

struct cga_key {
	__u16 port; /* host byte order */
	__u8 proto;
	__u8 out;
};

struct cga_count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct cga_key);
	__type(value, struct cga_count);
} cga_counts SEC(".maps");

static __always_inline void cga_parse(struct __sk_buff *skb, struct cga_key *key)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct udphdr *ports;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = data;

		if ((void *)(ip6 + 1) > end)
			return;
		key->proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data;

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return;
		key->proto = ip->protocol;
		ports = (void *)(ip + 1);
	} else {
		return;
	}
	if (key->proto != IPPROTO_TCP && key->proto != IPPROTO_UDP)
		return;
	if ((void *)(ports + 1) > end)
		return;
	key->port = bpf_ntohs(key->out ? ports->dest : ports->source);
}

static __always_inline int cga_book(struct __sk_buff *skb, __u8 out)
{
	struct cga_count *c, one = { .packets = 1, .bytes = skb->len };
	struct cga_key key = { .out = out };

	cga_parse(skb, &key);
	c = bpf_map_lookup_elem(&cga_counts, &key);
	if (c) {
		__sync_fetch_and_add(&c->packets, 1);
		__sync_fetch_and_add(&c->bytes, skb->len);
	} else if (bpf_map_update_elem(&cga_counts, &key, &one, BPF_NOEXIST)) {
		c = bpf_map_lookup_elem(&cga_counts, &key);
		if (c) {
			__sync_fetch_and_add(&c->packets, 1);
			__sync_fetch_and_add(&c->bytes, skb->len);
		}
	}
	return 1;
}

SEC("cgroup_skb/egress")
int cg_acct_out(struct __sk_buff *skb)
{
	return cga_book(skb, 1);
}

SEC("cgroup_skb/ingress")
int cg_acct_in(struct __sk_buff *skb)
{
	return cga_book(skb, 0);
}
