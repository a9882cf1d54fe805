// SPDX-License-Identifier: GPL-2.0
/* Around which programs of a chain the sandwich can go, and at which run priorities. */
#include "core/sandwich.h"
#include "core/sandwich_verdicts.h"
#include "base/err.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#define BIT(n)	(1U << (n))
#define LEAVING (BIT(XDP_TX) | BIT(XDP_REDIRECT))

static bool ours(const struct bt_chain_prog *p)
{
	return p->role == BT_ROLE_STRIP || p->role == BT_ROLE_RESTORE;
}

/* Only programs that are no twins need to be inside; others may be, when they run between those. */
static bool find_span(const struct bt_chain *c, unsigned int *first, unsigned int *last)
{
	bool found = false;

	for (unsigned int i = 0; i < c->n; i++) {
		if (c->progs[i].role != BT_ROLE_PROGRAM)
			continue;
		if (!found)
			*first = i;
		*last = i;
		found = true;
	}
	return found;
}

static bool trusted(const char *name, const char *const *trust, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (!strcmp(name, trust[i]))
			return true;
	}
	return false;
}

/* Why a program can't be inside, in @why; false: it can. A verdict after which the chain goes on does not
 * decide anything in the dispatcher: the packet stays in the chain.
 */
static bool refuse(const struct bt_chain_prog *p, bool trust, char *why, size_t len)
{
	unsigned int leaves = p->verdicts & ~p->actions & LEAVING;
	char verdicts[64];

	bt_verdicts_text(leaves, verdicts, sizeof(verdicts));
	if (!(p->actions & BIT(XDP_PASS))) {
		snprintf(why, len, "its chain actions lack XDP_PASS: the chain would end before %s",
			 BIGTCP_RESTORE_PROG);
		return true;
	}
	if (!leaves || trust) {
		snprintf(why, len, "%s", leaves ? "trusted" : "");
		return false;
	}
	if (p->role == BT_ROLE_TWIN)
		snprintf(why, len,
			 "a twin that can return %s between programs that are none: give it a run "
			 "priority before or behind them",
			 verdicts);
	else if (p->verdicts == BT_VERDICTS_ANY)
		snprintf(why, len, "it is not known what it returns; it may be TX or REDIRECT");
	else
		snprintf(why, len, "can return %s: the packet would leave without its header",
			 verdicts);
	return true;
}

static int check_trust(const struct bt_chain *c, const char *const *trust, unsigned int n_trust)
{
	for (unsigned int t = 0; t < n_trust; t++) {
		bool found = false;

		for (unsigned int i = 0; i < c->n; i++)
			found |= !ours(&c->progs[i]) && !strcmp(c->progs[i].name, trust[t]);
		if (!found)
			return bt_err(-EINVAL, "--trust=%s: %s runs no program of that name",
				      trust[t], c->dev);
	}
	return 0;
}

/* Strictly between others' priorities: at equal ones libxdp sorts by name. */
static int find_prios(const struct bt_chain *c, unsigned int first, unsigned int last,
		      struct bt_sandwich_plan *plan)
{
	const struct bt_chain_prog *p = &c->progs[first], *q = &c->progs[last];

	if (!p->prio || (first && c->progs[first - 1].prio >= p->prio - 1))
		return bt_err(
			-ENOSPC,
			"there is no run priority free before %s, which has %u: load it again "
			"with a higher one",
			p->name, p->prio);
	if (q->prio == 0xffffffff || (last + 1 < c->n && c->progs[last + 1].prio <= q->prio + 1))
		return bt_err(
			-ENOSPC,
			"there is no run priority free behind %s, which has %u: load it again "
			"with a lower one",
			q->name, q->prio);
	plan->strip_prio = p->prio - 1;
	plan->restore_prio = q->prio + 1;
	return 0;
}

/* The places of strip and restore; false: there is none of them. */
static bool find_ours(const struct bt_chain *c, int *strip, int *restore)
{
	*strip = *restore = -1;
	for (unsigned int i = 0; i < c->n; i++) {
		if (c->progs[i].role == BT_ROLE_STRIP)
			*strip = (int)i;
		if (c->progs[i].role == BT_ROLE_RESTORE)
			*restore = (int)i;
	}
	return *strip >= 0 || *restore >= 0;
}

int bt_sandwich_plan(const struct bt_chain *c, const char *const *trust, unsigned int n_trust,
		     struct bt_sandwich_plan *out)
{
	unsigned int first = 1, last = 0;
	struct bt_sandwich_plan plan = {};
	bool any = find_span(c, &first, &last), halves;
	int err, strip, restore;

	err = check_trust(c, trust, n_trust);
	if (err)
		return err;
	plan.halves = find_ours(c, &strip, &restore);
	plan.in_place = strip >= 0 && strip < restore &&
			(!any || ((int)first > strip && (int)last < restore));
	halves = plan.halves;
	for (unsigned int i = 0; i < c->n; i++) {
		const struct bt_chain_prog *p = &c->progs[i];

		if (ours(p))
			continue;
		plan.progs[i].inside = halves ? (int)i > strip && (int)i < restore
					      : any && i >= first && i <= last;
		if (!plan.progs[i].inside) {
			snprintf(plan.progs[i].why, sizeof(plan.progs[i].why), "%s",
				 p->role == BT_ROLE_TWIN ? "a twin needs no sandwich"
							 : "outside of the sandwich");
			continue;
		}
		plan.progs[i].refused = refuse(p, trusted(p->name, trust, n_trust),
					       plan.progs[i].why, sizeof(plan.progs[i].why));
		plan.refused += plan.progs[i].refused;
	}
	if (halves || !any || plan.refused) {
		*out = plan;
		return 0;
	}
	if (c->n + 2 > BT_CHAIN_MAX)
		return bt_err(
			-E2BIG,
			"the chain of %s has %u programs: a libxdp dispatcher takes %d, and the "
			"sandwich needs two",
			c->dev, c->n, BT_CHAIN_MAX);
	err = find_prios(c, first, last, &plan);
	if (!err)
		*out = plan;
	return err;
}

int bt_sandwich_place(const struct bt_chain *c, const struct bt_sandwich_plan *plan)
{
	int strip, restore;

	if (!plan->halves || plan->in_place)
		return 0;
	find_ours(c, &strip, &restore);
	for (unsigned int i = 0; i < c->n && strip >= 0 && strip < restore; i++) {
		if (c->progs[i].role == BT_ROLE_PROGRAM && !plan->progs[i].inside)
			return bt_err(
				-EEXIST,
				"%s has a sandwich that %s is not in: take it off with --off, then "
				"put it around all",
				c->dev, c->progs[i].name);
	}
	return bt_err(-EEXIST,
		      "half of a sandwich is in the chain of %s: take it off with --off first",
		      c->dev);
}
