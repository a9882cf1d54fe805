/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program as the engine sees it: its subprograms and which instruction belongs to which. Checked once here,
 * so that all later passes may index without looking.
 */
#ifndef ENGINE_PROG_H
#define ENGINE_PROG_H

#include <bigtcp/twin.h>

#include "engine/hook.h"

#define PROG_MAX_INSNS 1000000 /* BPF_COMPLEXITY_LIMIT_INSNS */
#define PROG_MAX_SUBS  256 /* BPF_MAX_SUBPROGS */

struct subprog {
	__u32 start, end; /* instructions [start, end) */
	bool tail_call; /* makes a tail call, itself or through a callee */
	__u16 used_regs; /* bit n: register n occurs in it */
	__s32 depth; /* bytes of stack used, multiple of 8 */
};

struct prog {
	const struct hook *hook;
	bool frags; /* XDP: packets may be in several buffers */
	const struct bpf_insn *insns;
	__u32 cnt;
	struct subprog subs[PROG_MAX_SUBS];
	__u32 nsubs;
	__u16 *sub_of; /* by instruction */
	__u8 *second; /* by instruction: 1 = second half of an LD_IMM64 */
};

/* Checks the program's form and finds its subprograms. -EINVAL, -ENOTSUP with a reason, -ENOMEM. */
int prog_init(struct prog *p, const struct bigtcp_twin_prog *in, struct bigtcp_twin_reason *why);
void prog_free(struct prog *p);

static inline bool insn_is_ld64(const struct bpf_insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW);
}
bool insn_is_func_ref(const struct bpf_insn *i); /* LD_IMM64 of a subprogram's address */
bool insn_is_subcall(const struct bpf_insn *i);
bool insn_is_jump(const struct bpf_insn *i); /* JA, gotol, conditional, may_goto */
bool insn_is_uncond(const struct bpf_insn *i); /* JA, gotol */
bool insn_is_gotol(const struct bpf_insn *i);
bool insn_is_ld_abs(const struct bpf_insn *i); /* LD_ABS, LD_IND */
bool insn_is_exit(const struct bpf_insn *i);
/* Where a jump, a subprogram call or a function reference at @at goes; -1 if outside [0, cnt). */
__s64 insn_target(const struct prog *p, __u32 at);
/* Index of the subprogram that starts at @insn, or -1. */
int prog_sub_at(const struct prog *p, __u32 insn);

#endif
