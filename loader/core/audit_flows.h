/* SPDX-License-Identifier: GPL-2.0 */
/* Which flows a program is tried with: what it does may hang on ports and addresses. */
#ifndef CORE_AUDIT_FLOWS_H
#define CORE_AUDIT_FLOWS_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/audit_maps.h"
#include "core/audit_prog.h"
#include "core/packets.h"

#define BT_FLOWS_MAX 96

struct bt_flows {
	struct bt_flow v[BT_FLOWS_MAX];
	unsigned int n;
	unsigned int n_first; /* of them, those that are tried with all flags: the user's and the
				 first ones */
};

/* What the host says: ports that it listens on, addresses of the device. */
struct bt_host {
	__u16 ports[64];
	unsigned int n_ports;
	struct bt_flow addrs[8]; /* family and daddr only */
	unsigned int n_addrs;
};

/* TCP listeners of this network namespace. */
void bt_host_ports(struct bt_host *h);
/* Replaces the addresses by those of device @name. */
void bt_host_addrs(struct bt_host *h, const char *name);

/*
 * The user's flows, some of the field's usual ports, and what the program's own maps and constants
 * hint at. Addresses that nobody has named are of the documentation prefixes (RFC 3849, RFC 5737).
 */
void bt_flows_build(struct bt_flows *f, const struct bt_flow *user, unsigned int n_user,
		    const struct bt_host *host, const struct bt_prog_facts *facts,
		    const struct bt_maps *maps);

#endif
