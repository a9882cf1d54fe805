/* SPDX-License-Identifier: GPL-2.0 */
/* What the audit has to know of each type of program: its packets and its return values. */
#ifndef CORE_AUDIT_KIND_H
#define CORE_AUDIT_KIND_H

#include <linux/types.h>
#include <stdbool.h>

enum bt_kind {
	BT_KIND_NONE, /* no program that packets pass */
	BT_KIND_TC, /* sched_cls, sched_act: tc, tcx, netkit */
	BT_KIND_XDP,
	BT_KIND_CGROUP, /* cgroup_skb: the packet from its IP header on */
	BT_KIND_SOCKET, /* socket filter */
	BT_KIND_LOOKUP, /* sk_lookup: no packet, but addresses and ports */
};

enum bt_kind bt_kind_of(__u32 prog_type);

/* What becomes of a packet, from bad to good. */
enum bt_fate {
	BT_FATE_LOST, /* dropped, or taken away */
	BT_FATE_SENT, /* redirected, or sent back */
	BT_FATE_OTHER,
	BT_FATE_PASSED,
};

/* Of a return value. A socket filter's is how many bytes to keep, as bt_kind_ret() leaves it. */
enum bt_fate bt_ret_fate(enum bt_kind kind, __u32 ret);
/* "pass", "drop", "redirect" ... */
const char *bt_ret_name(enum bt_kind kind, __u32 ret);
/* Does the program send the packet to where a test run does not show? */
bool bt_ret_redirects(enum bt_kind kind, __u32 ret);

#define BT_KEEP_ALL 0xffffffffu
/* The return value of a run on a packet of @len bytes, without what is no difference in verdict. */
__u32 bt_ret_of_run(enum bt_kind kind, __u32 ret, __u32 len);

#endif
