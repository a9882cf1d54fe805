// SPDX-License-Identifier: GPL-2.0
#include "core/attach.h"
#include "core/attach_link.h"
#include "core/clsbpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/rtnl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static const struct {
	enum bpf_prog_type type;
	const char *progs; /* what can be attached here */
} hooks[] = {
	[BT_HOOK_INGRESS] = { BPF_PROG_TYPE_SCHED_CLS, "tc classifiers" },
	[BT_HOOK_EGRESS] = { BPF_PROG_TYPE_SCHED_CLS, "tc classifiers" },
	[BT_HOOK_XDP] = { BPF_PROG_TYPE_XDP, "XDP programs" },
	[BT_HOOK_CGROUP_INGRESS] = { BPF_PROG_TYPE_CGROUP_SKB, "cgroup_skb programs" },
	[BT_HOOK_CGROUP_EGRESS] = { BPF_PROG_TYPE_CGROUP_SKB, "cgroup_skb programs" },
};

enum bpf_prog_type bt_hook_prog_type(enum bt_hook_id hook)
{
	return hooks[hook].type;
}

static int this_netns(__u64 *inode)
{
	int fd __close = bt_netns_self();
	int err = fd < 0 ? fd : bt_netns_inode(fd, inode);

	return err ? bt_err(err, "cannot tell the network namespace: %s", strerror(-err)) : 0;
}

/* Returns the fd of its directory. */
static int open_cgroup(const char *path, __u64 *id)
{
	int fd __close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return bt_err(-errno, "cannot open cgroup %s: %s", path, strerror(errno));
	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return bt_err(-errno, "cannot look at cgroup %s: %s", path, strerror(errno));
	if ((unsigned int)fs.f_type != CGROUP2_SUPER_MAGIC)
		return bt_err(
			-EINVAL,
			"%s is no directory of a cgroup2 file system (findmnt -t cgroup2 tells "
			"where that is)",
			path);
	*id = st.st_ino;
	return TAKE_FD(fd);
}

/* Fills what names the hook's owner in @pin. @fd: of the cgroup, -1 for a device. */
static int find_target(const char *target, enum bt_hook_id hook, struct bt_pin *pin, int *fd)
{
	pin->hook = hook;
	*fd = -1;
	if (bt_hook_is_cgroup(hook)) {
		*fd = open_cgroup(target, &pin->cgroup);
		return *fd < 0 ? *fd : 0;
	}
	pin->ifindex = if_nametoindex(target);
	if (!pin->ifindex)
		return bt_err(-ENODEV, "there is no network device '%s' here", target);
	return this_netns(&pin->netns);
}

static bool is_tc(enum bt_hook_id hook)
{
	return hook == BT_HOOK_INGRESS || hook == BT_HOOK_EGRESS;
}

static bool use_cls(const struct bt_attach_opts *o)
{
	return is_tc(o->hook) && (o->legacy || !bt_have_tcx());
}

int bt_attach_check(const struct bt_attach_opts *o)
{
	struct bt_pin pin = { 0 };
	int fd __close = -1;
	int err;

	err = find_target(o->target, o->hook, &pin, &fd);
	if (!err)
		err = bt_bpffs_check();
	if (!err && o->hook == BT_HOOK_XDP)
		err = bt_xdp_free(o->target);
	if (err)
		return err;
	if (use_cls(o) && o->place.relative)
		return bt_err(-EOPNOTSUPP,
			      "a place beside another program needs tcx (kernel 6.6): with cls_bpf "
			      "there is only head and tail");
	return 0;
}

/* The program's id, and whether it can be attached at all. */
static int prog_check(int prog_fd, const char *name, enum bt_hook_id hook, __u32 *id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (!bt_is_prog(prog_fd) || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return bt_err(-EINVAL, "%s is not a BPF program", name);
	*id = info.id;
	if (info.type == hooks[hook].type)
		return 0;
	if (is_tc(hook) && info.type == BPF_PROG_TYPE_SCHED_ACT)
		return bt_err(
			-EINVAL,
			"%s is a tc action, which belongs into a filter: load it with --pin, then "
			"'tc filter add ... action bpf object-pinned PATH'",
			name);
	return bt_err(-EINVAL, "%s is of program type %u: only %s can be attached here", name,
		      info.type, hooks[hook].progs);
}

/* --- pins whose attachment is gone ------------------------------------------------------- */

struct gc {
	__u64 netns;
};

static bool egress(const struct bt_pin *pin)
{
	return pin->hook == BT_HOOK_EGRESS;
}

/* A device or a cgroup takes its links and filters with it, but pins stay. */
static int gc_one(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct gc *gc = arg;
	char name[IF_NAMESIZE];

	if (pin->kind != BT_PIN_CLS) {
		if (bt_pin_link_dead(path))
			bt_unpin(path);
	} else if (pin->netns == gc->netns) {
		/* Filters of other namespaces cannot be seen from here. */
		if (!if_indextoname(pin->ifindex, name) || !bt_pin_filter_ours(pin, path))
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

int bt_attach_sweep(void)
{
	int dirfd __close = bt_pins_open(false);

	return dirfd < 0 ? dirfd : gc(dirfd);
}

static bool same_target(const struct bt_pin *a, const struct bt_pin *b)
{
	return a->netns == b->netns && a->ifindex == b->ifindex && a->cgroup == b->cgroup &&
	       a->hook == b->hook;
}

struct at_place {
	const struct bt_pin *want;
	bool look; /* change nothing */
};

static int same_place(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct at_place *p = arg;

	if (!same_target(pin, p->want) || strcmp(pin->prog, p->want->prog))
		return 0;
	/* A filter goes with its qdisc, and its pin stays. */
	if (pin->kind == BT_PIN_CLS && !bt_pin_filter_ours(pin, path))
		return p->look ? 0 : bt_unpin(path);
	return 1;
}

/* --- attach --------------------------------------------------------------------------------- */

static int attach_cls(int prog_fd, const struct bt_attach_opts *o, struct bt_attached *a)
{
	int err;

	/* The pin first: a filter that nobody remembers could not be taken off again. */
	err = bt_pin_at(prog_fd, a->path);
	if (err)
		return err;
	err = bt_cls_attach(prog_fd, a->pin.ifindex, egress(&a->pin), a->pin.prio, a->pin.handle);
	if (err == -ENODEV) {
		bt_err_clear();
		return bt_err(err, "device %s vanished meanwhile: nothing is attached", o->target);
	}
	return err;
}

static int plan_cls(const struct bt_attach_opts *o, struct bt_attached *a)
{
	bool late;
	int err;

	a->pin.handle = BT_CLS_HANDLE;
	err = bt_cls_free_prio(a->pin.ifindex, egress(&a->pin), o->place.flags & BT_F_AFTER,
			       &a->pin.prio, &late);
	if (!err && late)
		bt_note("filters with a priority before %u are at %s %s: packets they decide on never "
			"reach %s",
			a->pin.prio, o->target, bt_hook_name(o->hook), a->pin.prog);
	return err;
}

/* Everything about the attachment that is known before it is made. @fd: of a cgroup. */
static int plan(const char *name, const struct bt_attach_opts *o, struct bt_attached *a, int *fd)
{
	int err;

	snprintf(a->pin.prog, sizeof(a->pin.prog), "%s", name);
	err = find_target(o->target, o->hook, &a->pin, fd);
	if (err)
		return err;
	a->pin.kind = use_cls(o) ? BT_PIN_CLS : is_tc(o->hook) ? BT_PIN_TCX : BT_PIN_LINK;
	err = a->pin.kind == BT_PIN_CLS ? plan_cls(o, a) : 0;
	if (err)
		return err;
	strcpy(a->path, BT_PIN_LINKS "/");
	err = bt_pin_format(&a->pin, a->path + strlen(a->path), sizeof(a->path) - strlen(a->path));
	return err ? bt_err(err, "the name '%s' is too long to pin", name) : 0;
}

/* 1: a program of that name is there already. */
static int is_there(int dirfd, const struct bt_attach_opts *o, const struct bt_attached *a)
{
	struct at_place p = { .want = &a->pin, .look = o->dry_run };

	if (!o->swept || a->pin.kind == BT_PIN_CLS)
		return bt_pins_each(dirfd, same_place, &p);
	if (access(a->path, F_OK))
		return 0;
	/* Namespaces get the numbers of those that are gone. */
	return bt_pin_link_dead(a->path) ? bt_unpin(a->path) : 1;
}

static int attach_locked(int dirfd, int prog_fd, const char *name, const struct bt_attach_opts *o,
			 struct bt_attached *a)
{
	const char *hook = bt_hook_name(o->hook);
	int fd __close = -1;
	int err = 0;

	if (dirfd >= 0 && !o->dry_run && !o->swept)
		err = gc(dirfd);
	if (!err)
		err = plan(name, o, a, &fd);
	if (!err && dirfd >= 0)
		err = is_there(dirfd, o, a);
	if (err > 0)
		return bt_err(
			-EEXIST,
			"%s is attached to %s %s already: take it off first with 'bigtcp detach "
			"%s %s --prog %s'",
			name, o->target, hook, o->target, hook, name);
	if (err || o->dry_run)
		return err;
	if (o->obj)
		err = bt_pin_prog_arrays(o->obj, a->path);
	if (err)
		return err;
	err = a->pin.kind == BT_PIN_CLS
		      ? attach_cls(prog_fd, o, a)
		      : bt_attach_link(prog_fd, fd >= 0 ? fd : a->pin.ifindex, o, a);
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
		err = prog_check(prog_fd, name, o->hook, &a.prog_id);
	if (err)
		return err;
	dirfd = bt_pins_open(o->dry_run);
	if (dirfd < 0 && !(o->dry_run && dirfd == -ENOENT))
		return dirfd;
	err = attach_locked(dirfd, prog_fd, name, o, &a);
	if (err)
		return err;
	if (a.xdp_mode)
		bt_xdp_note(o->target, a.xdp_mode);
	*out = a;
	return 0;
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

static int detach_link(const char *path)
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

	if (!bt_pin_filter_ours(pin, path)) {
		bt_note("filter %u handle 0x%x is not the one bigtcp made any more: left alone",
			pin->prio, pin->handle);
		return 0;
	}
	err = bt_cls_detach(pin->ifindex, egress(pin), pin->prio, pin->handle);
	return err ? bt_err(err, "cannot remove the tc filter: %s", strerror(-err)) : 0;
}

static int detach_one(const struct bt_pin *pin, const char *path, void *arg)
{
	struct bt_attached what = { 0 };
	struct detach *d = arg;
	int err;

	if (!same_target(pin, &d->want) ||
	    (d->name ? strcmp(d->name, pin->prog) : bt_pin_own(pin->prog)))
		return 0;
	bt_attached_read(pin, path, &what);
	if (!d->dry_run) {
		err = pin->kind == BT_PIN_CLS ? detach_cls(pin, path) : detach_link(path);
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

int bt_detach(const char *target, enum bt_hook_id hook, const char *name, bool dry_run,
	      void (*fn)(const struct bt_attached *what, void *arg), void *arg)
{
	struct detach d = { .name = name, .dry_run = dry_run, .fn = fn, .arg = arg };
	int dirfd __close = -1, fd __close = -1;
	int err;

	err = find_target(target, hook, &d.want, &fd);
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
			      name ? "program " : "program", name ? name : "", target,
			      bt_hook_name(hook));
	return d.count;
}
