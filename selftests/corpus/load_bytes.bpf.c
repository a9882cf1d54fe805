// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic classifier: sets mark and priority by service. It never touches packet memory: every
 * header is copied with bpf_skb_load_bytes at an offset computed on the way, or relative to the
 * network header, so that it needs no linear data and works without an Ethernet header.
 */
/* expect: load_bytes audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=5201 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=22 */
#include "corpus.h"

enum class {
	CLASS_UNKNOWN,
	CLASS_INTERACTIVE,
	CLASS_WEB,
	CLASS_BULK,
	CLASS_NAMES,
	CLASS_TLS_HELLO,
	CLASSES,
};

struct class_stats {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, struct class_stats);
} class_stats SEC(".maps");

static const __u32 class_prio[CLASSES] = { 3, 6, 4, 1, 7, 5 };

static __always_inline __u32 class_of_port(__u16 port)
{
	switch (port) {
	case 22:
	case 3389:
		return CLASS_INTERACTIVE;
	case 80:
	case 443:
	case 8080:
		return CLASS_WEB;
	case 20:
	case 873:
	case 5201:
	case 5202:
		return CLASS_BULK;
	case 53:
	case 853:
		return CLASS_NAMES;
	}
	return CLASS_UNKNOWN;
}

static __always_inline __u32 class_of_ports(__u16 sport, __u16 dport)
{
	__u32 class = class_of_port(dport);

	return class == CLASS_UNKNOWN ? class_of_port(sport) : class;
}

/* Walks over in-band VLAN tags. Returns the offset of the network header, 0 if not IP. */
static __always_inline __u32 l3_offset(struct __sk_buff *skb, __be16 *proto)
{
	__u32 off = offsetof(struct ethhdr, h_proto);
	int i;

#pragma unroll
	for (i = 0; i < 3; i++) {
		if (bpf_skb_load_bytes(skb, off, proto, sizeof(*proto)))
			return 0;
		off += sizeof(*proto);
		if (*proto == bpf_htons(ETH_P_IP) || *proto == bpf_htons(ETH_P_IPV6))
			return off;
		if (*proto != bpf_htons(ETH_P_8021Q) && *proto != bpf_htons(ETH_P_8021AD))
			return 0;
		off += sizeof(__be16);
	}
	return 0;
}

/* A TLS handshake record that begins with a hello: worth a faster queue than the data. */
static __always_inline bool is_tls_hello(struct __sk_buff *skb, __u32 off)
{
	__u8 rec[6];

	if (bpf_skb_load_bytes(skb, off, rec, sizeof(rec)))
		return false;
	return rec[0] == 22 && rec[1] == 3 && rec[5] <= 2;
}

static __always_inline __u32 classify_tcp(struct __sk_buff *skb, __u32 off)
{
	struct tcphdr th;
	__u32 class;

	if (bpf_skb_load_bytes(skb, off, &th, sizeof(th)))
		return CLASS_UNKNOWN;
	class = class_of_ports(bpf_ntohs(th.source), bpf_ntohs(th.dest));
	if (class == CLASS_WEB && is_tls_hello(skb, off + th.doff * 4))
		return CLASS_TLS_HELLO;
	return class;
}

static __always_inline __u32 classify_udp(struct __sk_buff *skb, __u32 l3_len)
{
	struct udphdr uh;

	if (bpf_skb_load_bytes_relative(skb, l3_len, &uh, sizeof(uh), BPF_HDR_START_NET))
		return CLASS_UNKNOWN;
	return class_of_ports(bpf_ntohs(uh.source), bpf_ntohs(uh.dest));
}

static __always_inline __u32 classify(struct __sk_buff *skb)
{
	__be16 eth_proto = 0;
	__u32 l3, l3_len;
	__u8 proto, vhl;

	l3 = l3_offset(skb, &eth_proto);
	if (!l3)
		return CLASS_UNKNOWN;

	if (eth_proto == bpf_htons(ETH_P_IPV6)) {
		l3_len = sizeof(struct ipv6hdr);
		if (bpf_skb_load_bytes_relative(skb, offsetof(struct ipv6hdr, nexthdr), &proto, 1,
						BPF_HDR_START_NET))
			return CLASS_UNKNOWN;
	} else {
		__be16 frag;

		if (bpf_skb_load_bytes(skb, l3, &vhl, 1) ||
		    bpf_skb_load_bytes(skb, l3 + offsetof(struct iphdr, frag_off), &frag, 2) ||
		    bpf_skb_load_bytes(skb, l3 + offsetof(struct iphdr, protocol), &proto, 1))
			return CLASS_UNKNOWN;
		if (frag & bpf_htons(0x1fff))
			return CLASS_UNKNOWN;
		l3_len = (vhl & 0xf) * 4;
	}

	switch (proto) {
	case IPPROTO_TCP:
		return classify_tcp(skb, l3 + l3_len);
	case IPPROTO_UDP:
		return classify_udp(skb, l3_len);
	}
	return CLASS_UNKNOWN;
}

SEC("tc")
int load_bytes(struct __sk_buff *skb)
{
	struct class_stats *stats;
	__u32 class = classify(skb);

	stats = bpf_map_lookup_elem(&class_stats, &class);
	if (!stats)
		return TC_ACT_OK;
	stats->packets++;
	stats->bytes += skb->len;

	if (class != CLASS_UNKNOWN) {
		skb->mark = (skb->mark & ~0xffU) | class;
		skb->priority = class < CLASSES ? class_prio[class] : 0;
	}
	return TC_ACT_OK;
}
