// SPDX-License-Identifier: GPL-2.0
#include "daemon/export.h"

#include "base/err.h"

static void put(struct bt_samples *s, enum bt_metric_id id, double value)
{
	bt_sample(s, id, value, NULL);
}

static void put_unsafe(void *arg, const struct bt_dev *dev)
{
	const char *labels[] = { dev->name };

	if (dev->named)
		bt_sample(arg, BT_METRIC_UNSAFE, dev->all_unsafe, labels);
}

static void put_states(struct bt_samples *s, const struct bt_round *r)
{
	const struct {
		const char *name;
		unsigned int n;
	} states[] = {
		{ "fit", r->fit },
		{ "held-back", r->held_back },
		{ "left-alone", r->left_alone },
		{ "failed", r->failed },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		const char *labels[] = { states[i].name };

		bt_sample(s, BT_METRIC_DEVICES, states[i].n, labels);
	}
}

struct bt_samples *bt_export(const struct bt_totals *t, const struct bt_round *last,
			     const struct bt_devs *devs)
{
	struct bt_samples *s = bt_samples_new();

	if (!s)
		return NULL;
	/* What can't be read is not there; the log of the rounds has told why. */
	bt_samples_collect(s);
	bt_err_clear();
	put_states(s, last);
	bt_devs_each(devs, put_unsafe, s);
	put(s, BT_METRIC_SIZE_RESETS, (double)t->size_resets);
	put(s, BT_METRIC_RECONCILES, (double)t->rounds);
	put(s, BT_METRIC_RECONCILE_ERRORS, (double)t->errors);
	put(s, BT_METRIC_RECONCILE_DURATION, (double)last->duration_ns / 1e9);
	put(s, BT_METRIC_RECONCILE_WHEN, last->when);
	put(s, BT_METRIC_EVENTS_LOST, (double)t->events_lost);
	return s;
}
