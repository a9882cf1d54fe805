// SPDX-License-Identifier: GPL-2.0
/*
 * Second half of the sandwich: gives packets that xdp_strip.bpf.c has marked their hop-by-hop header
 * back. The programs in between may have moved, shrunk or grown the packet: lengths are those it has
 * now, and a packet that fits into payload_len goes without the header.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

#include "xdp_sandwich.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sandwich_stats);
} bigtcp_sandwich SEC(".maps");

#define L3_MAX	 (BIGTCP_ETH_HLEN + 8)
#define HDRS_MAX (L3_MAX + BIGTCP_IPV6_HDR_LEN + BIGTCP_JUMBO_HDR_LEN)

/* Our mark behind more metadata of others than can be moved. */
static __always_inline int far_mark(struct xdp_md *ctx)
{
	__u64 meta = BIGTCP_CTX_U64(ctx, data_meta), data = BIGTCP_CTX_U64(ctx, data);
	__u64 off = data - meta - sizeof(struct sandwich_meta);

	/* The verifier wants an offset that is not negative, and one addition. */
	asm volatile("%0 &= 0xfc" : "+r"(off));
	meta += off;
	asm volatile("" : "+r"(meta));
	return (void *)meta + sizeof(__u32) <= (void *)data &&
	       *(__u32 *)meta == BIGTCP_SANDWICH_MAGIC;
}

#define FAR 1 /* no jumbo length is that small */

/* Takes our mark out of the metadata; what others have there is kept. Returns the jumbo length in it, or
 * FAR, or 0: the packet has no mark.
 */
static __always_inline __u32 take_meta(struct xdp_md *ctx)
{
	void *meta = (void *)BIGTCP_CTX_U64(ctx, data_meta), *data = BIGTCP_DATA(ctx);
	__u32 jumbo_len;
	int i;

	for (i = 0; i < BIGTCP_META_WORDS && meta + 12 <= data; i++)
		meta += 4;
	if (meta + 12 <= data)
		return far_mark(ctx) ? FAR : 0;
	if (meta + sizeof(struct sandwich_meta) > data || *(__u32 *)meta != BIGTCP_SANDWICH_MAGIC)
		return 0;
	jumbo_len = *(__u32 *)(meta + 4);
	for (; i > 0; i--) {
		*(__u32 *)(meta + 4) = *(__u32 *)(meta - 4);
		meta -= 4;
	}
	return bpf_xdp_adjust_meta(ctx, sizeof(struct sandwich_meta)) ? FAR : jumbo_len;
}

/* @hdrs: a copy of the packet's start. @l3: offset of IPv6, a constant where this is inlined. */
static __always_inline int restore(struct xdp_md *ctx, struct sandwich_stats *stats, __u8 *hdrs,
				   __u32 l3, __u32 len, __u32 jumbo_len)
{
	__u32 seg_len = len - l3 - BIGTCP_IPV6_HDR_LEN;
	__u8 *ip6 = hdrs + l3;
	__u16 payload_len;

	if (seg_len <= BIGTCP_IPV6_MAXPLEN) {
		payload_len = BIGTCP_BE16(seg_len);
		if (bpf_xdp_store_bytes(ctx, l3 + 4, &payload_len, sizeof(payload_len)))
			goto lost;
		stats->plain++;
		return XDP_PASS;
	}
	if (bpf_xdp_adjust_head(ctx, -BIGTCP_JUMBO_HDR_LEN))
		goto lost;
	ip6[4] = ip6[5] = 0;
	ip6[6] = BIGTCP_NEXTHDR_HOP;
	bigtcp_jumbo_fill(ip6 + BIGTCP_IPV6_HDR_LEN, seg_len);
	if (bpf_xdp_store_bytes(ctx, 0, hdrs, l3 + BIGTCP_IPV6_HDR_LEN + BIGTCP_JUMBO_HDR_LEN))
		goto lost;
	stats->restored++;
	if (seg_len + BIGTCP_JUMBO_HDR_LEN != jumbo_len)
		stats->resized++;
	return XDP_PASS;
lost:
	stats->lost++;
	return XDP_ABORTED;
}

static __always_inline int is_tcp(const __u8 *hdrs, __u32 l3)
{
	return bigtcp_ld16(hdrs + l3 - 2) == BIGTCP_BE16(BIGTCP_ETH_P_IPV6) && hdrs[l3] >> 4 == 6 &&
	       hdrs[l3 + 6] == BIGTCP_NEXTHDR_TCP;
}

SEC("xdp.frags")
int bigtcp_restore(struct xdp_md *ctx)
{
	__u32 jumbo_len = take_meta(ctx), len, key = 0;
	struct sandwich_stats *stats;
	__u8 hdrs[HDRS_MAX];

	if (!jumbo_len)
		return XDP_PASS;
	stats = bpf_map_lookup_elem(&bigtcp_sandwich, &key);
	if (!stats)
		return XDP_ABORTED;
	if (jumbo_len == FAR) {
		stats->lost++;
		return XDP_ABORTED;
	}
	len = bpf_xdp_get_buff_len(ctx);
	if (len >= HDRS_MAX && !bpf_xdp_load_bytes(ctx, 0, hdrs, sizeof(hdrs))) {
		if (is_tcp(hdrs, BIGTCP_ETH_HLEN))
			return restore(ctx, stats, hdrs, BIGTCP_ETH_HLEN, len, jumbo_len);
		if (bigtcp_is_vlan(bigtcp_ld16(hdrs + 12)) && is_tcp(hdrs, BIGTCP_ETH_HLEN + 4))
			return restore(ctx, stats, hdrs, BIGTCP_ETH_HLEN + 4, len, jumbo_len);
		if (bigtcp_is_vlan(bigtcp_ld16(hdrs + 12)) &&
		    bigtcp_is_vlan(bigtcp_ld16(hdrs + 16)) && is_tcp(hdrs, BIGTCP_ETH_HLEN + 8))
			return restore(ctx, stats, hdrs, BIGTCP_ETH_HLEN + 8, len, jumbo_len);
	}
	/* A program has made another packet of it. A long one would leave without a length. */
	if (len <= BIGTCP_LEGACY_MAX_SIZE) {
		stats->changed++;
		return XDP_PASS;
	}
	stats->lost++;
	return XDP_ABORTED;
}

char _license[] SEC("license") = "GPL";
