/* SPDX-License-Identifier: GPL-2.0 */
/* From what the kernel says about a failed load to what a user wants to read. */
#ifndef CORE_VLOG_H
#define CORE_VLOG_H

#include <stddef.h>

/*
 * Copies the last informative lines of a verifier log of @len bytes into @out: its statistics and
 * blank lines are left out, at most BT_VLOG_LINES whole lines are kept (a line longer than @outlen loses its end).
 * The result has no newline at its end; it may be "".
 */
#define BT_VLOG_LINES 12
void bt_vlog_tail(const char *log, size_t len, char *out, size_t outlen);

/* The last line of what bt_vlog_tail() gave: where verifiers put the cause. */
const char *bt_vlog_cause(const char *tail);

/* Why BPF_PROG_LOAD or BPF_MAP_CREATE of a tc program fails with EPERM here: names the
 * capability this process lacks, or what else can be behind it. One sentence without a full stop.
 */
void bt_eperm_text(char *buf, size_t len);

#endif
