// SPDX-License-Identifier: GPL-2.0
/* <bigtcp/jumbo.h>: the header as the kernel writes it, and nothing else, is recognised. */
#include <bigtcp/jumbo.h>
#include <criterion/criterion.h>
#include <stddef.h>

#include "pktbuild.h"

#define SEG 178540u

static void jumbo_packet(struct pktbuild *p)
{
	memset(p, 0, sizeof(*p));
	pb_ip6(p, 0, BIGTCP_NEXTHDR_HOP);
	pb_jumbo(p, SEG);
	pb_tcp(p);
}

Test(jumbo, layout)
{
	cr_assert_eq(sizeof(struct bigtcp_jumbo_hdr), BIGTCP_JUMBO_HDR_LEN);
	cr_assert_eq(offsetof(struct bigtcp_jumbo_hdr, tlv_type), 2);
	cr_assert_eq(offsetof(struct bigtcp_jumbo_hdr, jumbo_payload_len), 4);
	cr_assert_eq(BIGTCP_MAX_SIZE, 524280);
}

/* Bytes as seen at a tc hook of 6.18: the length counts the 8 bytes of the header itself. */
Test(jumbo, fill_writes_what_the_kernel_writes)
{
	static const uint8_t want[8] = { 6, 0, 0xc2, 4, 0x00, 0x02, 0xb9, 0x74 };
	uint8_t got[8];

	bigtcp_jumbo_fill(got, 178540);
	cr_assert_arr_eq(got, want, 8);
	cr_assert_eq(((struct bigtcp_jumbo_hdr *)want)->tlv_type, BIGTCP_JUMBO_TLV_TYPE);
}

Test(jumbo, match_at_any_alignment)
{
	struct pktbuild p;
	uint8_t buf[64];

	jumbo_packet(&p);
	for (int i = 0; i < 8; i++) {
		memcpy(buf + i, p.b, 48);
		cr_assert(bigtcp_jumbo_match(buf + i, 40 + 8 + SEG), "alignment %d", i);
	}
}

/* Each bit that is part of the form matters; the others must not. */
Test(jumbo, match_looks_at_every_bit_of_the_form)
{
	struct pktbuild p;

	for (int bit = 0; bit < 48 * 8; bit++) {
		int byte = bit / 8, of_form;

		jumbo_packet(&p);
		p.b[byte] ^= 1 << (bit % 8);
		of_form = (byte >= 4 && byte <= 6) || byte >= 40;
		cr_assert_eq(bigtcp_jumbo_match(p.b, 40 + 8 + SEG), !of_form, "bit %d of byte %d",
			     bit % 8, byte);
	}
}

Test(jumbo, match_needs_the_real_length)
{
	struct pktbuild p;

	jumbo_packet(&p);
	cr_assert(!bigtcp_jumbo_match(p.b, 40 + 8 + SEG - 1));
	cr_assert(!bigtcp_jumbo_match(p.b, 40 + 8 + SEG + 1));
	cr_assert(!bigtcp_jumbo_match(p.b, 40 + SEG), "length without the header's 8 bytes");
	cr_assert(!bigtcp_jumbo_match(p.b, 48));
}

/* MLD has nexthdr 0 too, with a router alert option and a payload length. */
Test(jumbo, mld_does_not_match)
{
	struct pktbuild p = {};

	pb_ip6(&p, 56, BIGTCP_NEXTHDR_HOP);
	pb_bytes(&p, "\x3a\x00\x05\x02\x00\x00\x01\x00", 8);
	cr_assert(!bigtcp_jumbo_match(p.b, 96));
	p.b[4] = p.b[5] = 0;
	cr_assert(!bigtcp_jumbo_match(p.b, 96));
}
