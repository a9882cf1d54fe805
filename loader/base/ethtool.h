/* SPDX-License-Identifier: GPL-2.0 */
/* Offloads of a device, in the network namespace the caller is in. */
#ifndef BASE_ETHTOOL_H
#define BASE_ETHTOOL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct bt_feature_state {
	bool on;
	bool fixed; /* nobody can change it ("[fixed]") */
};

/* A feature by the name that `ethtool -k` gives it in full, "tx-tcp6-segmentation". 0, -ENODEV, -ENOENT: no
 * such feature, or another -errno.
 */
int bt_ethtool_feature(int ifindex, const char *name, struct bt_feature_state *state);

/* Switches an offload and checks that it took. @cmd: ETHTOOL_STSO, ETHTOOL_SGRO ... 0 or -errno:
 * -EOPNOTSUPP when it did not.
 */
int bt_ethtool_set(int ifindex, __u32 cmd, bool on);

/* Name of the driver; "" if it tells none. */
void bt_ethtool_driver(int ifindex, char *buf, size_t len);

#endif
