/* SPDX-License-Identifier: GPL-2.0 */
/* The devices that a device's packets also pass: below it, above it, opposite it, beside it at a bridge. */
#ifndef CORE_STACK_H
#define CORE_STACK_H

#include <limits.h>
#include <stdbool.h>

#include "base/rtnl.h"

enum bt_relation {
	BT_LOWER, /* what it sends passes there: of a vlan, macvlan, ipvlan, tunnel; ports of a bond or bridge */
	BT_UPPER, /* what it receives passes there: its bond or bridge, a vlan on it */
	BT_PEER, /* the other end of a veth or netkit, its own or that of a lower device */
	BT_BESIDE, /* another port of its bridge */
	BT_RELATIONS,
};
const char *bt_relation_name(enum bt_relation relation); /* "lower", "upper", "peer", "beside" */

struct bt_related {
	enum bt_relation relation;
	struct bt_link link; /* a device that can't be read has its index alone */
	bool readable;
	bool elsewhere; /* in another namespace, which this one knows as @nsid, -1: not at all */
	int nsid;
};

/*
 * Each device once, lower ones and peers first; at most @max of them, *left_out tells how many more there are.
 * free() *list. 0, or -errno with a sentence.
 */
int bt_stack_list(const struct bt_link *dev, unsigned int max, struct bt_related **list,
		  unsigned int *n, unsigned int *left_out);

/* Packets are wrapped in others there: vxlan, gre, wireguard ... */
bool bt_is_tunnel(const struct bt_link *link);

/*
 * What -n takes for the namespace that this one knows as @nsid: a name of /run/netns, a path below it, or of
 * a process there. 0 or -ENOENT.
 */
int bt_netns_find(int nsid, char *buf, size_t len);

#endif
