/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a twin by addressing is made for: one form of TCP packets above 64 KiB at one place in the packet. The program
 * is to see the packet that the kernel would have built if the length fits (its view); the form says
 * which bytes of that view are known beforehand, and which the packet has elsewhere or otherwise.
 */
#ifndef ENGINE_FORM_H
#define ENGINE_FORM_H

#include <bigtcp/twin.h>

#include "engine/hook.h"

enum form_kind {
	FORM_HBH, /* IPv6 with the jumbo header, kernels 5.19 to 6.19 */
	FORM_LEN0, /* IPv6 with payload_len 0, from 7.0 */
	FORM_IPV4, /* IPv4 with tot_len 0, from 6.3 */
};

#define FORM_IP6_LEN 40
/* No IP options: inet_gro_receive() does not merge packets that have some. */
#define FORM_IPV4_FIRST 0x45
#define FORMS_MAX	12

struct form {
	enum form_kind kind;
	__u8 o; /* offset of the IP header: 0, 14, 18, 22 */
	__u8 shift; /* bytes that are in the packet and not in the view, at offset l4 */
	/* What lies at or behind this offset in the view is as in the packet, shift bytes further on; no
	 * byte of it is known or patched.
	 */
	__u8 l4;
	__u16 length; /* what payload_len or tot_len reads as */
};

/* The forms that a program of @hook can meet, as the options want; returns their number. */
__u32 forms_of(const struct hook *hook, const struct bigtcp_twin_opts *opts,
	       struct form out[FORMS_MAX]);

/* What is known of the byte at @off of the view: the bits of *mask are those of *value. */
void form_byte(const struct form *f, __s64 off, __u8 *value, __u8 *mask);
/* Does the view differ from the packet in one of the bytes [off, off + size)? The packet has 0 there. */
bool form_patched(const struct form *f, __s64 off, __u32 size);
/* Is something known of one of these bytes? */
bool form_known(const struct form *f, __s64 off, __u32 size);

/* What a load of @size (1, 2, 4, 8) bytes at @off of the view gives: @mask bits of @value. @be: as LD_ABS
 * loads, most significant byte first; else in host byte order. @patches: what is to be OR-ed to the bytes
 * of the packet.
 */
void form_load(const struct form *f, __s64 off, __u32 size, bool be, __u64 *value, __u64 *mask,
	       __u64 *patches);

/* Value of skb->protocol as a program reads it, or 0 if it is not known. */
__u32 form_protocol(const struct form *f);

#endif
