/* SPDX-License-Identifier: GPL-2.0 */
/* What the plan for moved packets (plan.c) and the one by address (addr_*.c) share. */
#ifndef ENGINE_PLAN_INT_H
#define ENGINE_PLAN_INT_H

#include "engine/plan.h"

struct planner {
	struct prog *p;
	const struct flow *f;
	const struct bigtcp_twin_opts *opts;
	const struct form *form; /* NULL: moved packets */
	struct plan *pl;
	struct bigtcp_twin_reason *why;
};

bool val_is_const(const struct val *v);
/* In the frame of the function that the site is in? */
bool site_own_stack(const struct site *s, const struct val *v);

/* Each: 0, or -ENOTSUP with a reason. */
int plan_load(struct planner *pr, __u32 at); /* LDX that may read a field of the context */
int plan_segs(struct planner *pr, __u32 at, const struct effect_row *row);
int plan_no_ctx(struct planner *pr, __u32 at, const struct effect_row *row);
int plan_homes(struct planner *pr); /* after all acts are known */

/* By address: the calls. */
int addr_plan_call(struct planner *pr, __u32 at);
int addr_refuse(struct planner *pr, __u32 at, const char *name);

#endif
