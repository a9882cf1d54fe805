/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this kernel does with BIG TCP, and what it offers to bigtcp. Neither is told from the
 * version: vendors port both ways. Live looks use private namespaces only.
 */
#ifndef CORE_PROBE_H
#define CORE_PROBE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdbool.h>

#include "base/rtnl.h"

/* How packets above 64 KiB look to a program. */
enum bt_form {
	BT_FORM_UNKNOWN, /* none was seen: see why */
	BT_FORM_HBH, /* IPv6 with the hop-by-hop jumbo header between IPv6 and TCP */
	BT_FORM_NO_HEADER, /* TCP right after IP, IP's length field 0 */
	BT_FORM_NO_BIG_TCP, /* the kernel makes no such packets */
};

enum { BT_LIVE_SEND, BT_LIVE_RECV, BT_LIVE_SEND4, BT_LIVE_RECV4, BT_LIVE_N };

#define BT_NO_LIMIT 0xffffffffU /* of a size: the kernel takes any */

/* One look: packets of one IP version, built for sending (GSO, seen at a sender's egress) or on
 * receive (GRO, seen at a receiver's ingress).
 */
struct bt_look {
	enum bt_form form;
	char why[160]; /* one phrase */
	__u64 packets; /* seen above 65536 bytes */
	__u32 max_len; /* the largest of them, in bytes from the Ethernet header */
	__u8 bytes[60]; /* the start of one of them, from the IP header on */
	__u32 n_bytes;
};

enum bt_switch { BT_SWITCH_UNKNOWN, BT_SWITCH_ON, BT_SWITCH_OFF };

struct bt_live {
	struct bt_look looks[BT_LIVE_N];
	bool by_tcx; /* the observer was attached by a tcx link; else by cls_bpf */
	struct bt_sizes max; /* largest a veth took, or BT_NO_LIMIT; ipv4 0: the kernel has none */
	__u32 tso_max; /* of a veth */
	bool netkit; /* a netkit pair could be made */
	enum bt_switch native_tso; /* a veth's TSO, while the other end has a native XDP program */
	enum bt_switch generic_gro; /* GRO of a device that has a generic XDP program */
};

/* Takes about a second, at most 20. Returns 0 (looks may still be BT_FORM_UNKNOWN each), or
 * -errno with a sentence: -EPERM without CAP_SYS_ADMIN and CAP_NET_ADMIN.
 */
int bt_probe_live(struct bt_live *live);

const char *bt_form_name(enum bt_form form); /* "hbh", "no-header" ... */
const char *bt_look_name(unsigned int look); /* "send", "receive", "send-ipv4" ... */
const char *bt_look_means(unsigned int look, enum bt_form form); /* for programs, one phrase */

/* What the kernel offers. */
struct bt_feature {
	const char *name; /* of a stable set: the JSON's */
	char value[64]; /* "yes", "no", "unknown", a number, a list */
	const char *means; /* one phrase, for this value */
};
#define BT_FEATURES_MAX 32

/* @live: from bt_probe_live(), or NULL. Needs no privilege of its own. Returns how many. */
unsigned int bt_probe_features(const struct bt_live *live,
			       struct bt_feature features[BT_FEATURES_MAX]);

/* The capabilities bigtcp can use and this process lacks, "CAP_BPF CAP_NET_ADMIN"; "": none. */
int bt_missing_caps(char *buf, size_t len);

#endif
