/* SPDX-License-Identifier: GPL-2.0 */
/* What queueing disciplines and policers do to long packets, told from their options. */
#ifndef CORE_QDISC_H
#define CORE_QDISC_H

#include <linux/types.h>
#include <stdbool.h>

struct nlattr;

enum bt_qdisc_effect {
	BT_QDISC_CUTS, /* packets longer than that are cut to pieces of the MTU, in software */
	BT_QDISC_DROPS, /* packets longer than that never get through */
	BT_QDISC_OVERDRAWS, /* they do, and what follows waits the longer */
};

struct bt_qdisc_limit {
	enum bt_qdisc_effect effect;
	__u64 bytes; /* 0: whatever their length */
	const char *what; /* as tc names the option: "burst", "limit", "split-gso" */
};
#define BT_QDISC_LIMITS 4

/*
 * @opts: TCA_OPTIONS of a qdisc of @kind, or of a class of it (@is_class), or of an action (kind "police"); may be NULL.
 * Returns how many limits were found; of kinds that have none, or are not known, 0. What cuts comes first: a
 * packet that is cut meets none of the others.
 */
unsigned int bt_qdisc_limits(const char *kind, bool is_class, const struct nlattr *opts,
			     struct bt_qdisc_limit limits[BT_QDISC_LIMITS]);

/* The options of a police action in @opts, TCA_OPTIONS of a filter of @kind; NULL: it has none. */
const struct nlattr *bt_qdisc_police(const char *kind, const struct nlattr *opts);

#endif
