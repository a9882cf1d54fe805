/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by audit.c (what is audited) and audit_print.c (the report). */
#ifndef CMD_AUDIT_H
#define CMD_AUDIT_H

#include "core/audit.h"
#include "core/hooks.h"
#include "core/xdp_notes.h"

#define FLOWS_MAX 32
#define FILLS_MAX 64

struct audit_args {
	const char *dev, *obj, *prog, *setup;
	__u32 prog_id;
	bool no_run, allow_unknown;
	struct bt_flow flows[FLOWS_MAX];
	unsigned int n_flows;
	struct bt_audit_fill fills[FILLS_MAX];
	unsigned int n_fills;
};

/* One row of the report. */
struct audit_row {
	struct bt_attached at;
	struct bt_audit_result res;
};

struct audit_report {
	struct audit_row *rows;
	unsigned int n, cap;
	struct bt_xdp_note *notes;
	unsigned int n_notes;
	const struct audit_args *args;
	int err;
};

void audit_print(const struct audit_report *r);

#endif
