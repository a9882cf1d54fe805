// SPDX-License-Identifier: GPL-2.0
/* The effect of one instruction on the abstract state. */
#include <stddef.h>
#include <string.h>

#include "engine/flow.h"
#include "engine/insn.h"

static struct val val(enum val_type t)
{
	return (struct val){ .t = t };
}

static struct val val_const(__u64 c)
{
	return (struct val){ .t = V_CONST, .c = c };
}

bool val_eq(const struct val *a, const struct val *b)
{
	return a->t == b->t && a->frame == b->frame && a->may == b->may && a->off == b->off &&
	       a->c == b->c;
}

static bool is_scalar(struct val v)
{
	return v.t == V_NONE || v.t == V_SCALAR || v.t == V_CONST;
}

static bool is_stack(struct val v)
{
	return v.t == V_STK || v.t == V_STK_ANY || v.t == V_STK_VAR;
}

struct val val_join(struct val a, struct val b)
{
	bool may = a.may || b.may;

	a.may = b.may = may;
	if (val_eq(&a, &b))
		return a;
	if (is_scalar(a) && is_scalar(b)) {
		/* A register that is clobbered on one path is not read after the join. */
		struct val v = a.t == V_NONE ? b : a;

		v.may = 1;
		return a.t == V_NONE || b.t == V_NONE ? v : val(V_SCALAR);
	}
	if (is_scalar(a) || is_scalar(b)) {
		struct val p = is_scalar(a) ? b : a;

		if (p.t == V_FUNC || p.t == V_MAP)
			return val(V_OTHER);
		p.may = 1;
		return p;
	}
	if (a.t == V_CTX || b.t == V_CTX || a.t == V_MIX || b.t == V_MIX || a.t == V_CTX_MOVED ||
	    b.t == V_CTX_MOVED)
		return val(V_MIX);
	if (a.t == V_META || b.t == V_META)
		return val(a.t == b.t ? V_META : V_MIX);
	if (is_stack(a) || is_stack(b))
		return val(a.t == V_STK_VAR && b.t == V_STK_VAR ? V_STK_VAR : V_STK_ANY);
	if (a.t == V_PKT && b.t == V_PKT)
		return val(V_PKT);
	return val(V_OTHER);
}

static void note_depth(struct step *s, struct val v, __s32 off)
{
	__s64 at = -((__s64)v.off + off);
	struct subprog *sub;

	if (v.t != V_STK || at <= 0 || at > 512)
		return;
	sub = &s->p->subs[s->frame_sub[v.frame]];
	at = (at + 7) & ~7;
	if (sub->depth < at)
		sub->depth = at;
}

/* ptr + known or unknown amount */
static struct val ptr_add(struct val p, const struct val *amount, bool sub)
{
	if (amount->t == V_CONST) {
		__s64 c = sub ? -(__s64)amount->c : (__s64)amount->c;

		if (!c)
			return p;
		if ((p.t == V_STK && c > -4096 && c < 4096) ||
		    (p.t == V_MAP_VALUE && c > -(1 << 24) && c < 1 << 24)) {
			p.off += c;
			return p;
		}
	}
	switch (p.t) {
	case V_CTX:
	case V_CTX_MOVED:
		return val(V_CTX_MOVED);
	case V_STK:
	case V_STK_VAR:
		return val(V_STK_VAR);
	case V_MAP:
	case V_MAP_VALUE:
	case V_FUNC:
		return val(V_OTHER);
	default:
		return p;
	}
}

static struct val fold(__u8 op, __u64 a, __u64 b, bool wide)
{
	__u8 mask = wide ? 63 : 31;
	__u64 r;

	switch (op) {
	case BPF_ADD:
		r = a + b;
		break;
	case BPF_SUB:
		r = a - b;
		break;
	case BPF_AND:
		r = a & b;
		break;
	case BPF_OR:
		r = a | b;
		break;
	case BPF_XOR:
		r = a ^ b;
		break;
	case BPF_MUL:
		r = a * b;
		break;
	case BPF_LSH:
		r = a << (b & mask);
		break;
	case BPF_RSH:
		r = (wide ? a : (__u32)a) >> (b & mask);
		break;
	default:
		return val(V_SCALAR);
	}
	return val_const(wide ? r : (__u32)r);
}

static struct val step_mov(const struct bpf_insn *i, struct val src, bool wide)
{
	if (i->off) /* movsx, or a cast between address spaces */
		return val(i->off == 1 ? V_OTHER : V_SCALAR);
	if (wide)
		return src;
	return src.t == V_CONST ? val_const((__u32)src.c) : val(V_SCALAR);
}

/* Is this the addition of a computed offset to a packet pointer? */
static void note_sum(struct step *s, __u32 at, const struct val *d, const struct val *src)
{
	bool amount_d = is_scalar(*d) || d->t == V_OTHER;
	bool amount_s = is_scalar(*src) || src->t == V_OTHER;

	if (!s->base)
		return;
	if (d->t == V_PKT && amount_s && src->t != V_CONST)
		s->base[at] |= BASE_PKT_PLUS;
	else if (src->t == V_PKT && amount_d && d->t != V_CONST)
		s->base[at] |= BASE_PLUS_PKT;
	else
		s->base[at] |= BASE_OTHER_SUM;
}

static void step_alu(struct step *s, struct state *st, __u32 at)
{
	const struct bpf_insn *i = &s->p->insns[at];
	bool wide = BPF_CLASS(i->code) == BPF_ALU64;
	struct val *d = &st->reg[i->dst_reg], src, out;
	__u8 op = BPF_OP(i->code);

	src = BPF_SRC(i->code) == BPF_X ? st->reg[i->src_reg] : val_const((__s64)i->imm);
	if (i->code == (BPF_ALU64 | BPF_ADD | BPF_X))
		note_sum(s, at, d, &src);
	if (s->base && op == BPF_SUB && (d->t == V_META) != (src.t == V_META) && !is_scalar(*d) &&
	    !is_scalar(src))
		s->base[at] |= BASE_META_DIFF;
	if (op == BPF_MOV) {
		out = step_mov(i, src, wide);
	} else if (op == BPF_END || op == BPF_NEG) {
		out = val(V_SCALAR);
	} else if (d->t == V_CONST && src.t == V_CONST) {
		out = fold(op, d->c, src.c, wide);
	} else if (!wide || (op != BPF_ADD && op != BPF_SUB)) {
		out = val(V_SCALAR);
	} else if (!is_scalar(*d) && !is_scalar(src)) {
		/* pointer - pointer; V_OTHER may be a scalar */
		out = src.t == V_OTHER			 ? ptr_add(*d, &src, false)
		      : d->t == V_OTHER && op == BPF_ADD ? ptr_add(src, d, false)
							 : val(V_SCALAR);
	} else if (is_scalar(*d) && is_scalar(src)) {
		out = val(V_SCALAR);
	} else if (is_scalar(*d)) {
		out = op == BPF_ADD ? ptr_add(src, d, false) : val(V_SCALAR);
	} else {
		out = ptr_add(*d, &src, op == BPF_SUB);
	}
	*d = out;
	note_depth(s, out, 0);
}

static void note_base(struct step *s, __u32 at, struct val b, bool write)
{
	__u8 bits = BASE_OTHER;

	if (b.t == V_CTX)
		bits = BASE_CTX;
	else if (b.t == V_MIX || b.t == V_CTX_MOVED)
		bits = BASE_CTX | BASE_OTHER;
	else if (is_scalar(b))
		bits = BASE_NONE;
	if (!s->base)
		return;
	s->base[at] |= bits;
	if (write && b.t == V_PKT)
		*s->pkt_write = true;
}

/* What a load of @size bytes at stack byte @off of a known frame gives. */
static struct val stack_load(const struct state *st, struct val b, __s32 off, bool dw)
{
	__s64 at = (__s64)b.off + off;

	if (!dw || at >= 0 || at < -512 || (at & 7) || b.frame > st->depth)
		return val(V_SCALAR);
	return st->slot[b.frame][-at / 8 - 1];
}

/* A load from a global variable: a constant, if it is one for the verifier too. */
static struct val const_load(const struct step *s, struct val b, const struct bpf_insn *i)
{
	__s64 off = (__s64)b.off + i->off;
	__u64 v;

	if (b.may || off < 0 || !s->opts->const_value ||
	    s->opts->const_value(s->opts->arg, (int)b.c, off, insn_size(i), &v))
		return val(BPF_SIZE(i->code) == BPF_DW ? V_OTHER : V_SCALAR);
	return val_const(v);
}

static struct val ctx_load(const struct hook *h, const struct bpf_insn *i)
{
	if (BPF_SIZE(i->code) == BPF_DW)
		return val(!h->xdp && i->off == offsetof(struct __sk_buff, tstamp) ? V_SCALAR
										   : V_OTHER);
	if (BPF_SIZE(i->code) != BPF_W)
		return val(V_SCALAR);
	if (i->off == h->data)
		return val(V_PKT);
	if (i->off == h->data_meta)
		return val(V_META);
	return val(i->off == h->data_end ? V_END : V_SCALAR);
}

static struct val step_load(const struct step *s, const struct state *st, struct val b,
			    const struct bpf_insn *i)
{
	bool dw = BPF_SIZE(i->code) == BPF_DW;

	switch (b.t) {
	case V_CTX:
		return ctx_load(s->p->hook, i);
	case V_STK:
		return stack_load(st, b, i->off, dw);
	case V_MAP_VALUE:
		return const_load(s, b, i);
	case V_STK_VAR:
	case V_PKT:
	case V_META:
		return val(V_SCALAR);
	case V_STK_ANY: {
		struct val v = val(V_NONE);
		__u32 f, n;

		if (!dw)
			return val(V_SCALAR);
		for (f = 0; f <= st->depth; f++)
			for (n = 0; n < STACK_SLOTS; n++)
				v = val_join(v, st->slot[f][n]);
		return v;
	}
	case V_MIX:
		return dw ? val(V_MIX) : val(V_OTHER);
	default:
		return val(dw ? V_OTHER : V_SCALAR);
	}
}

/* A store of @v; anything but a whole aligned slot makes the slots it touches scalars. */
static void stack_store(struct state *st, struct val b, __s32 off, __u32 size, struct val v)
{
	__s64 at = (__s64)b.off + off, n;

	if (b.frame > st->depth)
		return;
	for (n = at & ~7LL; n < at + size; n += 8) {
		if (n >= 0 || n < -512)
			continue;
		st->slot[b.frame][-n / 8 - 1] = size == 8 && n == at ? v : val(V_SCALAR);
	}
}

static void step_store(struct step *s, struct state *st, struct val b, __s32 off, __u32 size,
		       struct val v)
{
	__u32 f, n;

	note_depth(s, b, off);
	if (size != 8)
		v = val(V_SCALAR);
	if (b.t == V_STK) {
		stack_store(st, b, off, size, v);
	} else if ((b.t == V_STK_ANY || b.t == V_MIX) && !is_scalar(v)) {
		for (f = 0; f <= st->depth; f++)
			for (n = 0; n < STACK_SLOTS; n++)
				st->slot[f][n] = val_join(st->slot[f][n], v);
	}
}

static void step_atomic(struct step *s, struct state *st, __u32 at, __u32 size)
{
	const struct bpf_insn *i = &s->p->insns[at];
	struct val b = st->reg[i->dst_reg];

	if (i->imm == INSN_LOAD_ACQ) {
		b = st->reg[i->src_reg];
		note_base(s, at, b, false);
		note_depth(s, b, i->off);
		st->reg[i->dst_reg] = step_load(s, st, b, i);
		return;
	}
	note_base(s, at, b, true);
	step_store(s, st, b, i->off, size,
		   i->imm == INSN_STORE_REL ? st->reg[i->src_reg] : val(V_SCALAR));
	if (i->imm == BPF_CMPXCHG)
		st->reg[BPF_REG_0] = val(V_SCALAR);
	else if (i->imm != INSN_STORE_REL && (i->imm & BPF_FETCH))
		st->reg[i->src_reg] = val(V_SCALAR);
}

static void step_ld(struct state *st, const struct prog *p, __u32 at)
{
	const struct bpf_insn *i = &p->insns[at];
	struct val out = val(V_OTHER);

	if (!insn_is_ld64(i)) {
		step_clobber(st);
		st->reg[BPF_REG_0] = val(V_SCALAR);
		return;
	}
	if (!i->src_reg) {
		out = val_const((__u32)i->imm | (__u64)(__u32)i[1].imm << 32);
	} else if (insn_is_func_ref(i)) {
		out = val(V_FUNC);
		out.c = prog_sub_at(p, insn_target(p, at));
	} else if (i->src_reg == INSN_PSEUDO_MAP_VALUE) {
		out = val(V_MAP_VALUE);
		out.c = (__u32)i->imm;
		out.off = i[1].imm;
	} else if (i->src_reg == INSN_PSEUDO_MAP_FD || i->src_reg == INSN_PSEUDO_MAP_IDX) {
		out = val(V_MAP);
		out.c = at;
	}
	st->reg[i->dst_reg] = out;
}

static void note_jump(struct step *s, __u32 at, const struct val *d, const struct val *x)
{
	__u8 bits = BASE_OTHER_JUMP;

	if (!s->base)
		return;
	if (d->t == V_META && x->t == V_PKT)
		bits = BASE_META_PKT;
	else if (d->t == V_PKT && x->t == V_META)
		bits = BASE_PKT_META;
	else if ((d->t == V_MIX && (x->t == V_PKT || x->t == V_META)) ||
		 (x->t == V_MIX && (d->t == V_PKT || d->t == V_META)))
		bits = BASE_META_MIX;
	s->base[at] |= bits;
}

static bool holds(__u8 op, __u64 a, __u64 b, bool wide)
{
	__s64 sa = wide ? (__s64)a : (__s32)a, sb = wide ? (__s64)b : (__s32)b;

	if (!wide) {
		a = (__u32)a;
		b = (__u32)b;
	}
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		return a & b; /* BPF_JSET */
	}
}

unsigned int step_jump(struct step *s, const struct state *st, __u32 at)
{
	const struct bpf_insn *i = &s->p->insns[at];
	const struct val *d = &st->reg[i->dst_reg];
	struct val x;

	if (insn_is_uncond(i))
		return JUMP_TAKE;
	if (BPF_OP(i->code) == INSN_JCOND)
		return JUMP_TAKE | JUMP_FALL;
	x = BPF_SRC(i->code) == BPF_X ? st->reg[i->src_reg] : val_const((__s64)i->imm);
	note_jump(s, at, d, &x);
	/* What the verifier does not walk must not be judged: configuration by constants. */
	if (d->t == V_CONST && !d->may && x.t == V_CONST && !x.may)
		return holds(BPF_OP(i->code), d->c, x.c, BPF_CLASS(i->code) == BPF_JMP) ? JUMP_TAKE
											: JUMP_FALL;
	return JUMP_TAKE | JUMP_FALL;
}

void step_clobber(struct state *st)
{
	int r;

	for (r = BPF_REG_0; r <= BPF_REG_5; r++)
		st->reg[r] = val(V_NONE);
}

void step_insn(struct step *s, struct state *st, __u32 at)
{
	const struct bpf_insn *i = &s->p->insns[at];
	__u32 size = insn_size(i);
	struct val b;

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_alu(s, st, at);
		break;
	case BPF_LD:
		step_ld(st, s->p, at);
		break;
	case BPF_LDX:
		b = st->reg[i->src_reg];
		note_base(s, at, b, false);
		note_depth(s, b, i->off);
		st->reg[i->dst_reg] =
			BPF_MODE(i->code) == BPF_MEM ? step_load(s, st, b, i) : val(V_SCALAR);
		break;
	case BPF_ST:
		b = st->reg[i->dst_reg];
		note_base(s, at, b, true);
		step_store(s, st, b, i->off, size, val_const((__s64)i->imm));
		break;
	case BPF_STX:
		if (BPF_MODE(i->code) == INSN_ATOMIC) {
			step_atomic(s, st, at, size);
			break;
		}
		b = st->reg[i->dst_reg];
		note_base(s, at, b, true);
		step_store(s, st, b, i->off, size, st->reg[i->src_reg]);
		break;
	}
}
