/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by hooks.c (tc), hooks_xdp.c and hooks_cgroup.c. */
#ifndef CORE_HOOKS_INT_H
#define CORE_HOOKS_INT_H

#include "base/rtnl.h"
#include "core/hooks.h"

struct bt_hooks {
	struct bt_attached *v;
	unsigned int n, cap;
	struct bt_attached proto; /* what entries to come have in common */
	int err;
};

void bt_hooks_add(struct bt_hooks *l, __u32 prog_id);
void bt_hooks_at(struct bt_hooks *l, const char *hook, bool ingress);

/* XDP programs of a device, whose entry is l->proto. */
void bt_hooks_xdp(struct bt_hooks *l, const struct bt_link *link);
/* cgroup_skb programs by cgroup. 0 or -errno. */
int bt_hooks_cgroups(struct bt_hooks *l);
/* Programs that are loaded and not in the list: socket filters, sk_lookup, cgroup_skb. 0 or -errno. */
int bt_hooks_loaded(struct bt_hooks *l);

#endif
