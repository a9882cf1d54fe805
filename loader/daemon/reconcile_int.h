/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by reconcile.c (a round), look.c (what there is), act.c (what is done and said). */
#ifndef DAEMON_RECONCILE_INT_H
#define DAEMON_RECONCILE_INT_H

#include "core/judge.h"
#include "daemon/devs.h"
#include "daemon/dress.h"
#include "daemon/marks.h"
#include "daemon/netns.h"
#include "daemon/reconcile.h"

struct bt_reconciler {
	const struct bt_config *cfg;
	struct bt_devs *devs;
	struct bt_judge *judge; /* NULL: programs can't be judged */
	int home; /* fd of our network namespace */
	unsigned int nr; /* of the round */
	long long now_ms; /* when it began, monotonic */
	struct bt_round *round; /* the one that is under way */
	struct bt_marks *marks; /* of the namespace that is looked at; NULL: can't be had */
	struct bt_dressing *queue; /* devices without observers or guard */
	unsigned int n_queue, at_queue, cap_queue;
	unsigned int dressed; /* that are on since the queue was last empty */
	unsigned int audited; /* programs that were run in this round */
	struct bt_own own; /* where programs can not be judged: those that are ours */
	bool fresh; /* everything is tried again that failed before */
	struct bt_said said_judge, said_bpffs, said_netns;
};

/* Observers and a guard that are to be put on a device of this namespace. */
struct bt_dressing {
	int ifindex;
	bool observe, guard;
	__u64 mark;
};

/* A device in this round. */
struct bt_end {
	int nsid, ifindex;
	unsigned int unit; /* elsewhere: whose other end it is */
	struct bt_link link; /* ifindex 0: not looked at, or not there */
	struct bt_dev *dev;
	enum bt_programs programs;
	char *culprit; /* where it has no dev to tell: one phrase, free() */
	enum bt_sizes_state state;
	enum bt_setter setter;
	struct bt_sizes want;
	struct bt_decision todo;
	__u64 mark; /* daemon/marks.h */
};

/* A device that the configuration names, with the other end of the pair that it may be of. */
struct bt_unit {
	const struct bt_rule *rule;
	struct bt_end *near, *far; /* far NULL: none that is to be looked at */
	bool far_too; /* its sizes go with near's */
	enum bt_programs programs; /* the worst of both */
};

/* In the namespace of @e, whose link was read: its programs, and what is kept of its sizes (NULL: nothing). */
void bt_end_look(struct bt_reconciler *r, struct bt_end *e, const struct bt_kept *kept);
/*
 * Has near's observers and guard put on, if they may be missing. Each takes tens of milliseconds, nearly all of them
 * waiting for the kernel, so it is done after the round, in small pieces: bt_reconciler_dress().
 */
void bt_unit_dress(struct bt_reconciler *r, const struct bt_unit *u, bool can_change);
/* What to do with both ends. */
void bt_unit_decide(struct bt_unit *u);
/* Does it, in the namespace of @e, and says so. */
void bt_end_act(struct bt_reconciler *r, const struct bt_unit *u, struct bt_end *e);

/* What went wrong, in bt_err(), which is cleared: once for each device. A device that is gone is no error. */
void bt_end_failed(struct bt_reconciler *r, struct bt_end *e, enum bt_topic topic, const char *what,
		   int err);
/* The same; false: the device is gone. */
bool bt_dev_failed(struct bt_dev *dev, enum bt_topic topic, const char *name, const char *what,
		   int err);

#endif
