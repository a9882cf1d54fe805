// SPDX-License-Identifier: GPL-2.0
/* What only a terminal sees: colours in tables, and the line of progress. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/colour.h"
#include "base/err.h"
#include "base/print.h"
#include "base/progress.h"
#include "core/audit_model.h"

static const struct bt_column cols[] = {
	{ "dev", "DEV" },
	{ "verdict", "VERDICT", true },
	{ "why", "WHY" },
};

static FILE *real_stdout;
static char *got;
static size_t got_len;

static void start(enum bt_print_mode mode, bool colour)
{
	setenv("COLUMNS", "80", 1);
	real_stdout = stdout;
	stdout = open_memstream(&got, &got_len);
	bt_print_start(mode);
	bt_print_colour(colour);
}

static const char *finish(void)
{
	cr_assert_eq(bt_print_end(), 0);
	fclose(stdout);
	stdout = real_stdout;
	return got;
}

static void table(const char *why)
{
	struct bt_table *t = bt_table_new(cols, 3);
	static const char *const verdicts[] = { "safe", "drops", "warning", "unknown", "plain" };

	bt_arr_open(NULL);
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		bt_row(t);
		bt_cell_str(t, "dev", "safe"); /* no answer, and not coloured */
		bt_cell_str(t, "verdict", verdicts[i]);
		bt_cell_str(t, "why", why);
	}
	bt_table_end(t);
	bt_arr_close();
}

/* Takes the escape sequences out of a string, in place. */
static void strip(char *s)
{
	char *to = s;

	while (*s) {
		if (*s == '\033')
			s += strcspn(s, "m") + 1;
		else
			*to++ = *s++;
	}
	*to = '\0';
}

Test(terminal, answers_are_coloured)
{
	start(BT_PRINT_TEXT, true);
	table("x");
	cr_assert_str_eq(finish(), "DEV   VERDICT  WHY\n"
				   "safe  \033[32msafe\033[0m     x\n"
				   "safe  \033[31mdrops\033[0m    x\n"
				   "safe  \033[33mwarning\033[0m  x\n"
				   "safe  \033[35munknown\033[0m  x\n"
				   "safe  plain    x\n");
}

Test(terminal, without_a_terminal_there_is_no_colour)
{
	start(BT_PRINT_TEXT, false);
	table("x");
	cr_assert_null(strchr(finish(), '\033'));
}

Test(terminal, json_is_never_coloured)
{
	start(BT_PRINT_JSON, true);
	table("x");
	cr_assert_null(strchr(finish(), '\033'));
}

/* The same lines with and without colours, whatever has to be broken. */
Test(terminal, colours_do_not_move_columns)
{
	static const char why[] = "a reason that is longer than what a line has room for, so that "
				  "it goes over several of them";
	char *plain;

	start(BT_PRINT_TEXT, false);
	table(why);
	finish();
	plain = got;
	start(BT_PRINT_TEXT, true);
	table(why);
	finish();
	cr_assert_str_neq(plain, got);
	strip(got);
	cr_assert_str_eq(plain, got);
	free(plain);
}

Test(terminal, the_first_word_has_the_colour)
{
	cr_assert_str_eq(bt_colour_of("drops"), bt_colour_of("drops: all of it"));
	cr_assert_str_eq(bt_colour_of("twin"), bt_colour_of("twin, by addressing"));
	cr_assert_null(bt_colour_of("dropsy"));
	cr_assert_null(bt_colour_of("drop"));
	cr_assert_null(bt_colour_of(""));
	cr_assert_null(bt_colour_of("-"));
}

/* A verdict that is new must get a colour too. */
Test(terminal, every_verdict_has_a_colour)
{
	for (int v = BT_VERDICT_SAFE; v <= BT_VERDICT_CORRUPTS; v++)
		cr_assert_not_null(bt_colour_of(bt_verdict_name(v)), "%s", bt_verdict_name(v));
}

/* --- lines of 80 columns ---------------------------------------------------- */

static unsigned int longest_line(char *text)
{
	unsigned int max = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		max = strlen(line) > max ? strlen(line) : max;
	return max;
}

static const struct bt_column many[] = {
	{ "a", "DEVICE" },  { "b", "NAMESPACE" }, { "c", "STATE", true }, { "d", "GSO" },
	{ "e", "GRO" },	    { "f", "GSO4" },	  { "g", "GRO4" },	  { "h", "POLICY" },
	{ "i", "PROGRAM" }, { "j", "WHY" },	  { "k", "ADVICE" },
};

static void wide_table(void)
{
	struct bt_table *t = bt_table_new(many, sizeof(many) / sizeof(many[0]));
	static const char *const text[] = { "a", "b", "c", "h", "i", "j", "k" };
	static const char *const num[] = { "d", "e", "f", "g" };

	bt_row(t);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		bt_cell_str(t, text[i], "corrupts-everything and more than that");
	for (size_t i = 0; i < sizeof(num) / sizeof(num[0]); i++)
		bt_cell_uint(t, num[i], 185000);
	bt_table_end(t);
}

Test(terminal, many_columns_fit_80)
{
	start(BT_PRINT_TEXT, false);
	wide_table();
	finish();
	/* What is left for text is little, but numbers are whole. */
	cr_assert_not_null(strstr(got, "185000  185000  185000  185000"), "%s", got);
	cr_assert_leq(longest_line(got), 80);
}

Test(terminal, no_terminal_is_80_columns_wide)
{
	start(BT_PRINT_TEXT, false);
	setenv("COLUMNS", "200", 1);
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	wide_table();
	cr_assert_leq(longest_line((char *)finish()), 80);
}

Test(terminal, words_are_kept_whole_while_there_is_room)
{
	struct bt_table *t;

	start(BT_PRINT_TEXT, false);
	t = bt_table_new(cols, 3);
	bt_row(t);
	bt_cell_str(t, "dev", "interface-one");
	bt_cell_str(t, "verdict", "hands-off");
	bt_cell_str(t, "why",
		    "words enough for several lines, which is what is broken here, and "
		    "nothing else");
	bt_table_end(t);
	finish();
	cr_assert_not_null(strstr(got, "interface-one  hands-off  words enough"), "%s", got);
}

Test(terminal, control_characters_of_utf8_do_not_reach_it)
{
	struct bt_table *t;

	start(BT_PRINT_TEXT, false);
	t = bt_table_new(cols, 3);
	bt_row(t);
	bt_cell_str(t, "dev", "a\302\233b\302\251");
	bt_table_end(t);
	cr_assert_not_null(strstr(finish(), "a?b\302\251"), "%s", got);
	cr_assert_null(strstr(got, "\302\233"));
}

/* --- progress ------------------------------------------------------------------ */

static int master;

/* stderr becomes a terminal of @cols columns. */
static void terminal(unsigned short columns)
{
	struct winsize ws = { .ws_row = 24, .ws_col = columns };
	int slave;

	cr_assert_eq(openpty(&master, &slave, NULL, NULL, &ws), 0);
	dup2(slave, STDERR_FILENO);
	setenv("TERM", "xterm", 1);
}

static const char *shown(void)
{
	static char buf[4096];
	struct pollfd p = { .fd = master, .events = POLLIN };
	size_t n = 0;
	ssize_t len;

	while (n < sizeof(buf) - 1 && poll(&p, 1, 100) > 0) {
		len = read(master, buf + n, sizeof(buf) - 1 - n);
		if (len <= 0)
			break;
		n += (size_t)len;
	}
	buf[n] = '\0';
	return buf;
}

Test(progress, a_line_that_goes_away)
{
	terminal(80);
	bt_progress_init(true);
	bt_progress("programs audited", 3, 12, "eth0");
	cr_assert_str_eq(shown(), "\r\033[Kprograms audited: 3 of 12, eth0");
	bt_progress_end();
	bt_progress_end();
	cr_assert_str_eq(shown(), "\r\033[K");
}

Test(progress, a_note_takes_it_away)
{
	terminal(80);
	bt_progress_init(true);
	bt_progress("x", 1, 0, NULL);
	bt_note("said");
	cr_assert_str_eq(shown(), "\r\033[Kx: 1\r\033[Kbigtcp: said\r\n");
}

Test(progress, what_is_printed_takes_it_away)
{
	terminal(80);
	start(BT_PRINT_TEXT, false);
	bt_progress_init(true);
	bt_progress("x", 1, 0, NULL);
	table("y");
	bt_progress("x", 2, 0, NULL);
	bt_text("z");
	finish();
	cr_assert_str_eq(shown(), "\r\033[Kx: 1\r\033[K\r\033[Kx: 2\r\033[K");
}

Test(progress, it_fits_the_terminal)
{
	terminal(20);
	bt_progress_init(true);
	bt_progress("programs audited", 3, 12, "a name that is long");
	cr_assert_str_eq(shown(), "\r\033[Kprograms audited: 3");
}

Test(progress, a_name_does_not_drive_the_terminal)
{
	terminal(80);
	bt_progress_init(true);
	bt_progress("x", 1, 2, "\033[2J\302\233");
	cr_assert_str_eq(shown(), "\r\033[Kx: 1 of 2, ?[2J??");
}

/* A thousand steps at once are not a thousand lines. */
Test(progress, it_is_not_drawn_all_the_time)
{
	unsigned int lines = 0;

	terminal(80);
	bt_progress_init(true);
	for (unsigned int i = 0; i < 1000; i++)
		bt_progress("x", i, 1000, NULL);
	for (const char *s = shown(); (s = strchr(s, '\r')); s++)
		lines++;
	cr_assert(lines > 0 && lines < 200, "%u", lines);
}

Test(progress, not_where_a_line_cannot_be_erased)
{
	terminal(80);
	setenv("TERM", "dumb", 1);
	bt_progress_init(true);
	bt_progress("x", 1, 2, NULL);
	bt_progress_end();
	cr_assert_str_eq(shown(), "");
	cr_assert(!bt_colour_wanted(STDERR_FILENO));
}

Test(progress, not_unless_asked_for)
{
	terminal(80);
	bt_progress("x", 1, 2, NULL);
	bt_progress_end();
	cr_assert_str_eq(shown(), "");
}

Test(progress, colours_are_for_terminals_of_users_who_want_them)
{
	terminal(80);
	unsetenv("NO_COLOR");
	cr_assert(bt_colour_wanted(STDERR_FILENO));
	setenv("NO_COLOR", "", 1);
	cr_assert(bt_colour_wanted(STDERR_FILENO));
	setenv("NO_COLOR", "1", 1);
	cr_assert(!bt_colour_wanted(STDERR_FILENO));
	unsetenv("NO_COLOR");
	cr_assert(!bt_colour_wanted(open("/dev/null", O_WRONLY)));
	unsetenv("TERM");
	cr_assert(!bt_colour_wanted(STDERR_FILENO));
}
