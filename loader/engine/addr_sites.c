// SPDX-License-Identifier: GPL-2.0
/* The form of each instruction that changes in a twin by addressing. */
#include <endian.h>
#include <limits.h>

#include "engine/access.h"
#include "engine/insn.h"
#include "engine/rewrite.h"
#include "engine/scalar.h"

#define LOW32 0xffffffffULL
/* A number of bytes to keep that means "all of them". */
#define KEEP_ALL 0x7ffffff0

static void act_high(struct rewrite *w, __u32 at)
{
	struct bpf_insn i = w->p->insns[at];

	i.off += w->form->shift;
	w->twin_at[at] = w->b.cnt;
	buf_put(&w->b, i);
}

/* Immediates are signed 32-bit numbers; the bits to be set are 0, so they can be added piece by piece. */
static void add_low32(struct rewrite *w, __u8 reg, __u32 v)
{
	while (v) {
		__u32 part = v > 0x7fffffff ? 0x7fffffff : v;

		buf_put(&w->b, ALU64_IMM(BPF_ADD, reg, (__s32)part));
		v -= part;
	}
}

static void set_bits(struct rewrite *w, __u8 reg, __u64 bits)
{
	__u8 turn = BYTE_ORDER == LITTLE_ENDIAN ? BPF_TO_BE : BPF_TO_LE;

	add_low32(w, reg, bits & LOW32);
	if (!(bits >> 32))
		return;
	/* The upper half is out of an immediate's reach unless the bytes are turned round. */
	buf_put(&w->b, insn_raw(BPF_ALU | BPF_END | turn, reg, 0, 0, 64));
	add_low32(w, reg, __builtin_bswap64(bits) & LOW32);
	buf_put(&w->b, insn_raw(BPF_ALU | BPF_END | turn, reg, 0, 0, 64));
}

static void put_number(struct rewrite *w, __u8 reg, __u64 v)
{
	if (v <= LOW32)
		buf_put(&w->b, MOV32_IMM(reg, (__s32)v));
	else
		buf_ld64(&w->b, reg, 0, (__s32)v, (__s32)(v >> 32));
}

static void act_patch(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	__u64 value, mask, patches;

	form_load(w->form, w->f->acc[at].off, insn_size(i), false, &value, &mask, &patches);
	if (mask == ~0ULL) {
		w->twin_at[at] = w->b.cnt;
		put_number(w, i->dst_reg, value);
		return;
	}
	write_self(w, at);
	set_bits(w, i->dst_reg, patches);
}

/* The view ends as many bytes before the packet's end as are in between, so each of its offsets is
 * compared that much further on.
 */
static void act_end(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	__u8 pkt = w->f->acc[at].bits == ACC_PKT_END ? i->dst_reg : i->src_reg;
	__u32 taken = buf_label(&w->b), over = buf_label(&w->b);
	__s32 shift = w->form->shift;

	buf_put(&w->b, ALU64_IMM(BPF_ADD, pkt, shift));
	w->twin_at[at] = w->b.cnt;
	buf_jump(&w->b, *i, taken);
	buf_put(&w->b, ALU64_IMM(BPF_ADD, pkt, -shift));
	buf_ja(&w->b, over);
	buf_bind(&w->b, taken);
	buf_put(&w->b, ALU64_IMM(BPF_ADD, pkt, -shift));
	buf_ja(&w->b, label_twin(w, insn_target(w->p, at)));
	buf_bind(&w->b, over);
}

static void act_diff(struct rewrite *w, __u32 at)
{
	const struct bpf_insn *i = &w->p->insns[at];
	__s32 by = w->f->acc[at].bits == ACC_PKT_END ? w->form->shift : -w->form->shift;

	write_self(w, at);
	buf_put(&w->b, insn_raw(BPF_CLASS(i->code) | BPF_ADD | BPF_K, i->dst_reg, 0, 0, by));
}

static void act_args(struct rewrite *w, __u32 at)
{
	__u8 r;

	for (r = BPF_REG_1; r <= BPF_REG_5; r++)
		if (w->pl->args[at] & 1 << r)
			buf_put(&w->b, ALU64_IMM(BPF_ADD, r, w->form->shift));
	write_self(w, at);
}

/* Patches what a call has copied to @to (a site's value of R3), [off, off + len) of the view. */
static void patch_copy(struct rewrite *w, const struct site *s, __s64 off, __u32 len)
{
	const struct val *to = &s->reg[BPF_REG_3];
	bool own = s->frame >= 0 && to->frame == s->frame;
	__u8 base = own ? BPF_REG_10 : plan_same(s, BPF_REG_3);
	__u32 n;

	for (n = 0; n < len; n++) {
		__u64 value, mask, patches;

		form_load(w->form, off + n, 1, false, &value, &mask, &patches);
		if (patches)
			buf_put(&w->b, ST_MEM(BPF_B, base, (own ? to->off : 0) + (__s32)n,
					      (__s32)patches));
	}
}

static void act_bytes(struct rewrite *w, __u32 at)
{
	const struct site *s = flow_site(w->f, at);
	__u32 done = buf_label(&w->b);
	struct bytes b;

	addr_bytes(w->p, w->f, w->form, at, &b);
	write_self(w, at);
	buf_jmp_imm(&w->b, BPF_JNE, BPF_REG_0, 0, done);
	patch_copy(w, s, b.at.off, b.len);
	buf_bind(&w->b, done);
}

/* First what lies before the bytes in between, then the rest. */
static void act_split(struct rewrite *w, __u32 at)
{
	struct home h = plan_ctx_at(w->p, w->pl, w->f, at);
	const struct site *s = flow_site(w->f, at);
	const struct val *to = &s->reg[BPF_REG_3];
	bool own = s->frame >= 0 && to->frame == s->frame;
	__u32 done = buf_label(&w->b);
	struct bytes b;
	__s32 first;

	addr_bytes(w->p, w->f, w->form, at, &b);
	first = w->form->l4 - b.at.off;
	write_home_save(w, h, BPF_REG_1);
	buf_put(&w->b, MOV64_IMM(BPF_REG_4, first));
	buf_put(&w->b, w->p->insns[at]);
	buf_jmp_imm(&w->b, BPF_JNE, BPF_REG_0, 0, done);
	write_home_load(w, h, BPF_REG_1);
	buf_put(&w->b, MOV64_IMM(BPF_REG_2, (__s32)s->reg[BPF_REG_2].c + first + w->form->shift));
	buf_put(&w->b, MOV64_REG(BPF_REG_3, own ? BPF_REG_10 : plan_same(s, BPF_REG_3)));
	buf_put(&w->b, ALU64_IMM(BPF_ADD, BPF_REG_3, (own ? to->off : 0) + first));
	buf_put(&w->b, MOV64_IMM(BPF_REG_4, (__s32)b.len - first));
	if (w->p->insns[at].imm == BPF_FUNC_skb_load_bytes_relative)
		buf_put(&w->b, MOV64_IMM(BPF_REG_5, (__s32)s->reg[BPF_REG_5].c));
	write_self(w, at);
	buf_jmp_imm(&w->b, BPF_JNE, BPF_REG_0, 0, done);
	patch_copy(w, s, b.at.off, first);
	buf_bind(&w->b, done);
}

static void act_abs(struct rewrite *w, __u32 at)
{
	struct bpf_insn i = w->p->insns[at];
	__u64 value, mask, patches;

	if (w->f->acc[at].bits == ACC_HIGH) {
		/* No packet is that long, further on or not. */
		if (i.imm <= INT_MAX - w->form->shift)
			i.imm += w->form->shift;
		w->twin_at[at] = w->b.cnt;
		buf_put(&w->b, i);
		return;
	}
	form_load(w->form, w->f->acc[at].off, insn_size(&i), true, &value, &mask, &patches);
	write_self(w, at);
	if (mask == ~0ULL)
		buf_put(&w->b, MOV32_IMM(BPF_REG_0, (__s32)value));
	else
		set_bits(w, BPF_REG_0, patches);
}

/* sk_filter_trim_cap() cuts the packet to so many bytes, of which the program knows less. */
static void act_keep(struct rewrite *w, __u32 at)
{
	__u32 out = buf_label(&w->b);

	/* A pointer is a number to who gets it, but the verifier adds nothing to half of one. */
	if (!scalar_is(flow_site(w->f, at)->reg[BPF_REG_0]))
		buf_put(&w->b, MOV32_REG(BPF_REG_0, BPF_REG_0));
	buf_jmp32_imm(&w->b, BPF_JLE, BPF_REG_0, w->form->l4, out);
	buf_jmp32_imm(&w->b, BPF_JGT, BPF_REG_0, KEEP_ALL, out);
	buf_put(&w->b, ALU32_IMM(BPF_ADD, BPF_REG_0, w->form->shift));
	buf_bind(&w->b, out);
	write_self(w, at);
}

void write_act_addr(struct rewrite *w, __u32 at)
{
	switch ((enum act)w->pl->act[at]) {
	case ACT_HIGH:
		act_high(w, at);
		break;
	case ACT_PATCH:
		act_patch(w, at);
		break;
	case ACT_END:
		act_end(w, at);
		break;
	case ACT_DIFF:
		act_diff(w, at);
		break;
	case ACT_ARGS:
		act_args(w, at);
		break;
	case ACT_BYTES:
		act_bytes(w, at);
		break;
	case ACT_SPLIT:
		act_split(w, at);
		break;
	case ACT_ABS:
		act_abs(w, at);
		break;
	case ACT_KEEP:
		act_keep(w, at);
		break;
	default:
		write_self(w, at);
		break;
	}
}
