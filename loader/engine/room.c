// SPDX-License-Identifier: GPL-2.0
/* A place for the context that the program itself does not use: a register, else stack. */
#include "engine/plan.h"

#define STACK_LIMIT 512 /* MAX_BPF_STACK, one frame and a whole chain */

/* check_max_stack_depth() of 6.1 rounds a frame to 32 bytes; later kernels to 16. */
static __u32 frame_size(__s32 depth)
{
	return ((depth ? depth : 1) + 31) & ~31;
}

struct chain {
	const struct prog *p;
	__u32 which; /* this function's frame is taken as `extra` bytes larger */
	__s32 extra;
	__u32 memo[PROG_MAX_SUBS]; /* deepest chain from a function; 0: not known yet */
};

/* Deepest chain that starts at @sub; more than STACK_LIMIT for a recursion. */
static __u32 chain_below(struct chain *c, __u32 sub)
{
	const struct prog *p = c->p;
	__u32 deepest = 0, n;

	if (c->memo[sub])
		return c->memo[sub];
	c->memo[sub] = STACK_LIMIT + 1;
	for (n = p->subs[sub].start; n < p->subs[sub].end; n++) {
		const struct bpf_insn *i = &p->insns[n];
		__u32 d;

		if (p->second[n] || (!insn_is_subcall(i) && !insn_is_func_ref(i)))
			continue;
		d = chain_below(c, prog_sub_at(p, insn_target(p, n)));
		if (d > deepest)
			deepest = d;
	}
	c->memo[sub] = frame_size(p->subs[sub].depth + (sub == c->which ? c->extra : 0)) + deepest;
	return c->memo[sub];
}

bool room_for_ctx(const struct prog *p, __u32 sub, struct home *out)
{
	const struct subprog *s = &p->subs[sub];
	struct chain c = { .p = p, .which = sub, .extra = 8 };
	int r;

	for (r = BPF_REG_9; r >= BPF_REG_6; r--) {
		if (s->used_regs & 1u << r)
			continue;
		*out = (struct home){ .kind = HOME_REG, .reg = r };
		return true;
	}
	if (s->depth + 8 > STACK_LIMIT || chain_below(&c, 0) > STACK_LIMIT)
		return false;
	*out = (struct home){ .kind = HOME_STACK, .off = -(s->depth + 8) };
	return true;
}
