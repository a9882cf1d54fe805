/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sandwich: two programs in a device's libxdp chain, bpf/xdp_strip.bpf.c before and
 * bpf/xdp_restore.bpf.c behind the programs that are there.
 */
#ifndef CORE_SANDWICH_H
#define CORE_SANDWICH_H

#include <linux/types.h>
#include <net/if.h>
#include <stdbool.h>

#include "../../bpf/xdp_sandwich.h"

#define BT_CHAIN_MAX 10 /* programs a libxdp dispatcher has room for */

enum bt_xdp_mode { BT_XDP_SKB, BT_XDP_NATIVE, BT_XDP_HW };

enum bt_chain_role {
	BT_ROLE_PROGRAM, /* somebody's */
	BT_ROLE_TWIN, /* somebody's, rewritten by bigtcp */
	BT_ROLE_STRIP,
	BT_ROLE_RESTORE,
};

struct bt_chain_prog {
	__u32 id;
	__u32 prio;
	__u32 actions; /* bits 1 << XDP_PASS ...: verdicts after which the chain goes on */
	enum bt_chain_role role;
	unsigned int verdicts; /* that it can return: core/sandwich_verdicts.h */
	struct sandwich_stats stats; /* of strip and restore */
	char name[64];
};

/* What XDP runs on a device. */
struct bt_chain {
	int ifindex;
	char dev[IFNAMSIZ];
	enum bt_xdp_mode mode;
	__u32 main_id; /* the device's XDP program: libxdp's dispatcher, or one that stands alone; 0: none */
	bool ethernet; /* packets start with an Ethernet header */
	bool alone; /* main_id is a program, progs[0], and no dispatcher */
	unsigned int n;
	struct bt_chain_prog progs[BT_CHAIN_MAX]; /* in the order they run */
};

/* 0 (a device without XDP has n 0), or -errno with a sentence. @dev: in the current network namespace. */
int bt_chain_read(const char *dev, struct bt_chain *out);

/* What is to be done, or why not. Made from a chain alone: touches nothing. */
struct bt_sandwich_plan {
	__u32 strip_prio, restore_prio;
	bool halves; /* strip or restore is there */
	bool in_place; /* both are, around all that need them */
	unsigned int refused; /* programs that it can't be put around */
	struct {
		bool inside; /* will run, or runs, between strip and restore */
		bool refused;
		char why[200]; /* a remark of its row: why it is refused, or why not inside; or "" */
	} progs[BT_CHAIN_MAX]; /* as in the chain */
};

/*
 * @trust: names of programs of which the user says that they return neither XDP_TX nor
 * XDP_REDIRECT. 0 with the plan, which may refuse programs, or -errno with a sentence.
 */
int bt_sandwich_plan(const struct bt_chain *chain, const char *const *trust, unsigned int n_trust,
		     struct bt_sandwich_plan *plan);

/* -EEXIST with a sentence if what there is of a sandwich has the wrong place. */
int bt_sandwich_place(const struct bt_chain *chain, const struct bt_sandwich_plan *plan);

/* Would this kernel take the two programs in a chain? 0, or -errno with a sentence. Loads them and
 * leaves nothing.
 */
int bt_sandwich_check(void);

/*
 * Attaches both as planned. @max_payload_len: packets have payload_len 65535 in between, not 0.
 * 0 with *chain read again, or -errno with a sentence and the chain as it was.
 */
int bt_sandwich_on(struct bt_chain *chain, const struct bt_sandwich_plan *plan,
		   bool max_payload_len);

/* Takes strip and restore out of the chain; all others stay. 0, or -errno with a sentence
 * (-ENOENT: neither is there).
 */
int bt_sandwich_off(const struct bt_chain *chain);

#endif
