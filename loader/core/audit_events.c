// SPDX-License-Identifier: GPL-2.0
/* Comparing what runs changed in maps. */
#include "core/audit_model_int.h"
#include "core/audit_cells.h"

#include <netinet/in.h>
#include <string.h>

const char *bt_place_name(const struct bt_packet *p, unsigned int at)
{
	unsigned int l4 =
		bt_packet_net(p) + (p->flow.family == AF_INET ? BT_IPV4_LEN : BT_IPV6_LEN);

	if (at < bt_packet_net(p))
		return "in the Ethernet header";
	if (at < l4)
		return "in the IP header";
	if (p->shape == BT_SHAPE_HBH) {
		if (at < l4 + BT_HBH_LEN)
			return "in the jumbo header";
		l4 += BT_HBH_LEN;
	}
	if (at < l4 + 4)
		return "a TCP port";
	if (at < l4 + 12)
		return "TCP's sequence or acknowledgement number";
	if (at < l4 + 14)
		return "TCP's header length or flags";
	if (at < l4 + 20)
		return "TCP's window, checksum or urgent pointer";
	if (at < l4 + BT_TCP_LEN)
		return "a TCP option";
	return "payload";
}

static bool same_event(const struct bt_event *a, const struct bt_event *b)
{
	return a->map == b->map && (a->kind == BT_EVENT_RECORD) == (b->kind == BT_EVENT_RECORD) &&
	       a->key_len == b->key_len && !memcmp(a->key, b->key, a->key_len);
}

static const struct bt_event *find(const struct bt_obs *o, const struct bt_event *e)
{
	for (unsigned int i = 0; i < o->events.n; i++) {
		if (same_event(&o->events.v[i], e))
			return &o->events.v[i];
	}
	return NULL;
}

static unsigned int in_map(const struct bt_obs *o, unsigned int map)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < o->events.n; i++)
		n += o->events.v[i].map == map;
	return n;
}

static const struct bt_event *first_in_map(const struct bt_obs *o, unsigned int map)
{
	for (unsigned int i = 0; i < o->events.n; i++) {
		if (o->events.v[i].map == map)
			return &o->events.v[i];
	}
	return NULL;
}

/* What a difference between two keys or values looks like. */
static void show(struct bt_diff *d, const struct bt_event *e, const __u8 *plain, const __u8 *jumbo,
		 __u32 len, int at)
{
	d->in_map = true;
	d->map = e->map;
	bt_hex(d->key, sizeof(d->key), e->key, e->key_len, 36);
	d->offset = at;
	if (at < 0)
		return;
	if (plain)
		bt_hex(d->plain_bytes, sizeof(d->plain_bytes), plain + at, len - at, BT_DIFF_BYTES);
	if (jumbo)
		bt_hex(d->jumbo_bytes, sizeof(d->jumbo_bytes), jumbo + at, len - at, BT_DIFF_BYTES);
	/* eight bytes say enough: cut the mark that there are more */
	d->plain_bytes[2 * BT_DIFF_BYTES] = d->jumbo_bytes[2 * BT_DIFF_BYTES] = 0;
}

/*
 * Where a copy of the packet begins in what was sent to userspace, or its end: such a copy has the
 * form of the packet, of course.
 */
static __u32 copy_at(const struct bt_event *e, const struct bt_run *run)
{
	const __u8 *p;

	if (e->kind != BT_EVENT_RECORD || e->val_len < BT_ETH_LEN)
		return e->val_len;
	p = memmem(e->new, e->val_len, run->in, BT_ETH_LEN);
	/* the addresses alone may be a field of the record */
	if (!p || e->val_len - (p - e->new) < BT_HBH_OFF || memcmp(p, run->in, BT_HBH_OFF))
		return e->val_len;
	return p - e->new;
}

static __u32 min32(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

static void compare_value(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
			  const struct bt_obs *h, const struct bt_event *he,
			  const struct bt_maps *maps)
{
	struct bt_sample s[BT_CELL_SAMPLES], sh;
	const struct bt_event *e, *first = NULL;
	unsigned int m = 0;
	__u32 len = copy_at(he, &h->run);
	bool deleted = he->kind == BT_EVENT_DELETED;
	int at;

	for (unsigned int i = 0; i < n && m < BT_CELL_SAMPLES; i++) {
		e = find(&plain[i], he);
		if (!e)
			continue;
		if ((e->kind == BT_EVENT_DELETED) != deleted) {
			if (bt_diff_set(d, BT_VERDICT_MISREADS, "map %s: an entry is %s",
					bt_maps_name(maps, he->map),
					deleted ? "deleted" : "not deleted"))
				show(d, he, NULL, NULL, 0, -1);
			return;
		}
		first = first ? first : e;
		len = min32(len, copy_at(e, &plain[i].run));
		s[m++] = (struct bt_sample){ e->old, e->new, plain[i].run.in_len,
					     bt_obs_large(&plain[i]), plain[i].seq };
	}
	if (deleted || !m)
		return;
	sh = (struct bt_sample){ he->old, he->new, h->run.in_len, true, h->seq };
	at = bt_cells_check(s, m, &sh, len);
	if (at < 0)
		return;
	if (bt_diff_set(d, BT_VERDICT_MISREADS, "%s %s: byte %d of %s differs",
			he->kind == BT_EVENT_RECORD ? "buffer" : "map", bt_maps_name(maps, he->map),
			at, he->kind == BT_EVENT_RECORD ? "the record" : "a value"))
		show(d, he, first->new, he->new, min32(first->val_len, he->val_len), at);
}

/* Do the plain runs have keys in this map that no other one has? Then a key says nothing. */
static bool keys_vary(const struct bt_obs *plain, unsigned int n, unsigned int map)
{
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < plain[i].events.n; k++) {
			const struct bt_event *e = &plain[i].events.v[k];
			unsigned int others = 0;

			if (e->map != map || bt_obs_large(&plain[i]))
				continue;
			for (unsigned int j = 0; j < n; j++)
				others += j != i && plain[j].run.in_len == plain[i].run.in_len &&
					  !find(&plain[j], e);
			if (others)
				return true;
		}
	}
	return false;
}

/* Something that only the jumbo packet does to a map. */
static void compare_extra(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
			  const struct bt_event *he, const struct bt_maps *maps)
{
	const struct bt_event *e = NULL;
	bool known = false;
	int at = -1;

	for (unsigned int i = 0; i < n && !known; i++) {
		e = e ? e : first_in_map(&plain[i], he->map);
		known = find(&plain[i], he);
	}
	if (known || keys_vary(plain, n, he->map))
		return;
	if (!bt_diff_set(d, BT_VERDICT_MISREADS, "%s %s: %s",
			 he->kind == BT_EVENT_RECORD ? "buffer" : "map",
			 bt_maps_name(maps, he->map),
			 he->kind == BT_EVENT_RECORD ? "one more record"
			 : e			     ? "books under another key"
						     : "books what it should not"))
		return;
	for (__u32 i = 0; e && e->key_len == he->key_len && i < e->key_len && at < 0; i++)
		at = e->key[i] != he->key[i] ? (int)i : -1;
	show(d, he, e ? e->key : NULL, he->key, he->key_len, at);
	d->once = he->kind == BT_EVENT_CREATED;
}

/* Something that every plain packet does to a map and the jumbo packet does not. */
static void compare_missing(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
			    const struct bt_obs *h, const struct bt_event *e,
			    const struct bt_maps *maps)
{
	const char *what = "an entry is not updated";
	bool all = true, map_all = true;

	for (unsigned int i = 0; i < n; i++) {
		all &= !!find(&plain[i], e);
		map_all &= !!in_map(&plain[i], e->map);
	}
	if (find(h, e) || (!all && !(map_all && !in_map(h, e->map))))
		return;
	if (e->kind == BT_EVENT_DELETED)
		what = "an entry is not deleted";
	else if (e->kind == BT_EVENT_RECORD)
		what = "a record is missing";
	if (bt_diff_set(d, BT_VERDICT_MISREADS, "%s %s: %s",
			e->kind == BT_EVENT_RECORD ? "buffer" : "map", bt_maps_name(maps, e->map),
			what))
		show(d, e, NULL, NULL, 0, -1);
}

void bt_compare_events(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
		       const struct bt_obs *h, const struct bt_maps *maps)
{
	/* The most telling first: another key, then another value, then what is not there. */
	for (unsigned int i = 0; i < h->events.n; i++)
		compare_extra(d, plain, n, &h->events.v[i], maps);
	for (unsigned int i = 0; i < h->events.n; i++)
		compare_value(d, plain, n, h, &h->events.v[i], maps);
	for (unsigned int i = 0; i < plain[0].events.n; i++)
		compare_missing(d, plain, n, h, &plain[0].events.v[i], maps);
}
