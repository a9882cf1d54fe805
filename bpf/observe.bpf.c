// SPDX-License-Identifier: GPL-2.0
/*
 * Counts what a tc hook sees of BIG TCP: which of the forms, how large, how many. Changes
 * nothing and decides nothing: the next program runs as if this one were not there.
 * `bigtcp probe` learns from it what the running kernel does; the tests look with it too.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

#include "observe.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_stats);
} observe_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_last);
} observe_last SEC(".maps");

static __always_inline void keep(struct __sk_buff *skb, const struct bigtcp_pkt *pkt)
{
	struct observe_last *last;
	__u32 key = 0;

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

SEC("tc")
int observe(struct __sk_buff *skb)
{
	struct observe_stats *stats;
	struct bigtcp_pkt pkt;
	__u32 key = 0;
	__u32 len = BIGTCP_CTX_U32(skb, len);
	int ret;

	stats = bpf_map_lookup_elem(&observe_stats, &key);
	if (!stats)
		return TC_ACT_UNSPEC;
	stats->packets++;
	stats->bytes += len;
	if (len > stats->max_len)
		stats->max_len = len;

	ret = bigtcp_parse_skb(skb, &pkt);
	if (ret == BIGTCP_PARSE_SHORT)
		stats->unread++;
	if (ret == BIGTCP_PARSE_OK && pkt.is_jumbo == BIGTCP_JUMBO_HBH &&
	    BIGTCP_CTX_U32(skb, gso_size)) {
		stats->jumbo_hbh++;
	} else if (claims_jumbo(skb, &pkt)) {
		stats->malformed++;
		return TC_ACT_UNSPEC;
	} else if (ret == BIGTCP_PARSE_OK && pkt.is_jumbo && len > BIGTCP_LEGACY_MAX_SIZE) {
		if (pkt.is_jumbo == BIGTCP_JUMBO_LEN0)
			stats->jumbo_len0++;
		else
			stats->jumbo_ipv4++;
	} else {
		return TC_ACT_UNSPEC;
	}
	keep(skb, &pkt);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
