/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the daemon remembers of a device from one look to the next. Nothing that matters is here: a daemon that starts
 * anew finds it in the kernel.
 */
#ifndef DAEMON_DEVS_H
#define DAEMON_DEVS_H

#include <linux/types.h>
#include <net/if.h>
#include <stdbool.h>

#include "daemon/log.h"
#include "daemon/policy.h"

#define BT_NSID_SELF (-1) /* the namespace of the daemon */

/* About what a device's log lines are: each is said when it changes. */
enum bt_topic {
	BT_TOPIC_SIZES, /* the decision */
	BT_TOPIC_PROGRAMS, /* unsafe ones, where the sizes are not ours to change */
	BT_TOPIC_FRONT, /* somebody is in front of our programs */
	BT_TOPIC_LOOK,
	BT_TOPIC_DRESS,
	BT_TOPIC_ERROR,
	BT_TOPIC_NETNS, /* of the peer */
	__BT_TOPIC_MAX,
};

struct bt_dev {
	int nsid, ifindex;
	unsigned int round; /* in which it was last seen */
	/* Elsewhere: the cookie of the namespace (0: not known), and the end of the pair that is here. */
	__u64 cookie;
	int near;
	/* What was found out about its programs, which is good while daemon/marks.h gives the same number. */
	__u64 mark; /* 0: nothing */
	long long looked_ms; /* when, monotonic */
	enum bt_programs programs;
	unsigned int unsafe; /* programs that are not known to be safe */
	char *culprit; /* one phrase about the worst, or NULL */
	/* Observers and guard were put on, or found there, when it had this number. */
	__u64 dressed;
	bool undressed; /* that failed */
	/* Of those that the configuration names, for metrics. */
	bool named;
	char name[IFNAMSIZ];
	unsigned int all_unsafe; /* of both ends */
	struct bt_said said[__BT_TOPIC_MAX];
	struct bt_dev *next;
};

struct bt_devs;
struct bt_devs *bt_devs_new(void); /* NULL: out of memory */
void bt_devs_free(struct bt_devs **d);

/* The device, or NULL. */
struct bt_dev *bt_devs_find(const struct bt_devs *d, int nsid, int ifindex);
/* The device, made if it is new, marked as seen in @round. NULL: out of memory. */
struct bt_dev *bt_devs_get(struct bt_devs *d, int nsid, int ifindex, unsigned int round);
/* Calls fn for each. */
void bt_devs_each(const struct bt_devs *d, void (*fn)(void *arg, const struct bt_dev *dev),
		  void *arg);
/* Forgets those that were not seen in @round, but those of which @gone (may be NULL) says no; returns how many. */
unsigned int bt_devs_sweep(struct bt_devs *d, unsigned int round,
			   bool (*gone)(void *arg, const struct bt_dev *dev), void *arg);

#endif
