// SPDX-License-Identifier: GPL-2.0
#include "core/packets.h"
#include "base/number.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX16	     65535u
#define NEXT_UNKNOWN 0xfd /* RFC 3692: for experiments */

static void put16(__u8 *p, __u32 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put32(__u8 *p, __u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static __u32 fit16(__u32 v)
{
	return v > MAX16 ? MAX16 : v;
}

static __u8 l4_proto(const struct bt_packet *p)
{
	if (p->udp)
		return p->other ? NEXT_UNKNOWN : IPPROTO_UDP;
	return IPPROTO_TCP;
}

/* Ends with the next header: TCP, or the jumbo header in front of it. */
static int put_ipv6(const struct bt_packet *p, __u8 *h)
{
	__u32 payload = p->len - bt_packet_net(p) - BT_IPV6_LEN;

	put32(h, 0x60000000);
	put16(h + 4, p->shape == BT_SHAPE_PLAIN ? fit16(payload) : 0);
	h[6] = p->shape == BT_SHAPE_HBH ? IPPROTO_HOPOPTS : l4_proto(p);
	h[7] = 64;
	memcpy(h + 8, p->flow.saddr, 16);
	memcpy(h + 24, p->flow.daddr, 16);
	if (p->shape != BT_SHAPE_HBH)
		return BT_IPV6_LEN;
	h += BT_IPV6_LEN;
	h[0] = IPPROTO_TCP;
	h[1] = 0; /* length in units of 8 bytes, without the first */
	h[2] = 0xc2; /* RFC 2675: jumbo payload */
	h[3] = 4;
	put32(h + 4, payload);
	return BT_IPV6_LEN + BT_HBH_LEN;
}

static int put_ipv4(const struct bt_packet *p, __u8 *h)
{
	h[0] = 0x45;
	h[1] = 0;
	put16(h + 2, p->shape == BT_SHAPE_PLAIN ? fit16(p->len - bt_packet_net(p)) : 0);
	put32(h + 4, 0x00004000); /* id 0, don't fragment */
	h[8] = 64;
	h[9] = l4_proto(p);
	put16(h + 10, 0x5a5a);
	memcpy(h + 12, p->flow.saddr, 4);
	memcpy(h + 16, p->flow.daddr, 4);
	return BT_IPV4_LEN;
}

static void put_tcp(const struct bt_packet *p, __u8 *h)
{
	put16(h, p->flow.sport);
	put16(h + 2, p->flow.dport);
	put32(h + 4, 0x10203040);
	put32(h + 8, p->flags & BT_TCP_ACK ? 0x50607080 : 0);
	h[12] = BT_TCP_LEN / 4 << 4;
	h[13] = p->flags;
	put16(h + 14, 502);
	put16(h + 16, 0x3c3c);
	put16(h + 18, 0);
	put32(h + 20, 0x0101080a); /* two of padding, then the timestamps */
	put32(h + 24, 0x00a1b2c3);
	put32(h + 28, 0x00c3b2a1);
}

static void put_udp(const struct bt_packet *p, __u8 *h, __u32 len)
{
	memset(h, 0, BT_TCP_LEN);
	put16(h, p->flow.sport);
	put16(h + 2, p->flow.dport);
	put16(h + 4, fit16(len));
	put16(h + 6, 0x3c3c);
}

#define ETHERTYPE_OFF 12
#define IPV6_SADDR    8
#define IPV4_SADDR    12
/* Where a program for Ethernet looks for IPv6's next header. */
#define ETH_IPV6_NEXT (BT_ETH_LEN + 6)

void bt_flow_no_link(struct bt_flow *f)
{
	if (f->family == AF_INET6) {
		put16(f->saddr + ETHERTYPE_OFF - IPV6_SADDR, 0x86dd);
		f->saddr[BT_ETH_LEN - IPV6_SADDR] = 0;
		f->saddr[ETH_IPV6_NEXT - IPV6_SADDR] = NEXT_UNKNOWN;
	} else {
		put16(f->saddr + ETHERTYPE_OFF - IPV4_SADDR, 0x0800);
		f->saddr[BT_ETH_LEN - IPV4_SADDR] = 0;
	}
}

/* Does a test run see the family's protocol? */
static bool has_ethertype(const struct bt_flow *f)
{
	struct bt_flow want = *f;

	bt_flow_no_link(&want);
	return !memcmp(&want, f, sizeof(want));
}

int bt_packet_head(const struct bt_packet *p, __u8 buf[BT_HEAD_MAX])
{
	bool v6 = p->flow.family == AF_INET6;
	__u32 need = bt_packet_net(p) + (v6 ? BT_IPV6_LEN : BT_IPV4_LEN) + BT_TCP_LEN;
	int off = bt_packet_net(p);

	if (!v6 && (p->flow.family != AF_INET || p->shape == BT_SHAPE_HBH))
		return -EINVAL;
	if (p->udp && p->shape != BT_SHAPE_PLAIN)
		return -EINVAL;
	if (p->shape == BT_SHAPE_HBH)
		need += BT_HBH_LEN;
	if (p->len < need)
		return -EINVAL;
	if (p->no_link && !has_ethertype(&p->flow))
		return -EINVAL;
	if (!p->no_link) {
		memcpy(buf, p->dmac, 6);
		memcpy(buf + 6, p->smac, 6);
		put16(buf + ETHERTYPE_OFF, v6 ? 0x86dd : 0x0800);
	}
	off += v6 ? put_ipv6(p, buf + off) : put_ipv4(p, buf + off);
	if (p->udp)
		put_udp(p, buf + off, p->len - off);
	else
		put_tcp(p, buf + off);
	return off + BT_TCP_LEN;
}

static int parse_addr(const char *text, int *family, __u8 addr[16])
{
	int af = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (*family && *family != af)
		return -EINVAL;
	if (inet_pton(af, text, addr) != 1)
		return -EINVAL;
	*family = af;
	return 0;
}

static int parse_port(const char *text, __u16 *port)
{
	__u64 v;

	if (!bt_number(text, MAX16, &v))
		return -EINVAL;
	*port = v;
	return 0;
}

int bt_flow_parse(const char *text, struct bt_flow *f)
{
	enum { SRC = 1, DST = 2, SPORT = 4, DPORT = 8, ALL = 15 };
	char buf[256], *save = NULL, *word;
	struct bt_flow out = {};
	int family = 0, seen = 0, bit, err;

	if (strlen(text) >= sizeof(buf))
		return -EINVAL;
	strcpy(buf, text);
	for (word = strtok_r(buf, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
		if (!strncmp(word, "src=", 4)) {
			bit = SRC;
			err = parse_addr(word + 4, &family, out.saddr);
		} else if (!strncmp(word, "dst=", 4)) {
			bit = DST;
			err = parse_addr(word + 4, &family, out.daddr);
		} else if (!strncmp(word, "sport=", 6)) {
			bit = SPORT;
			err = parse_port(word + 6, &out.sport);
		} else if (!strncmp(word, "dport=", 6)) {
			bit = DPORT;
			err = parse_port(word + 6, &out.dport);
		} else {
			return -EINVAL;
		}
		if (err || (seen & bit))
			return -EINVAL;
		seen |= bit;
	}
	if (seen != ALL)
		return -EINVAL;
	out.family = family;
	*f = out;
	return 0;
}

void bt_flow_str(const struct bt_flow *f, char buf[BT_FLOW_STR])
{
	char src[INET6_ADDRSTRLEN] = "?", dst[INET6_ADDRSTRLEN] = "?";
	bool v6 = f->family == AF_INET6;

	inet_ntop(f->family, f->saddr, src, sizeof(src));
	inet_ntop(f->family, f->daddr, dst, sizeof(dst));
	snprintf(buf, BT_FLOW_STR, v6 ? "[%s]:%u > [%s]:%u" : "%s:%u > %s:%u", src, f->sport, dst,
		 f->dport);
}

void bt_flags_str(__u8 flags, char buf[32])
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK" };
	size_t len = 0;

	for (unsigned int i = 0; i < 5; i++) {
		if (flags & 1u << i)
			len += sprintf(buf + len, "%s%s", len ? "," : "", names[i]);
	}
	if (!len)
		strcpy(buf, "-");
}

const char *bt_shape_name(enum bt_shape shape, int family)
{
	if (shape == BT_SHAPE_PLAIN)
		return "plain";
	if (shape == BT_SHAPE_HBH)
		return "hbh";
	return family == AF_INET ? "ipv4" : "len0";
}
