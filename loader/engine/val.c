// SPDX-License-Identifier: GPL-2.0
/* Values: equality, join, pointer plus amount. */
#include "engine/flow.h"
#include "engine/scalar.h"

static struct val val(enum val_type t)
{
	return (struct val){ .t = t };
}

bool val_eq(const struct val *a, const struct val *b)
{
	return a->t == b->t && a->frame == b->frame && a->may == b->may && a->var == b->var &&
	       a->off == b->off && a->c == b->c;
}

static bool is_stack(struct val v)
{
	return v.t == V_STK || v.t == V_STK_ANY || v.t == V_STK_VAR;
}

static bool of_packet(struct val v)
{
	return v.t == V_PKT || v.t == V_END || v.var;
}

/* Two packet pointers. A lowest offset that goes on falling, as in a loop, is none. */
static struct val join_pkt(struct val a, struct val b)
{
	struct val v = a;

	v.var = a.var > b.var ? a.var : b.var;
	if (a.off != b.off) {
		v.off = a.off < b.off ? a.off : b.off;
		if (v.var == PKT_EXACT)
			v.var = PKT_FROM;
		if (a.var && v.off < a.off)
			v.var = PKT_ANY;
	}
	if (v.var == PKT_ANY)
		v.off = 0;
	return v;
}

static struct val join_ptr(struct val a, struct val b)
{
	if (a.t == V_CTX || b.t == V_CTX || a.t == V_MIX || b.t == V_MIX || a.t == V_CTX_MOVED ||
	    b.t == V_CTX_MOVED)
		return val(V_MIX);
	if (a.t == V_META || b.t == V_META)
		return val(a.t == b.t ? V_META : V_MIX);
	if (is_stack(a) || is_stack(b))
		return val(a.t == V_STK_VAR && b.t == V_STK_VAR ? V_STK_VAR : V_STK_ANY);
	return val(V_OTHER);
}

static struct val join_scalar(struct val a, struct val b)
{
	/* A register that is clobbered on one path is not read after the join. */
	if (a.t == V_NONE || b.t == V_NONE) {
		struct val v = a.t == V_NONE ? b : a;

		v.may = 1;
		return v;
	}
	return scalar_join(a, b);
}

struct val val_join(struct val a, struct val b)
{
	bool may = a.may || b.may, packet;
	struct val v;

	a.may = b.may = may;
	if (val_eq(&a, &b))
		return a;
	if (scalar_is(a) && scalar_is(b))
		return join_scalar(a, b);
	if (scalar_is(a) || scalar_is(b)) {
		v = scalar_is(a) ? b : a;
		if (v.t == V_FUNC || v.t == V_MAP)
			return val(V_OTHER);
		v.may = 1;
		return v;
	}
	if (a.t == V_PKT && b.t == V_PKT)
		return join_pkt(a, b);
	packet = of_packet(a) || of_packet(b);
	v = join_ptr(a, b);
	v.var = packet;
	return v;
}

/* Packet pointer + amount: see enum pkt_var. */
static struct val pkt_add(struct val p, const struct val *amount, bool sub)
{
	const __s64 far = 1 << 20;
	__u64 lo, hi;
	__s64 by;

	if (amount->t == V_CONST) {
		by = sub ? -(__s64)amount->c : (__s64)amount->c;
	} else if (scalar_range(*amount, &lo, &hi)) {
		by = sub ? -(__s64)hi : (__s64)lo;
		if (sub || p.var != PKT_FROM_SUM)
			p.var = p.var == PKT_EXACT || (!sub && p.var == PKT_FROM) ? PKT_FROM
										  : PKT_ANY;
		else
			by = 0;
	} else {
		by = 0;
		p.var = !sub && (p.var == PKT_EXACT || p.var == PKT_FROM_SUM) ? PKT_FROM_SUM
									      : PKT_ANY;
	}
	if (by < -far || by > far || p.off + by < -far || p.off + by > far)
		p.var = PKT_ANY;
	p.off = p.var == PKT_ANY ? 0 : p.off + by;
	return p;
}

/* ptr + known or unknown amount */
struct val ptr_add(struct val p, const struct val *amount, bool sub)
{
	if (p.t == V_PKT)
		return pkt_add(p, amount, sub);
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
