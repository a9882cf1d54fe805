/* SPDX-License-Identifier: GPL-2.0 */
/* Random packets for the property test. */
#ifndef PROG_PACKET_H
#define PROG_PACKET_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "statement.h"

/* What an XDP test run takes; others take 3.7 KB, and get less than half of that. */
#define PACKET_MAX 73152
#define HBH_LEN	   8

/* xorshift64*: the same numbers from the same seed everywhere. */
struct rng {
	__u64 s;
};
__u64 rng_next(struct rng *r);
__u32 rng_below(struct rng *r, __u32 n);

/* How packets of a test run look. */
struct packet_form {
	__u32 tags; /* VLAN tags in the packet, at most */
	/* A link header in front of the packet, which the test run takes off: what the program sees is
	 * what a packet socket does.
	 */
	bool outer;
	bool gso; /* a context says whether it is a GSO packet */
	__u32 at_least; /* bytes of a jumbo packet */
};

struct packet {
	__u32 len;
	__u32 l3; /* offset of the IP header */
	__u32 gso_size; /* for the context */
	__u32 gso_segs;
	__u32 mark, priority;
	const char *kind; /* for messages */
	__u8 data[PACKET_MAX];
};

/* A packet that the kernel could have built as jumbo: IPv6, TCP, payload_len as @payload_len. */
void packet_jumbo(struct rng *r, const struct packet_form *form, const struct statement *st,
		  __u16 payload_len, struct packet *p);
/* Any other: IPv4, UDP, MLD, fragments, forged and damaged jumbo headers, noise. */
void packet_other(struct rng *r, const struct packet_form *form, const struct statement *st,
		  struct packet *p);
/* @p with the jumbo header that the kernel would have put in. */
void packet_add_hbh(const struct packet *p, struct packet *out);
/* The reverse, on what a program made of it: looks for the header behind the IPv6 header. false: it
 * is not there, or not as the kernel wrote it.
 */
bool packet_strip_hbh(const __u8 *data, __u32 len, __u16 payload_len, __u8 *out);
/* Is it TCP over IPv6 without extension headers, behind Ethernet and up to two VLAN tags? Nothing else can
 * have a jumbo header.
 */
bool packet_is_tcp6(const __u8 *data, __u32 len);

#endif
