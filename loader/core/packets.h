/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP packets in the shapes that Linux gives them: as they always were, and the forms that BIG
 * TCP packets (above 64 KiB) have. Audit runs programs on them.
 */
#ifndef CORE_PACKETS_H
#define CORE_PACKETS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

enum bt_shape {
	BT_SHAPE_PLAIN, /* the length fields tell the truth, or as near as 16 bits allow */
	BT_SHAPE_HBH, /* IPv6, kernels 5.19 to 6.19: hop-by-hop jumbo header, payload_len 0 */
	BT_SHAPE_LEN0, /* IPv6 from 7.0: payload_len 0; IPv4 from 6.3: tot_len 0 */
};

/* TCP flags as in the header's 14th byte. */
enum bt_tcp_flag {
	BT_TCP_FIN = 0x01,
	BT_TCP_SYN = 0x02,
	BT_TCP_RST = 0x04,
	BT_TCP_PSH = 0x08,
	BT_TCP_ACK = 0x10,
};

struct bt_flow {
	__u8 family; /* AF_INET or AF_INET6 */
	__u8 saddr[16]; /* IPv4: the first four bytes */
	__u8 daddr[16];
	__u16 sport; /* host byte order */
	__u16 dport;
};

struct bt_packet {
	struct bt_flow flow;
	enum bt_shape shape;
	__u8 flags; /* enum bt_tcp_flag */
	bool udp; /* not TCP but UDP; plain packets only */
	bool other; /* with udp: a protocol that nobody knows */
	bool no_link; /* starts with the IP header, as on tun; see bt_flow_no_link() */
	__u32 len; /* of the whole frame, Ethernet header (if any) and jumbo header included */
	__u8 dmac[6];
	__u8 smac[6];
};

#define BT_ETH_LEN  14
#define BT_IPV6_LEN 40
#define BT_IPV4_LEN 20
#define BT_HBH_LEN  8
#define BT_TCP_LEN  32 /* with the timestamp option, as Linux sends */
#define BT_HBH_OFF  (BT_ETH_LEN + BT_IPV6_LEN)
/* The longest head of all forms, and the shortest packet with all of it. */
#define BT_HEAD_MAX (BT_ETH_LEN + BT_IPV6_LEN + BT_HBH_LEN + BT_TCP_LEN)

/* Offset of the IP header. */
static inline unsigned int bt_packet_net(const struct bt_packet *p)
{
	return p->no_link ? 0 : BT_ETH_LEN;
}

/*
 * Changes the source address of @f so that a packet without link header can be given to
 * BPF_PROG_TEST_RUN: this takes skb->protocol from bytes 12 and 13, which are in the source address
 * then and have to be the EtherType of its family. The other bytes are such that a program for
 * Ethernet finds IP neither of version 6 nor of version 4, and an unknown next header.
 */
void bt_flow_no_link(struct bt_flow *f);

/*
 * Writes the headers of @p, Ethernet (or IP) to TCP (or UDP), to @buf and returns their length; the payload
 * of
 * @p->len less that is up to the caller. -EINVAL: a form that the family does not have, @p->len
 * too short, or no link header and a source address that bt_flow_no_link() has not made. Both checksums are constants, the same for every form and length, so that a program
 * that adjusts them gives comparable results; seq and ack are constants too.
 */
int bt_packet_head(const struct bt_packet *p, __u8 buf[BT_HEAD_MAX]);

/* "src=ADDR,dst=ADDR,sport=N,dport=N" in any order, commas or spaces, none left out, both addresses
 * of one family. 0 or -EINVAL.
 */
int bt_flow_parse(const char *text, struct bt_flow *f);

#define BT_FLOW_STR 128
/* "[2001:db8::1]:40000 > [2001:db8::2]:443" */
void bt_flow_str(const struct bt_flow *f, char buf[BT_FLOW_STR]);
/* "SYN", "PSH,ACK", "-" */
void bt_flags_str(__u8 flags, char buf[32]);
/* "plain", "hbh", "len0" or, for IPv4, "ipv4" */
const char *bt_shape_name(enum bt_shape shape, int family);

#endif
