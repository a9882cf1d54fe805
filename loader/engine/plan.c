// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/insn.h"
#include "engine/kfunc.h"
#include "engine/plan_int.h"
#include "engine/reason.h"
#include "engine/shift.h"

#define BPF_MTU_CHK_SEGS_BIT 1 /* enum bpf_check_mtu_flags */

/* Fields of the context that read differently, or cannot be read, on a moved packet. */
static const struct field {
	const char *name;
	__s32 off;
	bool xdp;
	__u8 act;
} fields[] = {
	{ "len", offsetof(struct __sk_buff, len), false, ACT_LEN },
	{ "data", offsetof(struct __sk_buff, data), false, ACT_DATA },
	{ "wire_len", offsetof(struct __sk_buff, wire_len), false, ACT_LEN },
	{ "data", offsetof(struct xdp_md, data), true, ACT_DATA },
};

static const struct field *field_at(const struct hook *h, __s32 off, __s32 size)
{
	__u32 n;

	for (n = 0; n < sizeof(fields) / sizeof(fields[0]); n++)
		if (fields[n].xdp == h->xdp && off < fields[n].off + 4 &&
		    off + size > fields[n].off)
			return &fields[n];
	return NULL;
}

int plan_load(struct planner *pr, __u32 at)
{
	const struct bpf_insn *i = &pr->p->insns[at];
	const struct field *fd = field_at(pr->p->hook, i->off, insn_size(i));
	__u8 base = pr->f->base[at];

	/* By address nothing is moved, and only the length may differ. */
	if (fd && pr->form && (fd->act != ACT_LEN || !pr->form->shift))
		return 0;
	/* Pointers to memory are 8 bytes and the context has no such field at these places. */
	if (!fd || !base || (base & ~BASE_NONE) == BASE_OTHER)
		return 0;
	if (BPF_SIZE(i->code) == BPF_DW)
		return 0;
	/* A scalar on some chain: that chain does not get here. */
	if ((base & ~BASE_NONE) != BASE_CTX || BPF_MODE(i->code) != BPF_MEM)
		return reason_set(
			pr->why, BIGTCP_TWIN_AMBIGUOUS, at, i->off, fd->name,
			"cannot tell whether instruction %u reads %s of the context or some "
			"other memory; build the program with <bigtcp/parse.bpf.h>",
			at, fd->name);
	pr->pl->act[at] = fd->act;
	return 0;
}

/*
 * The metadata lies in front of the packet and is not moved. Only its end, the packet's start, is
 * seen 8 bytes further on: a comparison is made with the real start, a difference is refused.
 */
static int plan_meta(struct planner *pr, __u32 at)
{
	__u8 base = pr->f->base[at], pair = base & (BASE_META_PKT | BASE_PKT_META);

	if (!pair && !(base & BASE_META_MIX))
		return 0;
	if (base == BASE_META_PKT || base == BASE_PKT_META) {
		pr->pl->act[at] = ACT_META;
		return 0;
	}
	return reason_set(
		pr->why, BIGTCP_TWIN_AMBIGUOUS, at, 0, "data_meta",
		"cannot tell whether instruction %u compares the packet's metadata; build the "
		"program with <bigtcp/parse.bpf.h>",
		at);
}

static int plan_alu(struct planner *pr, __u32 at)
{
	__u8 base = pr->f->base[at], op = pr->p->insns[at].code;

	if (base & BASE_META_DIFF)
		return reason_set(pr->why, BIGTCP_TWIN_FIELD, at, 0, "data_meta",
				  "instruction %u subtracts data_meta and a packet pointer, whose "
				  "distance is not that of the moved packet; compare them instead",
				  at);
	if (pr->opts->clamp && op == (BPF_ALU64 | BPF_ADD | BPF_X) &&
	    (base == BASE_PKT_PLUS || base == BASE_PLUS_PKT))
		pr->pl->act[at] = ACT_CLAMP;
	return 0;
}

/*
 * Offsets from the network or the link header (SKF_*_OFF) move too. Such a load reaches the linear part
 * only, and where it fails it ends the program: it is taken where the move's own look at the
 * packet has proven the bytes to be there.
 */
static bool ld_abs_negative_ok(const struct bpf_insn *i)
{
	__s64 net = (__s64)i->imm - SKF_NET_OFF, ll = (__s64)i->imm - SKF_LL_OFF;

	if (net >= 0)
		return net + 4 <= SHIFT_LINEAR - SHIFT - SHIFT_MAX_L3;
	return ll >= 0 && ll + 4 <= SHIFT_LINEAR - SHIFT;
}

static int plan_ld_abs(struct planner *pr, __u32 at)
{
	const struct bpf_insn *i = &pr->p->insns[at];

	if (BPF_MODE(i->code) == BPF_ABS && i->imm < 0 && !ld_abs_negative_ok(i))
		return reason_set(
			pr->why, BIGTCP_TWIN_INSN, at, i->imm, "LD_ABS",
			"instruction %u loads at the negative offset %d, which may be behind "
			"the headers that a twin knows to be there",
			at, i->imm);
	pr->pl->act[at] = ACT_LD_ABS;
	return 0;
}

static bool is_ctx(const struct val *v)
{
	return v->t == V_CTX && !v->may;
}

bool val_is_const(const struct val *v)
{
	return v->t == V_CONST && !v->may;
}

bool site_own_stack(const struct site *s, const struct val *v)
{
	return v->t == V_STK && !v->may && s->frame >= 0 && v->frame == s->frame;
}

__u8 plan_same(const struct site *s, __u8 arg)
{
	__u8 r;

	for (r = BPF_REG_6; r <= BPF_REG_9; r++)
		if (val_eq(&s->reg[r], &s->reg[arg]))
			return r;
	return 0;
}

__u8 plan_remat(const struct site *s, __u8 last)
{
	__u8 r;

	for (r = last; r > BPF_REG_1; r--) {
		const struct val *v = &s->reg[r];

		if (val_is_const(v) || (v->t == V_MAP && !v->may) || site_own_stack(s, v))
			return r;
	}
	return 0;
}

bool plan_scratch(const struct prog *p, const struct site *s, __u8 nargs, __u8 reg[2])
{
	__u8 last = nargs, n;

	for (n = 0; n < (p->hook->xdp ? 2 : 1); n++) {
		if (nargs + n < BPF_REG_5) {
			reg[n] = nargs + n + 1;
			continue;
		}
		reg[n] = plan_remat(s, last);
		if (!reg[n])
			return false;
		last = reg[n] - 1;
	}
	return true;
}

/* The packet is to be moved back for this call. */
static int plan_around(struct planner *pr, __u32 at, const struct effect_row *row)
{
	const struct site *s = flow_site(pr->f, at);
	__u8 reg[2];

	if (!is_ctx(&s->reg[BPF_REG_1]))
		return reason_set(pr->why, BIGTCP_TWIN_AMBIGUOUS, at, 0, row->name,
				  "cannot tell whether bpf_%s at instruction %u gets the context",
				  row->name, at);
	if (!plan_scratch(pr->p, s, row->nargs, reg))
		return reason_set(pr->why, BIGTCP_TWIN_NO_ROOM, at, 0, row->name,
				  "no register is free to move the packet back for bpf_%s at "
				  "instruction %u",
				  row->name, at);
	pr->pl->act[at] = ACT_AROUND;
	return 0;
}

static int plan_resize(struct planner *pr, __u32 at, const struct effect_row *row)
{
	if (!is_ctx(&flow_site(pr->f, at)->reg[BPF_REG_1]))
		return reason_set(pr->why, BIGTCP_TWIN_AMBIGUOUS, at, 0, row->name,
				  "cannot tell whether bpf_%s at instruction %u gets the context",
				  row->name, at);
	pr->pl->act[at] = ACT_RESIZE;
	return 0;
}

int plan_segs(struct planner *pr, __u32 at, const struct effect_row *row)
{
	const struct val *v = &flow_site(pr->f, at)->reg[row->arg];

	/* XDP packets have no segments (bpf_xdp_check_mtu() takes no flags). */
	if (pr->p->hook->xdp || (val_is_const(v) && !(v->c & BPF_MTU_CHK_SEGS_BIT)))
		return 0;
	return reason_set(
		pr->why, BIGTCP_TWIN_HELPER, at, 0, row->name,
		"instruction %u calls bpf_%s with BPF_MTU_CHK_SEGS, which on these kernels "
		"says \"too big\" of every jumbo packet since it counts the jumbo header; "
		"keep gso_max_size at 65536 on this path",
		at, row->name);
}

int plan_no_ctx(struct planner *pr, __u32 at, const struct effect_row *row)
{
	const struct site *s = flow_site(pr->f, at);
	__u8 r;

	for (r = BPF_REG_1; r <= BPF_REG_5; r++)
		if (s->reg[r].t == V_CTX || s->reg[r].t == V_MIX || s->reg[r].t == V_CTX_MOVED)
			return reason_set(
				pr->why, BIGTCP_TWIN_HELPER, at, 0, row->name,
				"instruction %u hands the context to %s, which reads "
				"struct sk_buff itself; its offsets do not follow the move",
				at, row->name);
	return 0;
}

static int plan_dynptr(struct planner *pr, __u32 at, const struct effect_row *row)
{
	static const char *const needs[] = { "bpf_dynptr_size", "bpf_dynptr_adjust" };
	const struct site *s = flow_site(pr->f, at);
	const struct val *v = &s->reg[row->arg];
	__s32 id[2];
	int n;

	for (n = 0; n < 2; n++) {
		id[n] = pr->opts->kfunc_id ? pr->opts->kfunc_id(pr->opts->arg, needs[n]) : -ENOENT;
		if (id[n] <= 0)
			return reason_set(pr->why, BIGTCP_TWIN_KFUNC_MISSING, at, 0, needs[n],
					  "instruction %u makes a dynptr of the packet, and this "
					  "kernel has no %s (Linux 6.5) to move it",
					  at, needs[n]);
	}
	if (v->t != V_STK || v->may || (!site_own_stack(s, v) && !plan_same(s, row->arg)))
		return reason_set(pr->why, BIGTCP_TWIN_AMBIGUOUS, at, 0, row->name,
				  "cannot tell where the dynptr of instruction %u is on the stack",
				  at);
	pr->pl->dynptr_size = id[0];
	pr->pl->dynptr_adjust = id[1];
	pr->pl->act[at] = ACT_DYNPTR;
	return 0;
}

static int plan_call(struct planner *pr, __u32 at)
{
	const struct bpf_insn *i = &pr->p->insns[at];
	struct subprog *sub = &pr->p->subs[pr->p->sub_of[at]];
	const struct effect_row *row;
	const struct val *v;
	int err;

	if (insn_is_subcall(i) || call_is_poison(i) || !flow_site(pr->f, at)->seen)
		return 0;
	err = call_effect(pr->opts, i, at, &row, pr->why);
	if (err)
		return err;
	switch (row->effect) {
	case EFF_OFFSET:
	case EFF_OFFSET_NZ:
		pr->pl->cuts |= row->cuts;
		pr->pl->act[at] = ACT_OFFSET;
		return 0;
	case EFF_CAPTURE:
		v = &flow_site(pr->f, at)->reg[row->arg];
		if (val_is_const(v) && !(v->c >> 32))
			return 0;
		return plan_around(pr, at, row);
	case EFF_TAIL_CALL:
		sub->tail_call = true;
		return plan_around(pr, at, row);
	case EFF_AROUND:
	case EFF_HASH:
		return plan_around(pr, at, row);
	case EFF_REFUSE: /* only with opts.resize_fails: call_effect() */
		pr->pl->act[at] = ACT_UNRESIZED;
		return 0;
	case EFF_LENGTH:
		pr->pl->act[at] = ACT_LENGTH;
		return 0;
	case EFF_HEAD:
	case EFF_TAIL:
		pr->pl->cuts |= row->effect == EFF_TAIL;
		pr->pl->heads |= row->effect == EFF_HEAD;
		return plan_resize(pr, at, row);
	case EFF_SEGS:
		return plan_segs(pr, at, row);
	case EFF_NO_CTX:
		return plan_no_ctx(pr, at, row);
	case EFF_DYNPTR:
		return plan_dynptr(pr, at, row);
	default:
		return 0;
	}
}

static int plan_insns(struct planner *pr)
{
	const struct prog *p = pr->p;
	__u32 n;
	int err = 0;

	for (n = 0; n < p->cnt && !err; n++) {
		const struct bpf_insn *i = &p->insns[n];

		if (p->second[n])
			continue;
		if (BPF_CLASS(i->code) == BPF_ALU64)
			err = plan_alu(pr, n);
		else if (insn_is_jump(i))
			err = plan_meta(pr, n);
		else if (BPF_CLASS(i->code) == BPF_LDX)
			err = plan_load(pr, n);
		else if (insn_is_ld_abs(i) && flow_site(pr->f, n)->seen)
			err = plan_ld_abs(pr, n);
		else if (i->code == (BPF_JMP | BPF_CALL))
			err = plan_call(pr, n);
	}
	return err;
}

/* A function that changes, or that calls one that does, is copied. */
void plan_clones(struct prog *p, struct plan *pl)
{
	bool again = true;
	__u32 n;

	pl->clone[0] = true;
	for (n = 0; n < p->cnt; n++)
		if (pl->act[n])
			pl->clone[p->sub_of[n]] = true;
	while (again) {
		again = false;
		for (n = 0; n < p->cnt; n++) {
			bool call = insn_is_subcall(&p->insns[n]), *clone;
			struct subprog *s = &p->subs[p->sub_of[n]];
			int t;

			if (p->second[n] || (!call && !insn_is_func_ref(&p->insns[n])))
				continue;
			t = prog_sub_at(p, insn_target(p, n));
			clone = &pl->clone[p->sub_of[n]];
			again |= (pl->clone[t] && !*clone) ||
				 (call && p->subs[t].tail_call && !s->tail_call);
			*clone |= pl->clone[t];
			s->tail_call |= call && p->subs[t].tail_call;
		}
	}
}

static void plan_rejoins(struct planner *pr)
{
	const struct prog *p = pr->p;
	__u32 n;

	for (n = 0; n < p->cnt; n++) {
		if (p->second[n])
			continue;
		if (insn_is_subcall(&p->insns[n]) && flow_site(pr->f, n)->seen &&
		    p->subs[prog_sub_at(p, insn_target(p, n))].tail_call)
			pr->pl->act[n] = ACT_REJOIN;
		if (n < p->subs[0].end && insn_is_exit(&p->insns[n]) && flow_site(pr->f, n)->seen)
			pr->pl->act[n] = ACT_EXIT;
	}
}

/* Where the program itself has the context at a site, in a place that survives a call. */
static struct home plan_ctx_known(const struct flow *f, __u32 at)
{
	const struct site *s = flow_site(f, at);
	int n;

	for (n = BPF_REG_6; n <= BPF_REG_9; n++)
		if (is_ctx(&s->reg[n]))
			return (struct home){ .kind = HOME_REG, .reg = n };
	for (n = 0; n < STACK_SLOTS; n++)
		if (s->ctx_slots & 1ULL << n)
			return (struct home){ .kind = HOME_STACK, .off = -8 * (n + 1) };
	return (struct home){ .kind = HOME_NONE };
}

struct home plan_ctx_at(const struct prog *p, const struct plan *pl, const struct flow *f, __u32 at)
{
	struct home known = plan_ctx_known(f, at);

	return known.kind != HOME_NONE ? known : pl->home[p->sub_of[at]];
}

/* main keeps the context from its start on; another function has to find it before the call. */
static bool can_save(const struct prog *p, const struct site *s)
{
	int r;

	for (r = BPF_REG_1; r <= BPF_REG_5; r++)
		if (is_ctx(&s->reg[r]))
			return true;
	return !p->sub_of[s->insn];
}

/* Every place that needs the context behind a call, or at an exit, must have one to find it in. */
int plan_homes(struct planner *pr)
{
	const struct prog *p = pr->p;
	__u32 n;

	for (n = 0; n < p->cnt; n++) {
		struct home *h = &pr->pl->home[p->sub_of[n]];
		__u8 act = pr->pl->act[n];

		if (act != ACT_AROUND && act != ACT_REJOIN && act != ACT_EXIT &&
		    act != ACT_RESIZE && act != ACT_SPLIT)
			continue;
		if (!flow_site(pr->f, n)->seen || plan_ctx_known(pr->f, n).kind != HOME_NONE)
			continue;
		if (!can_save(p, flow_site(pr->f, n)) ||
		    (h->kind == HOME_NONE && !room_for_ctx(p, p->sub_of[n], h)))
			return reason_set(
				pr->why, BIGTCP_TWIN_NO_ROOM, n, 0, "",
				"no register and no stack is left in the function at "
				"instruction %u to keep the context in until instruction %u",
				p->subs[p->sub_of[n]].start, n);
	}
	return 0;
}

int plan_make(struct prog *p, const struct flow *f, const struct bigtcp_twin_opts *opts,
	      struct plan *pl, struct bigtcp_twin_reason *why)
{
	struct planner pr = { .p = p, .f = f, .opts = opts, .pl = pl, .why = why };
	__u32 n;
	int err;

	memset(pl, 0, sizeof(*pl));
	pl->act = calloc(p->cnt, 1);
	if (!pl->act)
		return -ENOMEM;
	err = plan_insns(&pr);
	if (!err) {
		plan_clones(p, pl);
		plan_rejoins(&pr);
		err = plan_homes(&pr);
	}
	if (err) {
		plan_free(pl);
		return err;
	}
	pl->direct = opts->direct || f->pkt_write || p->hook->xdp;
	for (n = 0; n < p->cnt; n++) {
		pl->sites += pl->act[n] && pl->act[n] != ACT_EXIT;
		pl->clamped += pl->act[n] == ACT_CLAMP;
		pl->rejoins |= pl->act[n] == ACT_REJOIN;
		pl->direct |= pl->act[n] == ACT_AROUND || pl->act[n] == ACT_REJOIN;
	}
	return 0;
}

void plan_free(struct plan *pl)
{
	free(pl->act);
	free(pl->args);
	pl->act = NULL;
	pl->args = NULL;
}
