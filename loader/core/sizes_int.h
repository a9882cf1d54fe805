/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sizes of several devices set together: the steps, apart from the kernel that they are done to, so that tests
 * can let each of them fail.
 */
#ifndef CORE_SIZES_INT_H
#define CORE_SIZES_INT_H

#include "core/sizes.h"

/* Each returns 0 or -errno, and may leave a sentence. */
struct bt_sizes_io {
	int (*link)(void *arg, int ifindex, struct bt_link *link);
	/* Those that are not 0, as bt_link_set_sizes(). */
	int (*set)(void *arg, int ifindex, const struct bt_sizes *sizes);
	int (*get)(void *arg, int ifindex, struct bt_kept *kept); /* -ENOENT: nothing is kept */
	int (*put)(void *arg, int ifindex, const struct bt_kept *kept); /* NULL: forget */
	void *arg;
	__u64 now; /* seconds since the epoch */
};

struct bt_sizes_how {
	enum bt_setter setter;
	bool restore; /* else what @changes want */
	bool force, dry_run;
};

/* bt_sizes_apply() and bt_sizes_restore(), the caller has the lock. */
int bt_sizes_do(const struct bt_sizes_io *io, struct bt_sizes_change *changes, unsigned int n,
		const struct bt_sizes_how *how);

#endif
