/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf/xdp_strip.bpf.c and bpf/xdp_restore.bpf.c share with each other and with who reads them. */
#ifndef BIGTCP_XDP_SANDWICH_H
#define BIGTCP_XDP_SANDWICH_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define BIGTCP_STRIP_PROG   "bigtcp_strip"
#define BIGTCP_RESTORE_PROG "bigtcp_restore"

/* Each program's own per-CPU array of one struct sandwich_stats, key 0. */
#define BIGTCP_SANDWICH_STATS "bigtcp_sandwich"

/* Packets. One of these per CPU: add them up. */
struct sandwich_stats {
	/* strip */
	__u64 stripped;
	__u64 unstripped; /* jumbo, but it has too much metadata: seen as it is */
	/* restore */
	__u64 restored; /* with the jumbo header as it was, or for a new length */
	__u64 resized; /* of these: with another length than they came with */
	__u64 plain; /* no longer need a jumbo header: got a payload_len */
	__u64 changed; /* no longer IPv6 and TCP, and of ordinary size: let alone */
	/* both */
	__u64 lost; /* dropped: could be given no header that is right */
};

/* In XDP metadata, in the last 8 bytes before the packet, from strip to restore. Metadata of other
 * programs stays in front of it.
 */
struct sandwich_meta {
	__u32 magic;
	__u32 jumbo_len; /* of the header that was taken out, host byte order */
};
#define BIGTCP_SANDWICH_MAGIC 0x3b67c2d5

/* Metadata of others, in words of 4 bytes, that ours can be put behind. The kernel allows 252 bytes
 * in all (xdp_metalen_invalid(); 32 before 6.3); to walk over as much takes the verifier seconds.
 */
#define BIGTCP_META_WORDS 16

#endif /* BIGTCP_XDP_SANDWICH_H */
