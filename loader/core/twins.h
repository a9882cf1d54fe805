/* SPDX-License-Identifier: GPL-2.0 */
/* The twins that are attached in this network namespace, and what they have counted. */
#ifndef CORE_TWINS_H
#define CORE_TWINS_H

#include <bigtcp/twin.h>
#include <linux/bpf.h>
#include <net/if.h>

struct bt_twin_use {
	char dev[IFNAMSIZ]; /* "": no device (cgroups) */
	char hook[32]; /* as bt_hook_name() has it, or as core/hooks.h: "netkit/primary" ... */
	char name[BPF_OBJ_NAME_LEN]; /* of the program */
	__u32 prog_id; /* of several of one name at one hook, the last */
	struct bigtcp_twin_state state; /* summed over programs of one name at one hook */
};

/*
 * Whoever has loaded and attached them; one row for each device, hook and name. What twins count that others call (tail
 * calls) is not in it. free() *list; none is no error. 0, or -errno with a sentence: -EPERM, it takes
 * CAP_SYS_ADMIN.
 */
int bt_twins_list(struct bt_twin_use **list, unsigned int *n);

#endif
