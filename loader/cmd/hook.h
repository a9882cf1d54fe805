/* SPDX-License-Identifier: GPL-2.0 */
/* What attach and detach have in common. */
#ifndef CMD_HOOK_H
#define CMD_HOOK_H

#include <stdbool.h>

struct bt_attached;
struct bt_cmd;

/* "ingress" or "egress". Returns 0, or BT_EXIT_USAGE with a sentence. */
int parse_hook(const struct bt_cmd *cmd, const char *word, bool *egress);

/* Keys of one attachment, into the object that is open; one line of text. */
void print_attachment(const char *dev, const struct bt_attached *a);

#endif
