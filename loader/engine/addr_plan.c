// SPDX-License-Identifier: GPL-2.0
/* The plan of a twin by addressing, for one form. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/insn.h"
#include "engine/plan_int.h"
#include "engine/reason.h"

#define MEM_BITS (ACC_OTHER | ACC_LOW | ACC_HIGH | ACC_PATCH | ACC_BAD)

int addr_refuse(struct planner *pr, __u32 at, const char *name)
{
	return reason_set(
		pr->why, BIGTCP_TWIN_OFFSET, at, 0, name,
		"cannot tell at which offset of the packet instruction %u %s%s; a twin of a %s "
		"program needs to know it, since packets may not be moved there; build the "
		"program with <bigtcp/parse.bpf.h>",
		at, *name ? "calls bpf_" : "reads or writes", name, pr->p->hook->name);
}

/* A load or a store. */
static int plan_mem(struct planner *pr, __u32 at)
{
	const struct bpf_insn *i = &pr->p->insns[at];
	__u8 bits = pr->f->acc[at].bits & MEM_BITS;

	if (!(bits & ~(ACC_OTHER | ACC_LOW)))
		return 0;
	if (bits == ACC_HIGH) {
		if (!pr->form->shift)
			return 0;
		if (i->off > 0x7fff - pr->form->shift)
			return addr_refuse(pr, at, "");
		pr->pl->act[at] = ACT_HIGH;
		return 0;
	}
	if (bits != ACC_PATCH || BPF_CLASS(i->code) != BPF_LDX || BPF_MODE(i->code) != BPF_MEM) {
		/* Without a header in between only what is patched matters. */
		if (!pr->form->shift && !(bits & (ACC_PATCH | ACC_BAD)))
			return 0;
		return addr_refuse(pr, at, "");
	}
	pr->pl->act[at] = ACT_PATCH;
	return 0;
}

static int plan_end(struct planner *pr, __u32 at, enum act act)
{
	__u8 bits = pr->f->acc[at].bits;

	if (!pr->form->shift || !(bits & ~ACC_OTHER))
		return 0;
	if (bits != ACC_PKT_END && bits != ACC_END_PKT)
		return reason_set(pr->why, BIGTCP_TWIN_AMBIGUOUS, at, 0, "",
				  "cannot tell whether instruction %u compares a packet pointer "
				  "with the packet's end; build the program with "
				  "<bigtcp/parse.bpf.h>",
				  at);
	pr->pl->act[at] = act;
	return 0;
}

static int plan_abs(struct planner *pr, __u32 at)
{
	__u8 bits = pr->f->acc[at].bits;

	if (!bits || bits == ACC_LOW || (bits == ACC_HIGH && !pr->form->shift))
		return 0;
	if (bits != ACC_HIGH && bits != ACC_PATCH)
		return addr_refuse(pr, at, "");
	pr->pl->act[at] = ACT_ABS;
	return 0;
}

static bool keeps_bytes(const struct planner *pr)
{
	return pr->p->hook->type == BPF_PROG_TYPE_SOCKET_FILTER && pr->form->shift;
}

static int plan_one(struct planner *pr, __u32 at)
{
	const struct bpf_insn *i = &pr->p->insns[at];
	int err;

	switch (BPF_CLASS(i->code)) {
	case BPF_LDX:
		err = plan_load(pr, at);
		return err || pr->pl->act[at] ? err : plan_mem(pr, at);
	case BPF_ST:
	case BPF_STX:
		return plan_mem(pr, at);
	case BPF_ALU:
	case BPF_ALU64:
		return plan_end(pr, at, ACT_DIFF);
	case BPF_LD:
		return insn_is_ld_abs(i) ? plan_abs(pr, at) : 0;
	}
	if (insn_is_jump(i))
		return plan_end(pr, at, ACT_END);
	if (i->code == (BPF_JMP | BPF_CALL))
		return addr_plan_call(pr, at);
	if (insn_is_exit(i) && at < pr->p->subs[0].end && keeps_bytes(pr) &&
	    flow_site(pr->f, at)->seen)
		pr->pl->act[at] = ACT_KEEP;
	return 0;
}

int addr_plan_make(struct prog *p, const struct flow *f, const struct bigtcp_twin_opts *opts,
		   const struct form *form, struct plan *pl, struct bigtcp_twin_reason *why)
{
	struct planner pr = { .p = p, .f = f, .opts = opts, .form = form, .pl = pl, .why = why };
	int err = 0;
	__u32 n;

	memset(pl, 0, sizeof(*pl));
	pl->act = calloc(p->cnt, 1);
	pl->args = calloc(p->cnt, 1);
	if (!pl->act || !pl->args)
		err = -ENOMEM;
	for (n = 0; n < p->cnt && !err; n++)
		if (!p->second[n])
			err = plan_one(&pr, n);
	if (!err) {
		plan_clones(p, pl);
		err = plan_homes(&pr);
	}
	if (err) {
		plan_free(pl);
		return err;
	}
	for (n = 0; n < p->cnt; n++)
		pl->sites += !!pl->act[n];
	pl->direct = f->pkt_write;
	return 0;
}
