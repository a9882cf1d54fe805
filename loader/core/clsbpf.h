/* SPDX-License-Identifier: GPL-2.0 */
/* cls_bpf filters on clsact, for kernels without tcx. */
#ifndef CORE_CLSBPF_H
#define CORE_CLSBPF_H

#include <linux/types.h>
#include <stdbool.h>

/* The handle our filters have. 1 is what everybody's first filter gets. */
#define BT_CLS_HANDLE 0xb167

/*
 * A priority nobody uses at the hook: before all others' or (@last) after them. 1 is never taken;
 * when others have taken 1 or 2 "before" is not to be had: *late is set and the priority is the first free
 * one after those. Returns 0, or -errno with a sentence.
 */
int bt_cls_free_prio(int ifindex, bool egress, bool last, __u32 *prio, bool *late);

/* Makes clsact if there is none, and a direct-action filter. 0 or -errno with a sentence. */
int bt_cls_attach(int prog_fd, int ifindex, bool egress, __u32 prio, __u32 handle);

/* Id of the program of a filter; -ENOENT if there is no such filter. */
int bt_cls_query(int ifindex, bool egress, __u32 prio, __u32 handle, __u32 *prog_id);
int bt_cls_detach(int ifindex, bool egress, __u32 prio, __u32 handle);

/* Puts @prog_fd in the place of a filter's program. */
int bt_cls_replace(int prog_fd, int ifindex, bool egress, __u32 prio, __u32 handle);

/* Has no filter of the hook a lower priority? */
bool bt_cls_is_first(int ifindex, bool egress, __u32 prio);

#endif
