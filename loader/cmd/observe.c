// SPDX-License-Identifier: GPL-2.0
/* bigtcp observe: jumbo packets counted at a device, for as long as it is there. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "core/observe.h"

enum { OPT_OFF = 256, OPT_SHOW };

const struct bt_opt observe_opts[] = {
	{ "show", OPT_SHOW, NULL,
	  "what has been counted at a device, or at all (default without DEV)" },
	{ "off", OPT_OFF, NULL, "take it off; what it has counted is gone" },
	{ NULL },
};

const char observe_notes[] =
	"Counts at tc ingress and egress of DEV, before other programs, and decides nothing. It stays when "
	"the command ends, and counts on while bigtcp is upgraded. FIRST no: a program that was attached "
	"later runs before it, and packets which that one decides on are not counted. LARGEST and bytes are with the "
	"link-layer header. 'bigtcp metrics' gives the counters to Prometheus.";

struct args {
	const char *dev;
	bool off, show;
};

static int parse(int argc, char **argv, struct args *a)
{
	const struct bt_cmd *cmd = bt_cmd_find(argv[0]);
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c == OPT_OFF)
			a->off = true;
		else if (c == OPT_SHOW)
			a->show = true;
		else
			return BT_EXIT_USAGE;
	}
	if (argc - optind > 1)
		return bt_usage(cmd, "observe wants one device");
	a->dev = argc > optind ? argv[optind] : NULL;
	if (a->off && a->show)
		return bt_usage(cmd, "one of --off and --show");
	if (a->off && !a->dev)
		return bt_usage(cmd, "--off wants a device");
	return 0;
}

static const struct bt_column columns[] = {
	{ "dev", "DEVICE" },
	{ "ifindex", NULL },
	{ "hook", "HOOK" },
	{ "prog_id", NULL },
	{ "first", "FIRST" },
	{ "packets", "PACKETS" },
	{ "bytes", NULL },
	{ "jumbo", "JUMBO" },
	{ "jumbo_bytes", "JUMBO BYTES" },
	{ "jumbo_hbh", NULL },
	{ "jumbo_len0", NULL },
	{ "jumbo_ipv4", NULL },
	{ "jumbo_hbh_bytes", NULL },
	{ "jumbo_len0_bytes", NULL },
	{ "jumbo_ipv4_bytes", NULL },
	{ "malformed", "MALFORMED" },
	{ "unread", NULL },
	{ "max_len", "LARGEST" },
};

static void print_counters(struct bt_table *t, const struct observe_stats *s)
{
	bt_cell_uint(t, "packets", s->packets);
	bt_cell_uint(t, "bytes", s->bytes);
	bt_cell_uint(t, "jumbo", s->jumbo_hbh + s->jumbo_len0 + s->jumbo_ipv4);
	bt_cell_uint(t, "jumbo_bytes",
		     s->jumbo_hbh_bytes + s->jumbo_len0_bytes + s->jumbo_ipv4_bytes);
	bt_cell_uint(t, "jumbo_hbh", s->jumbo_hbh);
	bt_cell_uint(t, "jumbo_len0", s->jumbo_len0);
	bt_cell_uint(t, "jumbo_ipv4", s->jumbo_ipv4);
	bt_cell_uint(t, "jumbo_hbh_bytes", s->jumbo_hbh_bytes);
	bt_cell_uint(t, "jumbo_len0_bytes", s->jumbo_len0_bytes);
	bt_cell_uint(t, "jumbo_ipv4_bytes", s->jumbo_ipv4_bytes);
	bt_cell_uint(t, "malformed", s->malformed);
	bt_cell_uint(t, "unread", s->unread);
	bt_cell_uint(t, "max_len", s->max_len);
}

static void print_list(const struct bt_observe *list, unsigned int n)
{
	struct bt_table *t;

	bt_arr_open("observers");
	t = bt_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned int i = 0; i < n; i++) {
		bt_row(t);
		bt_cell_str(t, "dev", list[i].dev);
		bt_cell_uint(t, "ifindex", (uint64_t)list[i].ifindex);
		bt_cell_str(t, "hook", bt_hook_name(list[i].hook));
		bt_cell_uint(t, "prog_id", list[i].prog_id);
		bt_cell_bool(t, "first", list[i].first);
		if (list[i].read)
			print_counters(t, &list[i].stats);
	}
	bt_table_end(t);
	bt_arr_close();
}

static int show(const struct args *a)
{
	struct bt_observe *list;
	unsigned int n;

	if (bt_observe_list(a->dev, &list, &n))
		return BT_EXIT_REFUSED;
	if (!n && a->show)
		return bt_err(BT_EXIT_REFUSED,
			      "nothing is observed at %s: 'bigtcp observe %s' starts it",
			      a->dev ? a->dev : "any device here", a->dev ? a->dev : "DEV");
	bt_obj_open(NULL);
	if (!n)
		bt_text("nothing is observed: 'bigtcp observe DEV' starts it\n");
	print_list(list, n);
	bt_obj_close();
	free(list);
	return BT_EXIT_OK;
}

/* What a line with --dry-run or without an option that only looks did, or would do. */
static int say(const struct args *a, const char *done, bool changed)
{
	struct bt_observe *list;
	unsigned int n;

	if (bt_observe_list(a->dev, &list, &n))
		return BT_EXIT_REFUSED;
	if (bt_global.dry_run)
		changed = a->off ? n > 0 : n < 2;
	bt_obj_open(NULL);
	bt_print_str("dev", "%s: ", a->dev);
	if (changed)
		bt_text("%s%s\n", bt_global.dry_run ? "would be " : "", done);
	else
		bt_text("%s already\n", done);
	bt_print_bool("changed", NULL, changed);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	print_list(list, n);
	bt_obj_close();
	free(list);
	return BT_EXIT_OK;
}

static int off(const struct args *a)
{
	struct bt_observe *list;
	unsigned int n;

	if (bt_observe_list(a->dev, &list, &n))
		return BT_EXIT_REFUSED;
	free(list);
	if (!bt_global.dry_run && bt_observe_off(a->dev))
		return BT_EXIT_REFUSED;
	return say(a, "taken off", n > 0);
}

static int on(const struct args *a)
{
	bool changed = false;

	if (!bt_global.dry_run && bt_observe_on(a->dev, &changed))
		return BT_EXIT_REFUSED;
	return say(a, "observed", changed);
}

int cmd_observe(int argc, char **argv)
{
	struct args a = { NULL };
	int ret = parse(argc, argv, &a);

	if (ret)
		return ret;
	if (a.off)
		return off(&a);
	return a.show || !a.dev ? show(&a) : on(&a);
}
