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
	char kind[24]; /* of the device, as in struct bt_link */
	char hook[32]; /* "tcx/ingress", "clsact/egress", "xdp/generic", "netkit/primary",
			  "cgroup_skb/egress", "socket", "sk_lookup" ... */
	__u32 prog_id;
	__u32 prio, handle; /* of a filter; 0: none */
	__u8 mac[6]; /* of the device */
	bool ingress;
	bool class_id; /* a filter without direct-action */
	bool ethernet; /* packets of the device have an Ethernet header */
	char cgroup[256]; /* path of the cgroup it is attached to; "": none */
	__u32 dispatcher; /* id of the XDP dispatcher that runs it; 0: none */
	/* Why no BIG TCP packet ever gets there, one phrase; NULL: some may. */
	const char *no_jumbo;
};

/*
 * In the order of devices, hooks, and how programs run; behind an XDP dispatcher the programs that
 * it runs. @dev: of this device alone; NULL: of all and those that belong to none; "": those alone. These are act_bpf, cgroup_skb,
 * and what is loaded but does not tell where it is attached (socket filters, sk_lookup). free() *list. 0, or -errno with a sentence:
 * -ENODEV, -EPERM.
 */
int bt_hooks_list(const char *dev, struct bt_attached **list, unsigned int *n);

#endif
