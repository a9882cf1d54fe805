// SPDX-License-Identifier: GPL-2.0
/* Which words have a colour: green is well, yellow wants to be looked at, red is broken, magenta not known. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/colour.h"

#define GREEN	"\033[32m"
#define YELLOW	"\033[33m"
#define RED	"\033[31m"
#define MAGENTA "\033[35m"

static const struct {
	const char *word, *colour;
} words[] = {
	/* verdicts of an audit (core/audit_model.h) */
	{ "safe", GREEN },
	{ "twin", GREEN },
	{ "unknown", MAGENTA },
	{ "misreads", RED },
	{ "drops", RED },
	{ "bypasses", RED },
	{ "corrupts", RED },
	/* levels of a preflight */
	{ "ok", GREEN },
	{ "note", NULL },
	{ "warning", YELLOW },
	{ "refuse", RED },
	/* what became of a load, and of sizes */
	{ "refused", RED },
	{ "unsafe", RED },
	{ "failed", RED },
	{ "ours", GREEN },
	{ "changed", YELLOW },
	{ "hands-off", YELLOW },
};

bool bt_colour_wanted(int fd)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return (!no || !no[0]) && term && term[0] && strcmp(term, "dumb") && isatty(fd);
}

const char *bt_colour_of(const char *text)
{
	size_t len = strcspn(text, " ,;:(\n");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].word) == len && !memcmp(words[i].word, text, len))
			return words[i].colour;
	}
	return NULL;
}
