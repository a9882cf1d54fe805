// SPDX-License-Identifier: GPL-2.0
/* entry.c for XDP, whose context has neither a length nor gso_size. */
#include <stddef.h>

#include "engine/insn.h"
#include "engine/rewrite.h"
#include "engine/shift.h"

#define XDP_ABORTED_VERDICT 0 /* which the kernel traces: trace_xdp_exception() */

static const struct shift_regs main_regs = { BPF_REG_6, BPF_REG_2, BPF_REG_3, BPF_REG_4 };

/*
 * One comparison for a packet that cannot be a jumbo packet; the length itself would need CAP_PERFMON (a
 * difference of pointers) or a call. No packet this long comes from a wire: a wire's MTU is below 64 KiB.
 */
void write_if_long_xdp(struct rewrite *w, __u32 jumbo)
{
	struct buf *b = &w->b;

	if (w->opts->any_len) {
		buf_ja(b, jumbo);
	} else if (w->p->frags) {
		buf_put(b, MOV64_REG(BPF_REG_6, BPF_REG_1));
		buf_put(b, CALL_HELPER(BPF_FUNC_xdp_get_buff_len));
		buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
		buf_jmp_imm(b, BPF_JGT, BPF_REG_0, min_len(w->opts), jumbo);
	} else {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_1, w->p->hook->data));
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_1, w->p->hook->data_end));
		buf_put(b, ALU64_IMM(BPF_ADD, BPF_REG_2, min_len(w->opts)));
		buf_jmp_reg(b, BPF_JLT, BPF_REG_2, BPF_REG_3, jumbo);
	}
}

void write_entry_xdp(struct rewrite *w)
{
	__u32 jumbo = buf_label(&w->b), back = buf_label(&w->b);
	struct shift_regs regs = main_regs;
	struct buf *b = &w->b;

	write_if_long_xdp(w, jumbo);
	write_plain_sub(w, &w->p->subs[0]);

	buf_bind(b, back);
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	buf_ja(b, label_plain(0));

	buf_bind(b, jumbo);
	buf_put(b, MOV64_REG(BPF_REG_6, BPF_REG_1));
	buf_put(b, CALL_HELPER(BPF_FUNC_xdp_get_buff_len));
	buf_put(b, MOV64_REG(BPF_REG_7, BPF_REG_0));
	regs.hook = w->p->hook;
	regs.len = BPF_REG_7;
	shift_in(b, w->opts, regs, back);
	write_count(w, offsetof(struct bigtcp_twin_state, jumbo));
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	write_home_save(w, w->pl->home[0], BPF_REG_1);
}

void write_lost_xdp(struct rewrite *w)
{
	write_count(w, offsetof(struct bigtcp_twin_state, lost));
	buf_put(&w->b, MOV64_IMM(BPF_REG_0, XDP_ABORTED_VERDICT));
	buf_put(&w->b, EXIT());
}

/* Goes to @small if the packet, as the program has left it, is too short for a jumbo header. */
static void if_short(struct rewrite *w, __u32 not_moved, __u32 small)
{
	struct buf *b = &w->b;
	__u32 out = buf_label(b), word = buf_label(b);

	buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, w->p->hook->data));
	buf_put(b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_6, w->p->hook->data_end));
	buf_put(b, MOV64_REG(BPF_REG_4, BPF_REG_2));
	buf_put(b, ALU64_IMM(BPF_ADD, BPF_REG_4, SHIFT));
	buf_jmp_reg(b, BPF_JGT, BPF_REG_4, BPF_REG_3, not_moved);
	buf_put(b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_2, 0));
	buf_jmp32_imm(b, BPF_JEQ, BPF_REG_3, (__s32)BIGTCP_TWIN_MAGIC, word);
	buf_ja(b, not_moved);
	buf_bind(b, word);
	buf_put(b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_2, 4));
	buf_put(b, ALU32_IMM(BPF_AND, BPF_REG_3, SHIFT_MARK_LEN));
	buf_jmp_imm(b, BPF_JGT, BPF_REG_3, min_len(w->opts), out);
	buf_ja(b, small);
	buf_bind(b, out);
}

/*
 * What the program has made of a packet by cutting it, such as the ICMP error it answers with, goes on
 * without a jumbo header: the gap is taken off.
 */
static void write_cut(struct rewrite *w, __u32 cut, __u32 as_is, __u32 lost)
{
	struct buf *b = &w->b;

	buf_bind(b, cut);
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	buf_put(b, MOV64_IMM(BPF_REG_2, SHIFT));
	buf_put(b, CALL_HELPER(BPF_FUNC_xdp_adjust_head));
	buf_jmp_imm(b, BPF_JNE, BPF_REG_0, 0, lost);
	buf_ja(b, as_is);
}

/* R6 = ctx, R0 = verdict. */
void write_out_xdp(struct rewrite *w)
{
	__u32 lost = buf_label(&w->b), as_is = buf_label(&w->b), cut = lost, unmoved;
	struct shift_regs regs = main_regs;
	struct buf *b = &w->b;

	regs.hook = w->p->hook;
	unmoved = w->pl->rejoins ? as_is : lost;
	buf_put(b, MOV64_REG(BPF_REG_7, BPF_REG_0));
	if (w->pl->cuts)
		cut = buf_label(b);
	if ((w->pl->cuts || w->pl->heads) && !w->opts->any_len)
		if_short(w, unmoved, cut);
	/* A packet that is still long has to be TCP; tests take short ones for long. */
	shift_out(b, regs, w->opts->any_len ? cut : lost, unmoved, w->opts->any_len ? cut : lost);
	buf_bind(b, as_is);
	buf_put(b, MOV64_REG(BPF_REG_0, BPF_REG_7));
	buf_put(b, EXIT());
	if (w->pl->cuts)
		write_cut(w, cut, as_is, lost);
	buf_bind(b, lost);
	write_lost_xdp(w);
}
