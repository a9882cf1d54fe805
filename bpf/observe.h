/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf/observe.bpf.c counts; shared with the programs that read it. */
#ifndef BIGTCP_OBSERVE_H
#define BIGTCP_OBSERVE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Map names: a per-CPU hash of struct observe_stats by struct observe_key, which one program fills for
 * all devices it is at, and a per-CPU array of one struct observe_last, key 0.
 */
#define BIGTCP_OBSERVE_STATS "observe_stats"
#define BIGTCP_OBSERVE_LAST  "observe_last"

#define OBSERVE_MAX_KEYS     8192

/* Global variable observe_hook, to be set before the program is loaded: it can't see where it is. */
enum observe_hook { OBSERVE_INGRESS, OBSERVE_EGRESS };

struct observe_key {
	__u32 ifindex;
	__u32 hook; /* enum observe_hook */
};

/* One of these per CPU; add them up, but take the largest max_len. Bytes are of skb->len, link-layer header
 * included: a GSO packet has its headers once.
 */
struct observe_stats {
	__u64 packets;
	__u64 bytes;
	__u64 jumbo_hbh; /* IPv6 TCP GSO with the kernel's own hop-by-hop jumbo header */
	__u64 jumbo_len0; /* IPv6 TCP above 65536 bytes, payload_len 0, no such header */
	__u64 jumbo_ipv4; /* IPv4 TCP above 65536 bytes, tot_len 0 */
	__u64 jumbo_hbh_bytes;
	__u64 jumbo_len0_bytes;
	__u64 jumbo_ipv4_bytes;
	__u64 malformed; /* says it has a jumbo header, and is not the kernel's own form */
	__u64 unread; /* could be one of these, but its headers are not in the linear part */
	__u64 max_len; /* largest skb->len seen */
};

#define OBSERVE_LAST_BYTES 96

/* The most recent jumbo packet of a CPU; the one with the largest ns is the most recent of all.
 * Read it when the traffic has stopped: nothing keeps it whole while it is written. Only where the global
 * variable observe_keep is not 0.
 */
struct observe_last {
	__u64 ns; /* CLOCK_MONOTONIC; 0: none yet */
	__u32 len; /* skb->len */
	__u32 gso_size;
	__u32 gso_segs;
	__u32 l3_off; /* of the IP header in data[] */
	__u32 l4_off; /* of the TCP header in data[] */
	__u32 kind; /* enum bigtcp_jumbo_kind of <bigtcp/parse.bpf.h> */
	__u8 data[OBSERVE_LAST_BYTES]; /* as the program sees it, from skb->data */
};

#endif /* BIGTCP_OBSERVE_H */
