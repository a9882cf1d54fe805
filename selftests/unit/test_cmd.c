// SPDX-License-Identifier: GPL-2.0
/* How command lines are read. The table's own commands are replaced: they need a kernel. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/table.c"

const struct bt_opt probe_opts[] = { { NULL } };
const struct bt_opt load_opts[] = { { NULL } };
const struct bt_opt attach_opts[] = { { NULL } };
const struct bt_opt detach_opts[] = { { NULL } };
const struct bt_opt guard_opts[] = { { NULL } };
const char guard_notes[] = "";
const struct bt_opt observe_opts[] = { { NULL } };
const char observe_notes[] = "";
const struct bt_opt metrics_opts[] = { { NULL } };
const char metrics_notes[] = "";
const struct bt_opt preflight_opts[] = { { NULL } };
const char preflight_notes[] = "";
const struct bt_opt xdp_opts[] = { { NULL } };
const struct bt_opt enable_opts[] = { { NULL } };
const char enable_notes[] = "";
const struct bt_opt disable_opts[] = { { NULL } };
const char disable_notes[] = "";
const struct bt_opt status_opts[] = { { NULL } };
const char status_notes[] = "";
const struct bt_opt audit_opts[] = {
	{ "obj", 'o', "FILE", "an argument and a letter" },
	{ "all", 'a', NULL, "a letter" },
	{ "no-run", 256, NULL, "no letter" },
	{ "refused", 257, "HOW", "no letter, an argument" },
	{ NULL },
};
const struct bt_opt exec_opts[] = {
	{ "report", 256, "FILE", "" },
	{ NULL },
};

#define STUB(name)                            \
	int cmd_##name(int argc, char **argv) \
	{                                     \
		(void)argc;                   \
		(void)argv;                   \
		return BT_EXIT_OK;            \
	}
STUB(help)
STUB(probe)
STUB(audit)
STUB(load)
STUB(attach)
STUB(detach)
STUB(observe)
STUB(metrics)
STUB(guard)
STUB(preflight)
STUB(exec)
STUB(xdp)
STUB(enable)
STUB(disable)
STUB(status)
STUB(version)

static struct bt_line line;
static char words[512];

/* Parses a line of words; what is left for the command comes back joined by blanks. */
static const char *parse(const char *text)
{
	static char copy[512];
	char *argv[32] = { "bigtcp" };
	int argc = 1;

	strcpy(copy, text);
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	free(line.argv);
	bt_err_clear();
	words[0] = '\0';
	if (bt_parse_line(argc, argv, &line))
		return NULL;
	for (int i = 0; i < line.argc; i++)
		sprintf(words + strlen(words), "%s%s", i ? " " : "", line.argv[i]);
	return words;
}

static void done(void)
{
	free(line.argv);
}

TestSuite(cmd, .fini = done);

Test(cmd, global_options_anywhere)
{
	cr_assert_str_eq(parse("-j -n blue audit --dry-run eth0 -vv"), "audit eth0");
	cr_assert(line.json && !line.pretty && line.verbose == 2 && bt_global.dry_run);
	cr_assert_str_eq(bt_global.netns, "blue");
	cr_assert_str_eq(line.cmd->name, "audit");

	cr_assert_str_eq(parse("audit eth0 --pretty --netns=red"), "audit eth0");
	cr_assert(line.json && line.pretty && !line.verbose && !bt_global.dry_run);
	cr_assert_str_eq(bt_global.netns, "red");
}

Test(cmd, own_options_are_handed_on)
{
	cr_assert_str_eq(parse("audit -jao f.o --no-run x --refused=fail"),
			 "audit -a -o f.o --no-run x --refused=fail");
	cr_assert(line.json);
	cr_assert_str_eq(parse("audit -of.o --refused plain -j"), "audit -o f.o --refused plain");
	/* An argument that looks like an option is still one. */
	cr_assert_str_eq(parse("audit -o -j"), "audit -o -j");
	cr_assert(!line.json);
	cr_assert_str_eq(parse("audit --no-r"), "audit --no-r");
}

Test(cmd, two_dashes_end_options)
{
	cr_assert_str_eq(parse("audit -j -- -n -j"), "audit -- -n -j");
	cr_assert(line.json);
	cr_assert_null(bt_global.netns);
}

Test(cmd, a_following_command_keeps_its_options)
{
	cr_assert_str_eq(parse("exec -j tc -j -n --dry-run"), "exec tc -j -n --dry-run");
	cr_assert(line.json && !bt_global.dry_run);
	cr_assert_str_eq(parse("exec --report r -- tc -j"), "exec --report r -- tc -j");
	cr_assert(!line.json);
	cr_assert_str_eq(parse("-v exec -- -odd -j"), "exec -- -odd -j");
	cr_assert(!line.json);
}

Test(cmd, help_and_version)
{
	cr_assert_str_eq(parse("audit --help"), "audit");
	cr_assert(line.help);
	cr_assert_str_eq(parse("-h"), "");
	cr_assert(line.help && !line.cmd);
	cr_assert_str_eq(parse("-V"), "");
	cr_assert(line.version);
	cr_assert_str_eq(parse(""), "");
	cr_assert_null(line.cmd);
}

static void refused(const char *text, const char *why)
{
	cr_assert_null(parse(text), "'%s' was taken", text);
	cr_assert_not_null(bt_err_text());
	cr_assert_not_null(strstr(bt_err_text(), why), "'%s' for '%s'", bt_err_text(), text);
}

Test(cmd, wrong_lines)
{
	refused("adit", "no command 'adit'");
	refused("audit --zzz", "no option '--zzz'");
	refused("audit -q", "no option '-q'");
	refused("--zzz", "no option '--zzz'");
	refused("audit --obj", "'--obj' wants an argument");
	refused("audit -n", "'--netns' wants an argument");
	refused("audit --all=3", "'--all' takes no argument");
	refused("exec --nope -- x", "no option '--nope'");
	refused("audit --zzz", "bigtcp audit --help");
}

Test(cmd, json_counts_after_an_error_too)
{
	refused("audit --zzz -j", "--zzz");
	cr_assert(line.json);
	refused("adit -j", "adit");
	cr_assert(line.json);
}

Test(cmd, getopt_of_a_command)
{
	const struct bt_cmd *cmd = bt_cmd_find("audit");

	parse("audit eth0 -o f.o --no-run eth1 --ref how -a");
	cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), 'o');
	cr_assert_str_eq(optarg, "f.o");
	cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), 256);
	cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), 257);
	cr_assert_str_eq(optarg, "how");
	cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), 'a');
	cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), -1);
	cr_assert_eq(line.argc - optind, 2);
	cr_assert_str_eq(line.argv[optind], "eth0");
	cr_assert_str_eq(line.argv[optind + 1], "eth1");
}

Test(cmd, getopt_stops_at_a_following_command)
{
	const struct bt_cmd *cmd = bt_cmd_find("exec");

	for (const char *const *text = (const char *const[]){ "exec --report r tc -x",
							      "exec --report r -- tc -x", NULL };
	     *text; text++) {
		parse(*text);
		cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), 256);
		cr_assert_eq(bt_getopt(line.argc, line.argv, cmd), -1);
		cr_assert_str_eq(line.argv[optind], "tc");
		cr_assert_str_eq(line.argv[optind + 1], "-x");
		cr_assert_eq(optind + 2, line.argc);
	}
}

Test(cmd, getopt_refuses)
{
	const struct bt_cmd *cmd = bt_cmd_find("audit");
	char *argv[] = { "audit", "eth0", "--json", "--obj", NULL };

	optind = 0;
	cr_assert_eq(bt_getopt(4, argv, cmd), '?');
	cr_assert_str_eq(bt_err_text(), "no option '--json': see 'bigtcp audit --help'");
	bt_err_clear();
	cr_assert_eq(bt_getopt(4, argv, cmd), '?');
	cr_assert_str_eq(bt_err_text(),
			 "option '--obj' wants an argument: see 'bigtcp audit --help'");
}

Test(cmd, usage_shows_the_synopsis)
{
	cr_assert_eq(bt_usage(bt_cmd_find("audit"), "no word '%s'", "x"), BT_EXIT_USAGE);
	cr_assert_str_eq(bt_err_text(), "no word 'x': bigtcp audit [OPTIONS] [DEV]; "
					"see 'bigtcp audit --help'");
}

/* Options of one name or letter would hide each other. */
Test(cmd, the_table_is_consistent)
{
	for (const struct bt_cmd *c = bt_cmds; c->name; c++) {
		cr_assert(c->args && c->help && c->run, "%s", c->name);
		cr_assert_eq(bt_cmd_find(c->name), c);
	}
	cr_assert_null(bt_cmd_find("nope"));
}
