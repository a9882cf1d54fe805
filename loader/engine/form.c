// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <endian.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#include "engine/form.h"

/* Link headers, in the order in which they are tried: Ethernet, with one or two VLAN tags in the packet, none. */
static const __u8 link_len[] = { ETH_HLEN, ETH_HLEN + 4, ETH_HLEN + 8, 0 };
#define LINKS (sizeof(link_len) / sizeof(link_len[0]))

static void add(struct form *f, enum form_kind kind, __u8 o, __u16 length)
{
	*f = (struct form){ .kind = kind, .o = o, .length = length };
	switch (kind) {
	case FORM_HBH:
		f->shift = 8;
		f->l4 = o + FORM_IP6_LEN;
		break;
	case FORM_LEN0:
		f->l4 = o + 7; /* behind nexthdr */
		break;
	case FORM_IPV4:
		f->l4 = o + 10; /* behind protocol */
		break;
	}
}

__u32 forms_of(const struct hook *hook, const struct bigtcp_twin_opts *opts,
	       struct form out[FORMS_MAX])
{
	__u16 length = opts->length;
	__u32 n = 0, k;
	int kind;

	if (!length && opts->max_payload_len)
		length = 0xffff;

	for (kind = FORM_HBH; kind <= (opts->length ? FORM_IPV4 : FORM_HBH); kind++)
		for (k = hook->l2 ? 0 : LINKS - 1; k < LINKS; k++)
			add(&out[n++], kind, link_len[k], length);
	return n;
}

/* Offset and value of the two bytes of the length field. */
static __u8 length_off(const struct form *f)
{
	return f->o + (f->kind == FORM_IPV4 ? 2 : 4);
}

static bool length_byte(const struct form *f, __s64 off, __u8 *value)
{
	if (off != length_off(f) && off != length_off(f) + 1)
		return false;
	*value = off == length_off(f) ? f->length >> 8 : f->length & 0xff;
	return true;
}

void form_byte(const struct form *f, __s64 off, __u8 *value, __u8 *mask)
{
	__u16 type = f->kind == FORM_IPV4 ? ETH_P_IP : ETH_P_IPV6;
	__s64 at = off - f->o;

	*mask = 0xff;
	/* The outer tag is 802.1Q or 802.1ad, 0x8100 or 0x88a8: these are the bits they share. */
	if (f->o > ETH_HLEN && off == 12) {
		*value = 0x80;
		*mask = (__u8) ~(0x81 ^ 0x88);
		return;
	}
	if (f->o > ETH_HLEN && off == 13) {
		*value = 0;
		*mask = (__u8)~0xa8;
		return;
	}
	/* The inner of two tags. */
	if (f->o == ETH_HLEN + 8 && (off == 16 || off == 17)) {
		*value = off == 16 ? 0x81 : 0;
		return;
	}
	if (f->o && at == -2)
		*value = type >> 8;
	else if (f->o && at == -1)
		*value = type & 0xff;
	else if (length_byte(f, off, value))
		return;
	else if (at == (f->kind == FORM_IPV4 ? 9 : 6))
		*value = IPPROTO_TCP;
	else if (at == 0 && f->kind == FORM_IPV4)
		*value = FORM_IPV4_FIRST;
	else if (at == 0) {
		*value = 0x60;
		*mask = 0xf0;
	} else {
		*value = *mask = 0;
	}
}

/* The bits of the byte at @off that the packet has as 0 and the view as 1. */
static __u8 patch(const struct form *f, __s64 off)
{
	__u8 value;

	if (length_byte(f, off, &value))
		return value;
	return f->kind == FORM_HBH && off == f->o + 6 ? IPPROTO_TCP : 0;
}

bool form_patched(const struct form *f, __s64 off, __u32 size)
{
	while (size--)
		if (patch(f, off + size))
			return true;
	return false;
}

bool form_known(const struct form *f, __s64 off, __u32 size)
{
	__u8 value, mask;

	while (size--) {
		form_byte(f, off + size, &value, &mask);
		if (mask)
			return true;
	}
	return false;
}

void form_load(const struct form *f, __s64 off, __u32 size, bool be, __u64 *value, __u64 *mask,
	       __u64 *patches)
{
	bool big = be || BYTE_ORDER == BIG_ENDIAN;
	__u32 n;

	/* Bits above a narrow load are 0. */
	*mask = size < 8 ? ~0ULL << size * 8 : 0;
	*value = *patches = 0;
	for (n = 0; n < size; n++) {
		__u32 shift = 8 * (big ? size - 1 - n : n);
		__u8 v, m;

		form_byte(f, off + n, &v, &m);
		*value |= (__u64)v << shift;
		*mask |= (__u64)m << shift;
		*patches |= (__u64)patch(f, off + n) << shift;
	}
}

__u32 form_protocol(const struct form *f)
{
	if (f->o > ETH_HLEN)
		return 0;
	return htons(f->kind == FORM_IPV4 ? ETH_P_IP : ETH_P_IPV6);
}
