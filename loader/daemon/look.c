// SPDX-License-Identifier: GPL-2.0
/* What there is at a device: its programs and their verdicts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "daemon/reconcile_int.h"

static void add_hash(__u64 *h, const struct bt_attached *at)
{
	char text[80];

	snprintf(text, sizeof(text), "%s %u;", at->hook, at->prog_id);
	for (const char *s = text; *s; s++)
		*h = (*h ^ (unsigned char)*s) * 0x100000001b3;
}

static enum bt_programs class_of(const struct bt_judged *j)
{
	if (j->ours || j->at.no_jumbo || !bt_verdict_unsafe(j->verdict))
		return BT_PROGRAMS_SAFE;
	return j->verdict == BT_VERDICT_UNKNOWN ? BT_PROGRAMS_UNKNOWN : BT_PROGRAMS_UNSAFE;
}

static void blame(struct bt_end *e, const struct bt_judged *j)
{
	char *text = NULL;

	if (asprintf(&text, "program %s (id %u) at %s %s: %s%s%s", j->name, j->at.prog_id,
		     e->link.name, j->at.hook,
		     j->verdict == BT_VERDICT_UNKNOWN ? "not known to be safe"
						      : bt_verdict_name(j->verdict),
		     j->why[0] ? ", " : "", j->why) < 0)
		return;
	free(e->culprit);
	e->culprit = text;
}

/* A program of somebody else that runs before ours can keep packets from it. */
static void look_in_front(struct bt_end *e, const struct bt_judged *v, unsigned int n)
{
	for (unsigned int i = 0; i + 1 < n; i++) {
		unsigned int k = i + 1;

		if (v[i].ours)
			continue;
		while (k < n && !(v[k].ours && !strcmp(v[k].at.hook, v[i].at.hook)))
			k++;
		if (k == n)
			continue;
		bt_log_once(
			&e->dev->said[BT_TOPIC_FRONT], BT_LOG_WARNING, e->link.name,
			"program %s (id %u) runs before bigtcp's own at %s: what it drops or "
			"redirects is not seen there; 'bigtcp observe %s --off', and it is put in front again",
			v[i].name, v[i].at.prog_id, v[i].at.hook, e->link.name);
		return;
	}
	e->dev->said[BT_TOPIC_FRONT].hash = 0;
}

static __u64 judge(struct bt_reconciler *r, struct bt_end *e)
{
	struct bt_judged *v __free = NULL;
	__u64 h = 0xcbf29ce484222325;
	unsigned int n = 0, n_new = 0;
	int err;

	err = bt_judge_dev(r->judge, e->link.name, &v, &n, &n_new);
	r->audited += n_new;
	if (err) {
		e->programs = BT_PROGRAMS_UNKNOWN;
		bt_end_failed(r, e, BT_TOPIC_LOOK, "cannot look at its programs", err);
		return 0;
	}
	for (unsigned int i = 0; i < n; i++) {
		enum bt_programs class = class_of(&v[i]);

		add_hash(&h, &v[i].at);
		if (class > e->programs) {
			e->programs = class;
			blame(e, &v[i]);
		}
	}
	look_in_front(e, v, n);
	return h;
}

/* Without the right to look at programs: there is none but ours, or it is unknown. */
static __u64 count(struct bt_reconciler *r, struct bt_end *e, bool any)
{
	struct bt_attached *at __free = NULL;
	__u64 h = 0xcbf29ce484222325;
	unsigned int n = 0;
	int err;

	err = bt_hooks_list(e->link.name, &at, &n);
	if (err) {
		e->programs = any ? BT_PROGRAMS_SAFE : BT_PROGRAMS_UNKNOWN;
		bt_end_failed(r, e, BT_TOPIC_LOOK, "cannot list its programs", err);
		return 0;
	}
	for (unsigned int i = 0; i < n; i++) {
		add_hash(&h, &at[i]);
		if (any || e->programs || at[i].no_jumbo || bt_own_has(&r->own, at[i].prog_id))
			continue;
		e->programs = BT_PROGRAMS_UNKNOWN;
		if (asprintf(&e->culprit, "program %u at %s %s: judging it takes CAP_SYS_ADMIN",
			     at[i].prog_id, e->link.name, at[i].hook) < 0)
			e->culprit = NULL;
	}
	return h;
}

void bt_end_programs(struct bt_reconciler *r, struct bt_end *e, const struct bt_rule *rule)
{
	bool any = rule->policy == BT_POLICY_FORCE;

	e->programs = BT_PROGRAMS_SAFE;
	free(e->culprit);
	e->culprit = NULL;
	e->attached = r->judge && !any ? judge(r, e) : count(r, e, any);
}

void bt_end_look(struct bt_reconciler *r, struct bt_end *e, const struct bt_rule *rule)
{
	struct bt_kept kept;
	int err;

	err = bt_kept_get(e->ifindex, &kept);
	if (err && err != -ENOENT)
		bt_end_failed(r, e, BT_TOPIC_LOOK, "cannot read what is kept of its sizes", err);
	e->state = bt_sizes_compare(&e->link, err ? NULL : &kept);
	e->setter = err ? BT_SET_BY_NOBODY : (enum bt_setter)kept.setter;
	bt_end_programs(r, e, rule);
}
