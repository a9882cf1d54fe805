// SPDX-License-Identifier: GPL-2.0
#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"

static void line(enum bt_prio prio, const char *who, const char *text)
{
	char prefix[8] = "";

	if (prio == BT_LOG_DEBUG && !bt_verbose)
		return;
	if (!isatty(STDERR_FILENO))
		snprintf(prefix, sizeof(prefix), "<%d>", prio);
	fprintf(stderr, "%s%s%s%s\n", prefix, who, *who ? ": " : "", text);
}

void bt_log(enum bt_prio prio, const char *fmt, ...)
{
	char text[2400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	line(prio, "", text);
}

/* FNV-1a; never 0. */
static __u64 hash(const char *s)
{
	__u64 h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return h ? h : 1;
}

void bt_log_once(struct bt_said *said, enum bt_prio prio, const char *who, const char *fmt, ...)
{
	char text[2400];
	va_list ap;
	__u64 h;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	h = hash(text);
	if (said->hash == h)
		return;
	said->hash = h;
	line(prio, who, text);
}
