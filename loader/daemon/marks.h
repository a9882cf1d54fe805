/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Has anything been attached to a device, or taken off, since the last look? Answered for a few system calls a device, so
 * that a thousand of them can be asked every few seconds: most attachments make no event.
 */
#ifndef DAEMON_MARKS_H
#define DAEMON_MARKS_H

#include <linux/types.h>

#include "base/rtnl.h"

/* Of the network namespace that it was made in, which the caller has to be in. */
struct bt_marks;
/* 0 or -errno, without a sentence. */
int bt_marks_new(struct bt_marks **out);
void bt_marks_free(struct bt_marks **m);

/* A number for the programs at @link's hooks (tcx, cls_bpf filters, XDP, netkit) and their order. 0: can't be told. */
__u64 bt_marks_of(struct bt_marks *m, const struct bt_link *link);

#endif
