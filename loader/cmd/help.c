// SPDX-License-Identifier: GPL-2.0
/* Help, made from the command table, as text and as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"

static void json_opts(const char *key, const struct bt_opt *opts)
{
	bt_arr_open(key);
	for (; opts && opts->name; opts++) {
		char letter[2] = { (char)opts->val, '\0' };

		bt_obj_open(NULL);
		bt_print_str("name", NULL, opts->name);
		bt_print_str("letter", NULL, opts->val < 256 ? letter : NULL);
		bt_print_str("arg", NULL, opts->arg);
		bt_print_str("help", NULL, opts->help);
		bt_obj_close();
	}
	bt_arr_close();
}

static void json_cmd(const struct bt_cmd *cmd)
{
	bt_obj_open(NULL);
	bt_print_str("name", NULL, cmd->name);
	bt_print_str("args", NULL, cmd->args);
	bt_print_str("help", NULL, cmd->help);
	bt_print_str("notes", NULL, cmd->notes);
	json_opts("options", cmd->opts);
	bt_obj_close();
}

static void json_help(const struct bt_cmd *cmd)
{
	if (cmd) {
		json_cmd(cmd);
		return;
	}
	bt_obj_open(NULL);
	bt_arr_open("commands");
	for (cmd = bt_cmds; cmd->name; cmd++)
		json_cmd(cmd);
	bt_arr_close();
	json_opts("options", bt_global_opts);
	bt_obj_close();
}

#define SCREEN 80

/* Text from column at on, broken between words; further lines start at that column too. */
static void text_wrapped(int at, const char *words)
{
	int col = at;

	while (*words) {
		int len = (int)strcspn(words, " ");

		if (col > at && col + 1 + len > SCREEN) {
			bt_text("\n%*s", at, "");
			col = at;
		}
		bt_text("%s%.*s", col > at ? " " : "", len, words);
		col += len + (col > at);
		words += len;
		words += strspn(words, " ");
	}
	bt_text("\n");
}

/* The help goes below a left side that is too long for its column. */
static void text_opts(const struct bt_opt *opts)
{
	char left[80];

	for (; opts->name; opts++) {
		int n = opts->val < 256 ? snprintf(left, sizeof(left), "-%c, ", opts->val)
					: snprintf(left, sizeof(left), "    ");

		snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", opts->name,
			 opts->arg ? " " : "", opts->arg ? opts->arg : "");
		if (strlen(left) > 22)
			bt_text("  %s\n%26s", left, "");
		else
			bt_text("  %-22s  ", left);
		text_wrapped(26, opts->help);
	}
}

/* Lines, each broken between words; those behind the first are items of a list. */
static void text_notes(const char *notes)
{
	char line[1024];
	bool item = false;

	for (; *notes; item = true) {
		size_t n = strcspn(notes, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, notes);
		if (item)
			bt_text("  ");
		text_wrapped(item ? 2 : 0, line);
		notes += n + (notes[n] == '\n');
	}
}

static void text_cmd(const struct bt_cmd *cmd)
{
	bool has_opts = cmd->opts && cmd->opts->name;

	bt_text("Usage: bigtcp %s%s%s%s\n\n", cmd->name, has_opts ? " [OPTIONS]" : "",
		cmd->args[0] ? " " : "", cmd->args);
	text_wrapped(0, cmd->help);
	if (has_opts) {
		bt_text("\nOptions:\n");
		text_opts(cmd->opts);
	}
	bt_text("\nOptions of every command:\n");
	text_opts(bt_global_opts);
	if (cmd->notes) {
		bt_text("\n");
		text_notes(cmd->notes);
	}
}

static void text_tool(void)
{
	bt_text("Usage: bigtcp [OPTIONS] COMMAND ...\n\n"
		"Makes BIG TCP (packets above 64 KiB) safe for the eBPF programs of a host.\n\n"
		"Commands:\n");
	for (const struct bt_cmd *c = bt_cmds; c->name; c++) {
		bt_text("  %-9s ", c->name);
		text_wrapped(12, c->help);
	}
	bt_text("\nOptions, before or after the command:\n");
	text_opts(bt_global_opts);
	bt_text("\nExit status: 0 done, 1 wrong usage, 2 the system refused, 3 checked and unsafe.\n"
		"'bigtcp COMMAND --help' shows a command's own options.\n");
}

void bt_help(const struct bt_cmd *cmd)
{
	if (bt_print_json())
		json_help(cmd);
	else if (cmd)
		text_cmd(cmd);
	else
		text_tool();
}

int cmd_help(int argc, char **argv)
{
	const struct bt_cmd *cmd = NULL;

	if (argc > 2)
		return bt_usage(bt_cmd_find(argv[0]), "one command at most");
	if (argc == 2) {
		cmd = bt_cmd_find(argv[1]);
		if (!cmd)
			return bt_err(BT_EXIT_USAGE, "no command '%s': 'bigtcp help' lists them",
				      argv[1]);
	}
	bt_help(cmd);
	return BT_EXIT_OK;
}
