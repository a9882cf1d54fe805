// SPDX-License-Identifier: GPL-2.0
/*
 * Looks into what a service sends: the first bytes of the TCP payload, whose place depends on the TCP
 * header's length, tell TLS, HTTP and SSH from the rest, and cleartext HTTP is refused on the TLS port.
 * cg_payload uses direct access, cg_payload_lb copies.
 */
/* expect: cg_payload audit=misreads twin=made kernel=6.1 */
/* expect: cg_payload_lb audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

enum {
	CGY_NONE,
	CGY_EMPTY,
	CGY_TLS,
	CGY_HTTP,
	CGY_SSH,
	CGY_OTHER,
	CGY_MAX,
};

struct cgy_count {
	__u64 packets;
	__u64 payload;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CGY_MAX * 2);
	__type(key, __u32);
	__type(value, struct cgy_count);
} cgy_counts SEC(".maps");

static __always_inline __u32 cgy_kind(__u8 first)
{
	/* Of one byte only, so that random packets have all of them. */
	switch (first & 0x1f) {
	case 0x16:
		return CGY_TLS;
	case 0x07: /* G */
	case 0x10: /* P */
		return CGY_HTTP;
	case 0x13: /* S */
		return CGY_SSH;
	}
	return CGY_OTHER;
}

static __always_inline int cgy_book(__u32 kind, __u32 payload, bool tls_port)
{
	__u32 key = kind * 2 + tls_port;
	struct cgy_count *c = bpf_map_lookup_elem(&cgy_counts, &key);
	int ret = 1;

	if (c) {
		c->packets++;
		c->payload += payload;
	}
	if (kind == CGY_HTTP && tls_port)
		ret = 0;
	asm volatile("" : "+r"(ret)); /* the verifier must see what it can be */
	return ret & 1;
}

SEC("cgroup_skb/egress")
int cg_payload(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct tcphdr *tcp;
	__u32 l3_len, hdr_len;
	__u8 *first, proto;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = data;

		if ((void *)(ip6 + 1) > end)
			return 1;
		proto = ip6->nexthdr;
		tcp = (void *)(ip6 + 1);
		l3_len = sizeof(*ip6);
	} else {
		struct iphdr *ip = data;

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return 1;
		proto = ip->protocol;
		tcp = (void *)(ip + 1);
		l3_len = sizeof(*ip);
	}
	if (proto != IPPROTO_TCP || (void *)(tcp + 1) > end)
		return cgy_book(CGY_NONE, 0, false);
	hdr_len = tcp->doff * 4;
	if (hdr_len < sizeof(*tcp))
		return 0;
	first = (void *)tcp + hdr_len;
	if ((void *)(first + 1) > end)
		return cgy_book(CGY_EMPTY, 0, tcp->dest == bpf_htons(443));
	return cgy_book(cgy_kind(*first), skb->len - l3_len - hdr_len, tcp->dest == bpf_htons(443));
}

SEC("cgroup_skb/egress")
int cg_payload_lb(struct __sk_buff *skb)
{
	struct tcphdr tcp;
	__u32 off = sizeof(struct ipv6hdr);
	__u8 proto, first;

	if (skb->protocol != bpf_htons(ETH_P_IPV6) ||
	    bpf_skb_load_bytes(skb, offsetof(struct ipv6hdr, nexthdr), &proto, sizeof(proto)))
		return 1;
	if (proto != IPPROTO_TCP || bpf_skb_load_bytes(skb, off, &tcp, sizeof(tcp)))
		return cgy_book(CGY_NONE, 0, false);
	off += tcp.doff * 4;
	if (bpf_skb_load_bytes(skb, off, &first, sizeof(first)))
		return cgy_book(CGY_EMPTY, 0, tcp.dest == bpf_htons(443));
	return cgy_book(cgy_kind(first), skb->len - off, tcp.dest == bpf_htons(443));
}
