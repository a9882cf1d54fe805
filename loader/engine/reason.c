// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/reason.h"

static const char *const names[__BIGTCP_TWIN_WHY_MAX] = {
	[BIGTCP_TWIN_OK] = "ok",
	[BIGTCP_TWIN_BAD_INPUT] = "bad-input",
	[BIGTCP_TWIN_PROG_TYPE] = "prog-type",
	[BIGTCP_TWIN_HELPER] = "helper",
	[BIGTCP_TWIN_HELPER_UNKNOWN] = "helper-unknown",
	[BIGTCP_TWIN_KFUNC] = "kfunc",
	[BIGTCP_TWIN_KFUNC_UNKNOWN] = "kfunc-unknown",
	[BIGTCP_TWIN_KFUNC_MISSING] = "kfunc-missing",
	[BIGTCP_TWIN_FIELD] = "field",
	[BIGTCP_TWIN_AMBIGUOUS] = "ambiguous",
	[BIGTCP_TWIN_NO_ROOM] = "no-room",
	[BIGTCP_TWIN_TOO_LARGE] = "too-large",
	[BIGTCP_TWIN_INSN] = "insn",
	[BIGTCP_TWIN_OFFSET] = "offset",
};

const char *bigtcp_twin_why_name(enum bigtcp_twin_why why)
{
	if ((unsigned int)why >= __BIGTCP_TWIN_WHY_MAX)
		return "unknown";
	return names[why];
}

int reason_set(struct bigtcp_twin_reason *r, enum bigtcp_twin_why why, __u32 insn, __s32 id,
	       const char *name, const char *fmt, ...)
{
	va_list ap;

	if (r) {
		memset(r, 0, sizeof(*r));
		r->why = why;
		r->insn = insn;
		r->id = id;
		snprintf(r->name, sizeof(r->name), "%s", name ? name : "");
		va_start(ap, fmt);
		vsnprintf(r->text, sizeof(r->text), fmt, ap);
		va_end(ap);
	}
	return why == BIGTCP_TWIN_BAD_INPUT ? -EINVAL : -ENOTSUP;
}
