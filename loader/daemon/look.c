// SPDX-License-Identifier: GPL-2.0
/* What there is at a device: its programs and their verdicts. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "daemon/reconcile_int.h"

static enum bt_programs class_of(const struct bt_judged *j)
{
	if (j->ours || j->at.no_jumbo || !bt_verdict_unsafe(j->verdict))
		return BT_PROGRAMS_SAFE;
	return j->verdict == BT_VERDICT_UNKNOWN ? BT_PROGRAMS_UNKNOWN : BT_PROGRAMS_UNSAFE;
}

__attribute__((format(printf, 2, 3))) static void blame(struct bt_dev *dev, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	free(dev->culprit);
	dev->culprit = text;
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

/* false: it could not be found out. */
static bool judge(struct bt_reconciler *r, struct bt_end *e)
{
	struct bt_dev *dev = e->dev;
	struct bt_judged *v __free = NULL;
	unsigned int n = 0, n_new = 0;
	int err;

	err = bt_judge_dev(r->judge, e->link.name, &v, &n, &n_new);
	r->audited += n_new;
	if (err) {
		dev->programs = BT_PROGRAMS_UNKNOWN;
		bt_end_failed(r, e, BT_TOPIC_LOOK, "cannot look at its programs", err);
		return false;
	}
	for (unsigned int i = 0; i < n; i++) {
		enum bt_programs class = class_of(&v[i]);
		bool known = v[i].verdict != BT_VERDICT_UNKNOWN;

		dev->unsafe += class != BT_PROGRAMS_SAFE;
		if (class <= dev->programs)
			continue;
		dev->programs = class;
		blame(dev, "program %s (id %u) at %s %s: %s%s%s", v[i].name, v[i].at.prog_id,
		      e->link.name, v[i].at.hook,
		      known ? bt_verdict_name(v[i].verdict) : "not known to be safe",
		      v[i].why[0] ? ", " : "", v[i].why);
	}
	look_in_front(e, v, n);
	return true;
}

/* Without the right to look at programs: there is none but ours, or it is unknown. */
static bool count(struct bt_reconciler *r, struct bt_end *e)
{
	struct bt_dev *dev = e->dev;
	struct bt_attached *at __free = NULL;
	unsigned int n = 0;
	int err;

	err = bt_hooks_list(e->link.name, &at, &n);
	if (err) {
		dev->programs = BT_PROGRAMS_UNKNOWN;
		bt_end_failed(r, e, BT_TOPIC_LOOK, "cannot list its programs", err);
		return false;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (at[i].no_jumbo || bt_own_has(&r->own, at[i].prog_id))
			continue;
		if (!dev->unsafe++)
			blame(dev, "program %u at %s %s: judging it takes CAP_SYS_ADMIN",
			      at[i].prog_id, e->link.name, at[i].hook);
		dev->programs = BT_PROGRAMS_UNKNOWN;
	}
	return true;
}

static void look_at_programs(struct bt_reconciler *r, struct bt_end *e)
{
	struct bt_dev *dev = e->dev;
	const long long age = r->now_ms - dev->looked_ms;

	e->mark = r->marks ? bt_marks_of(r->marks, &e->link) : 0;
	if (!r->fresh && e->mark && e->mark == dev->mark &&
	    age < (long long)r->cfg->audit_interval * 1000)
		return;
	dev->programs = BT_PROGRAMS_SAFE;
	dev->unsafe = 0;
	free(dev->culprit);
	dev->culprit = NULL;
	dev->mark = 0;
	/* What is attached between the number and the look gives another number next time. */
	if (r->judge ? judge(r, e) : count(r, e)) {
		dev->mark = e->mark;
		dev->looked_ms = r->now_ms;
		dev->said[BT_TOPIC_LOOK].hash = 0;
	}
}

void bt_end_look(struct bt_reconciler *r, struct bt_end *e, const struct bt_kept *kept)
{
	e->state = bt_sizes_compare(&e->link, kept);
	e->setter = kept ? (enum bt_setter)kept->setter : BT_SET_BY_NOBODY;
	look_at_programs(r, e);
	e->programs = e->dev->programs;
}
