// SPDX-License-Identifier: GPL-2.0
/* The packets that audit makes. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "core/packets.h"

static struct bt_packet packet(const char *flow, enum bt_shape shape, __u32 len)
{
	struct bt_packet p = { .shape = shape, .len = len, .flags = BT_TCP_ACK | BT_TCP_PSH };

	cr_assert_eq(bt_flow_parse(flow, &p.flow), 0);
	return p;
}

#define FLOW6 "src=2001:db8::1,dst=2001:db8::2,sport=40000,dport=443"
#define FLOW4 "src=192.0.2.1,dst=198.51.100.2,sport=40000,dport=443"

static unsigned int be16(const __u8 *p)
{
	return p[0] << 8 | p[1];
}

static unsigned int be32(const __u8 *p)
{
	return be16(p) << 16 | be16(p + 2);
}

Test(packets, plain6)
{
	struct bt_packet p = packet(FLOW6, BT_SHAPE_PLAIN, 1514);
	__u8 b[BT_HEAD_MAX];

	cr_assert_eq(bt_packet_head(&p, b), 14 + 40 + 32);
	cr_assert_eq(be16(b + 12), 0x86dd);
	cr_assert_eq(be16(b + 18), 1460);
	cr_assert_eq(b[20], IPPROTO_TCP);
	cr_assert_eq(be16(b + 54), 40000);
	cr_assert_eq(be16(b + 56), 443);
	cr_assert_eq(b[66], 0x80);
	cr_assert_eq(b[67], 0x18);
}

Test(packets, plain_above_64k_has_the_largest_length_there_is)
{
	struct bt_packet p = packet(FLOW6, BT_SHAPE_PLAIN, 70000);
	__u8 b[BT_HEAD_MAX];

	cr_assert_eq(bt_packet_head(&p, b), 86);
	cr_assert_eq(be16(b + 18), 65535);
	p = packet(FLOW4, BT_SHAPE_PLAIN, 70000);
	cr_assert_eq(bt_packet_head(&p, b), 66);
	cr_assert_eq(be16(b + 16), 65535);
}

Test(packets, hbh_is_what_the_kernel_makes)
{
	/* measured on 6.18: the length counts everything behind the IPv6 header */
	static const __u8 fixed[] = { 6, 0, 0xc2, 4 };
	struct bt_packet p = packet(FLOW6, BT_SHAPE_HBH, 70000);
	__u8 b[BT_HEAD_MAX];

	cr_assert_eq(bt_packet_head(&p, b), 14 + 40 + 8 + 32);
	cr_assert_eq(be16(b + 18), 0);
	cr_assert_eq(b[20], IPPROTO_HOPOPTS);
	cr_assert_arr_eq(b + 54, fixed, 4);
	cr_assert_eq(be32(b + 58), 70000 - 14 - 40);
	cr_assert_eq(be16(b + 62), 40000);
}

Test(packets, length_0)
{
	struct bt_packet p = packet(FLOW6, BT_SHAPE_LEN0, 70000);
	__u8 b[BT_HEAD_MAX];

	cr_assert_eq(bt_packet_head(&p, b), 86);
	cr_assert_eq(be16(b + 18), 0);
	cr_assert_eq(b[20], IPPROTO_TCP);
	p = packet(FLOW4, BT_SHAPE_LEN0, 70000);
	cr_assert_eq(bt_packet_head(&p, b), 66);
	cr_assert_eq(be16(b + 12), 0x0800);
	cr_assert_eq(be16(b + 16), 0);
	cr_assert_eq(b[23], IPPROTO_TCP);
}

Test(packets, without_link_header)
{
	struct bt_packet p = packet(FLOW6, BT_SHAPE_HBH, 70000);
	__u8 b[BT_HEAD_MAX];

	p.no_link = true;
	cr_assert_eq(bt_packet_head(&p, b), -EINVAL, "a test run would not see IPv6");
	bt_flow_no_link(&p.flow);
	cr_assert_eq(bt_packet_head(&p, b), 40 + 8 + 32);
	cr_assert_eq(b[0] >> 4, 6);
	cr_assert_eq(be16(b + 4), 0);
	cr_assert_eq(b[6], IPPROTO_HOPOPTS);
	cr_assert_eq(be16(b + 12), 0x86dd);
	cr_assert_neq(b[14] >> 4, 6, "no IPv6 behind an Ethernet header");
	cr_assert_eq(b[20], 0xfd);
	cr_assert_eq(be32(b + 44), 70000 - 40);
	cr_assert_eq(be16(b + 48), 40000);
	p.shape = BT_SHAPE_PLAIN;
	p.len = 1500;
	cr_assert_eq(bt_packet_head(&p, b), 40 + 32);
	cr_assert_eq(be16(b + 4), 1460);
	cr_assert_eq(b[6], IPPROTO_TCP);
	cr_assert_eq(be16(b + 42), 443);
}

Test(packets, ipv4_without_link_header)
{
	struct bt_packet p = packet(FLOW4, BT_SHAPE_PLAIN, 1500);
	__u8 b[BT_HEAD_MAX];

	p.no_link = true;
	cr_assert_eq(bt_packet_head(&p, b), -EINVAL, "a test run would not see IPv4");
	bt_flow_no_link(&p.flow);
	cr_assert_eq(bt_packet_head(&p, b), 20 + 32);
	cr_assert_eq(b[0], 0x45);
	cr_assert_eq(be16(b + 2), 1500);
	cr_assert_eq(be16(b + 12), 0x0800);
	cr_assert_neq(b[14] >> 4, 4, "no IPv4 behind an Ethernet header");
	p.shape = BT_SHAPE_LEN0;
	cr_assert_eq(bt_packet_head(&p, b), 20 + 32);
	cr_assert_eq(be16(b + 2), 0);
}

Test(packets, udp)
{
	struct bt_packet p = packet(FLOW6, BT_SHAPE_PLAIN, 1000);
	__u8 b[BT_HEAD_MAX];

	p.udp = true;
	cr_assert_eq(bt_packet_head(&p, b), 86);
	cr_assert_eq(b[20], IPPROTO_UDP);
	cr_assert_eq(be16(b + 58), 1000 - 54);
	p.shape = BT_SHAPE_HBH;
	cr_assert_eq(bt_packet_head(&p, b), -EINVAL);
}

Test(packets, refused)
{
	struct bt_packet p = packet(FLOW4, BT_SHAPE_HBH, 70000);
	__u8 b[BT_HEAD_MAX];

	cr_assert_eq(bt_packet_head(&p, b), -EINVAL, "IPv4 has no such header");
	p = packet(FLOW6, BT_SHAPE_HBH, 93);
	cr_assert_eq(bt_packet_head(&p, b), -EINVAL, "one byte too short");
	p.len++;
	cr_assert_eq(bt_packet_head(&p, b), 94);
	p.flow.family = 0;
	cr_assert_eq(bt_packet_head(&p, b), -EINVAL);
}

Test(packets, flow_text)
{
	static const char *const bad[] = {
		"",
		"src=2001:db8::1",
		"src=2001:db8::1,dst=192.0.2.1,sport=1,dport=2",
		"src=2001:db8::1,dst=2001:db8::2,sport=1,dport=65536",
		"src=2001:db8::1,dst=2001:db8::2,sport=-1,dport=2",
		"src=2001:db8::1,dst=2001:db8::2,sport=1,dport=2x",
		"src=2001:db8::1,dst=2001:db8::2,sport=,dport=2",
		"src=2001:db8::1,src=2001:db8::1,dst=2001:db8::2,sport=1,dport=2",
		"src=host,dst=2001:db8::2,sport=1,dport=2",
		"src=2001:db8::1,dst=2001:db8::2,sport=1,dport=2,proto=6",
	};
	struct bt_flow f = { .sport = 7 };
	char text[BT_FLOW_STR], flags[32];

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_eq(bt_flow_parse(bad[i], &f), -EINVAL, "%s", bad[i]);
		cr_expect_eq(f.sport, 7, "changed by '%s'", bad[i]);
	}
	cr_assert_eq(bt_flow_parse("dport=2 sport=1 dst=2001:db8::2 src=2001:db8::1", &f), 0);
	bt_flow_str(&f, text);
	cr_assert_str_eq(text, "[2001:db8::1]:1 > [2001:db8::2]:2");
	cr_assert_eq(bt_flow_parse(FLOW4, &f), 0);
	bt_flow_str(&f, text);
	cr_assert_str_eq(text, "192.0.2.1:40000 > 198.51.100.2:443");
	bt_flags_str(BT_TCP_PSH | BT_TCP_ACK, flags);
	cr_assert_str_eq(flags, "PSH,ACK");
	bt_flags_str(0, flags);
	cr_assert_str_eq(flags, "-");
}
