/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a program on one packet, of any length up to 458 KiB, and keeps what can be seen of it. */
#ifndef CORE_AUDIT_RUN_H
#define CORE_AUDIT_RUN_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/packets.h"

/* What BPF_PROG_TEST_RUN takes for tc, less than a page (measured: 6.1 to 6.18). */
#define BT_RUN_SMALL_MAX 3712
/* The lengths that can be run above that are 65536 * k + this to BT_RUN_SMALL_MAX. */
#define BT_RUN_LIFT_MIN	 54
#define BT_RUN_LIFT_UNIT 65536
#define BT_RUN_MAX	 (7 * BT_RUN_LIFT_UNIT + BT_RUN_SMALL_MAX)
#define BT_RUN_HEAD	 256

struct bt_run {
	struct bt_packet packet;
	__u32 retval;
	__u32 mark, priority, cb[5];
	__u64 tstamp;
	__u32 in_len, out_len;
	__u32 head_len; /* of in[]: headers */
	__u8 in[BT_RUN_HEAD], out[BT_RUN_HEAD]; /* the start of the packet before and after */
	bool payload_changed; /* behind BT_RUN_HEAD */
};

struct bt_runner;

/* Not for two threads at once. */
int bt_runner_open(struct bt_runner **out);
void bt_runner_close(struct bt_runner *r);

/*
 * The program that the next runs are for; the fd stays the caller's. @type: BPF_PROG_TYPE_SCHED_CLS
 * or _ACT. Returns 0 or -errno. After it, bt_runner_lifts() tells whether packets above
 * BT_RUN_SMALL_MAX can be run: not when the kernel forbids tail calls into the program.
 */
int bt_runner_set(struct bt_runner *r, int prog_fd, __u32 type);
bool bt_runner_lifts(const struct bt_runner *r);

/* @ifindex: the device the packet seems to come through; @ingress: skb->ingress_ifindex is set too.
 * -errno of the test run; -EAGAIN when the kernel found no memory for a long packet.
 */
int bt_runner_run(struct bt_runner *r, const struct bt_packet *p, int ifindex, bool ingress,
		  struct bt_run *run);

#endif
