/* SPDX-License-Identifier: GPL-2.0 */
/* Audits of programs that are attached: which are run, and which only named. */
#ifndef CORE_AUDIT_LIVE_H
#define CORE_AUDIT_LIVE_H

#include "core/audit.h"
#include "core/hooks.h"

/*
 * Audits the program at @at, which others use. @base: flows of the user; what hangs on the place is filled in here.
 * @host: its addresses become those of the device. @no_run: its name alone. Always fills *res; programs
 * of bigtcp's own that would count test packets are not run, and safe.
 */
void bt_audit_attached(struct bt_auditor *a, const struct bt_attached *at,
		       const struct bt_audit_opts *base, struct bt_host *host, bool no_run,
		       struct bt_audit_result *res);

/* The same for a program that an XDP dispatcher runs, which was judged as a whole. @whole: its verdict, or NULL. */
void bt_audit_part(const struct bt_attached *at, const enum bt_verdict *whole,
		   struct bt_audit_result *res);

#endif
