/* SPDX-License-Identifier: GPL-2.0 */
/* What attach and detach have in common. */
#ifndef CMD_HOOK_H
#define CMD_HOOK_H

#include "core/pins.h"

struct bt_attached;
struct bt_cmd;

/* "ingress", "xdp", "cgroup-egress" ... Returns 0, or BT_EXIT_USAGE with a sentence. */
int parse_hook(const struct bt_cmd *cmd, const char *word, enum bt_hook_id *hook);

/* Keys of one attachment to device or cgroup @target, into the object that is open; one line of text. */
void print_attachment(const char *target, const struct bt_attached *a);

#endif
