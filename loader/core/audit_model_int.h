/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by audit_model.c (verdict, packet, context) and audit_events.c (maps). */
#ifndef CORE_AUDIT_MODEL_INT_H
#define CORE_AUDIT_MODEL_INT_H

#include "core/audit_model.h"

#include <stdarg.h>
#include <stddef.h>

static inline bool bt_obs_large(const struct bt_obs *o)
{
	return o->run.in_len > 65536;
}

/* Keeps the worst: false, and nothing is changed, when the difference that is there is as bad. */
bool bt_diff_set(struct bt_diff *d, enum bt_verdict v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void bt_compare_events(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
		       const struct bt_obs *h, const struct bt_maps *maps);

/* The field of the packet's headers at an offset: "the jumbo header", "TCP's ports". */
const char *bt_place_name(const struct bt_packet *p, unsigned int at);

#endif
