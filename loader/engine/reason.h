/* SPDX-License-Identifier: GPL-2.0 */
/* The structured reason why there is no twin. */
#ifndef ENGINE_REASON_H
#define ENGINE_REASON_H

#include <bigtcp/twin.h>

/* Fills @r (may be NULL) and returns the -errno that belongs to @why: -ENOTSUP for a named
 * refusal, -EINVAL for bad input.
 */
int reason_set(struct bigtcp_twin_reason *r, enum bigtcp_twin_why why, __u32 insn, __s32 id,
	       const char *name, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

#endif
