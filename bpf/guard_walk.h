/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the guard's two programs have in common: the walk over an IPv6 packet's headers, the maps, the
 * verdict. A program includes it after it has defined, for its context type guard_ctx,
 *
 *	guard_load(ctx, off, to, len)	copies packet bytes, linear or not; 0, or not there
 */
#ifndef GUARD_WALK_H
#define GUARD_WALK_H

#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

#include "guard.h"

const volatile __u32 guard_link = GUARD_LINK_UNKNOWN;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_MAX_DEVS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct guard_conf);
} guard_conf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, GUARD_MAX_DEVS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct guard_counts);
} guard_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_MAX_DEVS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct guard_limit);
} guard_limit SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} guard_events SEC(".maps");

/* What is known of a packet that is no ordinary one. Offsets count from the IPv6 header. */
struct guard_pkt {
	__u32 ifindex;
	__u32 len; /* from the link header on */
	__u32 l3; /* offset of the IPv6 header in it */
	__u32 gso_size;
	__u8 hook;
	__u8 gso; /* can be the kernel's own, as far as being a GSO packet goes */
};

struct guard_walk {
	__u32 l3;
	__u32 end; /* of the packet */
	__u32 off; /* of the next header or option */
	__u32 opt_end; /* off is that of an option while it is below */
	__u32 hdr; /* the header of these options */
	__u32 found;
	__u32 value; /* of the first jumbo option */
	__u16 jumbos; /* in the first header */
	__u16 options; /* in this header */
	__u8 headers;
	__u8 type; /* of the next header */
	__u8 hop; /* this header is a hop-by-hop header */
	__u8 hbh; /* the packet starts with one */
	__u8 hbh_done; /* and it has been walked to its end */
	__u8 has_value;
	__u8 frag;
	__u8 stopped;
};

/*
 * The state of a walk. In a map and not on the stack because verifiers before 6.7 look at one round of
 * a bpf_loop() alone: what they know of the stack after it need not be so. Nothing interrupts a
 * walk with another one: both hooks run in softirq context.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct guard_walk);
} guard_walk SEC(".maps");

struct guard_step {
	guard_ctx *ctx;
	struct guard_walk *w;
};

static __always_inline int guard_get(struct guard_step *s, __u32 off, void *to, __u32 len)
{
	return guard_load(s->ctx, s->w->l3 + off, to, len);
}

static __always_inline long guard_stop(struct guard_walk *w)
{
	w->stopped = 1;
	return 1;
}

/* A jumbo option at w->off, whose length field is @len. */
static __always_inline void guard_jumbo_option(struct guard_step *s, __u8 len)
{
	struct guard_walk *w = s->w;
	__u32 value;

	if (w->headers != 1 || !w->hop) {
		w->found |= GUARD_M(PLACE);
		return;
	}
	if (++w->jumbos > 1) {
		w->found |= GUARD_M(TWICE);
		return;
	}
	if ((w->off - w->hdr) % 4 != 2)
		w->found |= GUARD_M(ALIGN);
	if (len != BIGTCP_JUMBO_TLV_LEN) {
		w->found |= GUARD_M(OPTLEN);
		return;
	}
	if (w->off + 6 > w->opt_end || guard_get(s, w->off + 2, &value, sizeof(value)))
		return;
	w->value = BIGTCP_BE32(value);
	w->has_value = 1;
}

static __always_inline long guard_cut(struct guard_walk *w)
{
	if (w->hop)
		w->found |= GUARD_M(CUT);
	return guard_stop(w);
}

static __always_inline long guard_option(struct guard_step *s)
{
	struct guard_walk *w = s->w;
	__u8 tlv[2] = {};

	if (w->options >= GUARD_MAX_OPTS) {
		w->found |= w->hop ? GUARD_M(MANY) : GUARD_M(DEEP);
		return guard_stop(w);
	}
	w->options++;
	/* Two bytes at once, unless the packet ends with the first. */
	if (guard_get(s, w->off, tlv, 2) && guard_get(s, w->off, tlv, 1))
		return guard_stop(w);
	if (!tlv[0]) { /* Pad1 has no length */
		w->off++;
		return 0;
	}
	if (w->off + 2 > w->opt_end)
		return guard_cut(w);
	if (tlv[0] == BIGTCP_JUMBO_TLV_TYPE)
		guard_jumbo_option(s, tlv[1]);
	w->off += 2 + tlv[1];
	if (w->off > w->opt_end)
		return guard_cut(w);
	return 0;
}

static __always_inline __u32 guard_header_size(__u8 type, __u8 hdrlen)
{
	if (type == 44) /* fragment */
		return 8;
	if (type == 51) /* authentication */
		return (hdrlen + 2) * 4;
	return (hdrlen + 1) * 8;
}

static __always_inline long guard_header(struct guard_step *s)
{
	struct guard_walk *w = s->w;
	__u8 type = w->type, h[8] = {};
	__u32 size;

	if (!bigtcp_is_ext_hdr(type))
		return guard_stop(w);
	if (w->headers >= GUARD_MAX_HDRS) {
		w->found |= GUARD_M(DEEP);
		return guard_stop(w);
	}
	w->headers++;
	w->hop = type == BIGTCP_NEXTHDR_HOP;
	if (w->hop) {
		if (w->headers == 1)
			w->hbh = 1;
		else
			w->found |= GUARD_M(LATE);
	}
	if (w->off + 8 > w->end || guard_get(s, w->off, h, sizeof(h)))
		return guard_cut(w);
	if (type == 44)
		w->frag = 1;
	size = guard_header_size(type, h[1]);
	if (w->off + size > w->end)
		return guard_cut(w);
	w->hdr = w->off;
	w->opt_end = w->off + size;
	w->type = h[0];
	w->options = 0;
	if (type == 44 && (h[2] || h[3] & 0xf8)) /* not the first fragment: data follows */
		return guard_stop(w);
	w->off += type == BIGTCP_NEXTHDR_HOP || type == 60 ? 2 : size;
	return 0;
}

/* One header, or one option of a header. */
static long guard_step(__u32 i, struct guard_step *s)
{
	struct guard_walk *w = s->w;

	(void)i;
	if (w->off < w->opt_end)
		return guard_option(s);
	if (w->hbh)
		w->hbh_done = 1;
	return guard_header(s);
}

/* What the walk has seen, as classes. @plen: the IPv6 header's payload_len. */
static __always_inline __u32 guard_judge(const struct guard_walk *w, __u32 plen)
{
	__u32 found = w->found;

	if (!w->stopped)
		found |= GUARD_M(DEEP);
	if (!w->jumbos) {
		if (w->hbh_done)
			found |= plen ? GUARD_M(HBH) : GUARD_M(ABSENT);
		return found;
	}
	if (plen)
		found |= GUARD_M(PLEN);
	if (w->frag)
		found |= GUARD_M(FRAG);
	if (w->has_value) {
		if (w->value <= BIGTCP_IPV6_MAXPLEN)
			found |= GUARD_M(SHORT);
		if (!plen && w->value > w->end - BIGTCP_IPV6_HDR_LEN)
			found |= GUARD_M(BEYOND);
		if (!plen && w->value < w->end - BIGTCP_IPV6_HDR_LEN)
			found |= GUARD_M(TRAIL);
	}
	if (!(found & GUARD_WRONG_MASK))
		found |= GUARD_M(FOREIGN);
	return found;
}

/* Protocols whose header is longer than nothing; not "no next header" (59), nor those that may be empty. */
static __always_inline int guard_has_header(__u8 proto)
{
	const __u64 low = 1ULL << 6 | 1ULL << 17 | 1ULL << 33 | 1ULL << 41 | 1ULL << 43 |
			  1ULL << 44 | 1ULL << 50 | 1ULL << 51 | 1ULL << 58 | 1ULL << 60;

	if (proto < 64)
		return low >> proto & 1;
	return proto == 132 || proto == 135 || proto == 136; /* SCTP, mobility, UDP-Lite */
}

/* The classes of a packet; 0: nothing to say. */
static __always_inline __u32 guard_classify(guard_ctx *ctx, const struct guard_pkt *pkt)
{
	__u32 key = 0, room = pkt->len - pkt->l3 - BIGTCP_IPV6_HDR_LEN, plen, found = 0;
	struct guard_step s = { .ctx = ctx };
	struct guard_walk *w;
	__u8 ip6[48];

	if (pkt->len < pkt->l3 + BIGTCP_IPV6_HDR_LEN || guard_load(ctx, pkt->l3, ip6, 40) ||
	    ip6[0] >> 4 != 6)
		return 0;
	plen = BIGTCP_BE16(bigtcp_ld16(ip6 + 4));
	if (!plen && ip6[6] != BIGTCP_NEXTHDR_HOP) {
		if (ip6[6] == BIGTCP_NEXTHDR_TCP && pkt->gso && room > BIGTCP_IPV6_MAXPLEN)
			return GUARD_M(OWN_LEN0);
		return guard_has_header(ip6[6]) ? GUARD_M(LEN0) : 0;
	}
	if (!plen && room >= BIGTCP_JUMBO_HDR_LEN &&
	    !guard_load(ctx, pkt->l3 + BIGTCP_IPV6_HDR_LEN, ip6 + 40, 8) &&
	    bigtcp_jumbo_match(ip6, room + BIGTCP_IPV6_HDR_LEN)) {
		if (pkt->gso && room > BIGTCP_IPV6_MAXPLEN)
			return GUARD_M(OWN_HBH);
		found = GUARD_M(FORGED);
	}
	w = bpf_map_lookup_elem(&guard_walk, &key);
	if (!w)
		return found;
	__builtin_memset(w, 0, sizeof(*w));
	w->l3 = pkt->l3;
	w->end = BIGTCP_IPV6_HDR_LEN + (plen && plen < room ? plen : room);
	w->off = BIGTCP_IPV6_HDR_LEN;
	w->type = ip6[6];
	w->found = found;
	s.w = w;
	bpf_loop(GUARD_MAX_STEPS, guard_step, &s, 0);
	return guard_judge(w, plen);
}

/* --- verdict --------------------------------------------------------------------------------- */

static const struct guard_counts guard_zero;
static const struct guard_limit guard_unlimited;

/* Takes a token of the device's bucket, over all CPUs. 0: there is none. */
static __always_inline int guard_token(__u32 ifindex, __u64 now, __u64 interval, __u32 burst)
{
	__u64 room = interval * (burst - 1), at, from, was;
	struct guard_limit *limit;
	int i;

	if (interval == GUARD_NO_EVENTS)
		return 0;
	limit = bpf_map_lookup_elem(&guard_limit, &ifindex);
	if (!limit) {
		bpf_map_update_elem(&guard_limit, &ifindex, &guard_unlimited, BPF_NOEXIST);
		limit = bpf_map_lookup_elem(&guard_limit, &ifindex);
	}
	if (!limit)
		return 0;
	at = *(volatile __u64 *)&limit->full_at;
	for (i = 0; i < 4; i++) {
		from = at > now ? at : now;
		if (from - now > room)
			return 0;
		was = __sync_val_compare_and_swap(&limit->full_at, at, from + interval);
		if (was == at)
			return 1;
		at = was;
	}
	return 0;
}

/* 0, or the ring buffer is full. */
static __always_inline int guard_report(guard_ctx *ctx, const struct guard_pkt *pkt, __u32 found,
					int drop, __u64 now)
{
	struct guard_event *e = bpf_ringbuf_reserve(&guard_events, sizeof(*e), 0);

	if (!e)
		return -1;
	__builtin_memset(e, 0, sizeof(*e));
	e->ns = now;
	e->ifindex = pkt->ifindex;
	e->len = pkt->len;
	e->found = found;
	e->gso_size = pkt->gso_size;
	e->l3_off = pkt->l3;
	e->hook = pkt->hook;
	e->dropped = drop;
	guard_load(ctx, pkt->l3, e->ip6, GUARD_EVENT_IP6);
	if (!guard_load(ctx, pkt->l3 + GUARD_EVENT_IP6, e->ext, GUARD_EVENT_EXT))
		e->ext_len = GUARD_EVENT_EXT;
	else if (!guard_load(ctx, pkt->l3 + GUARD_EVENT_IP6, e->ext, BIGTCP_JUMBO_HDR_LEN))
		e->ext_len = BIGTCP_JUMBO_HDR_LEN;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

static __always_inline struct guard_counts *guard_counters(__u32 ifindex)
{
	struct guard_counts *c = bpf_map_lookup_elem(&guard_counts, &ifindex);

	if (c)
		return c;
	bpf_map_update_elem(&guard_counts, &ifindex, &guard_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&guard_counts, &ifindex);
}

static __always_inline void guard_account(struct guard_counts *c, const struct guard_pkt *pkt,
					  __u32 found, int drop)
{
	__u32 i;

#ifdef __bpf__
#pragma clang loop unroll(disable)
#endif
	for (i = 0; i < GUARD_NR; i++) {
		if (!(found >> i))
			break;
		if (!(found >> i & 1))
			continue;
		c->class[i].packets++;
		c->class[i].bytes += pkt->len;
		c->class[i].dropped += drop;
	}
	c->wrong += !!(found & GUARD_WRONG_MASK);
	c->dropped += drop;
}

/* Counts, reports, and says whether the packet is to be dropped. */
static __always_inline int guard_decide(guard_ctx *ctx, const struct guard_pkt *pkt)
{
	__u32 found = guard_classify(ctx, pkt), mask = GUARD_WRONG_MASK, burst = GUARD_BURST;
	__u64 interval = GUARD_INTERVAL, now;
	__u32 ifindex = pkt->ifindex;
	struct guard_conf *conf;
	struct guard_counts *c;
	int drop;

	if (!found)
		return 0;
	c = guard_counters(ifindex);
	if (found & GUARD_OWN_MASK) {
		if (c)
			guard_account(c, pkt, found, 0);
		return 0;
	}
	conf = bpf_map_lookup_elem(&guard_conf, &ifindex);
	if (conf) {
		mask = conf->drop;
		burst = conf->burst;
		interval = conf->interval;
	}
	drop = !!(found & mask);
	if (c)
		guard_account(c, pkt, found, drop);
	if (!c || !(drop || found & GUARD_WRONG_MASK))
		return drop;
	now = bpf_ktime_get_ns();
	if (!guard_token(ifindex, now, interval, burst))
		c->suppressed++;
	else if (guard_report(ctx, pkt, found, drop, now))
		c->lost++;
	else
		c->events++;
	return drop;
}

/* The kernel's own packet, seen in place: 48 bytes from @ip6 on can be read. Most packets that are not
 * ordinary are of this kind, and helpers are slow.
 */
static __always_inline int guard_is_own(const __u8 *ip6, __u32 ip6_len)
{
	return ip6_len > BIGTCP_IPV6_MAXPLEN + BIGTCP_IPV6_HDR_LEN && ip6[0] >> 4 == 6 &&
	       bigtcp_jumbo_match(ip6, ip6_len);
}

static __always_inline void guard_count_own(__u32 ifindex, __u32 len)
{
	struct guard_counts *c = guard_counters(ifindex);

	if (!c)
		return;
	c->class[GUARD_OWN_HBH_CLASS].packets++;
	c->class[GUARD_OWN_HBH_CLASS].bytes += len;
}

/* Is a packet with these two fields of its IPv6 header none of the guard's business? */
static __always_inline int guard_ordinary(__u16 payload_len, __u8 nexthdr)
{
	return payload_len && !bigtcp_is_ext_hdr(nexthdr);
}

#endif /* GUARD_WALK_H */
