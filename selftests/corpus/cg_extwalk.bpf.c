// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting by port that skips extension headers, as it should be done: right about jumbo packets, whose
 * length it takes from the packet. It must stay right as a twin.
 */
/* expect: cg_extwalk audit=safe twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
#include "corpus.h"

#define CGX_HEADERS 6

struct cgx_count {
	__u64 packets;
	__u64 payload;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u16);
	__type(value, struct cgx_count);
} cgx_ports SEC(".maps");

struct cgx_ext {
	__u8 nexthdr;
	__u8 hdrlen;
};

/* Offset of the transport header and its protocol, or -1. */
static __always_inline int cgx_skip(struct __sk_buff *skb, __u8 *proto)
{
	struct cgx_ext ext;
	__u32 off = sizeof(struct ipv6hdr);

	if (bpf_skb_load_bytes(skb, offsetof(struct ipv6hdr, nexthdr), proto, 1))
		return -1;
	for (int i = 0; i < CGX_HEADERS; i++) {
		switch (*proto) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
			break;
		default:
			return off;
		}
		if (bpf_skb_load_bytes(skb, off, &ext, sizeof(ext)))
			return -1;
		*proto = ext.nexthdr;
		off += (ext.hdrlen + 1) * 8;
	}
	return -1;
}

SEC("cgroup_skb/egress")
int cg_extwalk(struct __sk_buff *skb)
{
	struct cgx_count *c, one = { .packets = 1 };
	__be16 ports[2];
	__u16 port = 0;
	__u8 proto = 0;
	int off;

	if (skb->protocol != bpf_htons(ETH_P_IPV6))
		return 1;
	off = cgx_skip(skb, &proto);
	if (off < 0)
		return 1;
	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP) {
		if (bpf_skb_load_bytes(skb, off, ports, sizeof(ports)))
			return 1;
		port = bpf_ntohs(ports[1]);
	}
	one.payload = skb->len - off;
	c = bpf_map_lookup_elem(&cgx_ports, &port);
	if (c) {
		__sync_fetch_and_add(&c->packets, 1);
		__sync_fetch_and_add(&c->payload, one.payload);
	} else {
		bpf_map_update_elem(&cgx_ports, &port, &one, BPF_ANY);
	}
	return 1;
}
