// SPDX-License-Identifier: GPL-2.0
/* <bigtcp/parse.bpf.h> on flat buffers: the code that BPF programs inline. */
#include <criterion/criterion.h>

#include "pktparse.h"

static int parse(const struct pktbuild *p, uint32_t len, uint32_t gso_size, enum link l,
		 struct bigtcp_pkt *pkt)
{
	return parse_n(p->b, p->n, len, gso_size, l3_hint(l), pkt);
}

Test(parse, plain_ip6_on_every_link)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	for (enum link l = 0; l < LINKS; l++) {
		link_hdr(&p, l, 0x86dd);
		pb_ip6(&p, 1000, TCP);
		pb_tcp(&p);
		/* 6 bytes after the IP packet: padding does not count */
		cr_assert_eq(parse(&p, link_len[l] + 1046, 0, l, &pkt), BIGTCP_PARSE_OK);
		cr_assert_eq(pkt.l3_off, link_len[l]);
		cr_assert_eq(pkt.l4_off, link_len[l] + 40);
		cr_assert_eq(pkt.l3_len, 1040);
		cr_assert_eq(pkt.l4_len, 1000);
		cr_assert_eq(pkt.l3_proto, 0x86dd);
		cr_assert_eq(pkt.l4_proto, TCP);
		cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_NONE);
		cr_assert_eq(pkt.has_hbh + pkt.fragment + pkt.vlan_meta, 0);
		cr_assert_eq(pkt.nr_vlan, l == VLAN ? 1 : l == QINQ ? 2 : 0);
		cr_assert_eq(pkt.vlan_tci[0], l == VLAN ? 0x6123 : l == QINQ ? 0x0456 : 0);
		cr_assert_eq(pkt.vlan_tci[1], l == QINQ ? 0x6123 : 0);
	}
}

/* The three BIG TCP forms differ in where TCP starts, and in nothing else that matters. */
Test(parse, jumbo_forms_on_every_link)
{
	static const uint32_t gso[] = { 1428, 0 }; /* tc knows it, XDP does not */
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	for (enum link l = 0; l < LINKS; l++) {
		for (int g = 0; g < 2; g++) {
			link_hdr(&p, l, 0x86dd);
			pb_ip6(&p, 0, BIGTCP_NEXTHDR_HOP);
			pb_jumbo(&p, BIG);
			pb_tcp(&p);
			cr_assert_eq(parse(&p, p.l3 + 48 + BIG, gso[g], l, &pkt), BIGTCP_PARSE_OK);
			cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_HBH);
			cr_assert_eq(pkt.has_hbh, 1);
			cr_assert_eq(pkt.l4_off, p.l3 + 48);
			cr_assert_eq(pkt.l4_proto, TCP);
			cr_assert_eq(pkt.l4_len, BIG);
			cr_assert_eq(pkt.l3_len, BIG + 48);

			link_hdr(&p, l, 0x86dd);
			pb_ip6(&p, 0, TCP);
			pb_tcp(&p);
			cr_assert_eq(parse(&p, p.l3 + 40 + BIG, gso[g], l, &pkt), BIGTCP_PARSE_OK);
			cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_LEN0);
			cr_assert_eq(pkt.has_hbh, 0);
			cr_assert_eq(pkt.l4_off, p.l3 + 40);
			cr_assert_eq(pkt.l4_proto, TCP);
			cr_assert_eq(pkt.l4_len, BIG);
			cr_assert_eq(pkt.l3_len, BIG + 40);

			link_hdr(&p, l, 0x0800);
			pb_ip4(&p, 0, TCP, 0x4000, 0);
			pb_tcp(&p);
			cr_assert_eq(parse(&p, p.l3 + 20 + BIG, gso[g], l, &pkt), BIGTCP_PARSE_OK);
			cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_IPV4);
			cr_assert_eq(pkt.l4_off, p.l3 + 20);
			cr_assert_eq(pkt.l4_proto, TCP);
			cr_assert_eq(pkt.l4_len, BIG);
			cr_assert_eq(pkt.l3_len, BIG + 20);
		}
	}
}

/* A GSO packet may be short (BPF_PROG_TEST_RUN takes no more than a few KB). */
Test(parse, jumbo_by_gso_size_alone)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 0, BIGTCP_NEXTHDR_HOP);
	pb_jumbo(&p, 3000);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, 14 + 48 + 3000, 1428, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_HBH);
	cr_assert_eq(pkt.l4_len, 3000);
	/* without it the same bytes may come from anyone */
	cr_assert_eq(parse(&p, 14 + 48 + 3000, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
	cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_NONE);
}

/* payload_len 0 without GSO is what it says: nothing follows, as the kernel's ip6_rcv_core(). */
Test(parse, len0_without_gso)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 0, TCP);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, 14 + 40 + 20, 0, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_NONE);
	cr_assert_eq(pkt.l4_len, 0);

	link_hdr(&p, ETH, 0x0800);
	pb_ip4(&p, 0, TCP, 0, 0);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, 14 + 20 + 20, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
}

Test(parse, len0_of_something_else_than_tcp)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 0, UDP);
	cr_assert_eq(parse(&p, 14 + 40 + BIG, 1400, ETH, &pkt), BIGTCP_PARSE_BAD);

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 0, 44);
	pb_frag(&p, TCP, 1);
	cr_assert_eq(parse(&p, 14 + 40 + BIG, 1400, ETH, &pkt), BIGTCP_PARSE_BAD);

	link_hdr(&p, ETH, 0x0800);
	pb_ip4(&p, 0, UDP, 0, 0);
	cr_assert_eq(parse(&p, 14 + 20 + BIG, 1400, ETH, &pkt), BIGTCP_PARSE_BAD);

	link_hdr(&p, ETH, 0x0800);
	pb_ip4(&p, 0, TCP, 0x2000, 0);
	cr_assert_eq(parse(&p, 14 + 20 + BIG, 1400, ETH, &pkt), BIGTCP_PARSE_BAD);
}

/* From 7.0 a jumbo packet of a socket with IPv6 options has those, and no jumbo header. */
Test(parse, len0_with_extension_headers)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 0, BIGTCP_NEXTHDR_HOP);
	pb_bytes(&p, "\x3c\x00\x05\x02\x00\x00\x01\x00", 8);
	pb_ext(&p, TCP, 1, 16);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, 14 + 40 + BIG, 1400, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_LEN0);
	cr_assert_eq(pkt.has_hbh, 1);
	cr_assert_eq(pkt.l4_off, 14 + 40 + 24);
	cr_assert_eq(pkt.l4_len, BIG - 24);
}

/* Every change of the form makes it another packet, which must never pass for the jumbo one. */
Test(parse, forged_jumbo_headers)
{
	static const struct {
		int byte; /* from the IPv6 header */
		uint8_t value;
	} change[] = {
		{ 40, UDP }, { 40, 0 }, { 40, 44 },   { 41, 1 },    { 41, 255 },
		{ 43, 0 },   { 43, 3 }, { 43, 5 },    { 44, 1 },    { 45, 0x7f },
		{ 46, 0 },   { 47, 0 }, { 42, 0x05 }, { 42, 0x42 }, { 42, 0 },
	};
	struct bigtcp_pkt pkt;
	struct pktbuild p;
	int ret;

	for (unsigned int i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		link_hdr(&p, ETH, 0x86dd);
		pb_ip6(&p, 0, BIGTCP_NEXTHDR_HOP);
		pb_jumbo(&p, BIG);
		pb_tcp(&p);
		p.b[14 + change[i].byte] = change[i].value;
		ret = parse(&p, 14 + 48 + BIG, 1428, ETH, &pkt);
		cr_assert_neq(pkt.is_jumbo, BIGTCP_JUMBO_HBH, "change %u", i);
		if (change[i].byte != 42)
			cr_assert_eq(ret, BIGTCP_PARSE_BAD, "change %u", i);
		/* and without GSO, short enough for a wire, nothing of it passes */
		ret = parse(&p, 14 + 48 + 1000, 0, ETH, &pkt);
		cr_assert_eq(ret, BIGTCP_PARSE_BAD, "change %u", i);
		cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_NONE, "change %u", i);
	}
}

/* A jumbo option next to a payload length (RFC 2675: an error) is an option like any other. */
Test(parse, jumbo_option_with_payload_len)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 1008, BIGTCP_NEXTHDR_HOP);
	pb_jumbo(&p, BIG);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, 14 + 48 + BIG, 1428, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_NONE);
	cr_assert_eq(pkt.has_hbh, 1);
	cr_assert_eq(pkt.l4_len, 1000);
}

Test(parse, mld)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 36, BIGTCP_NEXTHDR_HOP);
	pb_bytes(&p, "\x3a\x00\x05\x02\x00\x00\x01\x00", 8);
	cr_assert_eq(parse(&p, 14 + 40 + 36, 0, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.l4_proto, ICMP6);
	cr_assert_eq(pkt.l4_off, 14 + 48);
	cr_assert_eq(pkt.l4_len, 28);
	cr_assert_eq(pkt.has_hbh, 1);
	cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_NONE);
}

Test(parse, extension_header_chain)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 8 + 16 + 24 + 8 + 12 + 8 + 20, BIGTCP_NEXTHDR_HOP);
	pb_ext(&p, 60, 0, 8); /* hop-by-hop, then destination options */
	pb_ext(&p, 43, 1, 16); /* routing */
	pb_ext(&p, 44, 2, 24); /* fragment, an atomic one */
	pb_frag(&p, 51, 0);
	pb_ext(&p, 60, 1, 12); /* AH counts in 4 bytes, less 2 */
	pb_ext(&p, TCP, 0, 8);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.l4_proto, TCP);
	cr_assert_eq(pkt.l4_off, 14 + 40 + 76);
	cr_assert_eq(pkt.l4_len, 20);
	cr_assert_eq(pkt.has_hbh, 1);
	cr_assert_eq(pkt.fragment, BIGTCP_FRAG_NONE);
}

Test(parse, extension_header_limits)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;
	int n;

	for (n = 1; n <= BIGTCP_MAX_EXT_HDRS + 1; n++) {
		link_hdr(&p, ETH, 0x86dd);
		pb_ip6(&p, n * 8 + 20, 60);
		for (int i = 1; i <= n; i++)
			pb_ext(&p, i == n ? UDP : 60, 0, 8);
		pb_tcp(&p);
		cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt),
			     n > BIGTCP_MAX_EXT_HDRS ? BIGTCP_PARSE_DEEP : BIGTCP_PARSE_OK);
	}
	/* a hop-by-hop header that is not the first */
	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 36, 60);
	pb_ext(&p, 0, 0, 8);
	pb_ext(&p, TCP, 0, 8);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
	/* one that goes beyond the payload, though the frame has the bytes */
	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 15, 60);
	pb_ext(&p, TCP, 1, 16);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 4, 60);
	pb_ext(&p, TCP, 0, 8);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
	/* no next header: a packet without transport header, not an error */
	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 0, 59);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.l4_proto, 59);
	cr_assert_eq(pkt.l4_len, 0);
}

Test(parse, fragments_ip6)
{
	static const struct {
		uint16_t field;
		int want;
	} frag[] = {
		{ 0x0001, BIGTCP_FRAG_FIRST }, { 0x0008, BIGTCP_FRAG_LATER },
		{ 0x0009, BIGTCP_FRAG_LATER }, { 0xfff8, BIGTCP_FRAG_LATER },
		{ 0x0000, BIGTCP_FRAG_NONE },  { 0x0006, BIGTCP_FRAG_NONE }, /* reserved bits */
	};
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	for (unsigned int i = 0; i < sizeof(frag) / sizeof(frag[0]); i++) {
		link_hdr(&p, ETH, 0x86dd);
		pb_ip6(&p, 8 + 1000, 44);
		pb_frag(&p, UDP, frag[i].field);
		cr_assert_eq(parse(&p, 14 + 48 + 1000, 0, ETH, &pkt), BIGTCP_PARSE_OK);
		cr_assert_eq(pkt.fragment, frag[i].want, "field %#x", frag[i].field);
		cr_assert_eq(pkt.l4_proto, UDP);
		cr_assert_eq(pkt.l4_off, 14 + 48);
		cr_assert_eq(pkt.l4_len, 1000);
	}
	/* what follows a later fragment's header is data: it must not be walked */
	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 8 + 1000, 44);
	pb_frag(&p, 60, 8);
	pb_ext(&p, TCP, 200, 8);
	cr_assert_eq(parse(&p, 14 + 48 + 1000, 0, ETH, &pkt), BIGTCP_PARSE_OK);
	cr_assert_eq(pkt.l4_off, 14 + 48);
	cr_assert_eq(pkt.l4_proto, 60);
	cr_assert_eq(pkt.fragment, BIGTCP_FRAG_LATER);
}

Test(parse, ip4)
{
	static const struct {
		uint16_t frag;
		int want;
	} frag[] = {
		{ 0x4000, BIGTCP_FRAG_NONE },  { 0x2000, BIGTCP_FRAG_FIRST },
		{ 0x0001, BIGTCP_FRAG_LATER }, { 0x3fff, BIGTCP_FRAG_LATER },
		{ 0x1000, BIGTCP_FRAG_LATER }, { 0x8000, BIGTCP_FRAG_NONE },
	};
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	for (uint32_t opts = 0; opts <= 40; opts += 4) {
		for (unsigned int i = 0; i < sizeof(frag) / sizeof(frag[0]); i++) {
			link_hdr(&p, VLAN, 0x0800);
			pb_ip4(&p, 20 + opts + 100, TCP, frag[i].frag, opts);
			pb_tcp(&p);
			cr_assert_eq(parse(&p, 18 + 20 + opts + 106, 0, VLAN, &pkt),
				     BIGTCP_PARSE_OK);
			cr_assert_eq(pkt.fragment, frag[i].want);
			cr_assert_eq(pkt.l4_off, 18 + 20 + opts);
			cr_assert_eq(pkt.l4_len, 100);
			cr_assert_eq(pkt.l3_len, 120 + opts);
			cr_assert_eq(pkt.l4_proto, TCP);
		}
		/* jumbo, with options */
		p.b[18 + 2] = p.b[18 + 3] = p.b[18 + 6] = p.b[18 + 7] = 0;
		cr_assert_eq(parse(&p, 18 + 20 + opts + BIG, 1400, VLAN, &pkt), BIGTCP_PARSE_OK);
		cr_assert_eq(pkt.is_jumbo, BIGTCP_JUMBO_IPV4);
		cr_assert_eq(pkt.l4_len, BIG);
	}
}

Test(parse, bad_headers)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	for (int version = 0; version < 16; version++) {
		link_hdr(&p, ETH, 0x86dd);
		pb_ip6(&p, 20, TCP);
		pb_tcp(&p);
		p.b[14] = version << 4;
		cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), version == 6 ? 0 : BIGTCP_PARSE_BAD);
		link_hdr(&p, ETH, 0x0800);
		pb_ip4(&p, 40, TCP, 0, 0);
		pb_tcp(&p);
		p.b[14] = version << 4 | 5;
		cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), version == 4 ? 0 : BIGTCP_PARSE_BAD);
		p.b[14] = 0x40 | version;
		cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt),
			     version >= 5 && version <= 10 ? 0 : BIGTCP_PARSE_BAD);
	}
	/* lengths beyond the packet, by one byte */
	link_hdr(&p, ETH, 0x86dd);
	pb_ip6(&p, 21, TCP);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
	link_hdr(&p, ETH, 0x0800);
	pb_ip4(&p, 41, TCP, 0, 0);
	pb_tcp(&p);
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
	p.b[17] = 19; /* less than its own header */
	cr_assert_eq(parse(&p, p.n, 0, ETH, &pkt), BIGTCP_PARSE_BAD);
}

Test(parse, not_ip)
{
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	for (enum link l = 0; l < L3DEV; l++) {
		link_hdr(&p, l, 0x0806);
		cr_assert_eq(parse(&p, 60, 0, l, &pkt), BIGTCP_PARSE_NOT_IP);
		cr_assert_eq(pkt.l3_proto, 0x0806);
		cr_assert_eq(pkt.l3_off, link_len[l]);
	}
	/* a third tag is not looked into */
	link_hdr(&p, QINQ, 0x8100);
	pb_vlan(&p, 7, 0x86dd);
	cr_assert_eq(parse(&p, 60, 0, QINQ, &pkt), BIGTCP_PARSE_NOT_IP);
	cr_assert_eq(pkt.l3_proto, 0x8100);
	cr_assert_eq(parse_n("\x50", 1, 1, 0, 0, &pkt), BIGTCP_PARSE_NOT_IP);
	cr_assert_eq(pkt.l3_proto, 0);
}

/* Cut off at every byte: SHORT until the last header in the way of the transport header is
 * there, and then the full answer.
 */
static void cut_everywhere(const struct pktbuild *p, uint32_t len, enum link l, uint32_t need)
{
	struct bigtcp_pkt pkt, full;
	int ret;

	cr_assert_eq(parse(p, len, 1428, l, &full), BIGTCP_PARSE_OK);
	for (uint32_t n = 0; n <= p->n; n++) {
		ret = parse_n(p->b, n, len, 1428, l3_hint(l), &pkt);
		cr_assert_eq(ret, n < need ? BIGTCP_PARSE_SHORT : BIGTCP_PARSE_OK, "%u bytes", n);
		if (n >= need)
			cr_assert_arr_eq(&pkt, &full, sizeof(pkt));
	}
}

Test(parse, truncated_at_every_byte)
{
	struct pktbuild p;

	for (enum link l = 0; l < LINKS; l++) {
		link_hdr(&p, l, 0x86dd);
		pb_ip6(&p, 20, TCP);
		pb_tcp(&p);
		cut_everywhere(&p, p.n, l, p.l3 + 40);

		link_hdr(&p, l, 0x86dd);
		pb_ip6(&p, 0, 0);
		pb_jumbo(&p, BIG);
		pb_tcp(&p);
		cut_everywhere(&p, p.l3 + 48 + BIG, l, p.l3 + 48);

		link_hdr(&p, l, 0x86dd);
		pb_ip6(&p, 0, TCP);
		pb_tcp(&p);
		cut_everywhere(&p, p.l3 + 40 + BIG, l, p.l3 + 40);

		link_hdr(&p, l, 0x86dd);
		pb_ip6(&p, 24 + 8 + 20, 60);
		pb_ext(&p, 44, 2, 24);
		pb_frag(&p, TCP, 0);
		pb_tcp(&p);
		cut_everywhere(&p, p.n, l, p.l3 + 40 + 24 + 8);

		link_hdr(&p, l, 0x0800);
		pb_ip4(&p, 60, TCP, 0, 20);
		pb_tcp(&p);
		cut_everywhere(&p, p.n, l, p.l3 + 20);
	}
}

Test(parse, transport_header_pointer)
{
	uint8_t buf[100];
	struct bigtcp_pkt pkt = { .l3_off = 14, .l4_off = 62 };

	cr_assert_eq(bigtcp_l4(buf, buf + 100, &pkt, 20), buf + 62);
	cr_assert_eq(bigtcp_l4(buf, buf + 82, &pkt, 20), buf + 62);
	cr_assert_null(bigtcp_l4(buf, buf + 81, &pkt, 20));
	cr_assert_eq(bigtcp_l3(buf, buf + 100, &pkt, 40), buf + 14);
	cr_assert_null(bigtcp_l3(buf, buf + 53, &pkt, 40));
}
