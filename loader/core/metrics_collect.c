// SPDX-License-Identifier: GPL-2.0
/* The samples that the kernel's state gives. */
#include <bigtcp/twin.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/rtnl.h"
#include "core/guard.h"
#include "core/metrics.h"
#include "core/observe.h"
#include "core/ownprog.h"
#include "core/sizes.h"
#include "core/twins.h"

#define LABELS(...) ((const char *const[]){ __VA_ARGS__ })

static void build_info(struct bt_samples *s)
{
	/* "v1.1" */
	bt_sample(s, BT_METRIC_BUILD_INFO, 1, LABELS(BIGTCP_VERSION, libbpf_version_string() + 1));
}

/* --- devices ---------------------------------------------------------------------------------------- */

static void sizes(struct bt_samples *s, const struct bt_link *l)
{
	const struct bt_sizes *z = &l->sizes;

	bt_sample(s, BT_METRIC_SIZE, z->gso, LABELS(l->name, "ipv6", "transmit"));
	bt_sample(s, BT_METRIC_SIZE, z->gro, LABELS(l->name, "ipv6", "receive"));
	/* Before 6.3 one size is for both. */
	bt_sample(s, BT_METRIC_SIZE, z->gso_ipv4 ? z->gso_ipv4 : z->gso,
		  LABELS(l->name, "ipv4", "transmit"));
	bt_sample(s, BT_METRIC_SIZE, z->gro_ipv4 ? z->gro_ipv4 : z->gro,
		  LABELS(l->name, "ipv4", "receive"));
	if (z->tso_max)
		bt_sample(s, BT_METRIC_LIMIT, z->tso_max, LABELS(l->name));
}

static void state(struct bt_samples *s, const struct bt_link *l, const struct bt_kept *kept)
{
	static const enum bt_sizes_state states[] = { BT_SIZES_OURS, BT_SIZES_CHANGED,
						      BT_SIZES_HANDS_OFF };
	enum bt_sizes_state is = bt_sizes_compare(l, kept);

	for (unsigned int i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		bt_sample(s, BT_METRIC_STATE, states[i] == is,
			  LABELS(l->name, bt_sizes_state_name(states[i])));
}

static int devices(struct bt_samples *s)
{
	struct bt_kept_dev *kept __free = NULL;
	struct bt_link *links __free = NULL;
	unsigned int n, n_kept = 0;
	int err = bt_link_list(&links, &n), kept_err;

	if (err)
		return err;
	for (unsigned int i = 0; i < n; i++)
		sizes(s, &links[i]);
	kept_err = bt_kept_list(&kept, &n_kept);
	for (unsigned int i = 0; !kept_err && i < n; i++) {
		const struct bt_kept *k = bt_kept_find(kept, n_kept, links[i].ifindex);

		if (k)
			state(s, &links[i], k);
	}
	return kept_err;
}

static int attached_one(const struct bt_attached *at, const char *dev, void *arg)
{
	bt_sample(arg, BT_METRIC_ATTACHED, 1,
		  LABELS(dev, bt_hook_name(at->pin.hook), at->pin.prog));
	return 0;
}

static int attached(struct bt_samples *s)
{
	return bt_attached_each(NULL, NULL, attached_one, s);
}

/* --- observers and guards --------------------------------------------------------------------------- */

static void observer(struct bt_samples *s, const struct bt_observe *o)
{
	const char *dir = o->hook == BT_HOOK_EGRESS ? "transmit" : "receive";
	const struct observe_stats *n = &o->stats;

	bt_sample(s, BT_METRIC_FIRST, o->first, LABELS(o->dev, dir));
	if (!o->read)
		return;
	bt_sample(s, BT_METRIC_PACKETS, n->packets, LABELS(o->dev, dir));
	bt_sample(s, BT_METRIC_BYTES, n->bytes, LABELS(o->dev, dir));
	bt_sample(s, BT_METRIC_JUMBO, n->jumbo_hbh, LABELS(o->dev, dir, "hbh"));
	bt_sample(s, BT_METRIC_JUMBO, n->jumbo_len0, LABELS(o->dev, dir, "len0"));
	bt_sample(s, BT_METRIC_JUMBO, n->jumbo_ipv4, LABELS(o->dev, dir, "ipv4"));
	bt_sample(s, BT_METRIC_JUMBO_BYTES, n->jumbo_hbh_bytes, LABELS(o->dev, dir, "hbh"));
	bt_sample(s, BT_METRIC_JUMBO_BYTES, n->jumbo_len0_bytes, LABELS(o->dev, dir, "len0"));
	bt_sample(s, BT_METRIC_JUMBO_BYTES, n->jumbo_ipv4_bytes, LABELS(o->dev, dir, "ipv4"));
	bt_sample(s, BT_METRIC_MALFORMED, n->malformed, LABELS(o->dev, dir));
	bt_sample(s, BT_METRIC_UNREAD, n->unread, LABELS(o->dev, dir));
	bt_sample(s, BT_METRIC_LARGEST, n->max_len, LABELS(o->dev, dir));
}

static int observers(struct bt_samples *s)
{
	struct bt_observe *list __free = NULL;
	unsigned int n = 0;
	int err = bt_observe_list(NULL, &list, &n);

	for (unsigned int i = 0; !err && i < n; i++)
		observer(s, &list[i]);
	return err;
}

static int guard(const struct bt_guard *g, void *arg)
{
	struct bt_samples *s = arg;
	const char *hook = bt_hook_name(g->at.pin.hook);
	struct guard_counts n;
	int err = bt_guard_counts(g, &n);

	if (err)
		return bt_err(err, "cannot read the counters of the guard at %s: %s", g->dev,
			      strerror(-err));
	bt_sample(s, BT_METRIC_GUARD_WRONG, n.wrong, LABELS(g->dev, hook));
	bt_sample(s, BT_METRIC_GUARD_DROPPED, n.dropped, LABELS(g->dev, hook));
	for (int i = 0; i < GUARD_NR; i++) {
		const char *class = bt_guard_classes[i].name;

		bt_sample(s, BT_METRIC_GUARD_CLASS, n.class[i].packets,
			  LABELS(g->dev, hook, class));
		bt_sample(s, BT_METRIC_GUARD_CLASS_DROPPED, n.class[i].dropped,
			  LABELS(g->dev, hook, class));
	}
	bt_sample(s, BT_METRIC_GUARD_EVENTS, n.events, LABELS(g->dev, hook, "written"));
	bt_sample(s, BT_METRIC_GUARD_EVENTS, n.suppressed, LABELS(g->dev, hook, "suppressed"));
	bt_sample(s, BT_METRIC_GUARD_EVENTS, n.lost, LABELS(g->dev, hook, "lost"));
	return 0;
}

static int guards(struct bt_samples *s)
{
	return bt_guard_each(NULL, guard, s);
}

static int twins(struct bt_samples *s)
{
	struct bt_twin_use *list __free = NULL;
	unsigned int n = 0;
	int err = bt_twins_list(&list, &n);

	for (unsigned int i = 0; !err && i < n; i++) {
		const struct bt_twin_use *t = &list[i];

		bt_sample(s, BT_METRIC_TWIN_JUMBO, t->state.jumbo,
			  LABELS(t->dev, t->hook, t->name));
		bt_sample(s, BT_METRIC_TWIN_LOST, t->state.lost, LABELS(t->dev, t->hook, t->name));
		bt_sample(s, BT_METRIC_TWIN_UNRESIZED, t->state.unresized,
			  LABELS(t->dev, t->hook, t->name));
	}
	return err;
}

int bt_samples_collect(struct bt_samples *s)
{
	static int (*const parts[])(struct bt_samples * s) = { devices, attached, observers, guards,
							       twins };
	int first = 0;

	build_info(s);
	/* The first error's sentence is the one that stays. */
	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int err = parts[i](s);

		first = first ? first : err;
	}
	return first;
}
