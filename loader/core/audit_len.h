/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program does with the packet's length. A test run shows XDP programs no more than the first
 * part of a long packet, and cgroup_skb programs and socket filters no long packet at all: what
 * such a program decides by the length has not been seen.
 */
#ifndef CORE_AUDIT_LEN_H
#define CORE_AUDIT_LEN_H

#include <linux/bpf.h>
#include <linux/types.h>

#include "core/audit_kind.h"

enum bt_len_use {
	BT_LEN_NONE, /* does not look at it, or only whether a header fits */
	BT_LEN_COUNTED, /* adds it up, or stores it, in 32 bits or more */
	BT_LEN_DECIDES, /* branches on it, cuts it to 16 bits, hands it to a helper ... */
	BT_LEN_THRESHOLD, /* compares it with more than a test run gives */
};

/* Lengths up to this, and offsets up to this, are the same to all packets of a test run. */
#define BT_LEN_SURE 1000
/* What data to data_end, or skb->len, of a test run never exceeds. */
#define BT_LEN_TOP 3400
/* The longest packet of an XDP test run. */
#define BT_LEN_FULL 66148

/*
 * @insns: as the kernel shows them (xlated), subprograms included. skb->len, and data_end less data,
 * are followed through registers, the stack and calls. What can't be followed is BT_LEN_DECIDES.
 */
struct bt_len_facts {
	enum bt_len_use use;
	unsigned int at; /* the instruction that shows it */
	bool direct; /* it has packet pointers */
};
void bt_len_scan(const struct bpf_insn *insns, unsigned int n, enum bt_kind kind,
		 struct bt_len_facts *out);

/* The same with the context's layout given: offsets of len (-1: none), data and data_end. */
struct bt_len_layout {
	int len, data, end;
};
/* @may_return: the return value is a length. */
void bt_len_scan_at(const struct bpf_insn *insns, unsigned int n, const struct bt_len_layout *ctx,
		    bool may_return, struct bt_len_facts *out);

#endif
