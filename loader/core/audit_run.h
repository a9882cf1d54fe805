/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a program on one packet, as long as the kernel lets it be, and keeps what can be seen of it. */
#ifndef CORE_AUDIT_RUN_H
#define CORE_AUDIT_RUN_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/audit_kind.h"
#include "core/packets.h"

/* What BPF_PROG_TEST_RUN takes for tc, less than a page (measured: 6.1 to 6.18). */
#define BT_RUN_SMALL_MAX 3712
/* The lengths that can be run above that are 65536 * k + this to BT_RUN_SMALL_MAX. */
#define BT_RUN_LIFT_MIN	 54
#define BT_RUN_LIFT_UNIT 65536
#define BT_RUN_MAX	 (7 * BT_RUN_LIFT_UNIT + BT_RUN_SMALL_MAX)
/* XDP: one page less head- and tailroom, and 17 pages of frags, whether the program is made for
 * frags or not (net/bpf/test_run.c; measured: 6.1 to 6.18). data to data_end is the first part.
 */
#define BT_RUN_XDP_LINEAR 3520
#define BT_RUN_XDP_MAX	  (BT_RUN_XDP_LINEAR + 17 * 4096)
#define BT_RUN_HEAD	  256
#define BT_RUN_META	  32

struct bt_run {
	struct bt_packet packet;
	enum bt_kind kind;
	__u32 retval; /* see bt_ret_of_run() */
	__u32 mark, priority, cb[5];
	__u64 tstamp;
	__u32 meta_len; /* XDP metadata that the program left */
	__u8 meta[BT_RUN_META];
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
 * The program that the next runs are for; the fd stays the caller's. @type: BPF_PROG_TYPE_* of a
 * kind that packets pass. Returns 0 or -errno. After it, bt_runner_max() tells how long a packet can
 * be: BT_RUN_MAX, BT_RUN_XDP_MAX, or BT_RUN_SMALL_MAX for tc programs that the kernel forbids tail calls
 * into, and for what can't be tail-called from tc.
 */
int bt_runner_set(struct bt_runner *r, int prog_fd, __u32 type);
__u32 bt_runner_max(const struct bt_runner *r);

/* XDP: is the program made for packets in several buffers? False also where it can't be told. */
bool bt_runner_frags(const struct bt_runner *r);

/* Can cgroup_skb programs read packets directly in a test run? Kernels up to 6.12 leave data_end 0 there. */
bool bt_runner_direct(struct bt_runner *r);

/* Socket filters: give them packets from the Ethernet header on (AF_PACKET, SOCK_RAW), not from the
 * IP header on. Stays until the next bt_runner_set().
 */
void bt_runner_l2(struct bt_runner *r, bool on);

/* @ifindex: the device the packet seems to come through; @ingress: skb->ingress_ifindex is set too.
 * -errno of the test run; -EAGAIN when the kernel found no memory for a long packet.
 */
int bt_runner_run(struct bt_runner *r, const struct bt_packet *p, int ifindex, bool ingress,
		  struct bt_run *run);

#endif
