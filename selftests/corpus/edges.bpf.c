// SPDX-License-Identifier: GPL-2.0
/*
 * Filters that look at the edges of a packet.
 *
 * - tls_first: the classic filter idiom: the first payload byte of a TCP segment without options
 *   at a fixed place. A load behind the end of the packet ends the program with 0.
 * - look_back: the word 60 bytes in front of the payload, whose place may lie before the packet.
 */
/* expect: tls_first audit=misreads twin=made kernel=6.1 */
/* expect: look_back audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

unsigned long long load_byte(void *skb, unsigned long long off) asm("llvm.bpf.load.byte");
unsigned long long load_half(void *skb, unsigned long long off) asm("llvm.bpf.load.half");

#define L4	       (ETH_HLEN + sizeof(struct ipv6hdr))
#define TLS_HANDSHAKE  0x16
#define MARK_TLS       0x71500001
#define MARK_LOOKED_AT 0x71500002

SEC("tc")
int tls_first(struct __sk_buff *skb)
{
	if (load_half(skb, offsetof(struct ethhdr, h_proto)) != ETH_P_IPV6)
		return TC_ACT_OK;
	if (load_byte(skb, ETH_HLEN + offsetof(struct ipv6hdr, nexthdr)) != IPPROTO_TCP)
		return TC_ACT_OK;
	skb->mark = MARK_LOOKED_AT;
	/* Behind the longest header: short segments end here. */
	if (load_byte(skb, L4 + 60) == TLS_HANDSHAKE)
		skb->mark = MARK_TLS;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int look_back(struct __sk_buff *skb)
{
	__u8 proto, doff;
	__be32 word;
	__u32 off;

	if (skb->protocol != bpf_htons(ETH_P_IPV6))
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, nexthdr), &proto, 1) ||
	    proto != IPPROTO_TCP)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, L4 + 12, &doff, 1))
		return TC_ACT_OK;
	/* -6 without options, +2 with eight bytes of them: before the packet, or in its first bytes. */
	off = L4 + (doff >> 4) * 4 - 80;
	if (bpf_skb_load_bytes(skb, off, &word, sizeof(word))) {
		skb->mark = 1;
		return TC_ACT_OK;
	}
	skb->mark = bpf_ntohl(word);
	return TC_ACT_OK;
}
