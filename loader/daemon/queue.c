// SPDX-License-Identifier: GPL-2.0
/* Observers and guards: which devices lack them, and putting them on. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "daemon/reconcile_int.h"

/* Rounds until what failed at a device is tried again, unless something changes there. */
#define TRY_AGAIN 6

static void queue(struct bt_reconciler *r, const struct bt_unit *u)
{
	struct bt_dressing *more;

	if (r->n_queue == r->cap_queue) {
		more = reallocarray(r->queue, r->cap_queue * 2 + 16, sizeof(*more));
		if (!more)
			return; /* it will be in the next round's queue */
		r->queue = more;
		r->cap_queue = r->cap_queue * 2 + 16;
	}
	r->queue[r->n_queue++] = (struct bt_dressing){
		.ifindex = u->near->ifindex,
		.observe = u->rule->observe,
		.guard = u->rule->guard,
		.mark = u->near->mark,
	};
}

void bt_unit_dress(struct bt_reconciler *r, const struct bt_unit *u, bool can_change)
{
	struct bt_dev *dev = u->near->dev;
	bool again = r->fresh || (dev->undressed && r->nr % TRY_AGAIN == 0);

	if (dev->undressed && !again)
		r->round->failed++;
	/* Where programs can't be looked at, what is there must not be touched again. */
	if (!r->judge && bt_own_at(&r->own, dev->ifindex) >= 2U * u->rule->observe + u->rule->guard)
		dev->dressed = u->near->mark;
	else if (can_change && (u->rule->observe || u->rule->guard) &&
		 (again || dev->dressed != u->near->mark))
		queue(r, u);
}

static bool dress(struct bt_reconciler *r, const struct bt_dressing *q)
{
	struct bt_dev *dev = bt_devs_find(r->devs, BT_NSID_SELF, q->ifindex);
	bool observed = false, guarded = false;
	struct bt_link l;
	int err;

	if (!dev)
		return false;
	/* It may have another name by now, or be gone. */
	if (bt_link_get(q->ifindex, &l)) {
		bt_err_clear();
		return false;
	}
	err = bt_dress(l.name, q->observe, q->guard, &observed, &guarded);
	dev->undressed = err && bt_dev_failed(dev, BT_TOPIC_DRESS, l.name,
					      "cannot observe or guard it", err);
	if (!err)
		dev->said[BT_TOPIC_DRESS].hash = 0;
	/* Nothing was to be done, or can be: good until something changes. Else the next round sees to it. */
	if (!observed && !guarded)
		dev->dressed = q->mark;
	else
		bt_log(BT_LOG_DEBUG, "%s: %s%s%s", l.name, observed ? "observed" : "",
		       observed && guarded ? ", " : "", guarded ? "guarded" : "");
	return observed || guarded;
}

unsigned int bt_reconciler_dress(struct bt_reconciler *r, unsigned int ms)
{
	const long long end = bt_now_ms() + ms;

	bt_err_clear();
	while (r->at_queue < r->n_queue) {
		r->dressed += dress(r, &r->queue[r->at_queue++]);
		if (bt_now_ms() >= end)
			break;
	}
	if (r->at_queue == r->n_queue && r->dressed) {
		bt_log(BT_LOG_INFO, "observers or guards were put on %u device%s", r->dressed,
		       r->dressed == 1 ? "" : "s");
		r->dressed = 0;
	}
	return r->n_queue - r->at_queue;
}
