// SPDX-License-Identifier: GPL-2.0
#include "guard_model.h"

#include <arpa/inet.h>
#include <string.h>

#include "../../bpf/guard.h"

static __u32 be(const __u8 *p, int n)
{
	__u32 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* An IPv6 packet: p[0] is the first byte of its header, p[end] the first one behind the packet. */
struct ip6 {
	const __u8 *p;
	__u32 frame; /* bytes that are there */
	__u32 end;
	__u32 plen;
	int steps; /* headers and options that may still be looked at */
	bool over; /* the walk has come to its end */
	__u32 classes;
	/* of the first header, if it is hop-by-hop */
	bool complete;
	int jumbo_options;
	bool has_length;
	__u32 length;
	bool fragment;
};

static void is(struct ip6 *ip, __u32 class)
{
	ip->classes |= class;
}

static void stop(struct ip6 *ip, __u32 class)
{
	is(ip, class);
	ip->over = true;
}

static bool step(struct ip6 *ip)
{
	if (!ip->steps) {
		stop(ip, GUARD_M(DEEP));
		return false;
	}
	ip->steps--;
	return true;
}

static bool extension(__u8 type)
{
	return type == 0 || type == 43 || type == 44 || type == 51 || type == 60;
}

/* A jumbo option in the first hop-by-hop header, which is at 40. */
static void first_jumbo(struct ip6 *ip, __u32 at, __u32 stop_at)
{
	if (ip->jumbo_options++)
		return;
	if (at % 4 != 2)
		is(ip, GUARD_M(ALIGN));
	if (ip->p[at + 1] != 4) {
		is(ip, GUARD_M(OPTLEN));
	} else if (at + 6 <= stop_at) {
		ip->has_length = true;
		ip->length = be(ip->p + at + 2, 4);
	}
}

static void options(struct ip6 *ip, __u32 from, __u32 to, bool hop, bool first)
{
	__u32 cut = hop ? GUARD_M(CUT) : 0;
	int n = 0;

	while (from < to && step(ip)) {
		if (n++ == GUARD_MAX_OPTS) {
			stop(ip, hop ? GUARD_M(MANY) : GUARD_M(DEEP));
			return;
		}
		if (ip->p[from] == 0) {
			from++;
			continue;
		}
		if (to - from < 2) {
			stop(ip, cut);
			return;
		}
		if (ip->p[from] == 0xc2) {
			if (hop && first)
				first_jumbo(ip, from, to);
			else
				is(ip, GUARD_M(PLACE));
		}
		from += 2 + ip->p[from + 1];
		if (from > to)
			stop(ip, cut);
	}
}

static void headers(struct ip6 *ip)
{
	__u8 type = ip->p[6];
	__u32 at = 40, size;
	int n = 0;

	while (!ip->over && step(ip)) {
		const __u8 *h = ip->p + at;
		bool hop = type == 0, frag = type == 44;

		if (!extension(type)) {
			ip->over = true;
			return;
		}
		if (n == GUARD_MAX_HDRS) {
			stop(ip, GUARD_M(DEEP));
			return;
		}
		n++;
		if (hop && n > 1)
			is(ip, GUARD_M(LATE));
		if (at + 8 > ip->end) {
			stop(ip, hop ? GUARD_M(CUT) : 0);
			return;
		}
		ip->fragment |= frag;
		size = frag ? 8 : type == 51 ? 8 + h[1] * 4 : 8 + h[1] * 8;
		if (at + size > ip->end) {
			stop(ip, hop ? GUARD_M(CUT) : 0);
			return;
		}
		if (hop || type == 60)
			options(ip, at + 2, at + size, hop, n == 1);
		if (ip->over)
			return;
		if (hop && n == 1)
			ip->complete = true;
		if (frag && be(h + 2, 2) >> 3)
			ip->over = true;
		type = h[0];
		at += size;
	}
}

static void judge_jumbo(struct ip6 *ip)
{
	__u32 room = ip->frame - 40;

	if (ip->jumbo_options > 1)
		is(ip, GUARD_M(TWICE));
	if (ip->plen)
		is(ip, GUARD_M(PLEN));
	if (ip->fragment)
		is(ip, GUARD_M(FRAG));
	if (ip->has_length && ip->length < 65536)
		is(ip, GUARD_M(SHORT));
	if (ip->has_length && !ip->plen && ip->length > room)
		is(ip, GUARD_M(BEYOND));
	if (ip->has_length && !ip->plen && ip->length < room)
		is(ip, GUARD_M(TRAIL));
	if (!(ip->classes & GUARD_WRONG_MASK))
		is(ip, GUARD_M(FOREIGN));
}

static bool kernels_form(const struct ip6 *ip)
{
	static const __u8 head[] = { 6, 0, 0xc2, 4 };

	return !ip->plen && !ip->p[6] && ip->frame >= 48 && !memcmp(ip->p + 40, head, 4) &&
	       be(ip->p + 44, 4) == ip->frame - 40;
}

static bool must_have_header(__u8 proto)
{
	static const __u8 list[] = { 6, 17, 33, 41, 43, 44, 50, 51, 58, 60, 132, 135, 136 };

	return memchr(list, proto, sizeof(list));
}

__u32 guard_model_l3(const struct guard_view *v)
{
	__u32 at = 12, type, tags;

	if (v->no_link)
		return 0;
	for (tags = 0;; tags++, at += 4) {
		if (at + 2 > v->len)
			return v->len;
		type = be(v->data + at, 2);
		if (type != 0x8100 && type != 0x88a8)
			break;
		if (tags == (v->xdp ? 5 : 4))
			return v->len;
	}
	return type == 0x86dd ? at + 2 : v->len;
}

__u32 guard_model(const struct guard_view *v)
{
	__u32 l3 = guard_model_l3(v);
	struct ip6 ip = { .p = v->data + l3, .frame = v->len - l3, .steps = GUARD_MAX_STEPS };
	bool gso = v->xdp || v->gso_size;

	if (ip.frame < 40 || ip.p[0] >> 4 != 6)
		return 0;
	ip.plen = be(ip.p + 4, 2);
	ip.end = ip.frame;
	if (ip.plen && ip.plen + 40 < ip.end)
		ip.end = ip.plen + 40;
	if (!ip.plen && ip.p[6]) {
		if (ip.p[6] == 6 && gso && ip.frame - 40 > 65535)
			return GUARD_M(OWN_LEN0);
		return must_have_header(ip.p[6]) ? GUARD_M(LEN0) : 0;
	}
	if (kernels_form(&ip)) {
		if (gso && ip.frame - 40 > 65535)
			return GUARD_M(OWN_HBH);
		is(&ip, GUARD_M(FORGED));
	}
	headers(&ip);
	if (ip.jumbo_options)
		judge_jumbo(&ip);
	else if (ip.complete)
		is(&ip, ip.plen ? GUARD_M(HBH) : GUARD_M(ABSENT));
	return ip.classes;
}

/* --- packets --------------------------------------------------------------------------------- */

static void put(__u8 *p, __u32 v, int n)
{
	while (n--) {
		p[n] = v;
		v >>= 8;
	}
}

static bool one_in(struct rng *r, __u32 n)
{
	return !rng_below(r, n);
}

static __u32 put_link(struct rng *r, __u8 *p)
{
	__u32 n = 12, tags = one_in(r, 8) ? rng_below(r, 8) : 0;

	for (__u32 i = 0; i < 12; i++)
		p[i] = rng_next(r) >> 56;
	while (tags--) {
		put(p + n, one_in(r, 2) ? 0x8100 : 0x88a8, 2);
		put(p + n + 2, rng_next(r), 2);
		n += 4;
	}
	put(p + n, one_in(r, 50) ? 0x0800 : 0x86dd, 2);
	return n + 2;
}

/* A jumbo length that may be the right one, @room. */
static __u32 some_length(struct rng *r, __u32 room)
{
	switch (rng_below(r, 8)) {
	case 0:
		return room + 1;
	case 1:
		return room - 1;
	case 2:
		return 65535 + rng_below(r, 2);
	case 3:
		return rng_next(r);
	default:
		return room;
	}
}

/* Fills a header's options. */
static void put_options(struct rng *r, __u8 *p, __u32 len, __u32 room)
{
	__u32 at = 0, n;

	if (one_in(r, 12)) { /* Pad1 only */
		memset(p, 0, len);
		return;
	}
	while (at < len) {
		__u32 left = len - at;

		n = rng_below(r, 10);
		if (n < 2 || left == 1) {
			p[at++] = 0;
		} else if (n < 5 && left >= 6) {
			p[at] = 0xc2;
			p[at + 1] = one_in(r, 8) ? rng_below(r, 10) : 4;
			put(p + at + 2, some_length(r, room), 4);
			at += 6;
		} else {
			p[at] = n < 7 ? 1 : one_in(r, 4) ? 0xc2 : 5;
			p[at + 1] = one_in(r, 10) ? rng_below(r, one_in(r, 2) ? 8 : 256)
						  : rng_below(r, left - 1);
			memset(p + at + 2, 0, left - 2);
			at += 2 + p[at + 1];
		}
	}
}

static __u8 next_type(struct rng *r)
{
	static const __u8 types[] = { 0, 0, 60, 60, 60, 43, 44, 51, 6, 6, 6, 17, 58, 59, 50, 135 };

	return one_in(r, 40) ? rng_next(r) : types[rng_below(r, sizeof(types))];
}

static __u32 put_chain(struct rng *r, __u8 *p, __u8 *type, __u32 room)
{
	__u32 n = 0, size, more = rng_below(r, 10);
	__u8 *nexthdr = type;

	while (extension(*nexthdr) && more-- && n < 1000) {
		__u8 *h = p + n;
		__u8 is_now = *nexthdr;

		h[0] = next_type(r);
		h[1] = one_in(r, 3) ? 0 : one_in(r, 3) ? rng_below(r, 14) : rng_below(r, 4);
		size = is_now == 44 ? 8 : is_now == 51 ? 8 + h[1] * 4 : 8 + h[1] * 8;
		if (is_now == 0 || is_now == 60) {
			put_options(r, h + 2, size - 2, room - n);
		} else {
			memset(h + 2, 0, size - 2);
			if (is_now == 44 && one_in(r, 3))
				put(h + 2, rng_next(r), 2);
		}
		n += size;
		nexthdr = h;
	}
	return n;
}

__u32 guard_packet(struct rng *r, __u8 *data, __u32 max)
{
	__u32 l3, n, len, room;
	__u8 *ip;

	memset(data, 0, max < 4096 ? max : 4096);
	l3 = put_link(r, data);
	ip = data + l3;
	len = l3 + 40 + rng_below(r, one_in(r, 3) ? 100 : 1400);
	if (max > 65536 && one_in(r, 2))
		len = 65530 + rng_below(r, one_in(r, 2) ? 100 : max - 65530);
	if (len > max)
		len = max;
	room = len - l3 - 40;
	put(ip, one_in(r, 50) ? 0x45000000 : 0x60000000, 4);
	ip[6] = one_in(r, 3) ? next_type(r) : 0;
	ip[7] = 64;
	memset(ip + 8, 0x20, 32);
	n = 40 + put_chain(r, ip + 40, ip + 6, room);
	if (one_in(r, 4)) { /* the kernel's form, nearly */
		put(ip + 40, 0x0600c204, 4);
		put(ip + 44, some_length(r, room), 4);
		ip[6] = 0;
	}
	if (!one_in(r, 2))
		put(ip + 4, one_in(r, 4) ? rng_next(r) : n - 40 + rng_below(r, 40), 2);
	if (one_in(r, 10)) /* cut where it may hurt */
		len = l3 + rng_below(r, n + 8) > max ? max : l3 + rng_below(r, n + 8);
	return len < 22 ? 22 : len;
}
