// SPDX-License-Identifier: GPL-2.0
/*
 * The guard at XDP, native and generic: jumbo and hop-by-hop headers that came from the wire are
 * counted and dropped (guard.h). Every other packet goes on. XDP does not know of GSO: a packet of
 * more than 65536 bytes is taken for the kernel's if its header is.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

typedef struct xdp_md guard_ctx;
#define guard_load bpf_xdp_load_bytes
#include "guard_walk.h"

#define MAX_TAGS 5

/* The offset of the IPv6 header, or -1 if there is none. */
static __always_inline int find_ip6(struct xdp_md *ctx)
{
	int off = BIGTCP_ETH_HLEN, i;
	__u16 proto = 0;

	if (guard_link == GUARD_LINK_NONE)
		return 0;
	for (i = 0; i <= MAX_TAGS; i++) {
		if (bpf_xdp_load_bytes(ctx, off - 2, &proto, sizeof(proto)))
			return -1;
		if (!bigtcp_is_vlan(proto))
			break;
		off += 4;
	}
	return proto == BIGTCP_BE16(BIGTCP_ETH_P_IPV6) ? off : -1;
}

static __noinline int look_closely(struct xdp_md *ctx)
{
	int l3 = find_ip6(ctx);
	struct guard_pkt pkt = {
		.ifindex = BIGTCP_CTX_U32(ctx, ingress_ifindex),
		.len = bpf_xdp_get_buff_len(ctx),
		.hook = GUARD_HOOK_XDP,
		.gso = 1,
	};

	if (l3 < 0)
		return XDP_PASS;
	pkt.l3 = l3;
	return guard_decide(ctx, &pkt) ? XDP_DROP : XDP_PASS;
}

static __noinline int count_own(struct xdp_md *ctx)
{
	guard_count_own(BIGTCP_CTX_U32(ctx, ingress_ifindex), bpf_xdp_get_buff_len(ctx));
	return XDP_PASS;
}

SEC("xdp.frags")
int guard_xdp(struct xdp_md *ctx)
{
	const __u8 *p = BIGTCP_DATA(ctx), *end = BIGTCP_DATA_END(ctx), *ip6;
	__u32 l3 = 0;
	__u16 proto;

	if (p + BIGTCP_ETH_HLEN + BIGTCP_IPV6_HDR_LEN > end)
		return look_closely(ctx); /* short, or not linear */
	if (guard_link != GUARD_LINK_NONE) {
		proto = bigtcp_ld16(p + 12);
		if (proto != BIGTCP_BE16(BIGTCP_ETH_P_IPV6))
			return bigtcp_is_vlan(proto) ? look_closely(ctx) : XDP_PASS;
		l3 = BIGTCP_ETH_HLEN;
	}
	ip6 = p + l3;
	if (guard_ordinary(bigtcp_ld16(ip6 + 4), ip6[6]))
		return XDP_PASS;
	if (ip6 + 48 <= end && guard_is_own(ip6, bpf_xdp_get_buff_len(ctx) - l3))
		return count_own(ctx);
	return look_closely(ctx);
}

char _license[] SEC("license") = "GPL";
