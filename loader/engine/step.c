// SPDX-License-Identifier: GPL-2.0
/* The effect of one instruction on the abstract state. */
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/access.h"
#include "engine/copy.h"
#include "engine/insn.h"
#include "engine/scalar.h"

static struct val val(enum val_type t)
{
	return (struct val){ .t = t };
}

static bool is_stack(struct val v)
{
	return v.t == V_STK || v.t == V_STK_ANY || v.t == V_STK_VAR;
}

static struct val val_const(__u64 c)
{
	return (struct val){ .t = V_CONST, .c = c };
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

static struct val step_mov(const struct bpf_insn *i, struct val src, bool wide)
{
	if (i->off) /* movsx, or a cast between address spaces */
		return val(i->off == 1 ? V_OTHER : V_SCALAR);
	if (wide)
		return src;
	/* Half of one is good for a length: the difference of two is the same. */
	if (src.t == V_PKT || src.t == V_END)
		return src;
	return scalar_is(src) && src.t != V_NONE ? scalar_low32(src) : val(V_SCALAR);
}

/* Is this the addition of a computed offset to a packet pointer? */
static void note_sum(struct step *s, __u32 at, const struct val *d, const struct val *src)
{
	bool amount_d = scalar_is(*d) || d->t == V_OTHER;
	bool amount_s = scalar_is(*src) || src->t == V_OTHER;

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
	if (op == BPF_SUB || (!wide && op != BPF_MOV))
		note_end(s, at, d, &src);
	if (s->base && op == BPF_SUB && (d->t == V_META) != (src.t == V_META) && !scalar_is(*d) &&
	    !scalar_is(src))
		s->base[at] |= BASE_META_DIFF;
	if (op == BPF_MOV) {
		out = step_mov(i, src, wide);
	} else if (op == BPF_END) {
		out = scalar_swap(i->code, i->imm, *d);
	} else if (op == BPF_NEG) {
		out = val(V_SCALAR);
	} else if (scalar_is(*d) && scalar_is(src)) {
		out = scalar_alu(op, wide, *d, src);
	} else if (!wide || (op != BPF_ADD && op != BPF_SUB)) {
		out = val(V_SCALAR);
	} else if (!scalar_is(*d) && !scalar_is(src)) {
		/* pointer - pointer; V_OTHER may be a scalar */
		out = src.t == V_OTHER			 ? ptr_add(*d, &src, false)
		      : d->t == V_OTHER && op == BPF_ADD ? ptr_add(src, d, false)
							 : val(V_SCALAR);
	} else if (scalar_is(*d)) {
		out = op == BPF_ADD ? ptr_add(src, d, false) : val(V_SCALAR);
	} else {
		out = ptr_add(*d, &src, op == BPF_SUB);
	}
	*d = out;
	note_depth(s, out, 0);
}

static void note_base(struct step *s, __u32 at, struct val b, bool write)
{
	const struct bpf_insn *i = &s->p->insns[at];
	__u8 bits = BASE_OTHER;

	if (b.t == V_CTX)
		bits = BASE_CTX;
	else if (b.t == V_MIX || b.t == V_CTX_MOVED)
		bits = BASE_CTX | BASE_OTHER;
	else if (scalar_is(b))
		bits = BASE_NONE;
	if (!s->base)
		return;
	s->base[at] |= bits;
	note_access(s, at, b, i->off, insn_size(i), write);
	if (write && b.t == V_PKT)
		*s->pkt_write = true;
}

/* What a load of @size bytes at stack byte @off of a known frame gives. */
static struct val stack_load(const struct step *s, const struct state *st, struct val b, __s32 off,
			     __u32 size)
{
	__s64 at = (__s64)b.off + off, base = at & ~7LL;
	const struct val *v;

	if (at >= 0 || at < -512 || at + size > base + 8 || b.frame > st->depth)
		return scalar_any(size);
	v = &st->slot[b.frame][-base / 8 - 1];
	return size == 8 && v->t != V_COPY ? *v : copy_load(s->form, v, at - base, size);
}

/* A load from a global variable: a constant, if it is one for the verifier too. */
static struct val const_load(const struct step *s, struct val b, const struct bpf_insn *i)
{
	__s64 off = (__s64)b.off + i->off;
	__u64 v;

	if (b.may || off < 0 || !s->opts->const_value ||
	    s->opts->const_value(s->opts->arg, (int)b.c, off, insn_size(i), &v))
		return BPF_SIZE(i->code) == BPF_DW ? val(V_OTHER) : scalar_any(insn_size(i));
	return val_const(v);
}

static struct val ctx_load(const struct step *s, const struct bpf_insn *i)
{
	const struct hook *h = s->p->hook;

	if (BPF_SIZE(i->code) == BPF_DW)
		return val(!h->xdp && i->off == offsetof(struct __sk_buff, tstamp) ? V_SCALAR
										   : V_OTHER);
	if (BPF_SIZE(i->code) != BPF_W)
		return scalar_any(insn_size(i));
	if (i->off == h->data)
		return val(V_PKT);
	if (i->off == h->data_meta)
		return val(V_META);
	if (i->off == h->data_end)
		return val(V_END);
	/* IPv6 packets are sent and received by sockets of that family alone. */
	if (s->form && h->type == BPF_PROG_TYPE_CGROUP_SKB && s->form->kind != FORM_IPV4 &&
	    i->off == offsetof(struct __sk_buff, family))
		return val_const(AF_INET6);
	if (s->form && i->off == h->protocol && form_protocol(s->form))
		return val_const(form_protocol(s->form));
	return scalar_any(4);
}

static struct val step_load(const struct step *s, const struct state *st, struct val b,
			    const struct bpf_insn *i)
{
	bool dw = BPF_SIZE(i->code) == BPF_DW;

	switch (b.t) {
	case V_CTX:
		return ctx_load(s, i);
	case V_STK:
		return stack_load(s, st, b, i->off, insn_size(i));
	case V_MAP_VALUE:
		return const_load(s, b, i);
	case V_PKT:
		return access_load(s->form, b, i->off, insn_size(i));
	case V_STK_VAR:
	case V_META:
		return scalar_any(insn_size(i));
	case V_STK_ANY: {
		struct val v = val(V_NONE);
		__u32 f, n;

		if (!dw)
			return val(V_SCALAR);
		for (f = 0; f <= st->depth; f++)
			for (n = 0; n < STACK_SLOTS; n++)
				v = val_join(v, st->slot[f][n]);
		return v.t == V_COPY ? val(V_SCALAR) : v;
	}
	case V_MIX:
		return dw ? val(V_MIX) : val(V_OTHER);
	default:
		return dw ? val(V_OTHER) : scalar_any(insn_size(i));
	}
}

/* A store of @v; anything but a whole aligned slot makes the slots it touches scalars. */
static void stack_store(struct state *st, struct val b, __s32 off, __u32 size, struct val v)
{
	__s64 at = (__s64)b.off + off, n;
	struct val *slot;

	if (b.frame > st->depth)
		return;
	for (n = at & ~7LL; n < at + size; n += 8) {
		if (n >= 0 || n < -512)
			continue;
		slot = &st->slot[b.frame][-n / 8 - 1];
		*slot = size == 8 && n == at ? v : copy_store(slot, at - n, size, &v);
	}
}

/* Some slot has got another number: constants are none any more. */
static void forget_numbers(struct state *st)
{
	__u32 f, n;

	for (f = 0; f <= st->depth; f++)
		for (n = 0; n < STACK_SLOTS; n++)
			if (st->slot[f][n].t != V_NONE && scalar_is(st->slot[f][n]))
				st->slot[f][n] = val(V_SCALAR);
}

static void step_store(struct step *s, struct state *st, struct val b, __s32 off, __u32 size,
		       struct val v)
{
	__u32 f, n;

	note_depth(s, b, off);
	if (size != 8 && v.t != V_CONST)
		v = val(V_SCALAR);
	if (b.t == V_STK) {
		stack_store(st, b, off, size, v);
	} else if ((b.t == V_STK_ANY || b.t == V_MIX || b.t == V_STK_VAR) && scalar_is(v)) {
		forget_numbers(st);
	} else if (b.t == V_STK_ANY || b.t == V_MIX) {
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

static void step_ld(struct step *s, struct state *st, __u32 at)
{
	const struct prog *p = s->p;
	const struct bpf_insn *i = &p->insns[at];
	struct val out = val(V_OTHER);

	if (!insn_is_ld64(i)) {
		out = access_ld_abs(s, at, &st->reg[i->src_reg]);
		step_clobber(st);
		st->reg[BPF_REG_0] = out;
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

static bool bits_differ(const struct val *bits, __u64 c)
{
	return (c ^ bits->c) & (__u32)bits->off;
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
	note_end(s, at, d, &x);
	if (d->t == V_BITS && x.t == V_CONST && bits_differ(d, x.c) &&
	    (BPF_OP(i->code) == BPF_JEQ || BPF_OP(i->code) == BPF_JNE))
		return BPF_OP(i->code) == BPF_JEQ ? JUMP_FALL : JUMP_TAKE;
	if (x.t == V_CONST && access_never(d, x.c) &&
	    (BPF_OP(i->code) == BPF_JEQ || BPF_OP(i->code) == BPF_JNE))
		return BPF_OP(i->code) == BPF_JEQ ? JUMP_FALL : JUMP_TAKE;
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

void step_helper_writes(struct state *st)
{
	bool gets_stack = false;
	__u32 n;

	for (n = BPF_REG_1; n <= BPF_REG_5; n++)
		gets_stack |=
			is_stack(st->reg[n]) || st->reg[n].t == V_OTHER || st->reg[n].t == V_MIX;
	if (gets_stack)
		forget_numbers(st);
}

void step_clear(struct state *st, struct val b, __u32 size)
{
	stack_store(st, b, 0, size, val(V_SCALAR));
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
		step_ld(s, st, at);
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
