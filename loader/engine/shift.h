/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The move itself. While a packet is on the jumbo path its link and IPv6 header (O + 40 bytes, O being the
 * IPv6 offset) stand SHIFT bytes further on, over the jumbo header, and the SHIFT
 * bytes in front of them hold a mark and O:
 *
 *   kernel's form   | link O | ipv6 40, nexthdr 0  | 06 00 c2 04 len | tcp
 *   moved form      | mark O | link O | ipv6 40, nexthdr 6           | tcp
 *
 * An XDP context does not have the length of the packet: the mark has it too (mark_xdp()).
 *
 * No program can have a pointer to the mark: its packet pointers start SHIFT bytes in.
 */
#ifndef ENGINE_SHIFT_H
#define ENGINE_SHIFT_H

#include <bigtcp/twin.h>

#include "engine/buf.h"
#include "engine/hook.h"

#define SHIFT 8 /* sizeof(struct hop_jumbo_hdr) */
/* Linear bytes the move wants: two VLAN tags, and a bit more than the headers it touches. */
#define SHIFT_LINEAR 78
#define SHIFT_MAX_L3 22 /* two VLAN tags */
/* XDP: the second word of the mark is O << SHIFT_MARK_O | length of the whole packet. An O of SHIFT_MARK_LOOK
 * means that the program has changed the link header: see there.
 */
#define SHIFT_MARK_O	24
#define SHIFT_MARK_LEN	0xffffff
#define SHIFT_MARK_LOOK 0xff

/*
 * Registers the code may use. ctx holds the context and keeps it, pkt, tmp and tmp2 are scratch.
 * buf: 0 to write the packet directly, else the register with the address of a buffer, which
 * bpf_skb_store_bytes() then writes: that clobbers R0 to R5, so ctx and buf are above them.
 */
struct shift_regs {
	__u8 ctx, pkt, tmp, tmp2, buf;
	bool hash; /* for bpf_get_hash_recalc: see put_header() */
	bool bare; /* shift_out() leaves SHIFT free bytes behind the IPv6 header, no jumbo header */
	const struct hook *hook;
	/* XDP, shift_in(): has the packet's length; 0: it is what the jumbo header says, since the
	 * twin itself has just written that.
	 */
	__u8 len;
};

/* In: goes to @no, packet as it was, unless it has the kernel's jumbo header; else falls through
 * with the packet moved. The caller has checked nothing.
 */
void shift_in(struct buf *b, const struct bigtcp_twin_opts *opts, struct shift_regs r, __u32 no);
/* Goes to @moved if the packet is in the moved form, to @short_pkt (LABEL_NONE: on) if it is too short to
 * tell.
 */
void shift_if_moved(struct buf *b, struct shift_regs r, __u32 moved, __u32 short_pkt);
/* Out: goes to @short_pkt when the linear part is too short to look at, to @not_moved when the
 * packet is in the kernel's form already, to @lost when it is no TCP packet any more (LABEL_NONE:
 * do not look) or the kernel would not write (through the buffer only); falls through when it has
 * been moved back. r.tmp2 is used for XDP only.
 */
void shift_out(struct buf *b, struct shift_regs r, __u32 short_pkt, __u32 not_moved, __u32 lost);

#endif
