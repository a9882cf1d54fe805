// SPDX-License-Identifier: GPL-2.0
/*
 * Access list in the manner of classic BPF: packet bytes are read with LD_ABS (constant offset)
 * and LD_IND (offset in a register). These instructions take care of bounds: a read past the
 * end of the packet ends the program with 0, which is TC_ACT_OK, so short packets pass. Reads
 * relative to the network header use the negative offsets of classic BPF (SKF_NET_OFF).
 */
/* expect: ld_abs audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=23 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

unsigned long long load_byte(void *skb, unsigned long long off) asm("llvm.bpf.load.byte");
unsigned long long load_half(void *skb, unsigned long long off) asm("llvm.bpf.load.half");
unsigned long long load_word(void *skb, unsigned long long off) asm("llvm.bpf.load.word");

/* From linux/filter.h: an offset that counts from the network header. */
#define SKF_NET_OFF (-0x100000LL)

/* The first bytes of requests, big endian. */
#define HTTP_GET  0x47455420 /* "GET " */
#define HTTP_POST 0x504f5354 /* "POST" */

enum acl_counter {
	ACL_NOT_IP,
	ACL_ALLOWED,
	ACL_DENIED_PROTO,
	ACL_DENIED_PORT,
	ACL_DENIED_CLEARTEXT,
	ACL_SYN,
	ACL_COUNTERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ACL_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} acl_counters SEC(".maps");

/* Packets by the last 4 bytes of the destination address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} acl_dests SEC(".maps");

static __always_inline int acl_done(__u32 what, int verdict)
{
	__u64 *n = bpf_map_lookup_elem(&acl_counters, &what);

	if (n)
		__sync_fetch_and_add(n, 1);
	return verdict;
}

static __always_inline void acl_dest(__u32 addr)
{
	__u64 one = 1, *n = bpf_map_lookup_elem(&acl_dests, &addr);

	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&acl_dests, &addr, &one, BPF_ANY);
}

static __always_inline bool acl_port(__u32 port)
{
	return port == 443 || port == 5201 || port == 5202 || port == 53;
}

/* LD_IND: @l4 depends on the IP header. */
static __always_inline int acl_tcp(struct __sk_buff *skb, __u32 l4)
{
	__u32 sport = load_half(skb, l4);
	__u32 dport = load_half(skb, l4 + 2);
	__u32 doff = (load_byte(skb, l4 + 12) >> 4) * 4;
	__u32 flags = load_byte(skb, l4 + 13);
	__u32 start;

	if (flags & 0x02)
		acl_done(ACL_SYN, 0);
	if (!acl_port(dport) && !acl_port(sport))
		return acl_done(ACL_DENIED_PORT, TC_ACT_SHOT);
	if (dport == 443) {
		/* Nothing to read in a bare ACK: the program ends here and lets it pass. */
		start = load_word(skb, l4 + doff);
		if (start == HTTP_GET || start == HTTP_POST)
			return acl_done(ACL_DENIED_CLEARTEXT, TC_ACT_SHOT);
	}
	return acl_done(ACL_ALLOWED, TC_ACT_OK);
}

static __always_inline int acl_l4(struct __sk_buff *skb, __u32 proto, __u32 l4)
{
	switch (proto) {
	case IPPROTO_TCP:
		return acl_tcp(skb, l4);
	case IPPROTO_UDP:
		if (!acl_port(load_half(skb, l4 + 2)) && !acl_port(load_half(skb, l4)))
			return acl_done(ACL_DENIED_PORT, TC_ACT_SHOT);
		return acl_done(ACL_ALLOWED, TC_ACT_OK);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return acl_done(ACL_ALLOWED, TC_ACT_OK);
	}
	return acl_done(ACL_DENIED_PROTO, TC_ACT_SHOT);
}

SEC("tc")
int ld_abs(struct __sk_buff *skb)
{
	__u32 proto, l4;

	/* LD_ABS: constant offsets from the start of the packet. */
	switch (load_half(skb, offsetof(struct ethhdr, h_proto))) {
	case ETH_P_IPV6:
		acl_dest(load_word(skb, ETH_HLEN + offsetof(struct ipv6hdr, daddr) + 12));
		proto = load_byte(skb, SKF_NET_OFF + offsetof(struct ipv6hdr, nexthdr));
		l4 = ETH_HLEN + sizeof(struct ipv6hdr);
		break;
	case ETH_P_IP:
		acl_dest(load_word(skb, ETH_HLEN + offsetof(struct iphdr, daddr)));
		proto = load_byte(skb, ETH_HLEN + offsetof(struct iphdr, protocol));
		l4 = ETH_HLEN + (load_byte(skb, ETH_HLEN) & 0xf) * 4;
		break;
	default:
		return acl_done(ACL_NOT_IP, TC_ACT_OK);
	}
	return acl_l4(skb, proto, l4);
}
