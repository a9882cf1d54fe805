/* SPDX-License-Identifier: GPL-2.0 */
/* func_info, line_info and CO-RE relocations of the twin, for both paths. */
#ifndef ENGINE_INFO_H
#define ENGINE_INFO_H

#include "engine/rewrite.h"

/* Fills the info arrays of @out; on failure @out has none of them. -EINVAL with a reason, -ENOMEM. */
int info_make(struct rewrite *w, const struct bigtcp_twin_prog *in, struct bigtcp_twin *out,
	      struct bigtcp_twin_reason *why);

#endif
