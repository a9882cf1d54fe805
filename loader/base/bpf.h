/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bpf(2) where libbpf 1.1 and the 6.1 headers do not reach: tcx and netkit. Constants are the
 * kernel's, taken from include/uapi/linux/bpf.h of 6.18. All fds made here are close-on-exec.
 */
#ifndef BASE_BPF_H
#define BASE_BPF_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* enum bpf_attach_type */
#define BT_TCX_INGRESS	  46 /* 6.6 */
#define BT_TCX_EGRESS	  47
#define BT_NETKIT_PRIMARY 54 /* 6.7 */
#define BT_NETKIT_PEER	  55
#define BT_STRUCT_OPS	  44 /* 6.4 */

/* enum bpf_link_type */
#define BT_LINK_TYPE_CGROUP 3
#define BT_LINK_TYPE_XDP    6
#define BT_LINK_TYPE_TCX    11
#define BT_LINK_TYPE_NETKIT 13

/* Flags of attaching: where among the programs of the hook. */
#define BT_F_REPLACE (1U << 2)
#define BT_F_BEFORE  (1U << 3) /* nothing named: first of all */
#define BT_F_AFTER   (1U << 4) /* nothing named: last of all */
#define BT_F_ID	     (1U << 5) /* relative is an id, not an fd */
#define BT_F_LINK    (1U << 13) /* relative is a link, not a program */

/* The system call. Returns what it returns, or -errno; tries again on EINTR and EAGAIN. */
int bt_bpf(int cmd, void *attr, size_t size);

/* The place of a new link among the programs of a hook; zeroed: where the kernel puts it (last). */
struct bt_place {
	__u32 flags; /* BT_F_BEFORE | BT_F_AFTER, BT_F_ID, BT_F_LINK */
	__u32 relative; /* fd or id of a program or link; 0: none */
	__u64 revision; /* of the hook, as bt_prog_query() told it: else -ESTALE; 0: any */
};

/*
 * A link of @prog_fd at a hook of a device (BT_TCX_*, BT_NETKIT_*, BPF_XDP: flags of the place are then
 * XDP_FLAGS_*) or of a cgroup, of which the directory's fd stands for @ifindex. Returns the link's fd; -EINVAL
 * on kernels without the hook, -EEXIST when the same program is there already, -ESTALE.
 * @place: NULL, or where. The link goes when its last fd and pin go.
 */
int bt_link_create(int prog_fd, int ifindex, __u32 attach_type, const struct bt_place *place);

/* Puts @prog_fd in the place of the program behind @link_fd. @old_prog_fd: only if that one is
 * there (else -EPERM), or -1.
 */
int bt_link_update(int link_fd, int prog_fd, int old_prog_fd);

/* What is attached at a hook, in the order it runs. */
struct bt_hook {
	__u32 n;
	__u64 revision;
	struct bt_hook_prog {
		__u32 prog_id;
		__u32 link_id; /* 0: attached without a link */
	} progs[64]; /* the kernel allows 63 (BPF_MPROG_MAX) */
};

/* Returns 0, or -EINVAL on kernels without the hook, -ENODEV. An empty hook has n 0. */
int bt_prog_query(int ifindex, __u32 attach_type, struct bt_hook *hook);

/* Takes a program that has no link off a hook. */
int bt_prog_detach(int prog_fd, int ifindex, __u32 attach_type);

/* What a link is. ifindex is of tcx, netkit and XDP links, 0 when the device is gone; attach_type of tcx,
 * netkit and cgroup links; cgroup is 0 when the cgroup is gone.
 */
struct bt_link_info {
	__u32 type; /* BT_LINK_TYPE_* */
	__u32 id;
	__u32 prog_id;
	__u32 ifindex;
	__u32 attach_type;
	__u64 cgroup; /* id */
};
int bt_link_info(int link_fd, struct bt_link_info *info);

/* fd of a program or link by its id: CAP_SYS_ADMIN, -ENOENT when it is gone. */
int bt_prog_by_id(__u32 id);
int bt_link_by_id(__u32 id);

/* Does this kernel have tcx? Asks for the programs of the loopback device. */
bool bt_have_tcx(void);

/* "tcx ingress", "netkit peer" ...; NULL for a type that is not ours. */
const char *bt_attach_name(__u32 attach_type);

#endif
