// SPDX-License-Identifier: GPL-2.0
/* bigtcp metrics: what Prometheus wants to know, as text. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "core/metrics.h"

enum { OPT_TEXTFILE = 256, OPT_LIST };

const struct bt_opt metrics_opts[] = {
	{ "textfile", OPT_TEXTFILE, "FILE",
	  "into this file, which is replaced as a whole, for node_exporter's textfile collector" },
	{ "list", OPT_LIST, NULL, "the names, types, labels and meanings of all metrics" },
	{ NULL },
};

const char metrics_notes[] =
	"Prints the text format 0.0.4: the sizes of the devices of this network namespace, and the counters of observers, "
	"guards and twins. bigtcpd serves the same and what it knows of its own work at its socket. FILE is made "
	"beside and renamed, so that nobody reads half of it: run it by a timer, as in 'bigtcp metrics --textfile "
	"/var/lib/prometheus/node-exporter/bigtcp.prom'.";

static const struct bt_column columns[] = {
	{ "name", "METRIC" },
	{ "type", "TYPE" },
	{ "labels", "LABELS" },
	{ "help", NULL },
};

static int list(void)
{
	struct bt_table *t;

	bt_arr_open(NULL);
	t = bt_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < __BT_METRIC_MAX; i++) {
		bt_row(t);
		bt_cell_str(t, "name", bt_metrics[i].name);
		bt_cell_str(t, "type", bt_metrics[i].type);
		bt_cell_str(t, "labels", bt_metrics[i].labels);
		bt_cell_str(t, "help", bt_metrics[i].help);
	}
	bt_table_end(t);
	bt_arr_close();
	return BT_EXIT_OK;
}

static int print(const struct bt_samples *s, const char *textfile)
{
	int err;

	if (textfile && !bt_global.dry_run)
		return bt_samples_textfile(s, textfile);
	if (textfile)
		return 0;
	err = bt_samples_write(s, stdout);
	return err ? bt_err(err, "cannot write the metrics: %s", strerror(-err)) : 0;
}

int cmd_metrics(int argc, char **argv)
{
	struct bt_samples *s __cleanup(bt_samples_free) = NULL;
	const struct bt_cmd *cmd = bt_cmd_find(argv[0]);
	const char *textfile = NULL;
	bool names = false;
	int c, err;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c == OPT_TEXTFILE)
			textfile = optarg;
		else if (c == OPT_LIST)
			names = true;
		else
			return BT_EXIT_USAGE;
	}
	if (optind < argc)
		return bt_usage(cmd, "no word '%s'", argv[optind]);
	if (names)
		return list();
	if (bt_print_json() && !textfile)
		return bt_usage(cmd, "metrics are no JSON; --list -j is");
	s = bt_samples_new();
	if (!s)
		return bt_err(BT_EXIT_REFUSED, "out of memory");
	/* What could be read is printed also when something could not. */
	err = bt_samples_collect(s);
	return print(s, textfile) || err ? BT_EXIT_REFUSED : BT_EXIT_OK;
}
