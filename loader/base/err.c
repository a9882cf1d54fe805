// SPDX-License-Identifier: GPL-2.0
/* The sentence for the user, notes, and libbpf's log behind -v. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "base/err.h"
#include "base/progress.h"

int bt_verbose;

static char sentence[2048];

int bt_err(int err, const char *fmt, ...)
{
	va_list ap;

	if (sentence[0])
		return err;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	return err;
}

const char *bt_err_text(void)
{
	return sentence[0] ? sentence : NULL;
}

void bt_err_clear(void)
{
	sentence[0] = '\0';
}

void bt_note(const char *fmt, ...)
{
	va_list ap;

	bt_progress_end();
	/* Notes and results share a terminal: keep the order in which they were said. */
	fflush(stdout);
	fputs("bigtcp: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static int libbpf_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (!bt_verbose || (level == LIBBPF_DEBUG && bt_verbose < 2))
		return 0;
	return vfprintf(stderr, fmt, ap);
}

void bt_err_init(void)
{
	libbpf_set_print(libbpf_log);
}
