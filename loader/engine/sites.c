// SPDX-License-Identifier: GPL-2.0
/* The twin's form of each instruction that changes. */
#include <endian.h>
#include <stddef.h>

#include "engine/insn.h"
#include "engine/kfunc.h"
#include "engine/rewrite.h"
#include "engine/shift.h"

#define SKB(field) offsetof(struct __sk_buff, field)
/* Offsets above this are out of every packet, moved or not (helpers stop at INT_MAX). */
#define OFFSET_MAX 0x7ffffff0

/* All of the field, less SHIFT, then the part that the program asked for. */
static void act_len(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	int size = insn_size(i), part = i->off & 3, shift;

	w->twin_at[at] = w->b.cnt;
	buf_put(&w->b, LDX_MEM(BPF_W, i->dst_reg, i->src_reg, i->off - part));
	buf_put(&w->b, ALU32_IMM(BPF_ADD, i->dst_reg, -SHIFT));
	if (size == 4)
		return;
	shift = 8 * (BYTE_ORDER == LITTLE_ENDIAN ? part : 4 - size - part);
	if (shift)
		buf_put(&w->b, ALU32_IMM(BPF_RSH, i->dst_reg, shift));
	buf_put(&w->b, ALU32_IMM(BPF_AND, i->dst_reg, size == 1 ? 0xff : 0xffff));
}

/*
 * A load behind the end of the packet leaves the program with 0. In the twin's main that would leave
 * the packet moved, so the end is looked at first. R1 to R5 and R0 are free here, R6 is the skb.
 * Offsets computed negative (SKF_*) are taken as behind the end.
 */
static void act_ld_abs(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	__u32 out = buf_label(&w->b), over = buf_label(&w->b);
	int size = insn_size(i);
	struct bpf_insn ld = *i;

	if (BPF_MODE(i->code) == BPF_ABS && i->imm < 0) {
		write_self(w, at);
		if (!w->b.err)
			w->b.insn[w->b.cnt - 1].imm += SHIFT;
		return;
	}
	if (BPF_MODE(i->code) == BPF_ABS) {
		buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_1, BPF_REG_6, SKB(len)));
		if (i->imm > OFFSET_MAX - SHIFT - size) {
			buf_ja(&w->b, out);
			ld.imm = 0;
		} else {
			buf_jmp_imm(&w->b, BPF_JLT, BPF_REG_1, i->imm + SHIFT + size, out);
			ld.imm = i->imm + SHIFT;
		}
	} else {
		buf_put(&w->b, MOV32_REG(BPF_REG_1, i->src_reg));
		buf_put(&w->b, ALU32_IMM(BPF_ADD, BPF_REG_1, i->imm));
		buf_jmp32_imm(&w->b, BPF_JSLT, BPF_REG_1, 0, out);
		buf_put(&w->b, ALU64_IMM(BPF_ADD, BPF_REG_1, SHIFT + size));
		buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_0, BPF_REG_6, SKB(len)));
		buf_jmp_reg(&w->b, BPF_JLT, BPF_REG_0, BPF_REG_1, out);
		buf_put(&w->b, ALU64_IMM(BPF_ADD, BPF_REG_1, -size));
		ld.src_reg = BPF_REG_1;
		ld.imm = 0;
	}
	w->twin_at[at] = w->b.cnt;
	buf_put(&w->b, ld);
	buf_ja(&w->b, over);
	buf_bind(&w->b, out);
	buf_put(&w->b, MOV64_IMM(BPF_REG_0, 0));
	if (w->p->sub_of[at])
		buf_put(&w->b, EXIT());
	else
		write_out(w);
	buf_bind(&w->b, over);
}

static void act_offset(struct rewrite *w, __u32 at)
{
	const struct effect_row *row;
	struct bigtcp_twin_reason why;
	__u32 call = buf_label(&w->b);
	const struct val *v;
	bool known;
	__u64 c;

	call_effect(w->opts, &w->p->insns[at], at, &row, &why);
	v = &flow_site(w->f, at)->reg[row->arg];
	known = v->t == V_CONST && !v->may;
	c = (__u32)v->c;
	if (!known) {
		if (row->effect == EFF_OFFSET_NZ)
			buf_jmp32_imm(&w->b, BPF_JEQ, row->arg, 0, call);
		buf_jmp32_imm(&w->b, BPF_JGT, row->arg, OFFSET_MAX, call);
	}
	if (!known || (c <= OFFSET_MAX && (c || row->effect == EFF_OFFSET)))
		buf_put(&w->b, ALU64_IMM(BPF_ADD, row->arg, SHIFT));
	buf_bind(&w->b, call);
	write_self(w, at);
}

void write_val(struct rewrite *w, __u8 reg, const struct val *v)
{
	const struct bpf_insn *ld;

	if (v->t == V_CONST) {
		buf_ld64(&w->b, reg, 0, (__s32)v->c, (__s32)(v->c >> 32));
	} else if (v->t == V_MAP) {
		ld = &w->p->insns[v->c];
		buf_ld64(&w->b, reg, ld->src_reg, ld->imm, ld[1].imm);
	} else {
		buf_put(&w->b, MOV64_REG(reg, BPF_REG_10));
		buf_put(&w->b, ALU64_IMM(BPF_ADD, reg, v->off));
	}
}

/*
 * The packet is not as the entry left it: a helper that adds a third VLAN tag gets here. In main
 * that is the end. A subprogram or a callback can't end the program; it goes on, and main's way
 * out, which finds no mark, drops the packet.
 */
static void unmovable(struct rewrite *w, __u32 at, __u32 no)
{
	__u32 over = buf_label(&w->b);

	buf_ja(&w->b, over);
	buf_bind(&w->b, no);
	if (!w->p->sub_of[at])
		write_lost(w);
	buf_bind(&w->b, over);
}

/*
 * Packet back into the kernel's form, the call, and the packet moved again. Only direct writes do:
 * packet pointers of the program stay good across them.
 */
static void act_around(struct rewrite *w, __u32 at)
{
	const struct site *s = flow_site(w->f, at);
	struct shift_regs r = { .ctx = BPF_REG_1, .pkt = BPF_REG_0, .hook = w->p->hook };
	struct home h = plan_ctx_at(w->p, w->pl, w->f, at);
	const struct effect_row *row;
	struct bigtcp_twin_reason why;
	__u32 no = buf_label(&w->b), call = buf_label(&w->b);
	__u8 reg[2] = {}, n;

	call_effect(w->opts, &w->p->insns[at], at, &row, &why);
	write_home_save(w, h, BPF_REG_1);
	r.hash = row->effect == EFF_HASH;
	plan_scratch(w->p, s, row->nargs, reg);
	r.tmp = reg[0];
	r.tmp2 = reg[1];
	/* Only an XDP program can have put something before the IPv6 header. */
	shift_out(&w->b, r, call, call, w->p->sub_of[at] && !r.hook->xdp ? LABEL_NONE : no);
	buf_bind(&w->b, call);
	for (n = 0; n < 2; n++)
		if (reg[n] && reg[n] <= row->nargs)
			write_val(w, reg[n], &s->reg[reg[n]]);
	write_self(w, at);
	write_home_load(w, h, BPF_REG_1);
	r.pkt = BPF_REG_2;
	r.tmp = BPF_REG_3;
	r.tmp2 = BPF_REG_4;
	shift_in(&w->b, w->opts, r, no);
	unmovable(w, at, no);
}

/* The callee's tail call, if it succeeded, left the packet in the kernel's form. */
static void act_rejoin(struct rewrite *w, __u32 at)
{
	const struct shift_regs r = { BPF_REG_1, BPF_REG_2, BPF_REG_3, BPF_REG_4,
				      .hook = w->p->hook };
	struct home h = plan_ctx_at(w->p, w->pl, w->f, at);
	const struct site *s = flow_site(w->f, at);
	__u32 moved = buf_label(&w->b);
	__u8 reg = BPF_REG_1;

	if (w->p->sub_of[at]) {
		while (reg < BPF_REG_5 && (s->reg[reg].t != V_CTX || s->reg[reg].may))
			reg++;
		if (s->reg[reg].t == V_CTX && !s->reg[reg].may)
			write_home_save(w, h, reg);
	}
	w->twin_at[at] = w->b.cnt;
	buf_rel(&w->b, w->p->insns[at], label_twin(w, insn_target(w->p, at)));
	write_home_load(w, h, BPF_REG_1);
	shift_if_moved(&w->b, r, moved, moved);
	shift_in(&w->b, w->opts, r, moved);
	buf_bind(&w->b, moved);
}

/* R1 = the dynptr, which is in this frame, or in a caller's whose address a register keeps. */
static void put_dynptr(struct rewrite *w, const struct site *s, const struct val *v)
{
	__u8 same = plan_same(s, BPF_REG_3);

	if (same)
		buf_put(&w->b, MOV64_REG(BPF_REG_1, same));
	else
		write_val(w, BPF_REG_1, v);
}

/*
 * The dynptr starts SHIFT bytes in. Both calls give -EINVAL for the null dynptr that a failed
 * creation leaves, which is also the error of that creation.
 */
static void act_dynptr(struct rewrite *w, __u32 at)
{
	const struct site *s = flow_site(w->f, at);
	const struct val *v = &s->reg[BPF_REG_3];
	struct bpf_insn call = insn_raw(BPF_JMP | BPF_CALL, 0, INSN_PSEUDO_KFUNC_CALL, 0, 0);

	write_self(w, at);
	put_dynptr(w, s, v);
	call.imm = w->pl->dynptr_size;
	buf_put(&w->b, call);
	put_dynptr(w, s, v);
	buf_put(&w->b, MOV64_IMM(BPF_REG_2, SHIFT));
	buf_put(&w->b, MOV32_REG(BPF_REG_3, BPF_REG_0));
	call.imm = w->pl->dynptr_adjust;
	buf_put(&w->b, call);
}

/* -ENOTSUPP is the kernel's (524), as bpf_skb_net_grow() gives it; the call would have clobbered R1, R2. */
static void act_unresized(struct rewrite *w, __u32 at)
{
	w->twin_at[at] = w->b.cnt;
	write_count(w, offsetof(struct bigtcp_twin_state, unresized));
	buf_put(&w->b, MOV64_IMM(BPF_REG_0, -524));
}

static void act_length(struct rewrite *w, __u32 at)
{
	write_self(w, at);
	buf_put(&w->b, ALU64_IMM(BPF_ADD, BPF_REG_0, -SHIFT));
}

/*
 * bpf_xdp_adjust_head() takes the gap in front of the moved packet along, bpf_xdp_adjust_tail() leaves it
 * where it is: the program sees what it would. What the mark says is no longer right, though.
 */
static void act_resize(struct rewrite *w, __u32 at)
{
	struct shift_regs r = { BPF_REG_1, BPF_REG_3, BPF_REG_4, .hook = w->p->hook };
	struct home h = plan_ctx_at(w->p, w->pl, w->f, at);
	__u32 moved = buf_label(&w->b), done = buf_label(&w->b), set = buf_label(&w->b);
	bool head = w->p->insns[at].imm == BPF_FUNC_xdp_adjust_head;

	write_home_save(w, h, BPF_REG_1);
	if (w->pl->rejoins) {
		shift_if_moved(&w->b, r, moved, LABEL_NONE);
		buf_put(&w->b, w->p->insns[at]);
		buf_ja(&w->b, done);
	}
	buf_bind(&w->b, moved);
	write_self(w, at);
	buf_jmp_imm(&w->b, BPF_JNE, BPF_REG_0, 0, done);
	write_home_load(w, h, BPF_REG_1);
	buf_put(&w->b, CALL_HELPER(BPF_FUNC_xdp_get_buff_len));
	write_home_load(w, h, BPF_REG_2);
	buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_2, w->p->hook->data));
	buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_4, BPF_REG_2, w->p->hook->data_end));
	buf_put(&w->b, MOV64_REG(BPF_REG_5, BPF_REG_3));
	buf_put(&w->b, ALU64_IMM(BPF_ADD, BPF_REG_5, SHIFT));
	buf_jmp_reg(&w->b, BPF_JGT, BPF_REG_5, BPF_REG_4, set);
	if (head) {
		buf_put(&w->b, ST_MEM(BPF_W, BPF_REG_3, 0, (__s32)BIGTCP_TWIN_MAGIC));
		buf_put(&w->b,
			MOV32_IMM(BPF_REG_5, (__s32)((__u32)SHIFT_MARK_LOOK << SHIFT_MARK_O)));
	} else {
		buf_put(&w->b, LDX_MEM(BPF_W, BPF_REG_5, BPF_REG_3, 4));
		buf_put(&w->b, ALU32_IMM(BPF_AND, BPF_REG_5, (__s32)~SHIFT_MARK_LEN));
	}
	buf_put(&w->b, ALU32_REG(BPF_OR, BPF_REG_5, BPF_REG_0));
	buf_put(&w->b, STX_MEM(BPF_W, BPF_REG_3, BPF_REG_5, 4));
	buf_bind(&w->b, set);
	buf_put(&w->b, MOV64_IMM(BPF_REG_0, 0));
	buf_bind(&w->b, done);
}

/* The verifier knows how long the metadata is from a comparison with the unmoved start alone. */
static void act_meta(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	__u8 pkt = w->f->base[at] == BASE_META_PKT ? i->src_reg : i->dst_reg;
	__u32 taken = buf_label(&w->b), over = buf_label(&w->b);

	buf_put(&w->b, ALU64_IMM(BPF_ADD, pkt, -SHIFT));
	w->twin_at[at] = w->b.cnt;
	buf_jump(&w->b, *i, taken);
	buf_put(&w->b, ALU64_IMM(BPF_ADD, pkt, SHIFT));
	buf_ja(&w->b, over);
	buf_bind(&w->b, taken);
	buf_put(&w->b, ALU64_IMM(BPF_ADD, pkt, SHIFT));
	buf_ja(&w->b, label_twin(w, insn_target(w->p, at)));
	buf_bind(&w->b, over);
}

/* Without a scratch register, and so that the program sees the amount it computed. */
static void act_clamp(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	__u32 small = buf_label(&w->b), done = buf_label(&w->b);

	if (w->f->base[at] == BASE_PKT_PLUS) {
		buf_jmp_imm(&w->b, BPF_JSLE, i->src_reg, BIGTCP_TWIN_CLAMP, small);
		buf_put(&w->b, ALU64_IMM(BPF_ADD, i->dst_reg, BIGTCP_TWIN_CLAMP));
		buf_ja(&w->b, done);
	} else {
		buf_jmp_imm(&w->b, BPF_JSLE, i->dst_reg, BIGTCP_TWIN_CLAMP, small);
		buf_put(&w->b, MOV64_IMM(i->dst_reg, BIGTCP_TWIN_CLAMP));
	}
	buf_bind(&w->b, small);
	write_self(w, at);
	buf_bind(&w->b, done);
}

static void act_exit(struct rewrite *w, __u32 at)
{
	write_home_load(w, plan_ctx_at(w->p, w->pl, w->f, at), BPF_REG_6);
	w->twin_at[at] = w->b.cnt;
	write_out(w);
}

void write_act(struct rewrite *w, __u32 at)
{
	switch ((enum act)w->pl->act[at]) {
	case ACT_DATA:
		write_self(w, at);
		buf_put(&w->b, ALU64_IMM(BPF_ADD, w->p->insns[at].dst_reg, SHIFT));
		break;
	case ACT_LEN:
		act_len(w, at);
		break;
	case ACT_LD_ABS:
		act_ld_abs(w, at);
		break;
	case ACT_OFFSET:
		act_offset(w, at);
		break;
	case ACT_AROUND:
		act_around(w, at);
		break;
	case ACT_REJOIN:
		act_rejoin(w, at);
		break;
	case ACT_DYNPTR:
		act_dynptr(w, at);
		break;
	case ACT_EXIT:
		act_exit(w, at);
		break;
	case ACT_UNRESIZED:
		act_unresized(w, at);
		break;
	case ACT_META:
		act_meta(w, at);
		break;
	case ACT_LENGTH:
		act_length(w, at);
		break;
	case ACT_RESIZE:
		act_resize(w, at);
		break;
	case ACT_CLAMP:
		act_clamp(w, at);
		break;
	case ACT_COPY:
		write_self(w, at);
		break;
	default:
		write_act_addr(w, at);
		break;
	}
}
