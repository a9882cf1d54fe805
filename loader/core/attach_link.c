// SPDX-License-Identifier: GPL-2.0
#include "core/attach_link.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rtnl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

/* The program by which libxdp runs several in one hook (lib/libxdp/xdp-dispatcher.c.in). */
#define DISPATCHER "xdp_dispatcher"

static void prog_name(__u32 id, char *buf, size_t len)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	int fd __close = bt_prog_by_id(id);

	buf[0] = 0;
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
		snprintf(buf, len, "%s", info.name);
}

/* Is program @arg that of the pinned link? */
struct find_prog {
	__u32 id;
	struct bt_pin pin;
};

static int find_prog(const struct bt_pin *pin, const char *path, void *arg)
{
	struct find_prog *f = arg;
	struct bt_link_info info;
	int fd __close = -1;

	if (pin->hook != BT_HOOK_XDP)
		return 0;
	fd = bpf_obj_get(path);
	if (fd < 0 || bt_link_info(fd, &info) || info.prog_id != f->id)
		return 0;
	f->pin = *pin;
	return 1;
}

/* Was it bigtcp that attached program @id? */
static bool is_ours(__u32 id, struct bt_pin *pin)
{
	struct find_prog f = { .id = id };
	int dirfd __close = bt_pins_open(true);
	bool found = dirfd >= 0 && bt_pins_each(dirfd, find_prog, &f) == 1;

	*pin = f.pin;
	return found;
}

static int xdp_taken(const char *dev, __u32 id)
{
	char name[BPF_OBJ_NAME_LEN];
	struct bt_pin pin;

	if (is_ours(id, &pin))
		return bt_err(-EEXIST,
			      "%s is attached to %s xdp already: take it off first with 'bigtcp "
			      "detach %s xdp --prog %s'",
			      pin.prog, dev, dev, pin.prog);
	prog_name(id, name, sizeof(name));
	if (!strcmp(name, DISPATCHER))
		return bt_err(
			-EBUSY,
			"libxdp's dispatcher (program %u) is at %s xdp: put the program into its "
			"chain, as a twin, with 'bigtcp exec -- xdp-loader load %s FILE.o'",
			id, dev, dev);
	return bt_err(
		-EBUSY,
		"program %u%s%s is at %s xdp, which takes one program, and bigtcp takes off none "
		"of others': take it off with what put it there, or by 'ip link set dev %s xdp "
		"off'; to have it as a twin, run its loader under 'bigtcp exec'",
		id, *name ? " " : "", name, dev, dev);
}

int bt_xdp_free(const char *dev)
{
	struct bt_link link;
	int err = bt_link_get_name(dev, &link);

	if (err)
		return err;
	return link.xdp_prog_id ? xdp_taken(dev, link.xdp_prog_id) : 0;
}

void bt_xdp_note(const char *dev, __u8 xdp_mode)
{
	struct bt_link link;

	if (xdp_mode == XDP_ATTACHED_SKB) {
		bt_note("generic XDP turns GRO off on %s: packets from the wire are not joined any "
			"more; those that the other end of a veth sends stay as large as they are",
			dev);
		return;
	}
	if (bt_link_get_name(dev, &link)) {
		bt_err_clear();
		return;
	}
	if (!strcmp(link.kind, "veth"))
		bt_note("native XDP on %s switches TSO off on the other end of the veth: it sends no "
			"BIG TCP packets any more; --mode skb keeps them",
			dev);
	else
		bt_note("native XDP on %s runs before GRO: packets are as they were on the wire, none "
			"of them is jumbo",
			dev);
}

static int tcx_error(int err, const struct bt_attach_opts *o, const char *name)
{
	const char *hook = bt_hook_name(o->hook);

	switch (err) {
	case -EEXIST:
		return bt_err(err, "this very program is attached to %s %s already", o->target,
			      hook);
	case -ENOENT:
		return bt_err(err, "cannot place %s beside %s %u: it is not at %s %s", name,
			      o->place.flags & BT_F_LINK ? "link" : "program", o->place.relative,
			      o->target, hook);
	case -ERANGE:
		return bt_err(err, "%s %s has as many programs as the kernel allows", o->target,
			      hook);
	default:
		return 0;
	}
}

static int xdp_error(int err, const struct bt_attach_opts *o)
{
	switch (err) {
	case -EBUSY:
	case -EEXIST: /* one in the other mode */
		return bt_xdp_free(o->target)
			       ?: bt_err(err, "%s xdp was taken a moment ago: try again",
					 o->target);
	case -EOPNOTSUPP:
		return bt_err(
			err,
			"the driver of %s has no native XDP, or not with the device's present "
			"settings: --mode skb needs no driver",
			o->target);
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
	case -ENOSPC:
		return bt_err(
			err,
			"%s does not take the XDP program (%s): as a rule its MTU is too large "
			"for native XDP with a program without frags (SEC \"xdp.frags\"), or it "
			"has too few queues; --mode skb needs neither",
			o->target, strerror(-err));
	default:
		return 0;
	}
}

static int cgroup_error(int err, const struct bt_attach_opts *o)
{
	switch (err) {
	case -EPERM:
		return bt_err(
			err,
			"cannot attach to %s: this process lacks CAP_NET_ADMIN, or a program at "
			"this cgroup or one above it was attached as the only one (without "
			"BPF_F_ALLOW_MULTI)",
			o->target);
	case -E2BIG:
		return bt_err(err, "%s has as many programs as the kernel allows (64)", o->target);
	case -EINVAL:
		return bt_err(
			err,
			"the kernel does not take the program at %s %s: it is made for the other "
			"direction (its section says so), or this kernel has no CONFIG_CGROUP_BPF",
			o->target, bt_hook_name(o->hook));
	default:
		return 0;
	}
}

static int link_error(int err, const struct bt_attach_opts *o, const char *name)
{
	int told;

	/* XDP says EINVAL for a device that is gone. */
	if (!bt_hook_is_cgroup(o->hook) &&
	    (err == -ENODEV || (err == -EINVAL && !if_nametoindex(o->target))))
		return bt_err(-ENODEV, "device %s vanished meanwhile: nothing is attached",
			      o->target);
	if (bt_hook_is_cgroup(o->hook))
		told = cgroup_error(err, o);
	else if (err == -EPERM)
		told = bt_err(err, "attaching to %s needs CAP_NET_ADMIN", o->target);
	else
		told = o->hook == BT_HOOK_XDP ? xdp_error(err, o) : tcx_error(err, o, name);
	return told
		       ?: bt_err(err, "cannot attach %s to %s %s: %s", name, o->target,
				 bt_hook_name(o->hook), strerror(-err));
}

static __u32 attach_type(enum bt_hook_id hook)
{
	static const __u32 types[] = {
		[BT_HOOK_INGRESS] = BT_TCX_INGRESS,
		[BT_HOOK_EGRESS] = BT_TCX_EGRESS,
		[BT_HOOK_XDP] = BPF_XDP,
		[BT_HOOK_CGROUP_INGRESS] = BPF_CGROUP_INET_INGRESS,
		[BT_HOOK_CGROUP_EGRESS] = BPF_CGROUP_INET_EGRESS,
	};

	return types[hook];
}

static struct bt_place place_of(const struct bt_attach_opts *o)
{
	static const __u32 modes[] = {
		[BT_XDP_NATIVE] = XDP_FLAGS_DRV_MODE,
		[BT_XDP_SKB] = XDP_FLAGS_SKB_MODE,
	};
	struct bt_place place = o->place;

	if (o->hook == BT_HOOK_XDP)
		return (struct bt_place){ .flags = modes[o->mode] };
	if (!bt_hook_is_cgroup(o->hook) && !place.flags)
		place.flags = BT_F_BEFORE;
	return place;
}

static bool is_dead(const struct bt_link_info *info)
{
	return info->type == BT_LINK_TYPE_CGROUP ? !info->cgroup : !info->ifindex;
}

bool bt_pin_link_dead(const char *path)
{
	int fd __close = bpf_obj_get(path);
	struct bt_link_info info;

	return fd >= 0 && !bt_link_info(fd, &info) && is_dead(&info);
}

static int read_back(int link, const struct bt_attach_opts *o, struct bt_attached *a)
{
	struct bt_link_info info;
	struct bt_link dev;
	int err = bt_link_info(link, &info);

	if (err)
		return bt_err(err, "cannot read back the link: %s", strerror(-err));
	if (is_dead(&info))
		return bt_err(-ENODEV, "%s %s vanished meanwhile: nothing is attached",
			      bt_hook_is_cgroup(o->hook) ? "cgroup" : "device", o->target);
	a->link_id = info.id;
	if (o->hook != BT_HOOK_XDP)
		return 0;
	err = bt_link_get(a->pin.ifindex, &dev);
	if (!err)
		a->xdp_mode = dev.xdp_mode;
	return err;
}

int bt_attach_link(int prog_fd, int target, const struct bt_attach_opts *o, struct bt_attached *a)
{
	struct bt_place place = place_of(o);
	int link __close = bt_link_create(prog_fd, target, attach_type(o->hook), &place);
	int err;

	if (link < 0)
		return link_error(link, o, a->pin.prog);
	/* Unpinned, the link goes with this process, however it ends. */
	err = bt_pin_at(link, a->path);
	if (err)
		return err;
	err = read_back(link, o, a);
	if (err)
		unlink(a->path);
	return err;
}
