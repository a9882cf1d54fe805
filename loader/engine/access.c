// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>

#include "engine/access.h"
#include "engine/insn.h"
#include "engine/scalar.h"

__u8 access_where(const struct form *f, struct val pkt, __s64 off, __u32 size, bool write)
{
	__s64 at = pkt.off + off;

	if (pkt.var == PKT_ANY || at < 0)
		return ACC_BAD;
	if (at >= f->l4)
		return ACC_HIGH;
	if (pkt.var)
		return ACC_BAD;
	if (write && form_known(f, at, size))
		return ACC_BAD;
	/* The bytes of one load may lie on both sides of what is in between. */
	if (f->shift && at + size > f->l4)
		return ACC_BAD;
	return form_patched(f, at, size) ? ACC_PATCH : ACC_LOW;
}

static void note(struct step *s, __u32 at, __u8 bits, __s32 off)
{
	struct acc *a = &s->acc[at];

	if (bits == ACC_PATCH && (a->bits & ACC_PATCH) && a->off != off)
		bits = ACC_BAD;
	a->bits |= bits;
	a->off = off;
}

void note_access(struct step *s, __u32 at, struct val b, __s32 off, __u32 size, bool write)
{
	if (!s->acc)
		return;
	if (b.t == V_PKT)
		note(s, at, access_where(s->form, b, off, size, write), b.off + off);
	else
		note(s, at, b.var ? ACC_BAD : ACC_OTHER, 0);
}

/* Arithmetic on the lower half of a packet pointer, which is any number to the verifier. */
static bool on_half(const struct bpf_insn *i, const struct val *d, const struct val *x)
{
	return BPF_CLASS(i->code) == BPF_ALU &&
	       (d->t == V_PKT || d->t == V_END || x->t == V_PKT || x->t == V_END);
}

void note_end(struct step *s, __u32 at, const struct val *d, const struct val *x)
{
	const struct bpf_insn *i = &s->p->insns[at];
	bool half = on_half(i, d, x), pair = !half || BPF_OP(i->code) == BPF_SUB;
	__u8 bits = ACC_OTHER;

	if (!s->acc)
		return;
	if (pair && d->t == V_PKT && x->t == V_END)
		bits = ACC_PKT_END;
	else if (pair && d->t == V_END && x->t == V_PKT)
		bits = ACC_END_PKT;
	else if ((d->var && d->t != V_PKT) || (x->var && x->t != V_PKT))
		bits = ACC_BAD;
	else if (half && !(pair && d->t == x->t)) /* what comes of it is not followed */
		bits = ACC_BAD;
	if (bits != ACC_OTHER && (d->may || x->may))
		bits = ACC_BAD;
	note(s, at, bits, 0);
}

static struct val known(const struct form *f, __s64 off, __u32 size, bool be)
{
	__u64 value, mask, patches;
	struct val v;

	form_load(f, off, size, be, &value, &mask, &patches);
	v = scalar_known(value, mask);
	if (f->o || (off != 12 && off != 13) || off + size > 14)
		return v;
	v = scalar_any(size);
	v.frame = size == 1 ? (off == 12 ? AT12_FIRST : AT12_SECOND) : be ? AT12_HOST : AT12_MEMORY;
	return v;
}

struct val access_load(const struct form *f, struct val b, __s32 off, __u32 size)
{
	if (!f || b.var != PKT_EXACT)
		return scalar_any(size);
	return known(f, (__s64)b.off + off, size, false);
}

bool access_never(const struct val *v, __u64 c)
{
	if (v->t != V_RANGE || (v->frame != AT12_HOST && v->frame != AT12_MEMORY))
		return false;
	return c == (v->frame == AT12_HOST ? ETH_P_IP : htons(ETH_P_IP));
}

struct val ld_abs_offset(const struct form *f, const struct bpf_insn *i, const struct val *index)
{
	struct val v = { .t = V_PKT, .var = PKT_ANY };
	__u64 lo, hi;

	if (BPF_MODE(i->code) == BPF_ABS) {
		v.var = PKT_EXACT;
		if (i->imm >= 0)
			v.off = i->imm;
		else if (i->imm >= SKF_NET_OFF)
			v.off = f->o + (i->imm - SKF_NET_OFF);
		else if (i->imm >= SKF_LL_OFF && f->o)
			v.off = i->imm - SKF_LL_OFF;
		else
			v.var = PKT_ANY;
	} else if (scalar_range(*index, &lo, &hi) && i->imm >= 0 && hi < 1 << 30 &&
		   i->imm < 1 << 30) {
		v.var = lo == hi ? PKT_EXACT : PKT_FROM;
		v.off = lo + i->imm;
	}
	return v;
}

struct val access_ld_abs(struct step *s, __u32 at, const struct val *index)
{
	const struct bpf_insn *i = &s->p->insns[at];
	__u32 size = insn_size(i);
	struct val off;

	if (!s->form)
		return scalar_any(size);
	off = ld_abs_offset(s->form, i, index);
	if (s->acc)
		note(s, at, access_where(s->form, off, 0, size, false), off.off);
	if (off.var != PKT_EXACT)
		return scalar_any(size);
	return known(s->form, off.off, size, true);
}
