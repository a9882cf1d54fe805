// SPDX-License-Identifier: GPL-2.0
/* Frames with one thing wrong, or nearly so, and what the guard has to say of each. */
#include "guard_frames.h"

#include <bigtcp/jumbo.h>
#include <string.h>

#include "../../bpf/guard.h"
#include "../unit/pktbuild.h"

struct frame f;

static void start(struct pktbuild *p, __u16 plen, __u8 nexthdr)
{
	memset(p, 0, sizeof(*p));
	pb_eth(p, 0x86dd);
	pb_ip6(p, plen, nexthdr);
}

static void end(const struct pktbuild *p, __u32 len)
{
	memset(f.data, 0, sizeof(f.data));
	memcpy(f.data, p->b, p->n);
	f.len = len;
}

/* As the kernel makes it; @len of the frame. */
static void kernel_form(struct pktbuild *p, __u32 len)
{
	start(p, 0, 0);
	pb_jumbo(p, len - 14 - 48);
	pb_tcp(p);
	end(p, len);
}

/* A hop-by-hop header of @n bytes, options and all, in front of TCP. */
static void hbh(__u16 plen, const void *opts, __u32 n, __u32 len)
{
	struct pktbuild p;

	start(&p, plen, 0);
	pb_bytes(&p, (__u8[]){ 6, (n + 2) / 8 - 1 }, 2);
	pb_bytes(&p, opts, n);
	pb_tcp(&p);
	end(&p, len);
}

void kernel_small(void)
{
	struct pktbuild p;

	kernel_form(&p, GUARD_FRAME);
}

static void kernel_big(void)
{
	struct pktbuild p;

	kernel_form(&p, GUARD_BIG);
}

/* A byte of the frame set to another value. */
static void kernel_with(__u32 len, __u32 at, __u8 val)
{
	struct pktbuild p;

	kernel_form(&p, len);
	f.data[at] = val;
}

static void small_plen(void)
{
	kernel_with(GUARD_FRAME, 14 + 5, 200);
}

static void big_plen(void)
{
	kernel_with(GUARD_BIG, 14 + 5, 200);
}

static void small_udp_inside(void)
{
	kernel_with(GUARD_FRAME, 54, 17);
}

static void big_udp_inside(void)
{
	kernel_with(GUARD_BIG, 54, 17);
}

static void big_one_longer(void)
{
	kernel_big();
	f.data[61]++;
}

static void big_one_shorter(void)
{
	kernel_big();
	f.data[61]--;
}

static void length_65535(void)
{
	kernel_big();
	memcpy(f.data + 58, "\x00\x00\xff\xff", 4);
}

static void length_65536(void)
{
	kernel_big();
	memcpy(f.data + 58, "\x00\x01\x00\x00", 4);
}

/* Exactly at the border: the packet's length is 65535, then 65536. */
static void exact_65535(void)
{
	struct pktbuild p;

	kernel_form(&p, 65535 + 54);
}

static void exact_65536(void)
{
	struct pktbuild p;

	kernel_form(&p, 65536 + 54);
}

static void frame_65536(void)
{
	struct pktbuild p;

	kernel_form(&p, 65536);
}

static void small_optlen(void)
{
	kernel_small();
	memcpy(f.data + 57, "\x02\x00\x00\x01\x00", 5);
}

static void big_optlen(void)
{
	kernel_big();
	memcpy(f.data + 57, "\x02\x00\x01\x01\x00", 5);
}

static void big_optlen_3(void)
{
	kernel_with(GUARD_BIG, 57, 3); /* leaves one byte, which is no option */
}

static void option_too_long(void)
{
	kernel_with(GUARD_BIG, 57, 5);
}

void mld(void)
{
	hbh(36, "\x05\x02\x00\x00\x01\x00", 6, 90);
	f.data[54] = 58;
}

static void mld_padded(void)
{
	hbh(36, "\x01\x00\x05\x02\x00\x00", 6, 90);
	f.data[54] = 58;
}

static void pads_only(void)
{
	hbh(100, "\x00\x00\x00\x01\x01\x00", 6, 154);
}

static void unknown_option(void)
{
	hbh(100, "\x1e\x04\xc2\x04\x00\x01", 6, 154); /* c2 is its data */
}

static void absent(void)
{
	hbh(0, "\x05\x02\x00\x00\x01\x00", 6, GUARD_FRAME);
}

static void absent_padded(void)
{
	hbh(0, "\x01\x04\xc2\x04\x00\x01", 6, GUARD_FRAME);
}

static void jumbo_behind_pad(__u32 pad, bool exact)
{
	__u8 o[14] = {};
	__u32 room = GUARD_BIG - 54 + !exact;

	memset(o, 0, sizeof(o));
	o[pad] = 0xc2;
	o[pad + 1] = 4;
	for (int i = 0; i < 4; i++)
		o[pad + 2 + i] = room >> (24 - 8 * i);
	hbh(0, o, 14, GUARD_BIG);
}

/* Aligned, and right as the RFC has it, but the kernel does not write it so. */
static void foreign(void)
{
	jumbo_behind_pad(4, true);
}

static void foreign_too_long(void)
{
	jumbo_behind_pad(8, false);
}

static void unaligned(void)
{
	jumbo_behind_pad(3, true);
}

static void unaligned_by_two(void)
{
	jumbo_behind_pad(2, true);
}

static void twice(void)
{
	jumbo_behind_pad(0, true);
	memcpy(f.data + 56 + 8, f.data + 56, 6);
}

static void option_past_header(void)
{
	hbh(100, "\x05\x05\x00\x00\x01\x00", 6, 154);
}

static void option_half(void)
{
	hbh(100, "\x05\x03\x00\x00\x01\x05", 6, 154);
}

/* What would be its value is TCP. */
static void jumbo_half(void)
{
	hbh(0, "\x05\x02\x00\x00\xc2\x04", 6, GUARD_FRAME);
}

static void header_past_packet(void)
{
	hbh(100, "\x05\x02\x00\x00\x01\x00", 6, 154);
	f.data[55] = 12; /* 104 bytes */
}

static void header_fits_exactly(void)
{
	hbh(104, "\x05\x02\x00\x00\x01\x00", 6, 158);
	f.data[55] = 12;
	memset(f.data + 62, 0, 96);
	f.data[62] = 1;
	f.data[63] = 94;
}

static void header_past_payload(void)
{
	hbh(4, "\x05\x02\x00\x00\x01\x00", 6, 154);
}

static void cut_off(void)
{
	hbh(36, "\x05\x02\x00\x00\x01\x00", 6, 57);
}

static void cut_at_zero(void)
{
	hbh(0, "\x05\x02\x00\x00\x01\x00", 6, 54);
}

static void many_options(__u32 n)
{
	__u8 o[118] = {};

	memset(o, 0, sizeof(o));
	o[n - 1] = 1; /* n - 1 times Pad1, then PadN */
	o[n] = 118 - n - 1;
	hbh(200, o, sizeof(o), 300);
}

static void options_80(void)
{
	many_options(80);
}

static void options_81(void)
{
	many_options(81);
}

/* Three headers of destination options, 78 Pad1, 78 Pad1, then @n options: with the headers and the
 * step that finds TCP behind them n + 160 steps.
 */
static void many_steps(__u32 n)
{
	struct pktbuild p;

	start(&p, 280, 60);
	pb_ext(&p, 60, 9, 80);
	pb_ext(&p, 60, 9, 80);
	pb_ext(&p, 6, 9, 80);
	p.b[p.n - 78 + n - 1] = 1;
	p.b[p.n - 78 + n] = 78 - n - 1;
	pb_tcp(&p);
	end(&p, 400);
}

static void steps_200(void)
{
	many_steps(40);
}

static void steps_201(void)
{
	many_steps(41);
}

/* A second extension header of @type with @opts behind a harmless first one. */
static void second(__u8 first, __u8 type, const void *opts)
{
	struct pktbuild p;

	start(&p, 200, first);
	pb_bytes(&p, (__u8[]){ type, 0, 1, 4, 0, 0, 0, 0 }, 8);
	pb_bytes(&p, (__u8[]){ 6, 0 }, 2);
	pb_bytes(&p, opts, 6);
	pb_tcp(&p);
	end(&p, 254);
}

static void dst_jumbo(void)
{
	second(0, 60, "\xc2\x04\x00\x01\x00\x00");
}

static void dst_alone_jumbo(void)
{
	second(60, 60, "\xc2\x04\x00\x01\x00\x00");
}

static void dst_other(void)
{
	second(60, 60, "\x05\x02\x00\x00\x01\x00");
}

static void hop_twice(void)
{
	second(0, 0, "\x05\x02\x00\x00\x01\x00");
}

static void hop_late(void)
{
	second(60, 0, "\x05\x02\x00\x00\x01\x00");
}

static void hop_late_jumbo(void)
{
	second(43, 0, "\xc2\x04\x00\x01\x00\x00");
}

static void hop_late_cut(void)
{
	second(43, 0, "\x05\x05\x00\x00\x01\x00");
}

static void jumbo_then(__u8 type, __u16 frag)
{
	struct pktbuild p;

	start(&p, 0, 0);
	pb_jumbo(&p, GUARD_BIG - 14 - 48);
	p.b[54] = type;
	pb_frag(&p, 6, frag);
	pb_tcp(&p);
	end(&p, GUARD_BIG);
}

static void jumbo_fragment(void)
{
	jumbo_then(44, 1);
}

static void jumbo_atomic_fragment(void)
{
	jumbo_then(44, 0);
}

static void jumbo_routing(void)
{
	jumbo_then(43, 0);
}

static void fragment(void)
{
	struct pktbuild p;

	start(&p, 200, 44);
	pb_frag(&p, 6, 1);
	pb_tcp(&p);
	end(&p, 254);
}

/* What follows a later fragment's header is data, whatever it looks like. */
static void later_fragment(void)
{
	struct pktbuild p;

	start(&p, 200, 44);
	pb_frag(&p, 60, 64);
	pb_bytes(&p, "\x06\x00\xc2\x04\x00\x01\x00\x00", 8);
	end(&p, 254);
}

static void first_fragment_jumbo(void)
{
	struct pktbuild p;

	start(&p, 200, 44);
	pb_frag(&p, 60, 1);
	pb_bytes(&p, "\x06\x00\xc2\x04\x00\x01\x00\x00", 8);
	end(&p, 254);
}

static void len0(__u8 proto, __u32 len)
{
	struct pktbuild p;

	start(&p, 0, proto);
	pb_tcp(&p);
	end(&p, len);
}

static void len0_tcp(void)
{
	len0(6, GUARD_FRAME);
}

static void len0_big(void)
{
	len0(6, GUARD_BIG);
}

static void len0_border(void)
{
	len0(6, 65535 + 54);
}

static void len0_udp(void)
{
	len0(17, GUARD_BIG);
}

static void len0_dst(void)
{
	len0(60, GUARD_FRAME);
}

static void len0_none(void)
{
	len0(59, 60);
}

static void len0_experiment(void)
{
	len0(253, 60);
}

static void deep_chain(__u32 n)
{
	struct pktbuild p;

	start(&p, 200, 60);
	while (n--)
		pb_bytes(&p, (__u8[]){ n ? 60 : 6, 0, 1, 4, 0, 0, 0, 0 }, 8);
	pb_tcp(&p);
	end(&p, 254);
}

static void headers_8(void)
{
	deep_chain(8);
}

static void headers_9(void)
{
	deep_chain(9);
}

void plain_tcp(void)
{
	struct pktbuild p;

	start(&p, GUARD_FRAME - 54, 6);
	pb_tcp(&p);
	end(&p, GUARD_FRAME);
}

static void esp(void)
{
	plain_tcp();
	f.data[20] = 50;
}

static void ipv4(void)
{
	struct pktbuild p;

	memset(&p, 0, sizeof(p));
	pb_eth(&p, 0x0800);
	pb_ip4(&p, 100, 0, 0, 0);
	end(&p, 114);
}

static void not_ipv6(void)
{
	kernel_small();
	f.data[14] = 0x50;
}

static void not_ipv6_big(void)
{
	kernel_big();
	f.data[14] = 0x50;
}

static void arp(void)
{
	struct pktbuild p;

	memset(&p, 0, sizeof(p));
	pb_eth(&p, 0x0806);
	end(&p, 60);
}

/* The packet that is there, with @n tags. */
static void tag(__u32 n)
{
	__u32 at = 12 + 4 * n;

	memmove(f.data + at, f.data + 12, f.len - 12);
	for (__u32 i = 12; i < at; i += 4)
		memcpy(f.data + i, i & 4 ? "\x81\x00\x00\x05" : "\x88\xa8\x00\x05", 4);
	f.len += 4 * n;
}

static void small_tagged(void)
{
	kernel_small();
	tag(1);
}

static void small_4_tags(void)
{
	kernel_small();
	tag(4);
}

static void mld_tagged(void)
{
	mld();
	tag(2);
}

static void big_tagged(void)
{
	kernel_big();
	tag(1);
}

#define M	GUARD_M
#define FORGERY (M(FORGED) | M(SHORT))

const struct guard_row guard_rows[] = {
	{ "the kernel's form, small", kernel_small, FORGERY, FORGERY, FORGERY },
	{ "the kernel's own", kernel_big, M(FORGED), M(OWN_HBH), M(OWN_HBH) },
	{ "small, with payload_len", small_plen, M(SHORT) | M(PLEN), M(SHORT) | M(PLEN),
	  M(SHORT) | M(PLEN) },
	{ "big, with payload_len", big_plen, M(PLEN), M(PLEN), M(PLEN) },
	{ "small, UDP inside", small_udp_inside, M(SHORT), M(SHORT), M(SHORT) },
	{ "big, UDP inside", big_udp_inside, M(FOREIGN), M(FOREIGN), M(FOREIGN) },
	{ "big, one byte too long", big_one_longer, M(BEYOND), M(BEYOND), M(BEYOND) },
	{ "big, one byte too short", big_one_shorter, M(TRAIL), M(TRAIL), M(TRAIL) },
	{ "length 65535", length_65535, M(SHORT) | M(TRAIL), M(SHORT) | M(TRAIL),
	  M(SHORT) | M(TRAIL) },
	{ "length 65536", length_65536, M(TRAIL), M(TRAIL), M(TRAIL) },
	{ "exactly 65535", exact_65535, FORGERY, FORGERY, FORGERY },
	{ "exactly 65536", exact_65536, M(FORGED), M(OWN_HBH), M(OWN_HBH) },
	{ "a frame of 65536", frame_65536, FORGERY, FORGERY, FORGERY },
	{ "small, option length 2", small_optlen, M(OPTLEN), M(OPTLEN), M(OPTLEN) },
	{ "big, option length 2", big_optlen, M(OPTLEN), M(OPTLEN), M(OPTLEN) },
	{ "big, option length 3", big_optlen_3, M(OPTLEN) | M(CUT), M(OPTLEN) | M(CUT),
	  M(OPTLEN) | M(CUT) },
	{ "option length 5", option_too_long, M(OPTLEN) | M(CUT), M(OPTLEN) | M(CUT),
	  M(OPTLEN) | M(CUT) },
	{ "MLD", mld, M(HBH), M(HBH), M(HBH) },
	{ "MLD, PadN first", mld_padded, M(HBH), M(HBH), M(HBH) },
	{ "padding only", pads_only, M(HBH), M(HBH), M(HBH) },
	{ "an option with c2 in it", unknown_option, M(HBH), M(HBH), M(HBH) },
	{ "no jumbo option", absent, M(ABSENT), M(ABSENT), M(ABSENT) },
	{ "a pad with c2 in it", absent_padded, M(ABSENT), M(ABSENT), M(ABSENT) },
	{ "right, but padded", foreign, M(FOREIGN), M(FOREIGN), M(FOREIGN) },
	{ "padded, too long", foreign_too_long, M(BEYOND), M(BEYOND), M(BEYOND) },
	{ "not at 4n+2", unaligned, M(ALIGN), M(ALIGN), M(ALIGN) },
	{ "at 4n", unaligned_by_two, M(ALIGN), M(ALIGN), M(ALIGN) },
	{ "two jumbo options", twice, M(TWICE), M(TWICE), M(TWICE) },
	{ "an option past its header", option_past_header, M(CUT), M(CUT), M(CUT) },
	{ "half an option", option_half, M(CUT), M(CUT), M(CUT) },
	{ "a header past the packet", header_past_packet, M(CUT), M(CUT), M(CUT) },
	{ "a header to the last byte", header_fits_exactly, M(HBH), M(HBH), M(HBH) },
	{ "a header past payload_len", header_past_payload, M(CUT), M(CUT), M(CUT) },
	{ "cut in the header", cut_off, M(CUT), M(CUT), M(CUT) },
	{ "nothing behind IPv6", cut_at_zero, M(CUT), M(CUT), M(CUT) },
	{ "80 options", options_80, M(HBH), M(HBH), M(HBH) },
	{ "81 options", options_81, M(MANY), M(MANY), M(MANY) },
	{ "jumbo in destination options", dst_jumbo, M(PLACE) | M(HBH), M(PLACE) | M(HBH),
	  M(PLACE) | M(HBH) },
	{ "the same, no hop-by-hop", dst_alone_jumbo, M(PLACE), M(PLACE), M(PLACE) },
	{ "other destination options", dst_other, 0, 0, 0 },
	{ "two hop-by-hop headers", hop_twice, M(LATE) | M(HBH), M(LATE) | M(HBH),
	  M(LATE) | M(HBH) },
	{ "hop-by-hop second", hop_late, M(LATE), M(LATE), M(LATE) },
	{ "the same, jumbo", hop_late_jumbo, M(LATE) | M(PLACE), M(LATE) | M(PLACE),
	  M(LATE) | M(PLACE) },
	{ "the same, cut", hop_late_cut, M(LATE) | M(CUT), M(LATE) | M(CUT), M(LATE) | M(CUT) },
	{ "jumbo and fragment", jumbo_fragment, M(FRAG), M(FRAG), M(FRAG) },
	{ "jumbo and atomic fragment", jumbo_atomic_fragment, M(FRAG), M(FRAG), M(FRAG) },
	{ "jumbo and routing", jumbo_routing, M(FOREIGN), M(FOREIGN), M(FOREIGN) },
	{ "a fragment", fragment, 0, 0, 0 },
	{ "jumbo in options behind a first fragment", first_fragment_jumbo, M(PLACE), M(PLACE),
	  M(PLACE) },
	{ "a later fragment", later_fragment, 0, 0, 0 },
	{ "length 0, TCP", len0_tcp, M(LEN0), M(LEN0), M(LEN0) },
	{ "length 0, TCP, big", len0_big, M(LEN0), M(OWN_LEN0), M(OWN_LEN0) },
	{ "length 0, TCP, 65535", len0_border, M(LEN0), M(LEN0), M(LEN0) },
	{ "length 0, UDP, big", len0_udp, M(LEN0), M(LEN0), M(LEN0) },
	{ "length 0, destination options", len0_dst, M(LEN0), M(LEN0), M(LEN0) },
	{ "length 0, nothing follows", len0_none, 0, 0, 0 },
	{ "half a jumbo option", jumbo_half, M(CUT), M(CUT), M(CUT) },
	{ "length 0, unknown protocol", len0_experiment, 0, 0, 0 },
	{ "8 headers", headers_8, 0, 0, 0 },
	{ "200 steps", steps_200, 0, 0, 0 },
	{ "201 steps", steps_201, M(DEEP), M(DEEP), M(DEEP) },
	{ "9 headers", headers_9, M(DEEP), M(DEEP), M(DEEP) },
	{ "TCP", plain_tcp, 0, 0, 0 },
	{ "ESP", esp, 0, 0, 0 },
	{ "IPv4", ipv4, 0, 0, 0 },
	{ "ARP", arp, 0, 0, 0 },
	{ "version 5", not_ipv6, 0, 0, 0 },
	{ "version 5, big", not_ipv6_big, 0, 0, 0 },
	{ "a tag", small_tagged, FORGERY, FORGERY, FORGERY },
	{ "four tags", small_4_tags, FORGERY, FORGERY, FORGERY },
	{ "MLD, tagged", mld_tagged, M(HBH), M(HBH), M(HBH) },
	{ "the kernel's own, tagged", big_tagged, M(FORGED), M(OWN_HBH), M(OWN_HBH) },
};

const unsigned int guard_nrows = sizeof(guard_rows) / sizeof(guard_rows[0]);
