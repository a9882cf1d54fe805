// SPDX-License-Identifier: GPL-2.0
/* bigtcp xdp: the sandwich around the programs of a device's libxdp chain, and what runs in chains. */
#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "core/sandwich.h"
#include "core/sandwich_verdicts.h"

#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define TRUST_MAX 16

enum { OPT_OFF = 0x100, OPT_TRUST, OPT_MAX_PAYLOAD_LEN };

const struct bt_opt xdp_opts[] = {
	{ "off", OPT_OFF, NULL, "take the sandwich off; the other programs stay" },
	{ "trust", OPT_TRUST, "NAME",
	  "this program returns neither XDP_TX nor XDP_REDIRECT, whatever it looks like; more than once" },
	{ "max-payload-len", OPT_MAX_PAYLOAD_LEN, NULL,
	  "programs see a payload_len of 65535 in jumbo packets, not the kernel's 0" },
	{ NULL },
};

struct args {
	const char *dev;
	const char *trust[TRUST_MAX];
	unsigned int n_trust;
	bool off, max_payload_len;
};

static const char
	*const modes[] = { [BT_XDP_SKB] = "skb", [BT_XDP_NATIVE] = "native", [BT_XDP_HW] = "hw" };

static const char *const roles[] = {
	[BT_ROLE_PROGRAM] = "program",
	[BT_ROLE_TWIN] = "twin",
	[BT_ROLE_STRIP] = "strip",
	[BT_ROLE_RESTORE] = "restore",
};

/* All counters of both programs, in JSON by these keys, in text those that are not 0. */
static const struct {
	const char *key;
	size_t off;
	bool strip, restore;
} counters[] = {
#define C(field) #field, offsetof(struct sandwich_stats, field)
	{ C(stripped), true, false }, { C(unstripped), true, false }, { C(restored), false, true },
	{ C(resized), false, true },  { C(plain), false, true },      { C(changed), false, true },
	{ C(lost), true, true },
#undef C
};

static void counts_text(const struct bt_chain_prog *p, char *buf, size_t len)
{
	size_t n = 0;

	for (unsigned int i = 0; i < sizeof(counters) / sizeof(counters[0]) && n < len; i++) {
		__u64 val = *(const __u64 *)((const char *)&p->stats + counters[i].off);

		if (!(p->role == BT_ROLE_STRIP ? counters[i].strip : counters[i].restore))
			continue;
		if (val || !n)
			n += (size_t)snprintf(buf + n, len - n, "%s%llu %s", n ? ", " : "",
					      (unsigned long long)val, counters[i].key);
	}
}

static const struct bt_column cols[] = {
	{ "dev", "DEV" },	   { "mode", NULL },
	{ "prio", "PRIO" },	   { "id", "ID" },
	{ "name", "NAME" },	   { "role", "ROLE" },
	{ "verdicts", "RETURNS" }, { "actions", "CHAIN" },
	{ "inside", NULL },	   { "refused", NULL },
	{ "stripped", NULL },	   { "unstripped", NULL },
	{ "restored", NULL },	   { "resized", NULL },
	{ "plain", NULL },	   { "changed", NULL },
	{ "lost", NULL },	   { "remark", "REMARK" },
};

static void row(struct bt_table *t, const struct bt_chain *c, unsigned int i,
		const struct bt_sandwich_plan *plan)
{
	const struct bt_chain_prog *p = &c->progs[i];
	bool own = p->role == BT_ROLE_STRIP || p->role == BT_ROLE_RESTORE;
	char text[256];

	bt_row(t);
	bt_cell_str(t, "dev", c->dev);
	bt_cell_str(t, "mode", modes[c->mode]);
	if (!c->alone)
		bt_cell_uint(t, "prio", p->prio);
	bt_cell_uint(t, "id", p->id);
	bt_cell_str(t, "name", p->name);
	bt_cell_str(t, "role", roles[p->role]);
	if (!own) {
		bt_verdicts_text(p->verdicts, text, sizeof(text));
		bt_cell_str(t, "verdicts", text);
	}
	if (!c->alone) {
		bt_verdicts_text(p->actions, text, sizeof(text));
		bt_cell_str(t, "actions", text);
	}
	if (own) {
		counts_text(p, text, sizeof(text));
		bt_cell_str(t, "remark", text);
		for (unsigned int k = 0; k < sizeof(counters) / sizeof(counters[0]); k++)
			bt_cell_uint(t, counters[k].key,
				     *(const __u64 *)((const char *)&p->stats + counters[k].off));
		return;
	}
	if (plan) {
		bt_cell_bool(t, "inside", plan->progs[i].inside);
		bt_cell_bool(t, "refused", plan->progs[i].refused);
		bt_cell_str(t, "remark", *plan->progs[i].why ? plan->progs[i].why : NULL);
	} else if (c->alone) {
		bt_cell_str(t, "remark", "not in a libxdp chain");
	}
}

static void rows(struct bt_table *t, const struct bt_chain *c, const struct bt_sandwich_plan *plan)
{
	for (unsigned int i = 0; i < c->n; i++)
		row(t, c, i, plan);
}

/* The chain as a table, under "programs". */
static void show(const struct bt_chain *c, const struct bt_sandwich_plan *plan)
{
	struct bt_table *t = bt_table_new(cols, sizeof(cols) / sizeof(cols[0]));

	bt_arr_open("programs");
	rows(t, c, plan);
	bt_table_end(t);
	bt_arr_close();
}

/* A sandwich needs a chain, and of packets that start with an Ethernet header. */
static int check_chain(const struct bt_chain *c)
{
	const char *what;

	if (!c->ethernet)
		return bt_err(BT_EXIT_REFUSED,
			      "packets of %s have no Ethernet header: the sandwich is for "
			      "those that have one",
			      c->dev);
	if (c->main_id && !c->alone && c->mode != BT_XDP_HW)
		return 0;
	/* Where there can be no chain at all, that is the reason. */
	if (bt_sandwich_check())
		return BT_EXIT_REFUSED;
	what = !c->main_id ? "has no XDP program" : "runs an XDP program outside of a libxdp chain";
	return bt_err(
		BT_EXIT_REFUSED,
		"%s %s: the sandwich goes around the programs of a chain; load them by libxdp "
		"(xdp-loader load %s FILE.o) first",
		c->dev, what, c->dev);
}

static int sandwich_off(const struct bt_chain *c)
{
	int err = 0;

	if (!bt_global.dry_run)
		err = bt_sandwich_off(c);
	if (err)
		return BT_EXIT_REFUSED;
	bt_obj_open(NULL);
	bt_print_str("dev",
		     bt_global.dry_run ? "the sandwich of %s would be taken off\n"
				       : "the sandwich of %s is taken off\n",
		     c->dev);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	return BT_EXIT_OK;
}

static bool anything_inside(const struct bt_chain *c, const struct bt_sandwich_plan *plan)
{
	for (unsigned int i = 0; i < c->n; i++) {
		if (plan->progs[i].inside)
			return true;
	}
	return false;
}

static int refused(const struct bt_chain *c, const struct bt_sandwich_plan *plan)
{
	unsigned int i = 0;

	while (!plan->progs[i].refused)
		i++;
	return bt_err(BT_EXIT_UNSAFE,
		      "no sandwich on %s: %u of its programs can't be inside (%s: %s); make them "
		      "twins by loading them with bigtcp exec, or vouch for them with --trust",
		      c->dev, plan->refused, c->progs[i].name, plan->progs[i].why);
}

static int sandwich_on(const struct args *a, struct bt_chain *c)
{
	struct bt_sandwich_plan plan;
	int ret = bt_sandwich_plan(c, a->trust, a->n_trust, &plan);

	if (ret)
		return ret == -EINVAL ? BT_EXIT_USAGE : BT_EXIT_REFUSED;
	if (bt_sandwich_place(c, &plan))
		return BT_EXIT_REFUSED;
	bt_obj_open(NULL);
	if (plan.refused) {
		ret = refused(c, &plan);
	} else if (plan.in_place) {
		bt_text("%s has its sandwich\n", c->dev);
	} else if (!anything_inside(c, &plan)) {
		bt_text("%s runs twins alone, which need no sandwich\n", c->dev);
	} else if (bt_sandwich_check()) {
		ret = BT_EXIT_REFUSED;
	} else if (bt_global.dry_run) {
		bt_text("%s and %s would run in %s at priorities %u and %u\n", BIGTCP_STRIP_PROG,
			BIGTCP_RESTORE_PROG, c->dev, plan.strip_prio, plan.restore_prio);
	} else if (bt_sandwich_on(c, &plan, a->max_payload_len) ||
		   bt_sandwich_plan(c, a->trust, a->n_trust, &plan)) {
		ret = BT_EXIT_REFUSED;
	}
	bt_print_bool("in_place", NULL, plan.in_place);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	if (!plan.in_place && !plan.refused && plan.restore_prio) {
		bt_print_uint("strip_prio", NULL, plan.strip_prio);
		bt_print_uint("restore_prio", NULL, plan.restore_prio);
	}
	show(c, &plan);
	/* with an error the document is left open for it */
	if (!ret)
		bt_obj_close();
	return ret;
}

static int cmd_sandwich(const struct args *a)
{
	struct bt_chain c;
	int ret;

	if (bt_chain_read(a->dev, &c))
		return BT_EXIT_REFUSED;
	if (a->off)
		return sandwich_off(&c);
	ret = check_chain(&c);
	return ret ? ret : sandwich_on(a, &c);
}

static int status_of(struct bt_table *t, const char *dev)
{
	struct bt_sandwich_plan plan;
	struct bt_chain c;
	bool planned;

	if (bt_chain_read(dev, &c))
		return BT_EXIT_REFUSED;
	planned = !c.alone && !bt_sandwich_plan(&c, NULL, 0, &plan) && plan.halves;
	bt_err_clear();
	rows(t, &c, planned ? &plan : NULL);
	return BT_EXIT_OK;
}

static int xdp_status(const char *dev)
{
	struct bt_table *t = bt_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	struct if_nameindex *devs = dev ? NULL : if_nameindex();
	int ret = BT_EXIT_OK;

	bt_arr_open(NULL);
	if (dev)
		ret = status_of(t, dev);
	for (struct if_nameindex *i = devs; i && i->if_index && !ret; i++)
		ret = status_of(t, i->if_name);
	if (devs)
		if_freenameindex(devs);
	bt_table_end(t);
	bt_arr_close();
	return ret;
}

static int parse(const struct bt_cmd *cmd, int argc, char **argv, struct args *a)
{
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		switch (c) {
		case OPT_OFF:
			a->off = true;
			break;
		case OPT_MAX_PAYLOAD_LEN:
			a->max_payload_len = true;
			break;
		case OPT_TRUST:
			if (a->n_trust == TRUST_MAX)
				return bt_err(BT_EXIT_USAGE, "--trust: %d times at most",
					      TRUST_MAX);
			a->trust[a->n_trust++] = optarg;
			break;
		default:
			return BT_EXIT_USAGE;
		}
	}
	return BT_EXIT_OK;
}

int cmd_xdp(int argc, char **argv)
{
	const struct bt_cmd *cmd = bt_cmd_find("xdp");
	struct args a = {};
	int n, ret = parse(cmd, argc, argv, &a);

	if (ret)
		return ret;
	n = argc - optind;
	argv += optind;
	if (n >= 1 && !strcmp(argv[0], "status")) {
		if (n > 2 || a.off || a.n_trust || a.max_payload_len)
			return bt_usage(cmd, "xdp status takes one device at most, and no options");
		return xdp_status(n == 2 ? argv[1] : NULL);
	}
	if (n != 2 || strcmp(argv[0], "sandwich"))
		return bt_usage(cmd, "xdp wants 'sandwich' and a device, or 'status'");
	if (a.off && (a.n_trust || a.max_payload_len))
		return bt_usage(cmd, "--off takes no other option");
	a.dev = argv[1];
	return cmd_sandwich(&a);
}
