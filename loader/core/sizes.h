/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sizes of devices: set for several devices together or not at all, and what they were before kept in
 * the kernel (a pinned map), so that any later run of the tool can put them back. A device is known by its
 * network namespace's cookie and its ifindex, neither of which the kernel gives out twice.
 */
#ifndef CORE_SIZES_H
#define CORE_SIZES_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/rtnl.h"
#include "core/pins.h"

#define BT_PIN_SIZES BT_BPFFS "/bigtcp/v1/sizes"

/* Sizes of devices that nobody touched, and what `disable` means where nothing is kept. */
#define BT_SIZE_LEGACY 65536U
/* The kernel's limit of gro (GRO_MAX_SIZE) and of tso_max (GSO_MAX_SIZE), 5.19 and newer. */
#define BT_SIZE_LIMIT (8 * 65535U)

enum bt_setter {
	BT_SET_BY_NOBODY,
	BT_SET_BY_COMMAND, /* an administrator, with enable or disable */
	BT_SET_BY_DAEMON,
};
const char *bt_setter_name(enum bt_setter setter); /* "nobody", "command", "daemon" */

/* What is kept of a device; the map's value. tso_max is 0 in both. */
struct bt_kept {
	struct bt_sizes before; /* as they were when bigtcp came first */
	struct bt_sizes set; /* as the kernel read them back after the last change by bigtcp */
	__u32 setter; /* enum bt_setter */
	/* The administrator wants it off (disable, or sizes set by hand): the daemon keeps off until the next
	 * enable. before and set are equal then.
	 */
	__u32 hands_off;
	/* A change is under way, or was cut off in the middle (kill -9): what is there is bigtcp's, whatever it
	 * is.
	 */
	__u32 busy;
	__u32 unused; /* 0 */
	__u64 since; /* seconds since the epoch of the last change */
};

enum bt_sizes_state {
	BT_SIZES_UNTOUCHED, /* nothing is kept */
	BT_SIZES_OURS, /* as bigtcp set them */
	BT_SIZES_CHANGED, /* somebody else has set other values since */
	BT_SIZES_HANDS_OFF, /* see hands_off */
};
const char *
bt_sizes_state_name(enum bt_sizes_state state); /* "untouched", "ours", "changed", "hands-off" */

/* What is kept of a device of the namespace the caller is in. 0, -ENOENT (nothing; no sentence), or -errno
 * with a sentence.
 */
int bt_kept_get(int ifindex, struct bt_kept *kept);

/* The same of all devices of the namespace the caller is in, gone ones too, by ifindex: quicker than one after
 * the other. free() *list; none is no error.
 */
struct bt_kept_dev {
	int ifindex;
	struct bt_kept kept;
};
int bt_kept_list(struct bt_kept_dev **list, unsigned int *n);
const struct bt_kept *bt_kept_find(const struct bt_kept_dev *list, unsigned int n, int ifindex);

/* How @link's sizes compare with what is kept; NULL: nothing is. */
enum bt_sizes_state bt_sizes_compare(const struct bt_link *link, const struct bt_kept *kept);
/* The same sizes (tso_max aside)? */
bool bt_sizes_equal(const struct bt_sizes *a, const struct bt_sizes *b);

struct bt_sizes_change {
	int ifindex;
	struct bt_sizes want; /* 0: leave as it is */
	struct bt_sizes was, got; /* out: before this call, and read back after it */
};

/*
 * Sets the sizes of @n devices of this namespace and reads them back; what they were before is kept first. If a step
 * fails every value is put back as it was and nothing is kept that was not: -errno with a sentence that
 * names the device and the step (@changes: want untouched, was and got undefined). Takes the lock of the pins: the
 * caller does not have it. -EEXIST by DAEMON: what is there is the administrator's (kept by COMMAND, hands_off,
 * or changed by hand), also if that came to be a moment ago.
 */
int bt_sizes_apply(struct bt_sizes_change *changes, unsigned int n, enum bt_setter setter);

/*
 * Puts back what was kept of @n devices, all or none, and forgets it; by COMMAND it leaves hands_off. A device of
 * which nothing is kept (or hands_off) gets BT_SIZE_LEGACY in each size above it. @force: also where somebody else
 * has set other values since (otherwise -EEXIST with a sentence). By DAEMON: only what the daemon set
 * itself (otherwise -EEXIST).
 */
int bt_sizes_restore(const int *ifindexes, unsigned int n, enum bt_setter setter, bool force);

/* The same, by COMMAND, and told: want, was and got are filled in. @dry_run: nothing is changed, and got is what
 * would be.
 */
int bt_sizes_disable(struct bt_sizes_change *changes, unsigned int n, bool force, bool dry_run);

/* The administrator has set other values by hand: what is there now becomes what is kept, hands_off. */
int bt_sizes_hands_off(int ifindex);

/* Forgets devices of this namespace that are gone. Returns how many, or -errno. */
int bt_sizes_sweep(void);

/* Forgets a device that is gone, of the network namespace with this cookie, which may be gone too. 0, also if nothing is
 * kept of it, or -errno with a sentence.
 */
int bt_kept_forget(__u64 cookie, int ifindex);

#endif
