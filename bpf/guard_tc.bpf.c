// SPDX-License-Identifier: GPL-2.0
/*
 * The guard at tc ingress: jumbo and hop-by-hop headers that came from the wire are counted and
 * dropped (guard.h). Every other packet goes on to the next program.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

typedef struct __sk_buff guard_ctx;
#define guard_load bpf_skb_load_bytes
#include "guard_walk.h"

#define MAX_TAGS 4 /* in the packet; the kernel has taken off the outer one already */

/* The offset of the IPv6 header, or -1 if there is none. */
static __always_inline int find_ip6(struct __sk_buff *skb)
{
	int l3 = BIGTCP_PARSE_BAD, off = BIGTCP_ETH_HLEN, i;
	__u16 proto = 0;

	if (guard_link == GUARD_LINK_UNKNOWN)
		l3 = bigtcp_skb_l3(skb, BIGTCP_DATA(skb), BIGTCP_DATA_END(skb));
	if (guard_link == GUARD_LINK_NONE || !l3)
		return 0;
	for (i = 0; i <= MAX_TAGS; i++) {
		if (bpf_skb_load_bytes(skb, off - 2, &proto, sizeof(proto)))
			return -1;
		if (!bigtcp_is_vlan(proto))
			break;
		off += 4;
	}
	/* Both answers fit a packet that somebody made so. */
	if (l3 == BIGTCP_PARSE_BAD && guard_link == GUARD_LINK_UNKNOWN &&
	    proto != BIGTCP_BE16(BIGTCP_ETH_P_IPV6))
		return 0;
	return proto == BIGTCP_BE16(BIGTCP_ETH_P_IPV6) ? off : -1;
}

static __noinline int look_closely(struct __sk_buff *skb)
{
	int l3 = find_ip6(skb);
	struct guard_pkt pkt = {
		.ifindex = BIGTCP_CTX_U32(skb, ifindex),
		.len = BIGTCP_CTX_U32(skb, len),
		.gso_size = BIGTCP_CTX_U32(skb, gso_size),
		.hook = GUARD_HOOK_TC,
	};

	if (l3 < 0)
		return TC_ACT_UNSPEC;
	pkt.l3 = l3;
	pkt.gso = !!pkt.gso_size;
	return guard_decide(skb, &pkt) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

static __noinline int count_own(struct __sk_buff *skb)
{
	guard_count_own(BIGTCP_CTX_U32(skb, ifindex), BIGTCP_CTX_U32(skb, len));
	return TC_ACT_UNSPEC;
}

SEC("tc")
int guard_tc(struct __sk_buff *skb)
{
	__u32 proto = BIGTCP_CTX_U32(skb, protocol);
	const __u8 *p, *ip6, *end;
	__u32 len, l3 = BIGTCP_ETH_HLEN;

	if (proto != BIGTCP_BE16(BIGTCP_ETH_P_IPV6)) {
		if (bigtcp_is_vlan(proto))
			return look_closely(skb);
		return TC_ACT_UNSPEC;
	}
	p = BIGTCP_DATA(skb);
	end = BIGTCP_DATA_END(skb);
	if (p + BIGTCP_ETH_HLEN + BIGTCP_IPV6_HDR_LEN > end)
		return look_closely(skb);
	if (guard_link == GUARD_LINK_NONE)
		l3 = 0;
	else if (guard_link == GUARD_LINK_UNKNOWN && (p[0] & 0xd0) == 0x40)
		return look_closely(skb); /* may be an IP header */
	ip6 = p + l3;
	if (guard_ordinary(bigtcp_ld16(ip6 + 4), ip6[6]))
		return TC_ACT_UNSPEC;
	len = BIGTCP_CTX_U32(skb, len);
	if (ip6 + 48 <= end && guard_is_own(ip6, len - l3) && BIGTCP_CTX_U32(skb, gso_size))
		return count_own(skb);
	return look_closely(skb);
}

char _license[] SEC("license") = "GPL";
