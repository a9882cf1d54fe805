// SPDX-License-Identifier: GPL-2.0
#include "core/enable.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/progress.h"
#include "core/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int which_size(const struct bt_link *link, const struct bt_enable_opts *o, __u32 *size)
{
	__u32 max = bt_size_max(link);

	if (!link->sizes.tso_max)
		return bt_err(-EOPNOTSUPP,
			      "%s: this kernel has no BIG TCP, which came with Linux 5.19",
			      link->name);
	if (!max)
		return bt_err(
			-ERANGE,
			"%s%s%s%s takes no packets above 64 KiB for sending (its tso_max_size is %u): "
			"enable the device below it, where the packets are built. Nothing was changed",
			link->name, *link->kind ? " (" : "", link->kind, *link->kind ? ")" : "",
			link->sizes.tso_max);
	if (!o->size)
		*size = BT_SIZE_DEFAULT < max ? BT_SIZE_DEFAULT : max;
	else if (o->size == BT_SIZE_MAX)
		*size = max;
	else if (o->size <= max)
		*size = o->size;
	else
		return bt_err(
			-ERANGE,
			"%s takes at most %u bytes (tso_max_size), not %u: '--size max' is what each "
			"device takes. Nothing was changed",
			link->name, max, o->size);
	return 0;
}

int bt_enable_want(const struct bt_link *link, const struct bt_kept *kept,
		   const struct bt_enable_opts *o, struct bt_sizes *want)
{
	bool has_ipv4 = link->sizes.gso_ipv4 && link->sizes.gro_ipv4;
	struct bt_sizes w = { 0 };
	int err = which_size(link, o, &w.gso);

	if (err)
		return err;
	if (o->ipv4 && !has_ipv4)
		return bt_err(
			-EOPNOTSUPP,
			"%s: this kernel has no sizes for IPv4, which came with Linux 6.3: leave "
			"--ipv4 out. Nothing was changed",
			link->name);
	w.gro = w.gso;
	if (o->only_ipv6 && has_ipv4 && kept && !kept->hands_off) {
		w.gso_ipv4 = kept->before.gso_ipv4;
		w.gro_ipv4 = kept->before.gro_ipv4;
	} else if (!o->only_ipv6 && has_ipv4) {
		w.gso_ipv4 = w.gro_ipv4 = w.gso;
	}
	*want = w;
	return 0;
}

/* Names to devices and sizes. */
static int decide(const char *name, const struct bt_enable_opts *o, struct bt_enable_dev *dev)
{
	struct bt_kept kept;
	int err = bt_link_get_name(name, &dev->link);

	if (err)
		return err;
	err = bt_kept_get(dev->link.ifindex, &kept);
	if (err && err != -ENOENT)
		return err;
	return bt_enable_want(&dev->link, err ? NULL : &kept, o, &dev->want);
}

/* A row says that a neighbour has smaller sizes: is that over once this call is done? */
static bool settled(const struct bt_check *c, const struct bt_enable_dev *dev,
		    const struct bt_enable_dev *devs, unsigned int n)
{
	if (strcmp(c->code, "stack") || c->level == BT_LEVEL_REFUSE)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		if (devs[i].link.ifindex == c->ifindex && &devs[i] != dev)
			return devs[i].want.gso >= dev->want.gso &&
			       devs[i].want.gso_ipv4 >= dev->want.gso_ipv4;
	}
	return false;
}

static void drop_settled(struct bt_enable_dev *dev, const struct bt_enable_dev *devs,
			 unsigned int n)
{
	unsigned int k = 0;

	for (unsigned int i = 0; i < dev->n_checks; i++) {
		if (!settled(&dev->checks[i], dev, devs, n))
			dev->checks[k++] = dev->checks[i];
	}
	dev->n_checks = k;
}

static int ask(struct bt_enable_dev *dev, const struct bt_live *live, struct bt_judge *judge,
	       enum bt_level *worst)
{
	struct bt_preflight want = {
		.size = dev->want.gso,
		.size_ipv4 = dev->want.gso_ipv4 > BT_SIZE_LEGACY ? dev->want.gso_ipv4 : 0,
		.live = live,
		.judge = judge,
	};
	int err = bt_preflight(dev->link.name, &want, &dev->checks, &dev->n_checks);

	for (unsigned int i = 0; !err && i < dev->n_checks; i++) {
		if (dev->checks[i].level > *worst)
			*worst = dev->checks[i].level;
	}
	return err;
}

/* Preflight of all devices, with one look at the kernel and one judge. */
static int ask_all(struct bt_enable_dev *devs, unsigned int n, enum bt_level *worst)
{
	struct bt_judge *judge __cleanup(bt_judge_free) = NULL;
	struct bt_live live;
	int err = bt_probe_live(&live);

	if (!err)
		err = bt_judge_new(&judge);
	for (unsigned int i = 0; i < n && !err; i++) {
		bt_progress("preflight", i, n, devs[i].link.name);
		err = ask(&devs[i], &live, judge, worst);
		if (!err)
			drop_settled(&devs[i], devs, n);
	}
	return err;
}

int bt_enable_plan(char *const *names, unsigned int n, const struct bt_enable_opts *o,
		   struct bt_enable_dev *devs, enum bt_level *worst)
{
	char caps[128];
	int err = bt_bpffs_check();

	*worst = BT_LEVEL_OK;
	for (unsigned int i = 0; i < n && !err; i++)
		err = decide(names[i], o, &devs[i]);
	if (err)
		return err;
	err = ask_all(devs, n, worst);
	if (err != -EPERM)
		return err;
	bt_missing_caps(caps, sizeof(caps));
	bt_err_clear();
	if (!o->force)
		return bt_err(
			-EPERM,
			"preflight looks at this kernel and at the programs of others, and this "
			"process lacks %s: run it as root; with --force it is done without preflight. "
			"Nothing was changed",
			*caps ? caps : "the right to");
	bt_note("no preflight: this process lacks %s", *caps ? caps : "the right to");
	return 0;
}

void bt_enable_free(struct bt_enable_dev *devs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(devs[i].checks);
}
