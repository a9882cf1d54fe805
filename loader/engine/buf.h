/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program being written: instructions, labels, and jumps and calls to labels that are
 * resolved at the end. Errors stick; look at buf_link()'s result.
 */
#ifndef ENGINE_BUF_H
#define ENGINE_BUF_H

#include <linux/bpf.h>
#include <stdbool.h>

#define LABEL_NONE (~0u)

struct fix {
	__u32 at, label;
	bool imm; /* imm is relative (calls, function references, gotol); else off */
};

struct buf {
	struct bpf_insn *insn;
	__u32 cnt, cap;
	struct fix *fix;
	__u32 nfix, fix_cap;
	__u32 *label;
	__u32 nlabels, label_cap;
	int err;
	__u32 far; /* buf_link(): instruction whose jump is too far */
};

int buf_init(struct buf *b, __u32 labels); /* labels 0 .. labels - 1 exist, unbound */
void buf_free(struct buf *b);
__u32 buf_label(struct buf *b);
void buf_bind(struct buf *b, __u32 label);
void buf_put(struct buf *b, struct bpf_insn i);
void buf_jump(struct buf *b, struct bpf_insn i, __u32 label); /* off is filled in */
void buf_rel(struct buf *b, struct bpf_insn i, __u32 label); /* imm is filled in */
/* 0, -ENOMEM, -E2BIG (b->far), -EINVAL (a label without a place) */
int buf_link(struct buf *b);

/* Shorthands for the engine's own jumps. */
void buf_ja(struct buf *b, __u32 label);
void buf_jmp_imm(struct buf *b, __u8 op, __u8 dst, __s32 imm, __u32 label);
void buf_jmp32_imm(struct buf *b, __u8 op, __u8 dst, __s32 imm, __u32 label);
void buf_jmp_reg(struct buf *b, __u8 op, __u8 dst, __u8 src, __u32 label);
void buf_ld64(struct buf *b, __u8 dst, __u8 pseudo, __s32 imm, __s32 next_imm);

#endif
