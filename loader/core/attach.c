// SPDX-License-Identifier: GPL-2.0
#include "core/attach.h"
#include "core/clsbpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

static __u32 hook_type(bool egress)
{
	return egress ? BT_TCX_EGRESS : BT_TCX_INGRESS;
}

static const char *hook_name(bool egress)
{
	return egress ? "egress" : "ingress";
}

static int this_netns(__u64 *inode)
{
	int fd __close = bt_netns_self();
	int err = fd < 0 ? fd : bt_netns_inode(fd, inode);

	return err ? bt_err(err, "cannot tell the network namespace: %s", strerror(-err)) : 0;
}

static int device_gone(const char *dev)
{
	return bt_err(-ENODEV, "device %s vanished meanwhile: nothing is attached", dev);
}

static int find_device(const char *dev, int *ifindex)
{
	*ifindex = if_nametoindex(dev);
	return *ifindex ? 0 : bt_err(-ENODEV, "there is no network device '%s' here", dev);
}

static bool use_cls(const struct bt_attach_opts *o)
{
	return o->legacy || !bt_have_tcx();
}

int bt_attach_check(const struct bt_attach_opts *o)
{
	int ifindex, err;

	err = find_device(o->dev, &ifindex);
	if (!err)
		err = bt_bpffs_check();
	if (err)
		return err;
	if (use_cls(o) && o->place.relative)
		return bt_err(-EOPNOTSUPP,
			      "a place beside another program needs tcx (kernel 6.6): with cls_bpf "
			      "there is only head and tail");
	return 0;
}

/* The program's id, and whether it can be attached at all. */
static int prog_check(int prog_fd, const char *name, __u32 *id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (!bt_is_prog(prog_fd) || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return bt_err(-EINVAL, "%s is not a BPF program", name);
	*id = info.id;
	if (info.type == BPF_PROG_TYPE_SCHED_CLS)
		return 0;
	if (info.type == BPF_PROG_TYPE_SCHED_ACT)
		return bt_err(
			-EINVAL,
			"%s is a tc action, which belongs into a filter: load it with --pin, then "
			"'tc filter add ... action bpf object-pinned PATH'",
			name);
	return bt_err(-EINVAL, "%s is of program type %u: only tc classifiers can be attached here",
		      name, info.type);
}

/* --- pins whose attachment is gone ------------------------------------------------------- */

struct gc {
	__u64 netns;
};

static bool link_dead(const char *path)
{
	int fd __close = bpf_obj_get(path);
	struct bt_link_info info;

	return fd >= 0 && !bt_link_info(fd, &info) && !info.ifindex;
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

/* Does the filter that a pin stands for exist, with our program in it? */
static bool filter_ours(const struct bt_pin *pin, const char *path)
{
	__u32 id = 0;

	return !bt_cls_query(pin->ifindex, pin->egress, pin->prio, pin->handle, &id) && id &&
	       id == pinned_prog_id(path);
}

/* A device takes its links and filters with it, but pins stay. */
static int gc_one(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct gc *gc = arg;
	char name[IF_NAMESIZE];

	if (pin->kind == BT_PIN_TCX) {
		if (link_dead(path))
			bt_unpin(path);
	} else if (pin->netns == gc->netns) {
		/* Filters of other namespaces cannot be seen from here. */
		if (!if_indextoname(pin->ifindex, name) || !filter_ours(pin, path))
			bt_unpin(path);
	}
	return 0;
}

static int gc(int dirfd)
{
	struct gc gc;
	int err;

	err = this_netns(&gc.netns);
	if (!err)
		err = bt_pins_each(dirfd, gc_one, &gc);
	if (!err)
		bt_pins_sweep(dirfd);
	return err;
}

static int same_place(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct bt_pin *want = arg;

	(void)path;
	return pin->netns == want->netns && pin->ifindex == want->ifindex &&
	       pin->egress == want->egress && !strcmp(pin->prog, want->prog);
}

/* --- attach --------------------------------------------------------------------------------- */

static int link_error(int err, const struct bt_attach_opts *o, const char *name)
{
	const char *hook = hook_name(o->egress);

	switch (err) {
	case -ENODEV:
		return device_gone(o->dev);
	case -EEXIST:
		return bt_err(err, "this very program is attached to %s %s already", o->dev, hook);
	case -ENOENT:
		return bt_err(err, "cannot place %s beside %s %u: it is not at %s %s", name,
			      o->place.flags & BT_F_LINK ? "link" : "program", o->place.relative,
			      o->dev, hook);
	case -ERANGE:
		return bt_err(err, "%s %s has as many programs as the kernel allows", o->dev, hook);
	case -EPERM:
		return bt_err(err, "attaching to %s needs CAP_NET_ADMIN", o->dev);
	default:
		return bt_err(err, "cannot attach %s to %s %s: %s", name, o->dev, hook,
			      strerror(-err));
	}
}

static int attach_tcx(int prog_fd, const struct bt_attach_opts *o, struct bt_attached *a)
{
	struct bt_place place = o->place;
	struct bt_link_info info;
	int link __close = -1;
	int err;

	if (!place.flags)
		place.flags = BT_F_BEFORE;
	link = bt_link_create(prog_fd, a->pin.ifindex, hook_type(o->egress), &place);
	if (link < 0)
		return link_error(link, o, a->pin.prog);
	/* Unpinned, the link goes with this process, however it ends. */
	err = bt_pin_at(link, a->path);
	if (err)
		return err;
	err = bt_link_info(link, &info);
	if (err || !info.ifindex) {
		unlink(a->path);
		return err ? bt_err(err, "cannot read back the link: %s", strerror(-err))
			   : device_gone(o->dev);
	}
	a->link_id = info.id;
	return 0;
}

static int attach_cls(int prog_fd, const struct bt_attach_opts *o, struct bt_attached *a)
{
	int err;

	/* The pin first: a filter that nobody remembers could not be taken off again. */
	err = bt_pin_at(prog_fd, a->path);
	if (err)
		return err;
	err = bt_cls_attach(prog_fd, a->pin.ifindex, o->egress, a->pin.prio, a->pin.handle);
	if (err == -ENODEV) {
		bt_err_clear();
		return device_gone(o->dev);
	}
	return err;
}

/* Everything about the attachment that is known before it is made. */
static int plan(const char *name, const struct bt_attach_opts *o, struct bt_attached *a)
{
	bool late;
	int err;

	a->pin.egress = o->egress;
	snprintf(a->pin.prog, sizeof(a->pin.prog), "%s", name);
	err = find_device(o->dev, &a->pin.ifindex);
	if (!err)
		err = this_netns(&a->pin.netns);
	if (err)
		return err;
	a->pin.kind = use_cls(o) ? BT_PIN_CLS : BT_PIN_TCX;
	if (a->pin.kind == BT_PIN_CLS) {
		a->pin.handle = BT_CLS_HANDLE;
		err = bt_cls_free_prio(a->pin.ifindex, o->egress, o->place.flags & BT_F_AFTER,
				       &a->pin.prio, &late);
		if (err)
			return err;
		if (late)
			bt_note("filters with a priority before %u are at %s %s: packets they decide "
				"on never reach %s",
				a->pin.prio, o->dev, hook_name(o->egress), name);
	}
	strcpy(a->path, BT_PIN_LINKS "/");
	err = bt_pin_format(&a->pin, a->path + strlen(a->path), sizeof(a->path) - strlen(a->path));
	return err ? bt_err(err, "the name '%s' is too long to pin", name) : 0;
}

static int attach_locked(int dirfd, int prog_fd, const char *name, const struct bt_attach_opts *o,
			 struct bt_attached *a)
{
	int err = 0;

	if (dirfd >= 0 && !o->dry_run)
		err = gc(dirfd);
	if (!err)
		err = plan(name, o, a);
	if (!err && dirfd >= 0)
		err = bt_pins_each(dirfd, same_place, &a->pin);
	if (err > 0)
		return bt_err(
			-EEXIST,
			"%s is attached to %s %s already: take it off first with 'bigtcp detach "
			"%s %s --prog %s'",
			name, o->dev, hook_name(o->egress), o->dev, hook_name(o->egress), name);
	if (err || o->dry_run)
		return err;
	if (o->obj)
		err = bt_pin_prog_arrays(o->obj, a->path);
	if (err)
		return err;
	err = a->pin.kind == BT_PIN_CLS ? attach_cls(prog_fd, o, a) : attach_tcx(prog_fd, o, a);
	if (err)
		bt_unpin(a->path);
	return err;
}

int bt_attach(int prog_fd, const char *name, const struct bt_attach_opts *o,
	      struct bt_attached *out)
{
	struct bt_attached a = { 0 };
	int dirfd __close = -1;
	int err;

	err = bt_attach_check(o);
	if (!err)
		err = prog_check(prog_fd, name, &a.prog_id);
	if (err)
		return err;
	dirfd = bt_pins_open(o->dry_run);
	if (dirfd < 0 && !(o->dry_run && dirfd == -ENOENT))
		return dirfd;
	err = attach_locked(dirfd, prog_fd, name, o, &a);
	if (!err)
		*out = a;
	return err;
}

/* --- detach --------------------------------------------------------------------------------- */

struct detach {
	struct bt_pin want;
	const char *name;
	bool dry_run;
	void (*fn)(const struct bt_attached *what, void *arg);
	void *arg;
	int count;
};

static int detach_tcx(const char *path)
{
	int link __close = bpf_obj_get(path);

	if (link < 0)
		return bt_err(-errno, "cannot open %s: %s", path, strerror(errno));
	/* The hook is free when this returns; with the last reference alone it would be so a bit later. */
	if (bpf_link_detach(link) && errno != ENOLINK)
		return bt_err(-errno, "cannot detach %s: %s", path, strerror(errno));
	return 0;
}

static int detach_cls(const struct bt_pin *pin, const char *path)
{
	int err;

	if (!filter_ours(pin, path)) {
		bt_note("filter %u handle 0x%x is not the one bigtcp made any more: left alone",
			pin->prio, pin->handle);
		return 0;
	}
	err = bt_cls_detach(pin->ifindex, pin->egress, pin->prio, pin->handle);
	return err ? bt_err(err, "cannot remove the tc filter: %s", strerror(-err)) : 0;
}

static void describe(const struct bt_pin *pin, const char *path, struct bt_attached *a)
{
	struct bt_link_info info;
	int link __close = -1;

	a->pin = *pin;
	snprintf(a->path, sizeof(a->path), "%s", path);
	if (pin->kind == BT_PIN_CLS) {
		a->prog_id = pinned_prog_id(path);
		return;
	}
	link = bpf_obj_get(path);
	if (link >= 0 && !bt_link_info(link, &info)) {
		a->link_id = info.id;
		a->prog_id = info.prog_id;
	}
}

static int detach_one(const struct bt_pin *pin, const char *path, void *arg)
{
	struct bt_attached what = { 0 };
	struct detach *d = arg;
	int err;

	if (pin->netns != d->want.netns || pin->ifindex != d->want.ifindex ||
	    pin->egress != d->want.egress || (d->name && strcmp(d->name, pin->prog)))
		return 0;
	describe(pin, path, &what);
	if (!d->dry_run) {
		err = pin->kind == BT_PIN_TCX ? detach_tcx(path) : detach_cls(pin, path);
		if (err)
			return err;
		err = bt_unpin(path);
		if (err)
			return err;
	}
	d->fn(&what, d->arg);
	d->count++;
	return 0;
}

int bt_detach(const char *dev, bool egress, const char *name, bool dry_run,
	      void (*fn)(const struct bt_attached *what, void *arg), void *arg)
{
	struct detach d = { .name = name, .dry_run = dry_run, .fn = fn, .arg = arg };
	int dirfd __close = -1;
	int err;

	d.want.egress = egress;
	err = find_device(dev, &d.want.ifindex);
	if (!err)
		err = this_netns(&d.want.netns);
	if (err)
		return err;
	dirfd = bt_pins_open(dry_run);
	if (dirfd < 0 && dirfd != -ENOENT)
		return dirfd;
	if (dirfd >= 0 && !dry_run)
		err = gc(dirfd);
	if (!err && dirfd >= 0)
		err = bt_pins_each(dirfd, detach_one, &d);
	if (err)
		return err;
	if (!d.count)
		return bt_err(-ENOENT, "bigtcp has attached no %s%s to %s %s",
			      name ? "program " : "program", name ? name : "", dev,
			      hook_name(egress));
	return d.count;
}
