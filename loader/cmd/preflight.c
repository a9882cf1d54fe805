// SPDX-License-Identifier: GPL-2.0
/* bigtcp preflight: what to know before a device gets sizes above 64 KiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "base/print.h"
#include "cmd/checks.h"
#include "cmd/cmd.h"
#include "core/enable.h"
#include "core/preflight.h"

enum { OPT_SIZE = 256, OPT_ONLY_IPV4, OPT_ONLY_IPV6, OPT_ROOT };

const struct bt_opt preflight_opts[] = {
	{ "size", OPT_SIZE, "N|max",
	  "the size that is wanted, in bytes, or what the device takes (default: that of enable)" },
	{ "only-ipv6", OPT_ONLY_IPV6, NULL, "for IPv6 and not IPv4" },
	{ "only-ipv4", OPT_ONLY_IPV4, NULL, "for IPv4 and not IPv6" },
	{ "root", OPT_ROOT, "DIR",
	  "look for systemd's .link files, and the kernel's signature, below this directory" },
	{ NULL },
};

const char preflight_notes[] =
	"A row that refuses keeps 'bigtcp enable' from setting the sizes, unless it is forced to. "
	"Programs are run on a few packets with addresses of the documentation prefixes: their maps "
	"may count them.";

struct args {
	const char *dev, *root;
	__u32 size;
	bool only_ipv6, only_ipv4;
};

static int parse(int argc, char **argv, const struct bt_cmd *cmd, struct args *a)
{
	__u64 v;
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		switch (c) {
		case OPT_SIZE:
			if (!strcmp(optarg, "max"))
				v = BT_SIZE_MAX;
			else if (!bt_number(optarg, 0xffffffff, &v) || v <= BT_SIZE_LEGACY)
				return bt_usage(cmd, "'%s' is no size above %u", optarg,
						BT_SIZE_LEGACY);
			a->size = v;
			break;
		case OPT_ONLY_IPV6:
			a->only_ipv6 = true;
			break;
		case OPT_ONLY_IPV4:
			a->only_ipv4 = true;
			break;
		case OPT_ROOT:
			a->root = optarg;
			break;
		default:
			return BT_EXIT_USAGE;
		}
	}
	if (a->only_ipv4 && a->only_ipv6)
		return bt_usage(cmd, "--only-ipv4 and --only-ipv6 say the opposite");
	if (argc - optind != 1)
		return bt_usage(cmd, "wants one device");
	a->dev = argv[optind];
	return 0;
}

/* "FOUND: WHY; ADVICE" */
static void phrases(const struct bt_check *c, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s%s%s", c->found, c->why[0] ? ": " : "", c->why,
		 c->advice[0] ? "; " : "", c->advice);
}

static void print_json(const char *key, const struct bt_check *list, unsigned int n)
{
	bt_arr_open(key);
	for (unsigned int i = 0; i < n; i++) {
		const struct bt_check *c = &list[i];

		bt_obj_open(NULL);
		bt_print_str("code", NULL, c->code);
		bt_print_str("level", NULL, bt_level_name(c->level));
		bt_print_str("dev", NULL, c->dev[0] ? c->dev : NULL);
		if (c->ifindex)
			bt_print_int("ifindex", NULL, c->ifindex);
		bt_print_str("found", NULL, c->found);
		bt_print_str("why", NULL, c->why[0] ? c->why : NULL);
		bt_print_str("advice", NULL, c->advice[0] ? c->advice : NULL);
		bt_obj_close();
	}
	bt_arr_close();
}

static void print_table(const struct bt_check *list, unsigned int n)
{
	static const struct bt_column cols[] = {
		{ "code", "CHECK" },
		{ "level", "LEVEL", true },
		{ "dev", "DEV" },
		{ "found", "FOUND: WHY; WHAT TO DO" },
	};
	struct bt_table *t = bt_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	char text[1024];

	for (unsigned int i = 0; i < n; i++) {
		bt_row(t);
		bt_cell_str(t, "code", list[i].code);
		bt_cell_str(t, "level", bt_level_name(list[i].level));
		bt_cell_str(t, "dev", list[i].dev[0] ? list[i].dev : NULL);
		phrases(&list[i], text, sizeof(text));
		bt_cell_str(t, "found", text);
	}
	bt_table_end(t);
}

void print_checks(const char *key, const struct bt_check *list, unsigned int n)
{
	if (bt_print_json())
		print_json(key, list, n);
	else
		print_table(list, n);
}

int cmd_preflight(int argc, char **argv)
{
	struct bt_check *list __free = NULL;
	struct bt_preflight want = {};
	enum bt_level worst = BT_LEVEL_OK;
	struct args a = { .size = BT_SIZE_DEFAULT };
	struct bt_link link;
	unsigned int n = 0;
	int err;

	err = parse(argc, argv, bt_cmd_find(argv[0]), &a);
	if (err)
		return err;
	if (bt_link_get_name(a.dev, &link))
		return BT_EXIT_REFUSED;
	if (a.size == BT_SIZE_MAX)
		a.size = bt_size_max(&link) ? bt_size_max(&link) : BT_SIZE_LIMIT;
	want.size = a.only_ipv4 ? 0 : a.size;
	want.size_ipv4 = a.only_ipv6 || (!a.only_ipv4 && !link.sizes.gso_ipv4) ? 0 : a.size;
	want.root = a.root;
	if (bt_preflight(a.dev, &want, &list, &n))
		return BT_EXIT_REFUSED;
	print_checks(NULL, list, n);
	for (unsigned int i = 0; i < n; i++)
		worst = list[i].level > worst ? list[i].level : worst;
	return worst == BT_LEVEL_REFUSE ? BT_EXIT_UNSAFE : BT_EXIT_OK;
}
