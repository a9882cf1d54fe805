// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that may not touch the packet (socket filters), or had rather not, copy its headers to the stack.
 * What is known of those bytes decides where the next header is, just as if they were loaded.
 * What they make of it they may keep in a byte or two of the stack.
 */
#include <endian.h>

#include "engine/access.h"
#include "engine/copy.h"
#include "engine/insn.h"
#include "engine/plan.h"
#include "engine/scalar.h"

#define SLOT 8

/* Helpers that read the memory they are given. */
static const __s32 readers[] = {
	BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem,   BPF_FUNC_map_delete_elem,
	BPF_FUNC_trace_printk,	  BPF_FUNC_perf_event_output, BPF_FUNC_ringbuf_output,
};

static bool only_reads(const struct bpf_insn *i)
{
	unsigned int n;

	for (n = 0; !i->src_reg && n < sizeof(readers) / sizeof(readers[0]); n++)
		if (i->imm == readers[n])
			return true;
	return false;
}

/* Mask of the bytes [from, to) of a slot. */
static __u8 bytes_mask(__s64 from, __s64 to)
{
	__u32 mask = 0;
	int n;

	for (n = 0; n < SLOT; n++)
		if (n >= from && n < to)
			mask |= 1 << n;
	return mask;
}

/* A number as the bytes it has in memory, the first one lowest; and back. */
static __u64 in_memory(__u64 c, __u32 size)
{
	return BYTE_ORDER == LITTLE_ENDIAN ? c : __builtin_bswap64(c) >> 8 * (SLOT - size);
}

static struct val as_bytes(const struct val *v)
{
	struct val out = { .t = V_COPY };

	if (v->t == V_COPY && !v->may)
		return *v;
	if (v->t == V_CONST && !v->may) {
		out.frame = 0xff;
		out.c = in_memory(v->c, SLOT);
	}
	return out;
}

static struct val or_scalar(struct val v)
{
	return v.var || v.frame ? v : (struct val){ .t = V_SCALAR };
}

struct val copy_load(const struct form *form, const struct val *v, __u32 off, __u32 size)
{
	struct val b = as_bytes(v);
	__u8 mask = bytes_mask(off, off + size);
	__u64 c = b.c >> 8 * off;

	if ((b.frame & mask) == mask) {
		c &= size < SLOT ? (1ULL << 8 * size) - 1 : ~0ULL;
		return (struct val){ .t = V_CONST, .c = in_memory(c, size) };
	}
	if (!form || (b.var & mask) != mask)
		return scalar_any(size);
	return access_load(form, (struct val){ .t = V_PKT, .off = b.off }, off, size);
}

struct val copy_store(const struct val *v, __s64 off, __u32 size, const struct val *num)
{
	__u8 mask = bytes_mask(off, off + size), n;
	struct val b = as_bytes(v);

	b.var &= ~mask;
	b.frame &= ~mask;
	if (num->t != V_CONST || num->may || size > SLOT)
		return or_scalar(b);
	b.frame |= mask;
	for (n = 0; n < SLOT; n++)
		if (mask & 1 << n) {
			__u64 byte = in_memory(num->c, size) >> 8 * (n - off) & 0xff;

			b.c = (b.c & ~(0xffULL << 8 * n)) | byte << 8 * n;
		}
	return b;
}

struct val copy_join(struct val a, struct val b)
{
	__u8 n;

	a = as_bytes(&a);
	b = as_bytes(&b);
	a.var = a.off == b.off ? a.var & b.var : 0;
	a.frame &= b.frame;
	for (n = 0; n < SLOT; n++)
		if ((a.c ^ b.c) >> 8 * n & 0xff)
			a.frame &= ~(1 << n);
	return or_scalar(a);
}

/* Bytes [off, off + size) of the view are at @to. Those that are known are so on their own too, since a slot can
 * tell one place of the view only.
 */
static void mark(const struct form *form, struct state *st, const struct val *to, __s32 off,
		 __u32 size)
{
	__s64 n;

	for (n = to->off; n < (__s64)to->off + size; n++) {
		__s64 base = n & ~(__s64)(SLOT - 1);
		struct val *v = &st->slot[to->frame][-base / SLOT - 1], b = as_bytes(v);
		__s32 at = off + (__s32)(base - to->off);
		__u8 k = n - base, value, known;

		form_byte(form, (__s64)off + n - to->off, &value, &known);
		b.var = (b.off == at ? b.var : 0) | 1 << k;
		b.off = at;
		b.frame &= ~(1 << k);
		if (known == 0xff) {
			b.frame |= 1 << k;
			b.c = (b.c & ~(0xffULL << 8 * k)) | (__u64)value << 8 * k;
		}
		*v = b;
	}
}

/*
 * Does the helper surely succeed? The way in has looked at so many bytes of the packet, but not
 * always in its linear part, which is where the relative one reads.
 */
static bool succeeds(const struct prog *p, const struct form *form, const struct bpf_insn *i,
		     const struct bytes *b)
{
	if (i->imm == BPF_FUNC_skb_load_bytes_relative && p->hook->data == FIELD_NONE)
		return false;
	return b->at.var == PKT_EXACT && b->at.off >= 0 &&
	       b->at.off + (__s64)b->len <= form->o + FORM_IP6_LEN;
}

void copy_call(const struct prog *p, const struct form *form, struct state *st, __u32 at)
{
	const struct bpf_insn *i = &p->insns[at];
	const struct val *to = &st->reg[BPF_REG_3];
	struct bytes b;

	if (only_reads(i))
		return;
	if (!addr_bytes_of(i, form, st->reg, &b) || b.write || !b.exact_len || !b.len ||
	    to->t != V_STK || to->may || to->frame > st->depth || to->off < -512 ||
	    to->off + (__s64)b.len > 0) {
		step_helper_writes(st);
		return;
	}
	step_clear(st, *to, b.len);
	if (form && succeeds(p, form, i, &b))
		mark(form, st, to, b.at.off, b.len);
}
