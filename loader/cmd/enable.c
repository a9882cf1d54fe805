// SPDX-License-Identifier: GPL-2.0
/* bigtcp enable, bigtcp disable: BIG TCP's sizes of devices, all of them or none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "base/print.h"
#include "cmd/checks.h"
#include "cmd/cmd.h"
#include "cmd/sizes.h"
#include "core/enable.h"

enum { OPT_SIZE = 0x100, OPT_IPV4, OPT_ONLY_IPV6, OPT_FORCE };

const struct bt_opt enable_opts[] = {
	{ "size", OPT_SIZE, "N|max",
	  "the largest packet, in bytes (65537 to 524280), or what each device takes (default: 196608, or "
	  "less where a device takes less)" },
	{ "ipv4", OPT_IPV4, NULL,
	  "IPv4 too, or fail (default: IPv6, and IPv4 where the kernel has it)" },
	{ "only-ipv6", OPT_ONLY_IPV6, NULL, "IPv6 only: IPv4 stays as it was" },
	{ "force", OPT_FORCE, NULL, "go on where preflight refuses" },
	{ NULL },
};

const char enable_notes[] =
	"Preflight is asked first (see 'bigtcp preflight'): what speaks against it is shown, and a row "
	"with 'refuse' ends it with status 3. IPv6's sizes are set before IPv4's, read back, and if a step fails "
	"at any device every value of all devices is put back. What the sizes were is kept in the kernel until "
	"'bigtcp disable' puts it back. bigtcpd leaves alone what enable has set.";

const struct bt_opt disable_opts[] = {
	{ "force", OPT_FORCE, NULL, "also where somebody else has set other sizes since" },
	{ NULL },
};

const char disable_notes[] =
	"A device that bigtcp has set nothing of gets 65536 in each size above that. bigtcpd leaves the device "
	"alone until the next enable.";

struct args {
	struct bt_enable_opts o;
	char **devs;
	unsigned int n;
};

/* --- the line ---------------------------------------------------------------------------- */

static int parse_size(struct args *a, const char *arg)
{
	__u64 val;

	if (!strcmp(arg, "max")) {
		a->o.size = BT_SIZE_MAX;
		return 0;
	}
	if (!bt_number(arg, BT_SIZE_LIMIT, &val) || val <= BT_SIZE_LEGACY)
		return bt_err(BT_EXIT_USAGE,
			      "--size is a number of bytes from %u to %u, or max, not '%s'%s",
			      BT_SIZE_LEGACY + 1, BT_SIZE_LIMIT, arg,
			      !strcmp(arg, "65536") ? ": 'bigtcp disable' switches BIG TCP off"
						    : "");
	a->o.size = (__u32)val;
	return 0;
}

static int parse_one(struct args *a, int c)
{
	switch (c) {
	case OPT_SIZE:
		return parse_size(a, optarg);
	case OPT_IPV4:
		a->o.ipv4 = true;
		return 0;
	case OPT_ONLY_IPV6:
		a->o.only_ipv6 = true;
		return 0;
	case OPT_FORCE:
		a->o.force = true;
		return 0;
	default:
		return BT_EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct args *a)
{
	const struct bt_cmd *cmd = bt_cmd_find(argv[0]);
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (parse_one(a, c))
			return BT_EXIT_USAGE;
	}
	if (a->o.ipv4 && a->o.only_ipv6)
		return bt_usage(cmd, "--ipv4 and --only-ipv6 say the opposite");
	a->devs = argv + optind;
	a->n = (unsigned int)(argc - optind);
	if (!a->n)
		return bt_usage(cmd, "%s wants a device", cmd->name);
	for (unsigned int i = 1; i < a->n; i++) {
		for (unsigned int j = 0; j < i; j++) {
			if (!strcmp(a->devs[i], a->devs[j]))
				return bt_usage(cmd, "%s is named twice", a->devs[i]);
		}
	}
	return 0;
}

/* --- what is printed ------------------------------------------------------------------------ */

static bool listed(const struct bt_check *list, unsigned int n, const struct bt_check *c)
{
	for (unsigned int i = 0; i < n; i++) {
		if (list[i].ifindex == c->ifindex && !strcmp(list[i].code, c->code) &&
		    !strcmp(list[i].found, c->found))
			return true;
	}
	return false;
}

/* They are many, and say nothing against it. Returns how many. */
static unsigned int leave_out_notes(struct bt_check *list, unsigned int *n)
{
	unsigned int k = 0, notes;

	for (unsigned int i = 0; i < *n; i++) {
		if (list[i].level != BT_LEVEL_NOTE)
			list[k++] = list[i];
	}
	notes = *n - k;
	*n = k;
	return notes;
}

/* What there is to know; what is of the kernel, or of a device below several, once. */
static void print_rows(const struct bt_enable_dev *devs, unsigned int n)
{
	struct bt_check *list __free = NULL;
	unsigned int all = 0, k = 0, notes = 0;

	for (unsigned int i = 0; i < n; i++)
		all += devs[i].n_checks;
	list = calloc(all + 1, sizeof(*list));
	for (unsigned int i = 0; list && i < n; i++) {
		for (unsigned int j = 0; j < devs[i].n_checks; j++) {
			const struct bt_check *c = &devs[i].checks[j];

			if (c->level != BT_LEVEL_OK && !listed(list, k, c))
				list[k++] = *c;
		}
	}
	if (!bt_print_json())
		notes = leave_out_notes(list, &k);
	print_checks("checks", list, k);
	if (notes)
		bt_text("%u note%s more: see 'bigtcp preflight'\n", notes, notes == 1 ? "" : "s");
}

static void print_change(const char *name, const struct bt_sizes_change *c)
{
	char was[SIZES_TEXT], got[SIZES_TEXT];

	bt_obj_open(NULL);
	bt_print_str("dev", bt_global.dry_run ? "%s would be set: " : "%s: ", name);
	bt_print_int("ifindex", NULL, c->ifindex);
	bt_print_bool("changed", NULL, !bt_sizes_equal(&c->was, &c->got));
	print_sizes("was", &c->was);
	print_sizes("set", &c->got);
	bt_text("IPv6 %s -> %s", sizes_text(c->was.gso, c->was.gro, was),
		sizes_text(c->got.gso, c->got.gro, got));
	if (c->got.gso_ipv4)
		bt_text(", IPv4 %s -> %s", sizes_text(c->was.gso_ipv4, c->was.gro_ipv4, was),
			sizes_text(c->got.gso_ipv4, c->got.gro_ipv4, got));
	bt_text("\n");
	bt_obj_close();
}

static void print_changes(const struct bt_sizes_change *changes, char **names, unsigned int n)
{
	bt_arr_open("devices");
	for (unsigned int i = 0; i < n; i++)
		print_change(names[i], &changes[i]);
	bt_arr_close();
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
}

/* --- enable ------------------------------------------------------------------------------------- */

/* What apply would say of it. */
static void would_be(const struct bt_enable_dev *dev, struct bt_sizes_change *c)
{
	const struct bt_sizes *w = &dev->want;

	c->was = c->got = dev->link.sizes;
	c->got.gso = w->gso;
	c->got.gro = w->gro;
	c->got.gso_ipv4 = w->gso_ipv4 ? w->gso_ipv4 : c->was.gso_ipv4;
	c->got.gro_ipv4 = w->gro_ipv4 ? w->gro_ipv4 : c->was.gro_ipv4;
}

static int set(const struct args *a, const struct bt_enable_dev *devs,
	       struct bt_sizes_change *changes)
{
	for (unsigned int i = 0; i < a->n; i++) {
		changes[i].ifindex = devs[i].link.ifindex;
		changes[i].want = devs[i].want;
		would_be(&devs[i], &changes[i]);
	}
	return bt_global.dry_run ? 0 : bt_sizes_apply(changes, a->n, BT_SET_BY_COMMAND);
}

static int enable(const struct args *a, struct bt_enable_dev *devs, struct bt_sizes_change *changes)
{
	enum bt_level worst;
	bool refused;

	if (bt_enable_plan(a->devs, a->n, &a->o, devs, &worst))
		return BT_EXIT_REFUSED;
	refused = worst == BT_LEVEL_REFUSE && !a->o.force;
	/* What is open when it fails is closed with the error in it. */
	bt_obj_open(NULL);
	if (!refused && set(a, devs, changes)) {
		print_rows(devs, a->n);
		return BT_EXIT_REFUSED;
	}
	print_rows(devs, a->n);
	bt_print_bool("refused", NULL, refused);
	if (refused)
		return bt_err(
			BT_EXIT_UNSAFE,
			"refused, see the rows above: with --force it is done anyway. Nothing was "
			"changed");
	print_changes(changes, a->devs, a->n);
	bt_obj_close();
	return BT_EXIT_OK;
}

int cmd_enable(int argc, char **argv)
{
	struct args a = { .n = 0 };
	int ret = parse(argc, argv, &a);
	struct bt_enable_dev *devs __free = NULL;
	struct bt_sizes_change *changes __free = NULL;

	if (ret)
		return ret;
	devs = calloc(a.n, sizeof(*devs));
	changes = calloc(a.n, sizeof(*changes));
	if (!devs || !changes)
		return bt_err(BT_EXIT_REFUSED, "out of memory");
	ret = enable(&a, devs, changes);
	bt_enable_free(devs, a.n);
	return ret;
}

/* --- disable -------------------------------------------------------------------------------------- */

int cmd_disable(int argc, char **argv)
{
	struct args a = { .n = 0 };
	int ret = parse(argc, argv, &a);
	struct bt_sizes_change *changes __free = NULL;
	struct bt_link link;

	if (ret)
		return ret;
	changes = calloc(a.n, sizeof(*changes));
	if (!changes)
		return bt_err(BT_EXIT_REFUSED, "out of memory");
	for (unsigned int i = 0; i < a.n; i++) {
		if (bt_link_get_name(a.devs[i], &link))
			return BT_EXIT_REFUSED;
		changes[i].ifindex = link.ifindex;
	}
	if (bt_sizes_disable(changes, a.n, a.o.force, bt_global.dry_run))
		return BT_EXIT_REFUSED;
	bt_obj_open(NULL);
	print_changes(changes, a.devs, a.n);
	bt_obj_close();
	return BT_EXIT_OK;
}
