// SPDX-License-Identifier: GPL-2.0
/* The way into a twin by addressing: which form, if any, does the packet have? */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stddef.h>

#include "engine/insn.h"
#include "engine/rewrite.h"
#include "engine/shift.h"

#define SKB(field)   offsetof(struct __sk_buff, field)
#define STATE(field) offsetof(struct bigtcp_twin_state, field)
/* The jumbo header's first word (include/bigtcp/jumbo.h), inner TCP, as a big-endian load gives it. */
#define HBH_WORD 0x0600c204

/*
 * How headers are read: directly with R2 = data, R3 = data_end, into R4; or, where a program has no packet
 * pointers, by LD_ABS with R6 = ctx into R0. Both give the bytes in network order. R7 has the length.
 */
struct reader {
	struct rewrite *w;
	bool abs;
	__u8 reg;
	__u32 no; /* where it goes if the packet is another */
};

static void get(struct reader *r, __u8 size, __u8 off)
{
	struct buf *b = &r->w->b;

	if (r->abs) {
		buf_put(b, insn_raw(BPF_LD | BPF_ABS | size, 0, 0, 0, off));
		return;
	}
	buf_put(b, LDX_MEM(size, r->reg, BPF_REG_2, off));
	if (size != BPF_B)
		buf_put(b, TO_BE(r->reg, size == BPF_H ? 16 : 32));
}

static void want(struct reader *r, __u8 size, __u8 off, __u32 value)
{
	get(r, size, off);
	buf_jmp32_imm(&r->w->b, BPF_JNE, r->reg, (__s32)value, r->no);
}

static void want_version(struct reader *r, __u8 o, __u8 version)
{
	get(r, BPF_B, o);
	buf_put(&r->w->b, ALU32_IMM(BPF_RSH, r->reg, 4));
	buf_jmp32_imm(&r->w->b, BPF_JNE, r->reg, version, r->no);
}

/* Enough bytes for all that is looked at. LD_ABS behind the end would end the program. */
static void want_bytes(struct reader *r, __u8 bytes)
{
	struct buf *b = &r->w->b;

	if (r->abs) {
		buf_jmp32_imm(b, BPF_JLT, BPF_REG_7, bytes, r->no);
		return;
	}
	buf_put(b, MOV64_REG(BPF_REG_4, BPF_REG_2));
	buf_put(b, ALU64_IMM(BPF_ADD, BPF_REG_4, bytes));
	buf_jmp_reg(b, BPF_JGT, BPF_REG_4, BPF_REG_3, r->no);
}

static void want_link(struct reader *r, const struct form *f)
{
	__u16 type = f->kind == FORM_IPV4 ? ETH_P_IP : ETH_P_IPV6;
	struct buf *b = &r->w->b;
	__u32 tagged;

	if (f->o == ETH_HLEN) {
		want(r, BPF_H, 12, type);
	} else if (f->o) {
		tagged = buf_label(b);
		get(r, BPF_H, 12);
		buf_jmp32_imm(b, BPF_JEQ, r->reg, ETH_P_8021Q, tagged);
		buf_jmp32_imm(b, BPF_JNE, r->reg, ETH_P_8021AD, r->no);
		buf_bind(b, tagged);
		if (f->o > ETH_HLEN + 4)
			want(r, BPF_H, 16, ETH_P_8021Q);
		want(r, BPF_H, f->o - 2, type);
	} else if (!r->w->p->hook->xdp) {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_5, BPF_REG_6, SKB(protocol)));
		buf_jmp32_imm(b, BPF_JNE, BPF_REG_5, htons(type), r->no);
	}
}

/* What ip6_xmit() and ipv6_gro_complete() write, to the bit; see check_header() in shift.c. */
static void want_hbh(struct reader *r, __u8 o)
{
	struct buf *b = &r->w->b;

	get(r, BPF_W, o + 4); /* payload_len, nexthdr, hop limit */
	buf_put(b, ALU32_IMM(BPF_RSH, r->reg, 8));
	buf_jmp32_imm(b, BPF_JNE, r->reg, 0, r->no);
	want(r, BPF_W, o + FORM_IP6_LEN, HBH_WORD);
	get(r, BPF_W, o + FORM_IP6_LEN + 4);
	buf_put(b, MOV32_REG(BPF_REG_5, BPF_REG_7));
	buf_put(b, ALU32_IMM(BPF_ADD, BPF_REG_5, -(o + FORM_IP6_LEN)));
	buf_jmp_reg(b, BPF_JNE, r->reg, BPF_REG_5, r->no);
}

/* Falls through if the packet has the form. */
static void want_form(struct reader *r, const struct form *f)
{
	want_bytes(r, f->o + FORM_IP6_LEN + SHIFT);
	want_link(r, f);
	switch (f->kind) {
	case FORM_HBH:
		want_version(r, f->o, 6);
		want_hbh(r, f->o);
		break;
	case FORM_LEN0:
		want_version(r, f->o, 6);
		want(r, BPF_H, f->o + 4, 0);
		want(r, BPF_B, f->o + 6, IPPROTO_TCP);
		break;
	case FORM_IPV4:
		want(r, BPF_B, f->o, FORM_IPV4_FIRST);
		want(r, BPF_H, f->o + 2, 0);
		want(r, BPF_B, f->o + 9, IPPROTO_TCP);
		break;
	}
}

static void load_length(struct rewrite *w)
{
	struct buf *b = &w->b;

	if (w->p->hook->xdp) {
		buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
		buf_put(b, CALL_HELPER(BPF_FUNC_xdp_get_buff_len));
		buf_put(b, MOV64_REG(BPF_REG_7, BPF_REG_0));
	} else {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_7, BPF_REG_6, SKB(len)));
	}
}

static void write_forms(struct rewrite *w, __u32 back)
{
	const struct hook *h = w->p->hook;
	struct reader r = { .w = w, .abs = h->data == FIELD_NONE };
	struct buf *b = &w->b;
	__u32 k;

	r.reg = r.abs ? BPF_REG_0 : BPF_REG_4;
	load_length(w);
	if (h->moves && !h->xdp)
		write_pull_headers(w);
	if (!r.abs) {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, h->data));
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_3, BPF_REG_6, h->data_end));
	}
	for (k = 0; k < w->nv; k++) {
		r.no = buf_label(b);
		want_form(&r, &w->v[k].form);
		buf_ja(b, label_start(w, k));
		buf_bind(b, r.no);
	}
	buf_ja(b, back);
}

void write_entry_addr(struct rewrite *w)
{
	__u32 jumbo = buf_label(&w->b), check = buf_label(&w->b), back = buf_label(&w->b);
	struct buf *b = &w->b;

	if (w->p->hook->xdp) {
		write_if_long_xdp(w, jumbo);
	} else if (w->opts->any_len) {
		buf_ja(b, jumbo);
	} else {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_1, SKB(len)));
		buf_jmp_imm(b, BPF_JGT, BPF_REG_2, min_len(w->opts), jumbo);
	}
	write_plain_sub(w, &w->p->subs[0]);

	buf_bind(b, jumbo);
	buf_put(b, MOV64_REG(BPF_REG_6, BPF_REG_1));
	if (w->p->hook->xdp) {
		buf_ja(b, check);
	} else {
		buf_put(b, LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_6, SKB(gso_size)));
		buf_jmp_imm(b, BPF_JNE, BPF_REG_2, 0, check);
	}
	buf_bind(b, back);
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	buf_ja(b, label_plain(0));

	buf_bind(b, check);
	write_forms(w, back);
}

/* R6 = ctx. */
void write_start_addr(struct rewrite *w)
{
	struct buf *b = &w->b;

	buf_bind(b, label_start(w, w->cur));
	write_count(w, STATE(jumbo));
	/* Nothing needs it, but it tells a twin. */
	buf_put(b, MOV32_IMM(BPF_REG_2, (__s32)BIGTCP_TWIN_MAGIC));
	buf_put(b, MOV64_REG(BPF_REG_1, BPF_REG_6));
	write_home_save(w, w->pl->home[0], BPF_REG_1);
}
