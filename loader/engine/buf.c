// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/buf.h"
#include "engine/insn.h"

static int grow(void **p, __u32 *cap, __u32 need, size_t size)
{
	__u32 want = *cap ? *cap : 64;
	void *q;

	if (need <= *cap)
		return 0;
	while (want < need)
		want *= 2;
	q = realloc(*p, want * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = want;
	return 0;
}

int buf_init(struct buf *b, __u32 labels)
{
	memset(b, 0, sizeof(*b));
	b->err = grow((void **)&b->label, &b->label_cap, labels + 64, sizeof(*b->label));
	if (b->err)
		return b->err;
	memset(b->label, 0xff, labels * sizeof(*b->label));
	b->nlabels = labels;
	return 0;
}

void buf_free(struct buf *b)
{
	free(b->insn);
	free(b->fix);
	free(b->label);
	memset(b, 0, sizeof(*b));
}

__u32 buf_label(struct buf *b)
{
	int err = grow((void **)&b->label, &b->label_cap, b->nlabels + 1, sizeof(*b->label));

	if (err) {
		b->err = err;
		return 0;
	}
	b->label[b->nlabels] = LABEL_NONE;
	return b->nlabels++;
}

void buf_bind(struct buf *b, __u32 label)
{
	if (!b->err)
		b->label[label] = b->cnt;
}

void buf_put(struct buf *b, struct bpf_insn i)
{
	if (!b->err)
		b->err = grow((void **)&b->insn, &b->cap, b->cnt + 1, sizeof(*b->insn));
	if (!b->err)
		b->insn[b->cnt++] = i;
}

static void add_fix(struct buf *b, __u32 label, bool imm)
{
	if (!b->err)
		b->err = grow((void **)&b->fix, &b->fix_cap, b->nfix + 1, sizeof(*b->fix));
	if (!b->err)
		b->fix[b->nfix++] = (struct fix){ b->cnt, label, imm };
}

void buf_jump(struct buf *b, struct bpf_insn i, __u32 label)
{
	add_fix(b, label, false);
	buf_put(b, i);
}

void buf_rel(struct buf *b, struct bpf_insn i, __u32 label)
{
	add_fix(b, label, true);
	buf_put(b, i);
}

int buf_link(struct buf *b)
{
	__u32 n;

	if (b->err)
		return b->err;
	for (n = 0; n < b->nfix; n++) {
		const struct fix *f = &b->fix[n];
		__s64 d;

		if (b->label[f->label] == LABEL_NONE)
			return -EINVAL;
		d = (__s64)b->label[f->label] - f->at - 1;
		if (f->imm) {
			b->insn[f->at].imm = d;
		} else if (d >= SHRT_MIN && d <= SHRT_MAX) {
			b->insn[f->at].off = d;
		} else {
			b->far = f->at;
			return -E2BIG;
		}
	}
	return 0;
}

void buf_ja(struct buf *b, __u32 label)
{
	buf_jump(b, insn_raw(BPF_JMP | BPF_JA, 0, 0, 0, 0), label);
}

void buf_jmp_imm(struct buf *b, __u8 op, __u8 dst, __s32 imm, __u32 label)
{
	buf_jump(b, insn_raw(BPF_JMP | op | BPF_K, dst, 0, 0, imm), label);
}

void buf_jmp32_imm(struct buf *b, __u8 op, __u8 dst, __s32 imm, __u32 label)
{
	buf_jump(b, insn_raw(BPF_JMP32 | op | BPF_K, dst, 0, 0, imm), label);
}

void buf_jmp_reg(struct buf *b, __u8 op, __u8 dst, __u8 src, __u32 label)
{
	buf_jump(b, insn_raw(BPF_JMP | op | BPF_X, dst, src, 0, 0), label);
}

void buf_ld64(struct buf *b, __u8 dst, __u8 pseudo, __s32 imm, __s32 next_imm)
{
	buf_put(b, insn_raw(BPF_LD | BPF_IMM | BPF_DW, dst, pseudo, 0, imm));
	buf_put(b, insn_raw(0, 0, 0, 0, next_imm));
}
