/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bpf/observe.bpf.c at a tc hook: counts jumbo packets and keeps the start of one. By a tcx link,
 * or by cls_bpf on kernels without tcx.
 */
#ifndef CORE_OBSERVER_H
#define CORE_OBSERVER_H

#include <linux/types.h>
#include <stdbool.h>

struct bt_observer;

/* What it has seen at its last attachment. Jumbo: TCP above 65536 bytes. */
struct bt_seen {
	__u64 packets; /* of any kind */
	__u64 hbh; /* jumbo, IPv6 with the hop-by-hop header */
	__u64 len0; /* jumbo, IPv6 without */
	__u64 ipv4; /* jumbo */
	__u64 malformed; /* a jumbo header that is not as the kernel writes it */
	__u32 max_len; /* of the largest packet, from the Ethernet header on */
	__u8 bytes[60]; /* the start of one jumbo packet, from the IP header on */
	__u32 n_bytes; /* 0: none */
};

/* Loads it; -EPERM and others with a sentence. */
int bt_observer_new(struct bt_observer **out);
/* At a device of the namespace the caller is in, counting from zero. An earlier attachment ends. */
int bt_observer_attach(struct bt_observer *o, int ifindex, bool ingress);
int bt_observer_read(struct bt_observer *o, struct bt_seen *seen);
void bt_observer_detach(
	struct bt_observer *o); /* may leave the thread in the namespace of the device */
void bt_observer_free(struct bt_observer **o); /* detaches; *o may be NULL */

#endif
