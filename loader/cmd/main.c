// SPDX-License-Identifier: GPL-2.0
/* The edge: reads the line, runs the command, says its error, chooses the exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/colour.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/print.h"
#include "base/progress.h"
#include "cmd/cmd.h"

static int run(const struct bt_line *line)
{
	int err;

	if (line->help) {
		bt_help(line->cmd);
		return BT_EXIT_OK;
	}
	if (line->version)
		return cmd_version(0, NULL);
	if (!line->cmd) {
		if (bt_print_json())
			return bt_err(BT_EXIT_USAGE, "no command: 'bigtcp help' lists them");
		bt_help(NULL);
		return BT_EXIT_USAGE;
	}
	if (bt_global.netns) {
		err = bt_netns_enter(bt_global.netns);
		if (err)
			return bt_err(BT_EXIT_REFUSED,
				      "cannot enter the network namespace '%s': %s",
				      bt_global.netns, strerror(-err));
	}
	err = line->cmd->run(line->argc, line->argv);
	return err < 0 ? BT_EXIT_REFUSED : err;
}

int main(int argc, char **argv)
{
	struct bt_line line;
	int ret, err;

	bt_err_init();
	ret = bt_parse_line(argc, argv, &line);
	bt_verbose = line.verbose;
	bt_print_start(line.pretty ? BT_PRINT_PRETTY : line.json ? BT_PRINT_JSON : BT_PRINT_TEXT);
	bt_print_colour(bt_colour_wanted(STDOUT_FILENO));
	bt_progress_init(!line.json && !line.verbose);
	if (!ret)
		ret = run(&line);
	bt_progress_end();
	if (ret && bt_err_text())
		bt_print_error(bt_err_text());
	err = bt_print_end();
	if (err) {
		fprintf(stderr, "Error: cannot write to stdout: %s\n", strerror(-err));
		ret = ret ? ret : BT_EXIT_REFUSED;
	}
	free(line.argv);
	return ret;
}
