// SPDX-License-Identifier: GPL-2.0
#include <endian.h>

#include "engine/copy.h"
#include "engine/insn.h"
#include "engine/scalar.h"

#define RANGE_MAX (1ULL << 40)
#define LOW32	  0xffffffffULL

static const struct val scalar = { .t = V_SCALAR };

static struct val known(__u64 c)
{
	return (struct val){ .t = V_CONST, .c = c };
}

/* V_RANGE: .off is the lowest value, .c the highest. */
static struct val range(__u64 lo, __u64 hi)
{
	if (lo > hi || hi > RANGE_MAX)
		return scalar;
	if (lo == hi)
		return known(lo);
	return (struct val){ .t = V_RANGE, .off = lo > 0x7fffffff ? 0x7fffffff : lo, .c = hi };
}

struct val scalar_any(__u32 size)
{
	return size < 8 ? range(0, (1ULL << size * 8) - 1) : scalar;
}

/* V_BITS: .off has the bits that are known, .c their values; the upper 32 bits are 0. */
struct val scalar_known(__u64 value, __u64 mask)
{
	if (mask == ~0ULL)
		return known(value);
	if (mask >> 32 != LOW32 || value >> 32)
		return scalar;
	if (!(mask & LOW32))
		return range(0, LOW32);
	return (struct val){ .t = V_BITS, .off = (__s32)mask, .c = value & mask };
}

static __u64 bits_mask(struct val v)
{
	return (__u32)v.off | ~LOW32;
}

bool scalar_is(struct val v)
{
	return v.t == V_NONE || v.t == V_SCALAR || v.t == V_CONST || v.t == V_RANGE ||
	       v.t == V_BITS || v.t == V_COPY;
}

bool scalar_range(struct val v, __u64 *lo, __u64 *hi)
{
	switch (v.t) {
	case V_CONST:
		*lo = *hi = v.c;
		return v.c <= RANGE_MAX;
	case V_RANGE:
		*lo = v.off;
		*hi = v.c;
		return true;
	case V_BITS:
		*lo = v.c;
		*hi = v.c | (~bits_mask(v) & LOW32);
		return true;
	default:
		return false;
	}
}

/* The bounds take a few values only when they move, so that loops come to an end. */
struct val scalar_join(struct val a, struct val b)
{
	__u64 alo, ahi, blo, bhi, lo, hi;

	if (a.t == V_COPY || b.t == V_COPY)
		return copy_join(a, b);
	if (!scalar_range(a, &alo, &ahi) || !scalar_range(b, &blo, &bhi))
		return scalar;
	lo = alo < blo ? alo : blo;
	hi = ahi > bhi ? ahi : bhi;
	if (a.t == V_RANGE && lo < alo)
		lo = 0;
	if (hi > ahi || a.t != V_RANGE)
		hi = hi <= 0xff	    ? 0xff
		     : hi <= 0xffff ? 0xffff
		     : hi <= LOW32  ? LOW32
				    : RANGE_MAX + 1;
	return range(lo, hi);
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
		return scalar;
	}
	return known(wide ? r : (__u32)r);
}

/* Constants and numbers of which some bits are known; false: nothing better than a range comes out. */
static bool bits_alu(__u8 op, struct val a, struct val b, struct val *out)
{
	__u64 am = a.t == V_BITS ? bits_mask(a) : ~0ULL, bm = b.t == V_BITS ? bits_mask(b) : ~0ULL;

	if ((a.t != V_BITS && a.t != V_CONST) || (b.t != V_BITS && b.t != V_CONST))
		return false;
	switch (op) {
	case BPF_AND:
		*out = scalar_known(a.c & b.c, (am & bm) | (am & ~a.c) | (bm & ~b.c));
		return true;
	case BPF_OR:
		*out = scalar_known(a.c | b.c, (am & bm) | a.c | b.c);
		return true;
	case BPF_RSH:
		if (b.t != V_CONST || b.c > 31)
			return false;
		*out = scalar_known(a.c >> b.c, am >> b.c | ~(LOW32 >> b.c));
		return true;
	case BPF_LSH:
		/* None of the bits that may be set must leave the lower half. */
		if (b.t != V_CONST || b.c > 31 || ((a.c | ~am) << b.c) >> 32)
			return false;
		*out = scalar_known(a.c << b.c, am << b.c | ((1ULL << b.c) - 1));
		return true;
	default:
		return false;
	}
}

/* See enum at12: what compilers make of a type that they load byte by byte, and its mask. */
static bool at12_alu(__u8 op, struct val a, struct val b, struct val *out)
{
	__u8 both = 0;

	if (a.t != V_RANGE || !a.frame)
		return false;
	if (op == BPF_AND && b.t == V_CONST && b.c == a.c) {
		*out = a;
		return true;
	}
	if (op == BPF_LSH && a.frame == AT12_SECOND && b.t == V_CONST && b.c == 8)
		both = AT12_SECOND_UP;
	else if ((op == BPF_OR || op == BPF_ADD) && b.t == V_RANGE && BYTE_ORDER == LITTLE_ENDIAN &&
		 ((a.frame == AT12_SECOND_UP && b.frame == AT12_FIRST) ||
		  (a.frame == AT12_FIRST && b.frame == AT12_SECOND_UP)))
		both = AT12_MEMORY;
	if (!both)
		return false;
	*out = scalar_any(2);
	out->frame = both;
	return true;
}

/* Smallest number of all ones that is not below @v. */
static __u64 ones(__u64 v)
{
	__u64 r = 0;

	while (r < v)
		r = r << 1 | 1;
	return r;
}

static struct val range_alu(__u8 op, __u64 alo, __u64 ahi, __u64 blo, __u64 bhi)
{
	switch (op) {
	case BPF_ADD:
		return range(alo + blo, ahi + bhi);
	case BPF_SUB:
		return alo < bhi ? scalar : range(alo - bhi, ahi - blo);
	case BPF_AND:
		return range(0, ahi < bhi ? ahi : bhi);
	case BPF_OR:
		return range(alo > blo ? alo : blo, ones(ahi > bhi ? ahi : bhi));
	case BPF_MUL:
		return bhi > 0xffff ? scalar : range(alo * blo, ahi * bhi);
	case BPF_LSH:
		return blo != bhi || bhi > 20 ? scalar : range(alo << bhi, ahi << bhi);
	case BPF_RSH:
		return blo != bhi || bhi > 63 ? range(0, ahi) : range(alo >> bhi, ahi >> bhi);
	case BPF_DIV:
		return blo != bhi || !bhi ? range(0, ahi) : range(alo / bhi, ahi / bhi);
	case BPF_MOD:
		return blo != bhi || !bhi ? scalar : range(0, ahi < bhi - 1 ? ahi : bhi - 1);
	default:
		return scalar;
	}
}

struct val scalar_alu(__u8 op, bool wide, struct val a, struct val b)
{
	__u64 alo, ahi, blo, bhi;
	struct val out;

	if (a.t == V_CONST && b.t == V_CONST)
		return fold(op, a.c, b.c, wide);
	if (!wide) {
		a = scalar_low32(a);
		b = scalar_low32(b);
	}
	if (wide && op == BPF_ADD && b.t == V_CONST && (__s64)b.c < 0) {
		op = BPF_SUB;
		b = known(-b.c);
	}
	if (at12_alu(op, a, b, &out) || bits_alu(op, a, b, &out))
		return out;
	/* The highest and lowest of a mask count only if it is no sign. */
	if (op == BPF_AND && b.t == V_CONST && scalar_range(a, &alo, &ahi) && b.c > RANGE_MAX)
		return range(0, ahi);
	if (op == BPF_AND && a.t == V_SCALAR && scalar_range(b, &blo, &bhi))
		return range(0, bhi);
	if (!scalar_range(a, &alo, &ahi) || !scalar_range(b, &blo, &bhi))
		return wide ? scalar : range(0, LOW32);
	out = range_alu(op, alo, ahi, blo, bhi);
	/* In 32 bits it may have gone round. */
	if (!wide && (!scalar_range(out, &alo, &ahi) || ahi > LOW32))
		return range(0, LOW32);
	return out;
}

static __u64 swap(__u64 v, __u32 bits)
{
	return bits == 16   ? __builtin_bswap16(v)
	       : bits == 32 ? __builtin_bswap32(v)
			    : __builtin_bswap64(v);
}

struct val scalar_swap(__u8 code, __u32 bits, struct val v)
{
	/* BPF_ALU64 | BPF_END (bswap, 6.6) always swaps, the others to one order. */
	bool turn = BPF_CLASS(code) == BPF_ALU64 ||
		    (BPF_SRC(code) == BPF_TO_BE) == (BYTE_ORDER == LITTLE_ENDIAN);
	__u64 part = bits < 64 ? (1ULL << bits) - 1 : ~0ULL, c = v.c & part, m;

	if (bits != 16 && bits != 32 && bits != 64)
		return scalar;
	if (v.t == V_CONST)
		return known(turn ? swap(c, bits) : c);
	if (v.t == V_RANGE && (v.frame == AT12_HOST || v.frame == AT12_MEMORY) && bits == 16 &&
	    turn) {
		v.frame = v.frame == AT12_HOST ? AT12_MEMORY : AT12_HOST;
		return v;
	}
	if (v.t != V_BITS || bits == 64)
		return scalar_any(bits / 8);
	m = bits_mask(v) & part;
	return turn ? scalar_known(swap(c, bits), swap(m, bits) | ~part)
		    : scalar_known(c, m | ~part);
}

struct val scalar_low32(struct val v)
{
	__u64 lo, hi;

	if (v.t == V_CONST)
		return known((__u32)v.c);
	if (scalar_range(v, &lo, &hi) && hi <= LOW32) {
		v.may = 0;
		return v;
	}
	return range(0, LOW32);
}
