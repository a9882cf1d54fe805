// SPDX-License-Identifier: GPL-2.0
/* One line on a terminal, written over again and again. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

#define EVERY_MS 50
#define ERASE	 "\r\033[K" /* to the line's start; erase what is behind (ECMA-48) */

static struct {
	bool on, drawn;
	uint64_t at_ms; /* of the last drawing */
} line;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void bt_progress_init(bool on)
{
	const char *term = getenv("TERM");

	line.drawn = false;
	line.on = on && term && term[0] && strcmp(term, "dumb") && isatty(STDERR_FILENO);
}

/* A shell's job in the background would write into what its user types. */
static bool in_background(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front != -1 && front != getpgrp();
}

/* One column is left free: a terminal may go to the next line when its last one is written. */
static size_t columns(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) || ws.ws_col < 2)
		return 79;
	return ws.ws_col - 1U;
}

void bt_progress(const char *what, unsigned int done, unsigned int total, const char *name)
{
	char text[256], of[16] = "";
	uint64_t now;

	if (!line.on)
		return;
	now = now_ms();
	if ((line.drawn && now - line.at_ms < EVERY_MS) || in_background())
		return;
	if (total)
		snprintf(of, sizeof(of), " of %u", total);
	snprintf(text, sizeof(text), "%s: %u%s%s%s", what, done, of, name && name[0] ? ", " : "",
		 name ? name : "");
	/* A name is somebody else's text: nothing in it may drive the terminal. */
	for (char *c = text; *c; c++)
		*c = isascii(*c) && isprint(*c) ? *c : '?';
	fflush(stdout);
	fprintf(stderr, ERASE "%.*s", (int)columns(), text);
	fflush(stderr);
	line.drawn = true;
	line.at_ms = now;
}

void bt_progress_end(void)
{
	if (!line.drawn)
		return;
	line.drawn = false;
	fputs(ERASE, stderr);
	fflush(stderr);
}
