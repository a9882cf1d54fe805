// SPDX-License-Identifier: GPL-2.0
/*
 * First half of the sandwich: takes the hop-by-hop header out of the kernel's own jumbo packets, so
 * that the XDP programs that run after it find TCP right behind IPv6. xdp_restore.bpf.c puts it
 * back. Generic XDP sees such packets whole; all others pass at the cost of a length check.
 *
 * IPv6's payload_len stays 0, as the kernel has it, unless strip_payload_len says otherwise.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

#include "xdp_sandwich.h"

/* Network byte order; for programs that reject 0. */
const volatile __u16 strip_payload_len;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sandwich_stats);
} bigtcp_sandwich SEC(".maps");

/* Ethernet, two VLAN tags, IPv6, jumbo header. */
#define HDRS_MAX (BIGTCP_ETH_HLEN + 8 + BIGTCP_IPV6_HDR_LEN + BIGTCP_JUMBO_HDR_LEN)

/* The packet starts 8 bytes later; its metadata is 8 bytes longer. Returns 0, -1: there is no room
 * and nothing has changed but the first bytes of the packet, -2: the packet can't be put back.
 */
static __always_inline int make_room(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, BIGTCP_JUMBO_HDR_LEN))
		return -1;
	if (!bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct sandwich_meta)))
		return 0;
	return bpf_xdp_adjust_head(ctx, -BIGTCP_JUMBO_HDR_LEN) ? -2 : -1;
}

static __always_inline int much_meta(struct xdp_md *ctx)
{
	void *meta = (void *)BIGTCP_CTX_U64(ctx, data_meta);

	return meta + 4 * BIGTCP_META_WORDS + 4 <= BIGTCP_DATA(ctx);
}

/* Others' metadata goes to the front, where they look for it; ours is next to the packet. */
static __always_inline int put_meta(struct xdp_md *ctx, __u32 jumbo_len)
{
	void *meta = (void *)BIGTCP_CTX_U64(ctx, data_meta), *data = BIGTCP_DATA(ctx);

	for (int i = 0; i < BIGTCP_META_WORDS && meta + 12 <= data; i++) {
		*(__u32 *)meta = *(__u32 *)(meta + 8);
		meta += 4;
	}
	if (meta + sizeof(struct sandwich_meta) > data)
		return -1;
	*(__u32 *)meta = BIGTCP_SANDWICH_MAGIC;
	*(__u32 *)(meta + 4) = jumbo_len;
	return 0;
}

/* @hdrs: a copy of the packet's start. @l3: offset of IPv6, a constant where this is inlined. */
static __always_inline int strip(struct xdp_md *ctx, struct sandwich_stats *stats, __u8 *hdrs,
				 __u32 l3, __u32 len)
{
	__u8 *ip6 = hdrs + l3;
	__u16 payload_len = strip_payload_len;
	int ret;

	/* The kernel writes the header only where payload_len does not do. */
	if (!bigtcp_jumbo_match(ip6, len - l3) ||
	    len - l3 - BIGTCP_IPV6_HDR_LEN - BIGTCP_JUMBO_HDR_LEN <= BIGTCP_IPV6_MAXPLEN)
		return XDP_PASS;
	if (much_meta(ctx)) {
		stats->unstripped++;
		return XDP_PASS;
	}
	ret = make_room(ctx);
	if (ret == -1) {
		stats->unstripped++;
		return bpf_xdp_store_bytes(ctx, 0, hdrs, l3) ? XDP_ABORTED : XDP_PASS;
	}
	if (ret || put_meta(ctx, len - l3 - BIGTCP_IPV6_HDR_LEN)) {
		stats->lost++;
		return XDP_ABORTED;
	}
	__builtin_memcpy(ip6 + 4, &payload_len, 2);
	ip6[6] = BIGTCP_NEXTHDR_TCP;
	if (bpf_xdp_store_bytes(ctx, 0, hdrs, l3 + BIGTCP_IPV6_HDR_LEN)) {
		stats->lost++;
		return XDP_ABORTED;
	}
	stats->stripped++;
	return XDP_PASS;
}

SEC("xdp.frags")
int bigtcp_strip(struct xdp_md *ctx)
{
	__u32 len = bpf_xdp_get_buff_len(ctx), key = 0;
	struct sandwich_stats *stats;
	__u8 hdrs[HDRS_MAX];
	__u16 proto;

	if (len <= BIGTCP_LEGACY_MAX_SIZE)
		return XDP_PASS;
	stats = bpf_map_lookup_elem(&bigtcp_sandwich, &key);
	if (!stats || bpf_xdp_load_bytes(ctx, 0, hdrs, sizeof(hdrs)))
		return XDP_PASS;
	proto = bigtcp_ld16(hdrs + 12);
	if (proto == BIGTCP_BE16(BIGTCP_ETH_P_IPV6))
		return strip(ctx, stats, hdrs, BIGTCP_ETH_HLEN, len);
	if (!bigtcp_is_vlan(proto))
		return XDP_PASS;
	proto = bigtcp_ld16(hdrs + 16);
	if (proto == BIGTCP_BE16(BIGTCP_ETH_P_IPV6))
		return strip(ctx, stats, hdrs, BIGTCP_ETH_HLEN + 4, len);
	if (!bigtcp_is_vlan(proto) || bigtcp_ld16(hdrs + 20) != BIGTCP_BE16(BIGTCP_ETH_P_IPV6))
		return XDP_PASS;
	return strip(ctx, stats, hdrs, BIGTCP_ETH_HLEN + 8, len);
}

char _license[] SEC("license") = "GPL";
