// SPDX-License-Identifier: GPL-2.0
/* The fixed point: call chains as instances, states at basic block heads, a worklist. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/copy.h"
#include "engine/effects.h"
#include "engine/flow.h"
#include "engine/insn.h"
#include "engine/kfunc.h"
#include "engine/reason.h"

#define MAX_FRAMES	8 /* MAX_CALL_FRAMES */
#define MAX_INSTANCES	2048
#define MAX_STATE_BYTES (1UL << 30)

/* One call chain's copy of a subprogram. */
struct instance {
	__u16 sub;
	__u16 depth;
	__s32 parent; /* -1: main, or a callback that runs without a caller */
	__u32 call; /* instruction in the parent */
	struct state **at; /* by instruction - start; block heads only */
	struct state *exit;
};

struct work {
	__u32 inst, insn;
};

struct run {
	struct prog *p;
	const struct bigtcp_twin_opts *opts;
	const struct form *form;
	struct flow *f;
	struct bigtcp_twin_reason *why;
	__u8 *leader;
	struct instance inst[MAX_INSTANCES];
	__u32 ninst;
	struct work *work;
	__u32 nwork, work_cap;
	size_t bytes;
};

static size_t state_size(__u32 depth)
{
	return sizeof(struct state) + (depth + 1) * sizeof(struct val) * STACK_SLOTS;
}

static struct state *state_new(struct run *r, __u32 depth)
{
	struct state *st;

	r->bytes += state_size(depth);
	if (r->bytes > MAX_STATE_BYTES)
		return NULL;
	st = calloc(1, state_size(depth));
	if (st)
		st->depth = depth;
	return st;
}

/* Joins @src into @dst; true if that changed @dst. Both have the same depth. */
static bool state_join(struct state *dst, const struct state *src)
{
	bool changed = false;
	__u32 f, n;

	for (n = 0; n <= BPF_REG_10; n++) {
		struct val v = val_join(dst->reg[n], src->reg[n]);

		changed |= !val_eq(&v, &dst->reg[n]);
		dst->reg[n] = v;
	}
	for (f = 0; f <= dst->depth; f++)
		for (n = 0; n < STACK_SLOTS; n++) {
			struct val v = val_join(dst->slot[f][n], src->slot[f][n]);

			changed |= !val_eq(&v, &dst->slot[f][n]);
			dst->slot[f][n] = v;
		}
	return changed;
}

static int push(struct run *r, __u32 inst, __u32 insn)
{
	if (r->nwork == r->work_cap) {
		__u32 cap = r->work_cap ? r->work_cap * 2 : 256;
		struct work *w = realloc(r->work, cap * sizeof(*w));

		if (!w)
			return -ENOMEM;
		r->work = w;
		r->work_cap = cap;
	}
	r->work[r->nwork++] = (struct work){ inst, insn };
	return 0;
}

/* The state @st reaches instruction @insn, a block head. */
static int flow_to(struct run *r, __u32 inst, __u32 insn, const struct state *st)
{
	struct instance *in = &r->inst[inst];
	struct state **slot = &in->at[insn - r->p->subs[in->sub].start];

	if (!*slot) {
		*slot = state_new(r, st->depth);
		if (!*slot)
			return -ENOMEM;
		memcpy(*slot, st, state_size(st->depth));
		return push(r, inst, insn);
	}
	return state_join(*slot, st) ? push(r, inst, insn) : 0;
}

static int find_instance(struct run *r, __s32 parent, __u32 call, __u16 sub, __u32 *out)
{
	struct instance *in;
	__u32 n;

	for (n = 0; n < r->ninst; n++)
		if (r->inst[n].parent == parent && r->inst[n].call == call &&
		    r->inst[n].sub == sub) {
			*out = n;
			return 0;
		}
	if (r->ninst == MAX_INSTANCES)
		return reason_set(
			r->why, BIGTCP_TWIN_TOO_LARGE, call, 0, "",
			"more than %d call chains: too many to follow the context through",
			MAX_INSTANCES);
	in = &r->inst[r->ninst];
	in->sub = sub;
	in->parent = parent;
	in->call = call;
	in->depth = parent < 0 ? 0 : r->inst[parent].depth + 1;
	if (in->depth >= MAX_FRAMES)
		return reason_set(r->why, BIGTCP_TWIN_BAD_INPUT, call, 0, "",
				  "the call at instruction %u is nested more than %d deep", call,
				  MAX_FRAMES);
	in->at = calloc(r->p->subs[sub].end - r->p->subs[sub].start, sizeof(*in->at));
	if (!in->at)
		return -ENOMEM;
	*out = r->ninst++;
	return 0;
}

/* Enters @sub from @inst with the argument registers @arg. */
static int enter(struct run *r, __u32 inst, __u32 call, __u16 sub, const struct state *st,
		 const struct val arg[BPF_REG_10 + 1], __u32 *child)
{
	__cleanup(cleanup_free) struct state *in = NULL;
	__u32 n;
	int err;

	err = find_instance(r, inst, call, sub, child);
	if (err)
		return err;
	in = calloc(1, state_size(st->depth + 1));
	if (!in)
		return -ENOMEM;
	in->depth = st->depth + 1;
	memcpy(in->slot, st->slot, (st->depth + 1) * sizeof(st->slot[0]));
	for (n = BPF_REG_1; n <= BPF_REG_5; n++)
		in->reg[n] = arg[n];
	in->reg[BPF_REG_10] = (struct val){ .t = V_STK, .frame = in->depth };
	return flow_to(r, *child, r->p->subs[sub].start, in);
}

/* A bpf-to-bpf call. Returns 1 to go on behind it, 0 if nothing returns yet. */
static int step_subcall(struct run *r, __u32 inst, __u32 at, struct state *st)
{
	int sub = prog_sub_at(r->p, insn_target(r->p, at)), err;
	struct state *ex;
	__u32 child;

	err = enter(r, inst, at, sub, st, st->reg, &child);
	if (err)
		return err;
	ex = r->inst[child].exit;
	if (!ex)
		return 0;
	memcpy(st->slot, ex->slot, (st->depth + 1) * sizeof(st->slot[0]));
	step_clobber(st);
	st->reg[BPF_REG_0] = ex->reg[BPF_REG_0];
	if (st->reg[BPF_REG_0].t == V_STK && st->reg[BPF_REG_0].frame > st->depth)
		st->reg[BPF_REG_0] = (struct val){ .t = V_NONE };
	return 1;
}

/* A callback that runs later has no caller, no packet and no frame above it. */
static int enter_later(struct run *r, __u32 at, __u16 sub)
{
	__cleanup(cleanup_free) struct state *in = calloc(1, state_size(0));
	__u32 child, n;
	int err;

	if (!in)
		return -ENOMEM;
	for (n = BPF_REG_1; n <= BPF_REG_5; n++)
		in->reg[n].t = V_OTHER;
	in->reg[BPF_REG_10] = (struct val){ .t = V_STK };
	err = find_instance(r, -1, at, sub, &child);
	return err ?: flow_to(r, child, r->p->subs[sub].start, in);
}

/* A helper that calls back: zero or more runs of the function before it returns. */
static int step_callback(struct run *r, __u32 inst, __u32 at, struct state *st,
			 const struct effect_row *row)
{
	struct val arg[BPF_REG_10 + 1] = {}, fn = st->reg[row->arg];
	__cleanup(cleanup_free) struct state *tmp = NULL;
	struct state *ex;
	__u32 child, n;
	int err;

	if (fn.t != V_FUNC || (__s64)fn.c < 0)
		return reason_set(r->why, BIGTCP_TWIN_AMBIGUOUS, at, 0, row->name,
				  "cannot tell which function %s calls at instruction %u",
				  row->name, at);
	if (!row->cb_to)
		return enter_later(r, at, fn.c);
	for (n = BPF_REG_1; n <= BPF_REG_5; n++)
		arg[n].t = V_OTHER;
	arg[row->cb_to] = st->reg[row->cb_from];
	err = enter(r, inst, at, fn.c, st, arg, &child);
	if (err)
		return err;
	ex = r->inst[child].exit;
	if (!ex)
		return 0;
	/* What one run leaves in its caller's frames, the next one and the caller see. */
	tmp = calloc(1, state_size(st->depth));
	if (!tmp)
		return -ENOMEM;
	memcpy(tmp, st, state_size(st->depth));
	memcpy(tmp->slot, ex->slot, (st->depth + 1) * sizeof(st->slot[0]));
	state_join(st, tmp);
	return enter(r, inst, at, fn.c, st, arg, &child);
}

static int step_exit(struct run *r, __u32 inst, struct state *st)
{
	struct instance *in = &r->inst[inst];

	if (!in->exit) {
		in->exit = state_new(r, st->depth);
		if (!in->exit)
			return -ENOMEM;
		memcpy(in->exit, st, state_size(st->depth));
	} else if (!state_join(in->exit, st)) {
		return 0;
	}
	return in->parent < 0 ? 0 : push(r, in->parent, in->call);
}

/* A subprogram whose tail call succeeds returns what the other program does. */
static int step_tail_call(struct run *r, __u32 inst, const struct state *st)
{
	__cleanup(cleanup_free) struct state *ret = NULL;
	int err;

	if (r->inst[inst].parent < 0)
		return 0;
	ret = calloc(1, state_size(st->depth));
	if (!ret)
		return -ENOMEM;
	memcpy(ret, st, state_size(st->depth));
	step_clobber(ret);
	ret->reg[BPF_REG_0].t = V_SCALAR;
	err = step_exit(r, inst, ret);
	return err < 0 ? err : 0;
}

static int step_call(struct run *r, __u32 inst, __u32 at, struct state *st)
{
	const struct bpf_insn *i = &r->p->insns[at];
	const struct effect_row *row;
	int err;

	if (insn_is_subcall(i))
		return step_subcall(r, inst, at, st);
	if (call_is_poison(i))
		return 0;
	err = call_effect(r->opts, i, at, &row, r->why);
	if (err)
		return err;
	copy_call(r->p, r->form, st, at);
	if (row->effect == EFF_CALLBACK) {
		err = step_callback(r, inst, at, st, row);
		if (err)
			return err;
	}
	if (row->effect == EFF_TAIL_CALL) {
		err = step_tail_call(r, inst, st);
		if (err)
			return err;
	}
	step_clobber(st);
	st->reg[BPF_REG_0].t = V_OTHER;
	return 1;
}

/* Values at a call or an exit, joined over everything that comes by. */
static void record_site(struct run *r, __u32 inst, __u32 at, const struct state *st)
{
	__s32 idx = r->f->site_of[at];
	struct site *s;
	__u64 ctx = 0;
	__u32 n;

	if (idx < 0)
		return;
	s = &r->f->sites[idx];
	for (n = 0; n < STACK_SLOTS; n++)
		if (st->slot[st->depth][n].t == V_CTX && !st->slot[st->depth][n].may)
			ctx |= 1ULL << n;
	if (!s->seen) {
		memcpy(s->reg, st->reg, sizeof(s->reg));
		s->ctx_slots = ctx;
		s->frame = r->inst[inst].depth;
		s->seen = true;
		return;
	}
	for (n = 0; n < BPF_REG_10; n++) {
		bool may = s->reg[n].t == V_NONE || st->reg[n].t == V_NONE;

		s->reg[n] = val_join(s->reg[n], st->reg[n]);
		s->reg[n].may |= may;
	}
	s->ctx_slots &= ctx;
	if (s->frame != r->inst[inst].depth)
		s->frame = -1;
}

/* Runs from a block head to the block's end. @record: the fixed point is reached, only note. */
static int run_block(struct run *r, __u32 inst, __u32 at, bool record)
{
	struct instance *in = &r->inst[inst];
	const struct subprog *sub = &r->p->subs[in->sub];
	struct step s = { .p = r->p,
			  .opts = r->opts,
			  .base = record ? r->f->base : NULL,
			  .acc = record ? r->f->acc : NULL,
			  .form = r->form,
			  .pkt_write = &r->f->pkt_write };
	__cleanup(cleanup_free) struct state *st = calloc(1, state_size(in->depth));
	__s32 k = inst, d;
	int ret;

	if (!st)
		return -ENOMEM;
	for (d = in->depth; d >= 0; d--, k = r->inst[k].parent)
		s.frame_sub[d] = r->inst[k].sub;
	memcpy(st, in->at[at - sub->start], state_size(in->depth));
	for (;;) {
		const struct bpf_insn *i = &r->p->insns[at];
		bool jump = insn_is_jump(i);
		unsigned int ways = jump ? step_jump(&s, st, at) : JUMP_FALL;

		if (record)
			record_site(r, inst, at, st);
		if (insn_is_exit(i))
			return record ? 0 : step_exit(r, inst, st);
		if ((ways & JUMP_TAKE) && !record) {
			ret = flow_to(r, inst, insn_target(r->p, at), st);
			if (ret)
				return ret;
		}
		if (!(ways & JUMP_FALL))
			return 0;
		if (i->code == (BPF_JMP | BPF_CALL)) {
			ret = step_call(r, inst, at, st);
			if (ret <= 0)
				return ret;
		} else if (!jump) {
			step_insn(&s, st, at);
		}
		at += insn_is_ld64(i) ? 2 : 1;
		if (r->leader[at])
			return record ? 0 : flow_to(r, inst, at, st);
	}
}

/* Heads: entries, jump targets, what follows a jump, calls (re-run when a callee's exit changes). */
static void find_leaders(struct run *r)
{
	const struct prog *p = r->p;
	__u32 n;

	for (n = 0; n < p->nsubs; n++)
		r->leader[p->subs[n].start] = 1;
	for (n = 0; n < p->cnt; n++) {
		const struct bpf_insn *i = &p->insns[n];

		if (p->second[n])
			continue;
		if (i->code == (BPF_JMP | BPF_CALL))
			r->leader[n] = 1;
		if (!insn_is_jump(i))
			continue;
		r->leader[insn_target(p, n)] = 1;
		if (n + 1 < p->cnt)
			r->leader[n + 1] = 1;
	}
}

static int alloc_sites(struct prog *p, struct flow *f)
{
	__u32 n, k = 0;

	for (n = 0; n < p->cnt; n++) {
		const struct bpf_insn *i = &p->insns[n];
		bool call = i->code == (BPF_JMP | BPF_CALL) && !p->second[n];

		f->site_of[n] =
			call || insn_is_exit(i) || insn_is_ld_abs(i) ? (__s32)f->nsites++ : -1;
	}
	f->sites = calloc(f->nsites ?: 1, sizeof(*f->sites));
	if (!f->sites)
		return -ENOMEM;
	for (n = 0; n < p->cnt; n++)
		if (f->site_of[n] >= 0)
			f->sites[k++].insn = n;
	return 0;
}

static int run_all(struct run *r)
{
	__cleanup(cleanup_free) struct state *st = calloc(1, state_size(0));
	__u32 main_inst, n, k;
	int err;

	if (!st)
		return -ENOMEM;
	st->reg[BPF_REG_1].t = V_CTX;
	st->reg[BPF_REG_10].t = V_STK;
	err = find_instance(r, -1, 0, 0, &main_inst);
	if (!err)
		err = flow_to(r, main_inst, 0, st);
	while (!err && r->nwork) {
		struct work w = r->work[--r->nwork];

		err = run_block(r, w.inst, w.insn, false);
	}
	for (n = 0; !err && n < r->ninst; n++) {
		const struct subprog *sub = &r->p->subs[r->inst[n].sub];

		for (k = sub->start; !err && k < sub->end; k++)
			if (r->inst[n].at[k - sub->start])
				err = run_block(r, n, k, true);
	}
	return err;
}

static void run_free(struct run *r)
{
	__u32 n, k;

	for (n = 0; n < r->ninst; n++) {
		const struct subprog *sub = &r->p->subs[r->inst[n].sub];

		for (k = 0; k < sub->end - sub->start; k++)
			free(r->inst[n].at[k]);
		free(r->inst[n].at);
		free(r->inst[n].exit);
	}
	free(r->work);
	free(r->leader);
	free(r);
}

int flow_run(struct prog *p, const struct bigtcp_twin_opts *opts, const struct form *form,
	     struct flow *f, struct bigtcp_twin_reason *why)
{
	struct run *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	memset(f, 0, sizeof(*f));
	if (!r)
		return -ENOMEM;
	r->p = p;
	r->opts = opts;
	r->f = f;
	r->form = form;
	r->why = why;
	r->leader = calloc(p->cnt + 1, 1);
	f->base = calloc(p->cnt, 1);
	f->site_of = calloc(p->cnt, sizeof(*f->site_of));
	f->acc = form ? calloc(p->cnt, sizeof(*f->acc)) : NULL;
	if (r->leader && f->base && f->site_of && (f->acc || !form))
		err = alloc_sites(p, f);
	if (!err) {
		find_leaders(r);
		err = run_all(r);
	}
	run_free(r);
	if (err)
		flow_free(f);
	return err;
}

void flow_free(struct flow *f)
{
	free(f->base);
	free(f->acc);
	free(f->site_of);
	free(f->sites);
	memset(f, 0, sizeof(*f));
}

const struct site *flow_site(const struct flow *f, __u32 insn)
{
	return f->site_of[insn] < 0 ? NULL : &f->sites[f->site_of[insn]];
}
