/* SPDX-License-Identifier: GPL-2.0 */
/* bigtcp's own programs at a device: the observers and the guard. */
#ifndef DAEMON_DRESS_H
#define DAEMON_DRESS_H

#include <linux/types.h>
#include <stdbool.h>

/* At a device of this namespace, by its name. What is there stays as it is, with its settings. *observed, *guarded: it
 * was not there, or another. 0, or -errno with a sentence.
 */
int bt_dress(const char *dev, bool observe, bool guard, bool *observed, bool *guarded);

/* Ids of the programs that bigtcp's pins hold at tc, of this namespace. */
struct bt_own {
	struct bt_own_prog {
		__u32 id;
		int ifindex;
	} * v; /* by id */
	unsigned int n;
};

/* For bt_own_free(). 0 or -errno without a sentence. Takes no right to look at others' programs. */
int bt_own_read(struct bt_own *own);
bool bt_own_has(const struct bt_own *own, __u32 id);
/* How many are at a device. */
unsigned int bt_own_at(const struct bt_own *own, int ifindex);
void bt_own_free(struct bt_own *own);

#endif
