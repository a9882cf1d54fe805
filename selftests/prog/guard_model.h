/* SPDX-License-Identifier: GPL-2.0 */
/* What the guard has to find in a packet: written from the rules in bpf/guard.h, not from its code. */
#ifndef PROG_GUARD_MODEL_H
#define PROG_GUARD_MODEL_H

#include <linux/types.h>
#include <stdbool.h>

#include "packet.h"

/* A packet as a hook sees it. */
struct guard_view {
	const __u8 *data;
	__u32 len;
	__u32 gso_size; /* tc */
	bool xdp;
	bool no_link; /* it starts with the IP header */
};

/* Mask of classes (GUARD_M()). */
__u32 guard_model(const struct guard_view *v);
/* Offset of the IPv6 header; v->len: there is none. */
__u32 guard_model_l3(const struct guard_view *v);

/* What bpf/guard_walk.h finds behind the link header, run in this process. */
__u32 guard_user(const struct guard_view *v, __u32 l3);

#define GUARD_PACKET_MAX 73000

/* A random packet, often nearly right: Ethernet, tags, IPv6, extension headers, options. @max: its length. */
__u32 guard_packet(struct rng *r, __u8 *data, __u32 max);

#endif
