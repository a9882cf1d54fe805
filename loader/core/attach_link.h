/* SPDX-License-Identifier: GPL-2.0 */
/* The links of an attachment: making one at a hook, and saying why the kernel does not. */
#ifndef CORE_ATTACH_LINK_H
#define CORE_ATTACH_LINK_H

#include "core/attach.h"

/*
 * Makes a link of @prog_fd at the hook of @target (an interface's index, or the fd of a cgroup's directory),
 * pins it at a->path and fills a->link_id and a->xdp_mode. 0, or -errno with a sentence and nothing
 * attached.
 */
int bt_attach_link(int prog_fd, int target, const struct bt_attach_opts *opts,
		   struct bt_attached *a);

/* An XDP hook takes one program. 0 if it is free, or -EBUSY with a sentence about what is there and what
 * can be done (-EEXIST: it is of bigtcp).
 */
int bt_xdp_free(const char *dev);

/* What attaching an XDP program in this mode does to BIG TCP at the device, as a note. */
void bt_xdp_note(const char *dev, __u8 xdp_mode);

/* Does the filter that a pin stands for exist, with our program in it? */
bool bt_pin_filter_ours(const struct bt_pin *pin, const char *path);

/* Is there something behind the link at @path? A device or a cgroup that went took it off. */
bool bt_pin_link_dead(const char *path);

#endif
