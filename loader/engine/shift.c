// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "engine/insn.h"
#include "engine/shift.h"

#define SKB(field)	offsetof(struct __sk_buff, field)
#define IP6_LEN		40
#define IP6_PAYLOAD_LEN 4
#define IP6_NEXTHDR	6

/* IPv6 offsets the move knows: L3 device, Ethernet, one in-band VLAN tag, two. */
static const __u8 l3_offsets[] = { 14, 18, 22, 0 };
#define N_OFFSETS (sizeof(l3_offsets) / sizeof(l3_offsets[0]))

/* Constants as a load from the packet gives them on this machine. */
static __s32 word(__u8 a, __u8 b, __u8 c, __u8 d)
{
	__u8 bytes[4] = { a, b, c, d };
	__s32 w;

	memcpy(&w, bytes, 4);
	return w;
}

#define HBH_WORD word(IPPROTO_TCP, 0, 0xc2, 4)

static void load_data(struct buf *b, struct shift_regs r, __u32 too_short)
{
	buf_put(b, LDX_MEM(BPF_W, r.pkt, r.ctx, r.hook->data));
	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.ctx, r.hook->data_end));
	buf_put(b, ALU64_IMM(BPF_ADD, r.pkt, SHIFT_LINEAR));
	buf_jmp_reg(b, BPF_JGT, r.pkt, r.tmp, too_short);
	buf_put(b, ALU64_IMM(BPF_ADD, r.pkt, -SHIFT_LINEAR));
}

/*
 * Goes to at[k] by what the skb and the link header say; falls through to nothing. On a device
 * without a link header the bytes at 12 are of the source address and may look like a type.
 */
static void find_l3(struct buf *b, struct shift_regs r, const __u32 at[N_OFFSETS], __u32 no)
{
	__u32 tagged = buf_label(b);

	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.ctx, SKB(protocol)));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_8021Q), tagged);
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_8021AD), tagged);
	buf_jmp_imm(b, BPF_JNE, r.tmp, htons(ETH_P_IPV6), no);
	buf_put(b, LDX_MEM(BPF_H, r.tmp, r.pkt, 12));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_IPV6), at[0]);
	buf_ja(b, at[3]);
	buf_bind(b, tagged);
	buf_put(b, LDX_MEM(BPF_H, r.tmp, r.pkt, 16));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_IPV6), at[1]);
	buf_jmp_imm(b, BPF_JNE, r.tmp, htons(ETH_P_8021Q), no);
	buf_put(b, LDX_MEM(BPF_H, r.tmp, r.pkt, 20));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_IPV6), at[2]);
	buf_ja(b, no);
}

/* XDP knows no protocol: the link header, at byte @at, says all. What is no Ethernet is tried without. */
static void find_l3_xdp(struct buf *b, struct shift_regs r, __u8 at, const __u32 to[N_OFFSETS],
			__u32 other)
{
	__u32 tagged = buf_label(b);

	buf_put(b, LDX_MEM(BPF_H, r.tmp, r.pkt, at + 12));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_IPV6), to[0]);
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_8021Q), tagged);
	buf_jmp_imm(b, BPF_JNE, r.tmp, htons(ETH_P_8021AD), other);
	buf_bind(b, tagged);
	buf_put(b, LDX_MEM(BPF_H, r.tmp, r.pkt, at + 16));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_IPV6), to[1]);
	buf_jmp_imm(b, BPF_JNE, r.tmp, htons(ETH_P_8021Q), other);
	buf_put(b, LDX_MEM(BPF_H, r.tmp, r.pkt, at + 20));
	buf_jmp_imm(b, BPF_JEQ, r.tmp, htons(ETH_P_IPV6), to[2]);
	buf_ja(b, other);
}

/* Only what ip6_xmit() and ipv6_gro_complete() write passes; the wire can forge the rest. */
static void check_header(struct buf *b, struct shift_regs r, __u8 o, __u32 no)
{
	buf_put(b, LDX_MEM(BPF_B, r.tmp, r.pkt, o));
	buf_put(b, ALU64_IMM(BPF_RSH, r.tmp, 4));
	buf_jmp_imm(b, BPF_JNE, r.tmp, 6, no);
	/* payload_len and nexthdr, not the hop limit */
	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.pkt, o + IP6_PAYLOAD_LEN));
	buf_put(b, ALU32_IMM(BPF_AND, r.tmp, word(0xff, 0xff, r.hash ? 0 : 0xff, 0)));
	buf_jmp_imm(b, BPF_JNE, r.tmp, 0, no);
	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.pkt, o + IP6_LEN));
	buf_jmp32_imm(b, BPF_JNE, r.tmp, HBH_WORD, no);
	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.pkt, o + IP6_LEN + 4));
	buf_put(b, TO_BE(r.tmp, 32));
	if (!r.hook->xdp) {
		buf_put(b, LDX_MEM(BPF_W, r.tmp2, r.ctx, SKB(len)));
	} else if (r.len) {
		buf_put(b, MOV32_REG(r.tmp2, r.len));
	} else {
		buf_put(b, MOV32_REG(r.tmp2, r.tmp));
		return;
	}
	buf_put(b, ALU32_IMM(BPF_ADD, r.tmp2, -(o + IP6_LEN)));
	buf_jmp_reg(b, BPF_JNE, r.tmp, r.tmp2, no);
}

/* Copies @n bytes from src + from to dst + to; from the end when moving up in place. */
static void copy(struct buf *b, __u8 dst, int to, __u8 src, int from, int n, __u8 tmp, bool up)
{
	static const struct {
		int bytes;
		__u8 size;
	} step[] = { { 8, BPF_DW }, { 4, BPF_W }, { 2, BPF_H }, { 1, BPF_B } };
	int done = 0, k;

	while (done < n) {
		int left = n - done, at;

		for (k = 0; step[k].bytes > left; k++)
			;
		at = up ? left - step[k].bytes : done;
		buf_put(b, LDX_MEM(step[k].size, tmp, src, from + at));
		buf_put(b, STX_MEM(step[k].size, dst, tmp, to + at));
		done += step[k].bytes;
	}
}

/* r.tmp2: the length of the IPv6 payload, jumbo header included. */
static void mark_xdp(struct buf *b, struct shift_regs r, __u8 o)
{
	buf_put(b, ALU32_IMM(BPF_ADD, r.tmp2, o + IP6_LEN));
	buf_put(b, ALU32_IMM(BPF_OR, r.tmp2, o << SHIFT_MARK_O));
	buf_put(b, STX_MEM(BPF_W, r.pkt, r.tmp2, 4));
}

static void mark_and_fix(struct buf *b, const struct bigtcp_twin_opts *opts, struct shift_regs r,
			 __u8 reg, __u8 o)
{
	buf_put(b, ST_MEM(BPF_B, reg, SHIFT + o + IP6_NEXTHDR, IPPROTO_TCP));
	if (opts->max_payload_len)
		buf_put(b, ST_MEM(BPF_H, reg, SHIFT + o + IP6_PAYLOAD_LEN, 0xffff));
	buf_put(b, ST_MEM(BPF_W, reg, 0, (__s32)BIGTCP_TWIN_MAGIC));
	if (r.hook->xdp)
		mark_xdp(b, r, o);
	else
		buf_put(b, ST_MEM(BPF_W, reg, 4, o));
}

static void offset_labels(struct buf *b, __u32 at[N_OFFSETS])
{
	__u32 k;

	for (k = 0; k < N_OFFSETS; k++)
		at[k] = buf_label(b);
}

void shift_if_moved(struct buf *b, struct shift_regs r, __u32 moved, __u32 short_pkt)
{
	__u32 no = buf_label(b);

	load_data(b, r, short_pkt == LABEL_NONE ? no : short_pkt);
	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.pkt, 0));
	buf_jmp32_imm(b, BPF_JEQ, r.tmp, (__s32)BIGTCP_TWIN_MAGIC, moved);
	buf_bind(b, no);
}

static void store_bytes(struct buf *b, __u8 ctx, __u8 buf_reg, __u8 len)
{
	buf_put(b, MOV64_REG(BPF_REG_1, ctx));
	buf_put(b, MOV64_IMM(BPF_REG_2, 0));
	buf_put(b, MOV64_REG(BPF_REG_3, buf_reg));
	buf_put(b, MOV64_IMM(BPF_REG_4, len));
	buf_put(b, MOV64_IMM(BPF_REG_5, 0));
	buf_put(b, CALL_HELPER(BPF_FUNC_skb_store_bytes));
}

/* Where the moved bytes are put together: the packet itself, or the buffer. */
static __u8 target(struct shift_regs r)
{
	return r.buf ? r.buf : r.pkt;
}

/* The code for each offset ends here; through the buffer R0 says whether it was written. */
static void finish(struct buf *b, struct shift_regs r, __u32 done, __u32 failed)
{
	buf_bind(b, done);
	if (r.buf)
		buf_jmp_imm(b, BPF_JNE, BPF_REG_0, 0, failed);
}

void shift_in(struct buf *b, const struct bigtcp_twin_opts *opts, struct shift_regs r, __u32 no)
{
	__u32 at[N_OFFSETS], done = buf_label(b), k;

	offset_labels(b, at);
	load_data(b, r, no);
	if (r.hook->xdp)
		find_l3_xdp(b, r, 0, at, at[3]);
	else
		find_l3(b, r, at, no);
	for (k = 0; k < N_OFFSETS; k++) {
		__u8 o = l3_offsets[k];

		buf_bind(b, at[k]);
		check_header(b, r, o, o == 14 || (o && r.hook->xdp) ? at[3] : no);
		copy(b, target(r), SHIFT, r.pkt, 0, o + IP6_LEN, r.tmp, true);
		mark_and_fix(b, opts, r, target(r), o);
		if (r.buf)
			store_bytes(b, r.ctx, r.buf, SHIFT + o + IP6_LEN);
		if (k + 1 < N_OFFSETS)
			buf_ja(b, done);
	}
	finish(b, r, done, no);
}

/* Goes to at[k] by the mark, to @none when there is none, to @lost when the link header is none we know. */
static void find_mark(struct buf *b, struct shift_regs r, const __u32 at[N_OFFSETS], __u32 none,
		      __u32 lost)
{
	__u32 k;

	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.pkt, 0));
	buf_jmp32_imm(b, BPF_JNE, r.tmp, (__s32)BIGTCP_TWIN_MAGIC, none);
	buf_put(b, LDX_MEM(BPF_W, r.tmp, r.pkt, 4));
	if (r.hook->xdp)
		buf_put(b, ALU32_IMM(BPF_RSH, r.tmp, SHIFT_MARK_O));
	for (k = 0; k < N_OFFSETS; k++)
		buf_jmp_imm(b, BPF_JEQ, r.tmp, l3_offsets[k], at[k]);
	if (r.hook->xdp)
		find_l3_xdp(b, r, SHIFT, at, lost);
	else
		buf_ja(b, none);
}

/*
 * The kernel's own header again, at @reg. __skb_get_hash() stops at a flow label and hashes the
 * nexthdr it has found until then, so that a jumbo packet would not have the hash of its flow's
 * other packets: for that call nexthdr says TCP where there is a label.
 */
static void put_header(struct buf *b, struct shift_regs r, __u8 reg, __u8 o)
{
	__u32 no_label = buf_label(b);

	buf_put(b, ST_MEM(BPF_H, reg, o + IP6_PAYLOAD_LEN, 0));
	buf_put(b, ST_MEM(BPF_B, reg, o + IP6_NEXTHDR, 0));
	if (r.hash) {
		buf_put(b, LDX_MEM(BPF_W, r.tmp, reg, o));
		buf_put(b, ALU32_IMM(BPF_AND, r.tmp, word(0, 0x0f, 0xff, 0xff)));
		buf_jmp_imm(b, BPF_JEQ, r.tmp, 0, no_label);
		buf_put(b, ST_MEM(BPF_B, reg, o + IP6_NEXTHDR, IPPROTO_TCP));
	}
	buf_bind(b, no_label);
	buf_put(b, ST_MEM(BPF_W, reg, o + IP6_LEN, HBH_WORD));
	if (r.hook->xdp)
		buf_put(b, MOV32_REG(r.tmp, r.tmp2));
	else
		buf_put(b, LDX_MEM(BPF_W, r.tmp, r.ctx, SKB(len)));
	buf_put(b, ALU32_IMM(BPF_ADD, r.tmp, -(o + IP6_LEN)));
	buf_put(b, TO_BE(r.tmp, 32));
	buf_put(b, STX_MEM(BPF_W, reg, r.tmp, o + IP6_LEN + 4));
}

void shift_out(struct buf *b, struct shift_regs r, __u32 short_pkt, __u32 not_moved, __u32 lost)
{
	__u32 at[N_OFFSETS], done = buf_label(b), k;

	offset_labels(b, at);
	load_data(b, r, short_pkt);
	find_mark(b, r, at, not_moved, lost);
	for (k = 0; k < N_OFFSETS; k++) {
		__u8 o = l3_offsets[k];

		buf_bind(b, at[k]);
		if (!r.bare && lost != LABEL_NONE) {
			/* The kernel knows a jumbo header of TCP alone. */
			buf_put(b, LDX_MEM(BPF_B, r.tmp, r.pkt, SHIFT + o + IP6_NEXTHDR));
			buf_jmp_imm(b, BPF_JNE, r.tmp, IPPROTO_TCP, lost);
		}
		if (r.hook->xdp) {
			buf_put(b, LDX_MEM(BPF_W, r.tmp2, r.pkt, 4));
			buf_put(b, ALU32_IMM(BPF_AND, r.tmp2, SHIFT_MARK_LEN));
		}
		copy(b, target(r), 0, r.pkt, SHIFT, o + IP6_LEN, r.tmp, false);
		if (!r.bare)
			put_header(b, r, target(r), o);
		if (r.buf)
			store_bytes(b, r.ctx, r.buf, SHIFT + o + IP6_LEN);
		if (k + 1 < N_OFFSETS)
			buf_ja(b, done);
	}
	finish(b, r, done, lost);
}
