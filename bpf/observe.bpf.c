// SPDX-License-Identifier: GPL-2.0
/*
 * Counts what a tc hook sees of BIG TCP: which of the forms, how large, how many. Changes
 * nothing and decides nothing: the next program runs as if this one were not there.
 * `bigtcp observe` keeps it at devices; `bigtcp probe` learns from it what the running kernel does;
 * the tests look with it too.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

/* The kernel puts no other extension header into a jumbo packet. Fewer are loaded sooner. */
#define BIGTCP_MAX_EXT_HDRS 1
#include <bigtcp/parse.bpf.h>

#include "observe.h"

const volatile __u32 observe_hook = OBSERVE_INGRESS;
const volatile __u32 observe_keep = 1;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, OBSERVE_MAX_KEYS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct observe_key);
	__type(value, struct observe_stats);
} observe_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_last);
} observe_last SEC(".maps");

static const struct observe_stats observe_zero;

/* Whoever attaches the program by other means than bigtcp has put nothing into the map. */
static __always_inline struct observe_stats *counters(__u32 ifindex)
{
	struct observe_key key = { .ifindex = ifindex, .hook = observe_hook };
	struct observe_stats *stats = bpf_map_lookup_elem(&observe_stats, &key);

	if (stats)
		return stats;
	bpf_map_update_elem(&observe_stats, &key, &observe_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&observe_stats, &key);
}

static __always_inline void keep(struct __sk_buff *skb, const struct bigtcp_pkt *pkt)
{
	struct observe_last *last;
	__u32 key = 0;

	if (!observe_keep)
		return;
	last = bpf_map_lookup_elem(&observe_last, &key);
	if (!last)
		return;
	if (bpf_skb_load_bytes(skb, 0, last->data, sizeof(last->data)))
		return;
	last->ns = bpf_ktime_get_ns();
	last->len = BIGTCP_CTX_U32(skb, len);
	last->gso_size = BIGTCP_CTX_U32(skb, gso_size);
	last->gso_segs = BIGTCP_CTX_U32(skb, gso_segs);
	last->l3_off = pkt->l3_off;
	last->l4_off = pkt->l4_off;
	last->kind = pkt->is_jumbo;
}

/* Does a packet that is not the kernel's jumbo packet say that it is one? True for a jumbo
 * option at the kernel's place, whatever the rest. MLD is not meant.
 */
static __always_inline int claims_jumbo(struct __sk_buff *skb, const struct bigtcp_pkt *pkt)
{
	const __u8 *ip6;

	if (pkt->l3_proto != BIGTCP_ETH_P_IPV6)
		return 0;
	ip6 = bigtcp_l3(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), pkt, 48);
	return ip6 && ip6[6] == BIGTCP_NEXTHDR_HOP && ip6[42] == BIGTCP_JUMBO_TLV_TYPE;
}

/* Most packets, told by a few bytes: they have a length, and no hop-by-hop header. */
static __always_inline int ordinary(struct __sk_buff *skb, __u32 len)
{
	const __u8 *p = BIGTCP_DATA(skb), *end = BIGTCP_DATA_END(skb);
	__u32 proto = BIGTCP_CTX_U32(skb, protocol);

	if (bigtcp_is_vlan(proto))
		return 0;
	if (proto != BIGTCP_BE16(BIGTCP_ETH_P_IPV6))
		return proto != BIGTCP_BE16(BIGTCP_ETH_P_IPV4) || len <= BIGTCP_LEGACY_MAX_SIZE;
	if (p + BIGTCP_ETH_HLEN + BIGTCP_IPV6_HDR_LEN > end)
		return 0;
	if ((p[0] & 0xd0) == 0x40) /* may be an IP header: tun, WireGuard */
		return 0;
	p += BIGTCP_ETH_HLEN;
	return bigtcp_ld16(p + 4) && p[6] != BIGTCP_NEXTHDR_HOP;
}

/* Of its own, so that the verifier reads it once. */
static __noinline int look_closely(struct __sk_buff *skb)
{
	struct observe_stats *stats = counters(BIGTCP_CTX_U32(skb, ifindex));
	__u32 len = BIGTCP_CTX_U32(skb, len);
	struct bigtcp_pkt pkt;
	int ret;

	if (!stats)
		return 0;
	ret = bigtcp_parse_skb(skb, &pkt);
	if (ret == BIGTCP_PARSE_SHORT)
		stats->unread++;
	if (ret == BIGTCP_PARSE_OK && pkt.is_jumbo == BIGTCP_JUMBO_HBH &&
	    BIGTCP_CTX_U32(skb, gso_size)) {
		stats->jumbo_hbh++;
		stats->jumbo_hbh_bytes += len;
	} else if (claims_jumbo(skb, &pkt)) {
		stats->malformed++;
		return 0;
	} else if (ret == BIGTCP_PARSE_OK && pkt.is_jumbo && len > BIGTCP_LEGACY_MAX_SIZE) {
		if (pkt.is_jumbo == BIGTCP_JUMBO_LEN0) {
			stats->jumbo_len0++;
			stats->jumbo_len0_bytes += len;
		} else {
			stats->jumbo_ipv4++;
			stats->jumbo_ipv4_bytes += len;
		}
	} else {
		return 0;
	}
	keep(skb, &pkt);
	return 0;
}

SEC("tc")
int observe(struct __sk_buff *skb)
{
	struct observe_stats *stats = counters(BIGTCP_CTX_U32(skb, ifindex));
	__u32 len = BIGTCP_CTX_U32(skb, len);

	if (!stats)
		return TC_ACT_UNSPEC;
	stats->packets++;
	stats->bytes += len;
	if (len > stats->max_len)
		stats->max_len = len;
	if (!ordinary(skb, len))
		look_closely(skb);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
