/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks at all devices that the configuration names, and makes them what it says. Everything is found in the kernel each
 * time, so it does not matter what happened between two rounds, or whether this is the same process.
 */
#ifndef DAEMON_RECONCILE_H
#define DAEMON_RECONCILE_H

#include <linux/types.h>

#include "daemon/config.h"
#include "daemon/devs.h"

struct bt_reconciler;

/* What the last round found. */
struct bt_round {
	unsigned int devices; /* that the configuration names */
	unsigned int fit; /* with sizes as wanted */
	unsigned int held_back; /* at 64 KiB because of their programs */
	unsigned int left_alone; /* an administrator's */
	unsigned int failed; /* something could not be done; it will be tried again */
	unsigned int postponed; /* not looked at in this round, which took too long */
	unsigned int changes; /* made in this round */
	unsigned int size_resets; /* found changed by somebody else */
	__u64 duration_ns;
	double when; /* it ended, in seconds since the epoch */
};

/* @cfg stays the caller's, until it gives another. 0 or -errno with a sentence. */
int bt_reconciler_new(const struct bt_config *cfg, struct bt_reconciler **out);
void bt_reconciler_free(struct bt_reconciler **r);
void bt_reconciler_config(struct bt_reconciler *r, const struct bt_config *cfg);

/* One round. 0, or -errno with a sentence when not even the devices could be listed; what goes wrong with one of them
 * is in the log.
 */
int bt_reconcile(struct bt_reconciler *r, struct bt_round *round);

/*
 * Puts observers and guards on the devices of the last round that lack them, for about @ms milliseconds. Returns how many
 * devices are left.
 */
unsigned int bt_reconciler_dress(struct bt_reconciler *r, unsigned int ms);

/* Milliseconds, monotonic. */
long long bt_now_ms(void);

/* What is remembered of the devices of the last round. */
const struct bt_devs *bt_reconciler_devs(const struct bt_reconciler *r);

#endif
