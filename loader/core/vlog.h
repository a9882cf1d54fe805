/* SPDX-License-Identifier: GPL-2.0 */
/* From what the kernel says about a failed load to what a user wants to read. */
#ifndef CORE_VLOG_H
#define CORE_VLOG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies the last informative lines of a verifier log of @len bytes into @out: its statistics and
 * blank lines are left out, at most BT_VLOG_LINES whole lines are kept (a line longer than @outlen loses its end).
 * The result has no newline at its end; it may be "".
 */
#define BT_VLOG_LINES 12
void bt_vlog_tail(const char *log, size_t len, char *out, size_t outlen);

/* The line of what bt_vlog_tail() gave that tells the cause, which is the last one but for dumps of
 * states; "" if there is none.
 */
void bt_vlog_cause(const char *tail, char *buf, size_t len);

/* Does this process lack CAP_PERFMON? Then the verifier also walks the paths that a processor only
 * speculates on, and refuses what would be fine otherwise.
 */
bool bt_lacks_perfmon(void);

/* Why BPF_PROG_LOAD or BPF_MAP_CREATE of a tc program fails with EPERM here: names the
 * capability this process lacks, or what else can be behind it. One sentence without a full stop.
 */
void bt_eperm_text(char *buf, size_t len);

#endif
