// SPDX-License-Identifier: GPL-2.0
/*
 * What a compiled capture filter looks like, on a packet socket: TCP or UDP of some ports, with packet
 * bytes read by LD_ABS and LD_IND, and the first 96 bytes of each packet kept.
 */
/* expect: sf_port audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

unsigned long long load_byte(void *skb, unsigned long long off) asm("llvm.bpf.load.byte");
unsigned long long load_half(void *skb, unsigned long long off) asm("llvm.bpf.load.half");

#define SFP_SNAPLEN 96

static __always_inline bool sfp_wanted(__u16 port)
{
	return port == 443 || port == 5201 || port == 53;
}

SEC("socket")
int sf_port(struct __sk_buff *skb)
{
	__u16 type = load_half(skb, offsetof(struct ethhdr, h_proto));
	__u8 proto;

	if (type == ETH_P_IPV6) {
		proto = load_byte(skb, ETH_HLEN + offsetof(struct ipv6hdr, nexthdr));
		if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
			return 0;
		if (sfp_wanted(load_half(skb, ETH_HLEN + sizeof(struct ipv6hdr))) ||
		    sfp_wanted(load_half(skb, ETH_HLEN + sizeof(struct ipv6hdr) + 2)))
			return SFP_SNAPLEN;
		return 0;
	}
	if (type == ETH_P_IP) {
		__u32 ihl = (load_byte(skb, ETH_HLEN) & 0xf) * 4;

		proto = load_byte(skb, ETH_HLEN + offsetof(struct iphdr, protocol));
		if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
			return 0;
		if (load_half(skb, ETH_HLEN + offsetof(struct iphdr, frag_off)) & 0x1fff)
			return 0;
		if (sfp_wanted(load_half(skb, ETH_HLEN + ihl)) ||
		    sfp_wanted(load_half(skb, ETH_HLEN + ihl + 2)))
			return SFP_SNAPLEN;
	}
	return 0;
}
