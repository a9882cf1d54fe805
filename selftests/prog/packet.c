// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "packet.h"

__u64 rng_next(struct rng *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 0x2545f4914f6cdd1dULL;
}

__u32 rng_below(struct rng *r, __u32 n)
{
	return (rng_next(r) >> 32) % n;
}

static void put16(__u8 *p, __u16 v)
{
	v = htons(v);
	memcpy(p, &v, 2);
}

static void put32(__u8 *p, __u32 v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

static void noise(struct rng *r, __u8 *p, __u32 n)
{
	for (; n >= 8; n -= 8, p += 8) {
		__u64 v = rng_next(r);

		memcpy(p, &v, 8);
	}
	while (n--)
		*p++ = rng_next(r) >> 56;
}

static __u16 random_port(struct rng *r)
{
	static const __u16 ports[] = { 22, 25, 53, 80, 443, 445, 1119, 5001, 5201, 8080, 8443 };

	if (rng_below(r, 3))
		return ports[rng_below(r, sizeof(ports) / sizeof(ports[0]))];
	return 40000 + rng_below(r, 64);
}

/* A flow of the statement, or its addresses with other ports, or one of a few strangers. */
static struct flow_stmt random_flow(struct rng *r, const struct statement *st, bool v6)
{
	struct flow_stmt f = { .v6 = v6 }, t;
	__u32 n;

	for (n = 0; n < 4 && st->nflows; n++) {
		t = st->flow[rng_below(r, st->nflows)];
		if (t.v6 != v6)
			continue;
		if (!rng_below(r, 3)) {
			t.sport = random_port(r);
			t.dport = random_port(r);
		} else if (!rng_below(r, 4)) {
			t.sport = 40000 + rng_below(r, 64);
		}
		if (!rng_below(r, 8)) {
			f = t;
			f.src = t.dst;
			f.dst = t.src;
			f.sport = t.dport;
			f.dport = t.sport;
			return f;
		}
		return t;
	}
	if (v6) {
		inet_pton(AF_INET6, "2001:db8:f::", &f.src);
		inet_pton(AF_INET6, "2001:db8:f:1::", &f.dst);
		f.src.s6_addr[15] = rng_below(r, 8);
		f.dst.s6_addr[15] = rng_below(r, 8);
	} else {
		inet_pton(AF_INET, "192.0.2.0", &f.src);
		inet_pton(AF_INET, "198.51.100.0", &f.dst);
		f.src.s6_addr[3] = rng_below(r, 8);
		f.dst.s6_addr[3] = rng_below(r, 8);
	}
	f.sport = random_port(r);
	f.dport = random_port(r);
	return f;
}

/* Ethernet with no, one or two in-band tags; the tags of a tc test run are rarely there. */
static void put_link(struct rng *r, const struct packet_form *form, struct packet *p, __u16 proto)
{
	__u32 tags = rng_below(r, 10) || !form->tags ? 0 : 1 + rng_below(r, form->tags);

	p->len = 0;
	if (form->outer) {
		memset(p->data, 0, 12);
		put16(p->data + 12, tags ? ETH_P_8021Q : proto);
		p->len = ETH_HLEN;
	}
	noise(r, p->data + p->len, 12);
	p->data[p->len] &= 0xfe;
	p->len += 12;
	while (tags--) {
		put16(p->data + p->len, rng_below(r, 3) ? ETH_P_8021Q
					: tags		? ETH_P_8021AD
							: ETH_P_8021Q);
		put16(p->data + p->len + 2, rng_below(r, 4096));
		p->len += 4;
	}
	put16(p->data + p->len, proto);
	p->len += 2;
	p->l3 = p->len;
}

static void put_ip6(struct rng *r, struct packet *p, const struct flow_stmt *f, __u8 nexthdr,
		    __u16 payload_len)
{
	__u8 *ip = p->data + p->len;

	put32(ip, 6u << 28 | (rng_below(r, 3) ? (__u32)(rng_next(r) & 0xfffffff) : 0));
	put16(ip + 4, payload_len);
	ip[6] = nexthdr;
	ip[7] = 1 + rng_below(r, 255);
	memcpy(ip + 8, &f->src, 16);
	memcpy(ip + 24, &f->dst, 16);
	p->len += 40;
}

static void put_ip4(struct rng *r, struct packet *p, const struct flow_stmt *f, __u8 proto)
{
	__u8 *ip = p->data + p->len;
	__u32 opts = rng_below(r, 6) ? 0 : rng_below(r, 11);

	memset(ip, 0, 20 + 4 * opts);
	ip[0] = 0x45 + opts;
	ip[1] = rng_below(r, 4) ? 0 : rng_next(r);
	put16(ip + 2, 1400);
	put16(ip + 6, rng_below(r, 8) ? 0x4000 : rng_next(r) & 0x3fff);
	ip[8] = 64;
	ip[9] = proto;
	memcpy(ip + 12, &f->src, 4);
	memcpy(ip + 16, &f->dst, 4);
	noise(r, ip + 20, 4 * opts);
	p->len += 20 + 4 * opts;
}

/* Options that make sense half of the time. */
static void put_tcp(struct rng *r, struct packet *p, const struct flow_stmt *f)
{
	static const __u8 flags[] = { 0x02, 0x12, 0x10, 0x18, 0x11, 0x04, 0x14, 0x00, 0xff, 0x50 };
	static const __u8 ts[] = { 1, 1, 8, 10 }, mss[] = { 2, 4, 5, 0xa0, 1, 3, 3, 7 };
	__u8 *tcp = p->data + p->len;
	__u32 opts = rng_below(r, 11) * 4;

	noise(r, tcp, 20 + opts);
	put16(tcp, f->sport);
	put16(tcp + 2, f->dport);
	tcp[12] = (rng_below(r, 12) ? (20 + opts) / 4 : rng_below(r, 16)) << 4;
	tcp[13] = flags[rng_below(r, sizeof(flags))];
	if (opts >= 12 && rng_below(r, 2))
		memcpy(tcp + 20, ts, sizeof(ts));
	else if (opts >= 8 && rng_below(r, 2))
		memcpy(tcp + 20, mss, sizeof(mss));
	p->len += 20 + opts;
}

/* Makes a packet of @at_least bytes or more. */
static void put_payload(struct rng *r, __u32 at_least, struct packet *p)
{
	__u32 n = rng_below(r, 4) ? rng_below(r, 64) : rng_below(r, 1200);

	if (p->len < at_least)
		n += at_least - p->len;
	noise(r, p->data + p->len, n);
	p->len += n;
}

static void put_ctx(struct rng *r, struct packet *p)
{
	memset(p, 0, offsetof(struct packet, data));
	p->gso_size = 1000 + rng_below(r, 448);
	p->gso_segs = 2 + rng_below(r, 100);
	p->mark = rng_below(r, 3) ? 0 : rng_next(r);
	p->priority = rng_below(r, 3) ? 0 : rng_next(r);
}

void packet_jumbo(struct rng *r, const struct packet_form *form, const struct statement *st,
		  __u16 payload_len, struct packet *p)
{
	struct flow_stmt f = random_flow(r, st, true);

	put_ctx(r, p);
	put_link(r, form, p, ETH_P_IPV6);
	put_ip6(r, p, &f, IPPROTO_TCP, payload_len);
	put_tcp(r, p, &f);
	put_payload(r, form->at_least, p);
	p->kind = "jumbo";
}

void packet_add_hbh(const struct packet *p, struct packet *out)
{
	__u32 at = p->l3 + 40;

	memcpy(out, p, offsetof(struct packet, data) + at);
	memcpy(out->data + at + HBH_LEN, p->data + at, p->len - at);
	out->len += HBH_LEN;
	memcpy(out->data + at, (__u8[]){ IPPROTO_TCP, 0, 0xc2, 4 }, 4);
	put32(out->data + at + 4, out->len - at);
	put16(out->data + p->l3 + 4, 0);
	out->data[p->l3 + 6] = 0;
}

/* Offset of what follows Ethernet and up to two VLAN tags; 0: nothing does. */
static __u32 behind_link(const __u8 *data, __u32 len)
{
	__u32 l3;
	__u16 type;

	for (l3 = 14; l3 <= 22 && l3 <= len; l3 += 4) {
		memcpy(&type, data + l3 - 2, 2);
		if (type != htons(ETH_P_8021Q) && type != htons(ETH_P_8021AD))
			return l3;
	}
	return 0;
}

bool packet_strip_hbh(const __u8 *data, __u32 len, __u16 payload_len, __u8 *out)
{
	__u32 l3 = behind_link(data, len), at = l3 + 40;
	__u32 jumbo;

	if (!l3 || len < at + HBH_LEN)
		return false;
	memcpy(&jumbo, data + at + 4, 4);
	if (data[l3 + 6] || data[l3 + 4] || data[l3 + 5] || data[at] != IPPROTO_TCP ||
	    data[at + 1] || data[at + 2] != 0xc2 || data[at + 3] != 4 || ntohl(jumbo) != len - at)
		return false;
	memcpy(out, data, at);
	memcpy(out + at, data + at + HBH_LEN, len - at - HBH_LEN);
	out[l3 + 6] = IPPROTO_TCP;
	put16(out + l3 + 4, payload_len);
	return true;
}

bool packet_is_tcp6(const __u8 *data, __u32 len)
{
	__u32 l3 = behind_link(data, len);
	__u16 type;

	if (!l3 || len < l3 + 40)
		return false;
	memcpy(&type, data + l3 - 2, 2);
	return type == htons(ETH_P_IPV6) && data[l3] >> 4 == 6 && data[l3 + 6] == IPPROTO_TCP;
}

/* A jumbo packet that is wrong in one way the wire could forge, or not for the kernel to send. */
static void forged(struct rng *r, const struct packet_form *form, const struct statement *st,
		   struct packet *p)
{
	static struct packet good;
	/* Without a context there are no packets that are not GSO. */
	__u32 at, way = rng_below(r, form->gso ? 9 : 8);

	packet_jumbo(r, form, st, 0, &good);
	packet_add_hbh(&good, p);
	p->kind = "forged jumbo header";
	at = p->l3 + 40;
	switch (way) {
	case 0:
		put32(p->data + at + 4, p->len - at + (rng_below(r, 2) ? 1 : -1));
		break;
	case 1:
		put32(p->data + at + 4, rng_next(r) | 0x10000000);
		break;
	case 2:
		put16(p->data + p->l3 + 4, 1 + rng_below(r, 65535));
		break;
	case 3:
		p->data[at] = rng_below(r, 2) ? IPPROTO_UDP : IPPROTO_FRAGMENT;
		break;
	case 4:
		p->data[at + 1] = 1 + rng_below(r, 3);
		break;
	case 5:
		p->data[at + 2] = rng_below(r, 2) ? 0x05 : 0xc3;
		break;
	case 6:
		p->data[at + 3] = rng_below(r, 4);
		break;
	case 7:
		p->data[p->l3] = rng_below(r, 2) ? 0x45 : 0x70;
		break;
	default:
		p->gso_size = 0;
		p->gso_segs = 0;
	}
}

static void mld(struct rng *r, const struct packet_form *form, const struct statement *st,
		struct packet *p)
{
	struct flow_stmt f = random_flow(r, st, true);

	put_link(r, form, p, ETH_P_IPV6);
	put_ip6(r, p, &f, 0, 56);
	memcpy(p->data + p->len, (__u8[]){ 0x3a, 0, 5, 2, 0, 0, 1, 0 }, 8);
	p->len += 8;
	noise(r, p->data + p->len, 48);
	p->len += 48;
	p->kind = "MLD report";
}

static void fragment(struct rng *r, const struct packet_form *form, const struct statement *st,
		     struct packet *p)
{
	struct flow_stmt f = random_flow(r, st, true);

	put_link(r, form, p, ETH_P_IPV6);
	put_ip6(r, p, &f, IPPROTO_FRAGMENT, 600);
	noise(r, p->data + p->len, 8);
	p->data[p->len] = IPPROTO_TCP;
	p->len += 8;
	put_tcp(r, p, &f);
	put_payload(r, 0, p);
	p->kind = "fragment";
}

static void plain6(struct rng *r, const struct packet_form *form, const struct statement *st,
		   struct packet *p)
{
	static const __u8 protos[] = {
		IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6, 0, 43, 60, 47, 255
	};
	struct flow_stmt f = random_flow(r, st, true);
	__u8 proto = protos[rng_below(r, sizeof(protos))];

	put_link(r, form, p, ETH_P_IPV6);
	put_ip6(r, p, &f, proto, 20 + rng_below(r, 1400));
	if (rng_below(r, 4))
		put_tcp(r, p, &f);
	put_payload(r, 0, p);
	p->kind = "IPv6";
}

static void plain4(struct rng *r, const struct packet_form *form, const struct statement *st,
		   struct packet *p)
{
	static const __u8 protos[] = { IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, 47 };
	struct flow_stmt f = random_flow(r, st, false);

	put_link(r, form, p, ETH_P_IP);
	put_ip4(r, p, &f, protos[rng_below(r, sizeof(protos))]);
	put_tcp(r, p, &f);
	put_payload(r, 0, p);
	p->kind = "IPv4";
}

static void rubbish(struct rng *r, struct packet *p)
{
	p->len = 14 + rng_below(r, 200);
	noise(r, p->data, p->len);
	if (rng_below(r, 2))
		put16(p->data + 12, ETH_P_IPV6);
	p->l3 = 14;
	p->kind = "noise";
}

void packet_other(struct rng *r, const struct packet_form *form, const struct statement *st,
		  struct packet *p)
{
	put_ctx(r, p);
	if (!rng_below(r, 3))
		p->gso_size = p->gso_segs = 0;
	switch (rng_below(r, 8)) {
	case 0:
	case 1:
	case 2:
		forged(r, form, st, p);
		break;
	case 3:
		mld(r, form, st, p);
		break;
	case 4:
		fragment(r, form, st, p);
		break;
	case 5:
		plain6(r, form, st, p);
		break;
	case 6:
		plain4(r, form, st, p);
		break;
	default:
		rubbish(r, p);
	}
	/* Cut short at any byte, once in a while; not where that could put a length right. */
	if (!rng_below(r, 6) && p->len > 15 &&
	    !(p->len > p->l3 + 42 && p->data[p->l3 + 42] == 0xc2)) {
		p->len = 14 + rng_below(r, p->len - 14);
		p->kind = "cut short";
	}
}
