/* SPDX-License-Identifier: GPL-2.0 */
/* Which programs are attached in this network namespace, and where. */
#ifndef CORE_HOOKS_H
#define CORE_HOOKS_H

#include <linux/types.h>
#include <net/if.h>
#include <stdbool.h>

struct bt_attached {
	int ifindex; /* 0: no device */
	char dev[IFNAMSIZ];
	char hook[32]; /* "tcx/ingress", "clsact/egress", "xdp", "netkit/primary", "cgroup_skb" ...
			*/
	__u32 prog_id;
	__u32 prio, handle; /* of a filter; 0: none */
	__u8 mac[6]; /* of the device */
	bool runs; /* a hook whose programs can be audited */
	bool ingress;
	bool class_id; /* a filter without direct-action */
	bool ethernet; /* packets of the device have an Ethernet header */
};

/*
 * In the order of devices, hooks, and how programs run. @dev: of this device alone, else of all and
 * those that belong to none (cgroup_skb, act_bpf). free() *list. 0, or -errno with a sentence:
 * -ENODEV, -EPERM.
 */
int bt_hooks_list(const char *dev, struct bt_attached **list, unsigned int *n);

#endif
