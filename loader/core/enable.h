/* SPDX-License-Identifier: GPL-2.0 */
/* What `enable` sets at devices, and what speaks against it. */
#ifndef CORE_ENABLE_H
#define CORE_ENABLE_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/preflight.h"
#include "core/sizes.h"

/* What is set unless a size is asked for: what Cilium sets, and the measurements of BIG TCP were made with. */
#define BT_SIZE_DEFAULT 196608U
/* As an argument: what the device takes. */
#define BT_SIZE_MAX (~0U)

struct bt_enable_opts {
	__u32 size; /* 0: the default, or less where the device takes less; BT_SIZE_MAX; or bytes */
	bool ipv4; /* IPv4 too, or fail; without it IPv4 too where the kernel has it */
	bool only_ipv6; /* IPv4's sizes stay as they were before bigtcp */
	bool force; /* preflight may have its say, or none where the rights for it lack */
};

/* One device on the way. */
struct bt_enable_dev {
	struct bt_link link;
	struct bt_sizes want;
	struct bt_check *checks; /* of preflight; none before it was asked */
	unsigned int n_checks;
};

/* What to set at a device. @kept: what is kept of it, or NULL. 0, or -errno with a sentence: -ERANGE where it does
 * not take the size, or none above 64 KiB at all, -EOPNOTSUPP where the kernel does not.
 */
int bt_enable_want(const struct bt_link *link, const struct bt_kept *kept,
		   const struct bt_enable_opts *o, struct bt_sizes *want);

/* Looks the devices up, decides and asks preflight. free with bt_enable_free(), after an error too. *worst: of the
 * rows of all devices. 0, or -errno with a sentence; nothing is changed.
 */
int bt_enable_plan(char *const *names, unsigned int n, const struct bt_enable_opts *o,
		   struct bt_enable_dev *devs, enum bt_level *worst);
void bt_enable_free(struct bt_enable_dev *devs, unsigned int n);

#endif
