// SPDX-License-Identifier: GPL-2.0
/* Raw bpf(2). The structures are the kernel's, as far as the fields used here. */
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bpf.h"

#define MAX_TRIES 5 /* as libbpf: EAGAIN means that a signal came while the verifier worked */

int bt_bpf(int cmd, void *attr, size_t size)
{
	int tries = MAX_TRIES;
	long ret;

	do {
		ret = syscall(__NR_bpf, cmd, attr, size);
	} while (ret < 0 && (errno == EINTR || (errno == EAGAIN && --tries)));
	return ret < 0 ? -errno : (int)ret;
}

int bt_link_create(int prog_fd, int ifindex, __u32 attach_type, const struct bt_place *place)
{
	struct {
		__u32 prog_fd, target, attach_type, flags;
		__u32 relative;
		__u32 : 32;
		__u64 revision;
	} attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = (__u32)prog_fd;
	attr.target = (__u32)ifindex;
	attr.attach_type = attach_type;
	if (place) {
		attr.flags = place->flags;
		attr.relative = place->relative;
		attr.revision = place->revision;
	}
	return bt_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int bt_link_update(int link_fd, int prog_fd, int old_prog_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_update.link_fd = (__u32)link_fd;
	attr.link_update.new_prog_fd = (__u32)prog_fd;
	if (old_prog_fd >= 0) {
		attr.link_update.flags = BPF_F_REPLACE;
		attr.link_update.old_prog_fd = (__u32)old_prog_fd;
	}
	return bt_bpf(BPF_LINK_UPDATE, &attr, sizeof(attr));
}

int bt_prog_query(int ifindex, __u32 attach_type, struct bt_hook *hook)
{
	__u32 prog_ids[64] = {}, link_ids[64] = {};
	struct {
		__u32 target, attach_type, query_flags, attach_flags;
		__u64 prog_ids;
		__u32 count;
		__u32 : 32;
		__u64 prog_flags, link_ids, link_flags, revision;
	} attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.target = (__u32)ifindex;
	attr.attach_type = attach_type;
	attr.prog_ids = (__u64)(unsigned long)prog_ids;
	attr.link_ids = (__u64)(unsigned long)link_ids;
	attr.count = 64;
	err = bt_bpf(BPF_PROG_QUERY, &attr, sizeof(attr));
	/* A hook that nothing was ever attached to has no list at all. */
	if (err == -ENOENT)
		attr.count = 0;
	else if (err < 0)
		return err;
	memset(hook, 0, sizeof(*hook));
	hook->n = attr.count > 64 ? 64 : attr.count;
	hook->revision = attr.revision;
	for (__u32 i = 0; i < hook->n; i++)
		hook->progs[i] = (struct bt_hook_prog){ prog_ids[i], link_ids[i] };
	return 0;
}

int bt_prog_detach(int prog_fd, int ifindex, __u32 attach_type)
{
	struct {
		__u32 target, prog_fd, attach_type, flags, replace, relative;
		__u64 revision;
	} attr;

	memset(&attr, 0, sizeof(attr));
	attr.target = (__u32)ifindex;
	attr.prog_fd = (__u32)prog_fd;
	attr.attach_type = attach_type;
	return bt_bpf(BPF_PROG_DETACH, &attr, sizeof(attr));
}

int bt_link_info(int link_fd, struct bt_link_info *info)
{
	/* The kernel fills as much as it is given room for; 64 bytes hold what is read here. */
	struct {
		__u32 type, id, prog_id;
		__u32 : 32; /* the union that follows is aligned to 8 */
		__u32 ifindex, attach_type;
		__u32 rest[10];
	} raw;
	union bpf_attr attr;
	int err;

	memset(&raw, 0, sizeof(raw));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (__u32)link_fd;
	attr.info.info_len = sizeof(raw);
	attr.info.info = (__u64)(unsigned long)&raw;
	err = bt_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	if (err < 0)
		return err;
	*info = (struct bt_link_info){ .type = raw.type, .id = raw.id, .prog_id = raw.prog_id };
	if (raw.type == BT_LINK_TYPE_TCX || raw.type == BT_LINK_TYPE_NETKIT) {
		info->ifindex = raw.ifindex;
		info->attach_type = raw.attach_type;
	} else if (raw.type == BT_LINK_TYPE_XDP) {
		info->ifindex = raw.ifindex;
	} else if (raw.type == BT_LINK_TYPE_CGROUP) {
		/* a 64-bit id, then the attach type */
		memcpy(&info->cgroup, &raw.ifindex, sizeof(info->cgroup));
		info->attach_type = raw.rest[0];
	}
	return 0;
}

static int by_id(int cmd, __u32 id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	return bt_bpf(cmd, &attr, sizeof(attr));
}

int bt_prog_by_id(__u32 id)
{
	return by_id(BPF_PROG_GET_FD_BY_ID, id);
}

int bt_link_by_id(__u32 id)
{
	return by_id(BPF_LINK_GET_FD_BY_ID, id);
}

bool bt_have_tcx(void)
{
	struct bt_hook hook;

	/* lo has index 1 in every namespace. Kernels before 6.6: EINVAL. */
	return !bt_prog_query(1, BT_TCX_INGRESS, &hook);
}

const char *bt_attach_name(__u32 attach_type)
{
	switch (attach_type) {
	case BT_TCX_INGRESS:
		return "tcx ingress";
	case BT_TCX_EGRESS:
		return "tcx egress";
	case BT_NETKIT_PRIMARY:
		return "netkit primary";
	case BT_NETKIT_PEER:
		return "netkit peer";
	default:
		return NULL;
	}
}
