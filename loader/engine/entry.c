// SPDX-License-Identifier: GPL-2.0
/* The way into main's jumbo path, and the way out of it. */
#include <stddef.h>

#include "engine/insn.h"
#include "engine/rewrite.h"
#include "engine/shift.h"

#define SKB(field)   offsetof(struct __sk_buff, field)
#define STATE(field) offsetof(struct bigtcp_twin_state, field)
#define TC_ACT_SHOT  2
/* Beyond this a jump back to an earlier way out might not fit in 16 bits. */
#define OUT_REACH 30000

/* state->field += 1, with R1 and R2 */
void write_count(struct rewrite *w, __s32 field)
{
	buf_ld64(&w->b, BPF_REG_1, INSN_PSEUDO_MAP_VALUE, w->opts->state_fd, field);
	buf_put(&w->b, MOV64_IMM(BPF_REG_2, 1));
	buf_put(&w->b, ATOMIC_ADD64(BPF_REG_1, BPF_REG_2, 0));
}

/* Puts the address of this CPU's buffer in a register, which it returns. The key is in the state
 * map, since no stack may be borrowed.
 */
static __u8 lookup_buf(struct rewrite *w, __u32 none)
{
	buf_ld64(&w->b, BPF_REG_1, INSN_PSEUDO_MAP_FD, w->opts->buf_fd, 0);
	buf_ld64(&w->b, BPF_REG_2, INSN_PSEUDO_MAP_VALUE, w->opts->state_fd, STATE(zero));
	buf_put(&w->b, CALL_HELPER(BPF_FUNC_map_lookup_elem));
	buf_jmp_imm(&w->b, BPF_JEQ, BPF_REG_0, 0, none);
	buf_put(&w->b, MOV64_REG(BPF_REG_9, BPF_REG_0));
	return BPF_REG_9;
}

/*
 * Makes the headers linear if they are not, with R6 = ctx. The move looks again and gives up by itself: a
 * loop here would need CAP_PERFMON to pass the verifier.
 */
void write_pull_headers(struct rewrite *w)
{
	struct buf *b = &w->b;
	__u32 linear = buf_label(b);

	buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, SKB(data)));
	buf_put(b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_6, SKB(data_end)));
	buf_put(b, ALU64_IMM(BPF_ADD, BPF_REG_2, SHIFT_LINEAR));
	buf_jmp_reg(b, BPF_JLE, BPF_REG_2, BPF_REG_3, linear);
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	buf_put(b, MOV64_IMM(BPF_REG_2, SHIFT_LINEAR));
	buf_put(b, CALL_HELPER(BPF_FUNC_skb_pull_data));
	buf_bind(b, linear);
}

void write_home_load(struct rewrite *w, struct home h, __u8 reg)
{
	if (h.kind == HOME_STACK)
		buf_put(&w->b, LDX_MEM(BPF_DW, reg, BPF_REG_10, h.off));
	else if (h.kind == HOME_REG && h.reg != reg)
		buf_put(&w->b, MOV64_REG(reg, h.reg));
}

void write_home_save(struct rewrite *w, struct home h, __u8 reg)
{
	if (h.kind == HOME_STACK)
		buf_put(&w->b, STX_MEM(BPF_DW, BPF_REG_10, reg, h.off));
	else if (h.kind == HOME_REG && h.reg != reg)
		buf_put(&w->b, MOV64_REG(h.reg, reg));
}

/* R1 = ctx at @jumbo; falls through into the twin of main, or goes back to the original. */
static void write_jumbo(struct rewrite *w, __u32 jumbo)
{
	struct shift_regs regs = { BPF_REG_6, BPF_REG_2, BPF_REG_3, BPF_REG_4, .hook = w->p->hook };
	struct buf *b = &w->b;
	__u32 back = buf_label(b), check = buf_label(b);

	buf_bind(b, jumbo);
	buf_put(b, MOV64_REG(BPF_REG_6, BPF_REG_1));
	buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, SKB(gso_size)));
	buf_jmp_imm(b, BPF_JNE, BPF_REG_2, 0, check);
	buf_bind(b, back);
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	buf_ja(b, label_plain(0));

	buf_bind(b, check);
	write_pull_headers(w);
	if (!w->pl->direct)
		regs.buf = lookup_buf(w, back);
	shift_in(b, w->opts, regs, back);
	write_count(w, STATE(jumbo));
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	write_home_save(w, w->pl->home[0], BPF_REG_1);
}

void write_entry(struct rewrite *w)
{
	__u32 jumbo;

	if (w->p->hook->xdp) {
		write_entry_xdp(w);
		return;
	}
	jumbo = buf_label(&w->b);
	/* One load and one branch for a packet that cannot be a jumbo packet. */
	if (!w->opts->any_len) {
		buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_1, SKB(len)));
		buf_jmp_imm(&w->b, BPF_JGT, BPF_REG_2, min_len(w->opts), jumbo);
	} else {
		buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_1, SKB(gso_size)));
		buf_jmp_imm(&w->b, BPF_JNE, BPF_REG_2, 0, jumbo);
	}
	write_plain_sub(w, &w->p->subs[0]);
	write_jumbo(w, jumbo);
}

void write_lost(struct rewrite *w)
{
	if (w->p->hook->xdp) {
		write_lost_xdp(w);
		return;
	}
	write_count(w, STATE(lost));
	buf_put(&w->b, MOV64_IMM(BPF_REG_0, TC_ACT_SHOT));
	buf_put(&w->b, EXIT());
}

/*
 * A packet that the program has cut is no GSO packet any more (bpf_skb_change_tail resets that) and
 * may be anything, such as the ICMP error it asked for: it goes on without a jumbo header. Taking 8
 * bytes out marks only GSO packets SKB_GSO_DODGY.
 */
static void write_out_cut(struct rewrite *w, struct shift_regs regs, __u32 as_is, __u32 lost)
{
	struct buf *b = &w->b;

	regs.bare = true;
	shift_out(b, regs, lost, w->pl->rejoins ? as_is : lost, lost);
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	buf_put(b, MOV64_IMM(BPF_REG_2, -SHIFT));
	buf_put(b, MOV64_IMM(BPF_REG_3, BPF_ADJ_ROOM_NET));
	buf_put(b, MOV64_IMM(BPF_REG_4, 0));
	buf_put(b, CALL_HELPER(BPF_FUNC_skb_adjust_room));
	buf_jmp_imm(b, BPF_JNE, BPF_REG_0, 0, lost);
	buf_ja(b, as_is);
}

/* R6 = ctx, R0 = verdict. */
static void write_out_block(struct rewrite *w)
{
	struct shift_regs regs = { BPF_REG_6, BPF_REG_2, BPF_REG_3, BPF_REG_4, .hook = w->p->hook };
	struct buf *b = &w->b;
	__u32 lost = buf_label(b), as_is = buf_label(b), jumbo = buf_label(b);

	buf_put(b, MOV64_REG(BPF_REG_7, BPF_REG_0));
	write_pull_headers(w);
	if (!w->pl->direct)
		regs.buf = lookup_buf(w, lost);
	if (w->pl->cuts) {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, SKB(gso_size)));
		buf_jmp_imm(b, BPF_JNE, BPF_REG_2, 0, jumbo);
		write_out_cut(w, regs, as_is, lost);
	}
	buf_bind(b, jumbo);
	/* Without a mark: another program has put the packet back, or it could not be moved again. */
	shift_out(b, regs, lost, w->pl->rejoins ? as_is : lost, lost);
	/* The kernel takes no jumbo header in a packet this short. */
	if (!w->opts->any_len) {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, SKB(len)));
		buf_jmp_imm(b, BPF_JLE, BPF_REG_2, min_len(w->opts), lost);
	}
	buf_bind(b, as_is);
	buf_put(b, MOV64_REG(BPF_REG_0, BPF_REG_7));
	buf_put(b, EXIT());
	buf_bind(b, lost);
	write_lost(w);
}

void write_out(struct rewrite *w)
{
	struct buf *b = &w->b;

	if (w->out != LABEL_NONE && b->cnt - w->out_at < OUT_REACH) {
		buf_ja(b, w->out);
		return;
	}
	w->out = buf_label(b);
	w->out_at = b->cnt;
	buf_bind(b, w->out);
	if (w->p->hook->xdp)
		write_out_xdp(w);
	else
		write_out_block(w);
}
