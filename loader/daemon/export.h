/* SPDX-License-Identifier: GPL-2.0 */
/* The daemon's own metrics, beside those of the kernel's state (core/metrics.h). */
#ifndef DAEMON_EXPORT_H
#define DAEMON_EXPORT_H

#include "core/metrics.h"
#include "daemon/reconcile.h"

/* Since the daemon was started. */
struct bt_totals {
	unsigned long rounds; /* that have ended */
	unsigned long errors; /* in which something could not be done */
	unsigned long size_resets;
	unsigned long events_lost;
};

/* All there is to tell. NULL: out of memory. */
struct bt_samples *bt_export(const struct bt_totals *t, const struct bt_round *last,
			     const struct bt_devs *devs);

#endif
