/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs in other programs: an XDP dispatcher (libxdp, bpfman) runs the programs of a device
 * by replacing its own empty functions by them (freplace). Only the links tell which.
 */
#ifndef CORE_AUDIT_PARTS_H
#define CORE_AUDIT_PARTS_H

#include <linux/types.h>

struct bt_part {
	__u32 of; /* id of the program that it is in */
	__u32 prog_id;
};

/* All there are on the host; free() *parts. 0 or -errno: -EPERM without CAP_SYS_ADMIN. */
int bt_parts_list(struct bt_part **parts, unsigned int *n);

#endif
