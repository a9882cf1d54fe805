// SPDX-License-Identifier: GPL-2.0
/* What bigtcp has attached: found by the pins, read, replaced. */
#include "core/attach.h"
#include "core/attach_link.h"
#include "core/clsbpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/rtnl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool egress(const struct bt_pin *pin)
{
	return pin->hook == BT_HOOK_EGRESS;
}

static __u32 pinned_prog_id(const char *path)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd __close = bpf_obj_get(path);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	return info.id;
}

bool bt_pin_filter_ours(const struct bt_pin *pin, const char *path)
{
	__u32 id = 0;

	return !bt_cls_query(pin->ifindex, egress(pin), pin->prio, pin->handle, &id) && id &&
	       id == pinned_prog_id(path);
}

bool bt_attached_read(const struct bt_pin *pin, const char *path, struct bt_attached *a)
{
	struct bt_link_info info;
	int link __close = -1;
	struct bt_link dev;

	*a = (struct bt_attached){ .pin = *pin };
	snprintf(a->path, sizeof(a->path), "%s", path);
	if (pin->kind == BT_PIN_CLS) {
		a->prog_id = pinned_prog_id(path);
		return bt_pin_filter_ours(pin, path);
	}
	link = bpf_obj_get(path);
	if (link >= 0 && !bt_link_info(link, &info)) {
		a->link_id = info.id;
		a->prog_id = info.prog_id;
	}
	if (pin->hook == BT_HOOK_XDP && !bt_link_get(pin->ifindex, &dev))
		a->xdp_mode = dev.xdp_mode;
	return a->prog_id && !bt_pin_link_dead(path);
}

/* --- all of a namespace ------------------------------------------------------------------------ */

struct each {
	__u64 netns;
	int ifindex; /* 0: all */
	const char *name; /* NULL: all */
	int (*fn)(const struct bt_attached *at, const char *dev, void *arg);
	void *arg;
};

static int each_one(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct each *e = arg;
	char dev[IF_NAMESIZE];
	struct bt_attached at;

	if (pin->netns != e->netns || (e->name && strcmp(pin->prog, e->name)) ||
	    (e->ifindex && e->ifindex != pin->ifindex) || !if_indextoname(pin->ifindex, dev))
		return 0;
	if (!bt_attached_read(pin, path, &at)) /* a pin that has outlived its device */
		return 0;
	return e->fn(&at, dev, e->arg);
}

static int this_netns(__u64 *inode)
{
	int fd __close = bt_netns_self();
	int err = fd < 0 ? fd : bt_netns_inode(fd, inode);

	return err ? bt_err(err, "cannot tell the network namespace: %s", strerror(-err)) : 0;
}

int bt_attached_each(const char *dev, const char *name,
		     int (*fn)(const struct bt_attached *at, const char *dev, void *arg), void *arg)
{
	struct each e = { .name = name, .fn = fn, .arg = arg };
	int dirfd __close = -1;
	int err = this_netns(&e.netns);

	if (err)
		return err;
	if (dev) {
		e.ifindex = if_nametoindex(dev);
		if (!e.ifindex)
			return bt_err(-ENODEV, "there is no network device '%s' here", dev);
	}
	dirfd = bt_pins_open(true);
	if (dirfd == -ENOENT)
		return 0;
	return dirfd < 0 ? dirfd : bt_pins_each(dirfd, each_one, &e);
}

/* --- one ----------------------------------------------------------------------------------------- */

struct find {
	enum bt_hook_id hook;
	int ifindex;
	struct bt_attached *out;
};

static int find_one(const struct bt_attached *at, const char *dev, void *arg)
{
	struct find *f = arg;

	(void)dev;
	if (at->pin.hook != f->hook || at->pin.ifindex != f->ifindex)
		return 0;
	*f->out = *at;
	return 1;
}

bool bt_attached_find(int ifindex, enum bt_hook_id hook, const char *name, struct bt_attached *out)
{
	struct find f = { hook, ifindex, out };
	struct bt_pin pin = { .ifindex = ifindex, .hook = hook, .kind = BT_PIN_TCX };
	char path[sizeof(out->path)] = BT_PIN_LINKS "/";
	size_t len = strlen(path);
	int ret;

	if (!bt_have_tcx()) {
		ret = bt_attached_each(NULL, name, find_one, &f);
		if (ret < 0)
			bt_err_clear();
		return ret == 1;
	}
	snprintf(pin.prog, sizeof(pin.prog), "%s", name);
	if (this_netns(&pin.netns) || bt_pin_format(&pin, path + len, sizeof(path) - len)) {
		bt_err_clear();
		return false;
	}
	return !access(path, F_OK) && bt_attached_read(&pin, path, out);
}

static int replace_filter(struct bt_attached *at, int prog_fd)
{
	char next[sizeof(at->path) + 8];
	int err;

	/* The pin says whose the filter is: it changes right before the filter does. */
	snprintf(next, sizeof(next), "%s-next", at->path);
	unlink(next);
	err = bt_pin_at(prog_fd, next);
	if (err)
		return err;
	if (rename(next, at->path)) {
		err = -errno;
		unlink(next);
		return bt_err(err, "cannot replace %s: %s", at->path, strerror(-err));
	}
	err = bt_cls_replace(prog_fd, at->pin.ifindex, egress(&at->pin), at->pin.prio,
			     at->pin.handle);
	return err ? bt_err(err, "cannot replace the tc filter: %s", strerror(-err)) : 0;
}

int bt_attached_replace(struct bt_attached *at, int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int link __close = -1;
	int err;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	if (at->pin.kind == BT_PIN_CLS) {
		err = replace_filter(at, prog_fd);
	} else {
		link = bpf_obj_get(at->path);
		err = link < 0 ? -errno : bt_link_update(link, prog_fd, -1);
		if (err)
			bt_err(err, "cannot replace the program of %s: %s", at->path,
			       strerror(-err));
	}
	if (!err)
		at->prog_id = info.id;
	return err;
}

bool bt_attached_first(const struct bt_attached *at)
{
	struct bt_hook hook;

	if (at->pin.kind == BT_PIN_CLS)
		return bt_cls_is_first(at->pin.ifindex, egress(&at->pin), at->pin.prio);
	return !bt_prog_query(at->pin.ifindex, egress(&at->pin) ? BT_TCX_EGRESS : BT_TCX_INGRESS,
			      &hook) &&
	       hook.n && hook.progs[0].link_id == at->link_id;
}
