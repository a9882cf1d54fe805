/* SPDX-License-Identifier: GPL-2.0 */
/* Which attached programs are bigtcp's own, that count packets and must not be run for a test. */
#ifndef CORE_OURS_H
#define CORE_OURS_H

#include <linux/types.h>

enum bt_ours {
	BT_OURS_NOT,
	BT_OURS_GUARD, /* core/guard.h */
	BT_OURS_OBSERVER, /* core/observe.h */
};

/* What the program behind @fd is, which is attached to @dev (NULL: to any device). It is ours only if bigtcp's pins in this network namespace say so: a name alone
 * proves nothing.
 */
enum bt_ours bt_ours(__u32 prog_id, const char *dev, int fd);

#endif
