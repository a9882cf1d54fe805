/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that see a device's packets do with jumbo packets: the audit of core/audit.h over
 * core/hooks.h, with its answers kept, so that a program is run once only (for the daemon: once per tag, name, hook
 * and kind of device).
 */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/audit.h"
#include "core/hooks.h"

struct bt_judged {
	struct bt_attached at;
	char name[64];
	__u8 tag[8];
	enum bt_verdict verdict;
	bool twin;
	bool ours; /* a guard, an observer, a sandwich ... of bigtcp's own */
	char why[400]; /* one phrase, or "" */
};

struct bt_judge;

/* Needs CAP_SYS_ADMIN to look at others' programs: without it judging is -EPERM with a sentence. */
int bt_judge_new(struct bt_judge **out);
void bt_judge_free(struct bt_judge **j);

/*
 * Judges what is attached to @dev now; what @dev may be else: bt_hooks_list(). free() *list. 0, or -errno with a
 * sentence. *n_new (may be NULL): programs that had to be run; while they are, the thread has one CPU. Programs of
 * the same tag, name, constants, hook and kind of device have one answer, but those that run together with others
 * (tail calls, XDP dispatchers) one each.
 */
int bt_judge_dev(struct bt_judge *j, const char *dev, struct bt_judged **list, unsigned int *n,
		 unsigned int *n_new);

/* Forgets answers older than @seconds (0: all): the programs will be run again. */
void bt_judge_expire(struct bt_judge *j, unsigned int seconds);

/* Does a program with this verdict stand in the way of BIG TCP? UNKNOWN does. */
bool bt_verdict_unsafe(enum bt_verdict verdict);

#endif
