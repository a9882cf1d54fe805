// SPDX-License-Identifier: GPL-2.0
#include "core/audit_model.h"
#include "core/audit_cells.h"
#include "core/audit_model_int.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* Within the IP header. */
#define IPV4_CHECK  10
#define IPV4_TOTLEN 2
#define IPV6_PAYLEN 4
#define IPV6_NEXT   6

const char *bt_verdict_name(enum bt_verdict v)
{
	static const char *const names[] = {
		[BT_VERDICT_SAFE] = "safe",	    [BT_VERDICT_TWIN] = "twin",
		[BT_VERDICT_UNKNOWN] = "unknown",   [BT_VERDICT_MISREADS] = "misreads",
		[BT_VERDICT_DROPS] = "drops",	    [BT_VERDICT_BYPASSES] = "bypasses",
		[BT_VERDICT_CORRUPTS] = "corrupts",
	};

	return (unsigned int)v < sizeof(names) / sizeof(names[0]) ? names[v] : "?";
}

void bt_hex(char *buf, size_t size, const __u8 *p, size_t len, size_t max)
{
	size_t at = 0;

	buf[0] = 0;
	for (size_t i = 0; i < len && i < max && at + 6 < size; i++)
		at += sprintf(buf + at, "%02x", p[i]);
	if (len > max && at + 4 < size)
		strcpy(buf + at, "...");
}

bool bt_diff_set(struct bt_diff *d, enum bt_verdict v, const char *fmt, ...)
{
	va_list ap;

	if (d->verdict >= v)
		return false;
	*d = (struct bt_diff){
		.verdict = v,
		.offset = -1,
		.plain_ret = d->plain_ret,
		.jumbo_ret = d->jumbo_ret,
	};
	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	return true;
}

static enum bt_verdict worse_fate(enum bt_fate plain, enum bt_fate jumbo)
{
	if (plain != BT_FATE_LOST && jumbo == BT_FATE_LOST)
		return BT_VERDICT_DROPS;
	if (plain == BT_FATE_LOST && jumbo != BT_FATE_LOST)
		return BT_VERDICT_BYPASSES;
	if (plain == BT_FATE_SENT && jumbo == BT_FATE_PASSED)
		return BT_VERDICT_BYPASSES;
	return BT_VERDICT_MISREADS;
}

static void compare_ret(struct bt_diff *d, enum bt_kind kind, __u32 plain, __u32 jumbo, bool direct)
{
	if (plain == jumbo)
		return;
	if (!direct)
		bt_diff_set(d, BT_VERDICT_MISREADS, "class %#x instead of %#x", jumbo, plain);
	else
		bt_diff_set(d, worse_fate(bt_ret_fate(kind, plain), bt_ret_fate(kind, jumbo)),
			    "%s (%d) instead of %s (%d)", bt_ret_name(kind, jumbo), (int)jumbo,
			    bt_ret_name(kind, plain), (int)plain);
}

/* A value that runs leave in the context, from 0. */
static void compare_field(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
			  const struct bt_obs *h, size_t off, unsigned int size, const char *name)
{
	static const __u8 zero[32];
	struct bt_sample s[BT_CELL_SAMPLES], sh;

	for (unsigned int i = 0; i < n; i++)
		s[i] = (struct bt_sample){ zero, (const __u8 *)&plain[i].run + off,
					   plain[i].run.in_len, bt_obs_large(&plain[i]),
					   plain[i].seq };
	sh = (struct bt_sample){ zero, (const __u8 *)&h->run + off, h->run.in_len, true, h->seq };
	if (bt_cells_check(s, n, &sh, size) < 0)
		return;
	if (!bt_diff_set(d, BT_VERDICT_MISREADS, "the packet's %s differs", name))
		return;
	bt_hex(d->plain_bytes, sizeof(d->plain_bytes), s[0].new, size, BT_DIFF_BYTES);
	bt_hex(d->jumbo_bytes, sizeof(d->jumbo_bytes), sh.new, size, BT_DIFF_BYTES);
}

/* Where the jumbo header is, or would be. */
static unsigned int hbh_off(const struct bt_obs *o)
{
	return bt_packet_net(&o->run.packet) + BT_IPV6_LEN;
}

/* Where a byte of a plain packet's head is in the jumbo packet. */
static unsigned int place(const struct bt_obs *h, unsigned int at)
{
	return at + (h->run.packet.shape == BT_SHAPE_HBH && at >= hbh_off(h) ? BT_HBH_LEN : 0);
}

/* Bytes that the two forms differ in to begin with: only whether they were written can be compared.
 */
static bool own_to_form(const struct bt_obs *h, unsigned int at)
{
	at -= bt_packet_net(&h->run.packet); /* in front of it: a large number */
	if (h->run.packet.flow.family == AF_INET)
		return at == IPV4_TOTLEN || at == IPV4_TOTLEN + 1 || at == IPV4_CHECK ||
		       at == IPV4_CHECK + 1;
	return at == IPV6_PAYLEN || at == IPV6_PAYLEN + 1 || at == IPV6_NEXT;
}

static bool wrote(const struct bt_obs *o, unsigned int at)
{
	return o->run.in[at] != o->run.out[at];
}

/* Is byte @at of the jumbo packet what the plain runs let one expect? */
static bool byte_alike(const struct bt_obs *plain, unsigned int n, const struct bt_obs *h,
		       unsigned int at)
{
	unsigned int to = place(h, at), writers = 0;
	bool same_value = true, hit = false;

	for (unsigned int i = 0; i < n; i++) {
		writers += wrote(&plain[i], at);
		same_value &= plain[i].run.out[at] == plain[0].run.out[at];
		hit |= plain[i].run.out[at] == h->run.out[to];
	}
	if (!writers && !wrote(h, to))
		return true;
	if (own_to_form(h, at))
		return writers ? writers < n || wrote(h, to) : !wrote(h, to);
	if (same_value || !writers)
		return hit;
	/* It varies: with the length, or from run to run. */
	return hit || writers < n || wrote(h, to);
}

/* Did the jumbo run write where no plain run did? Returns the place, or -1. */
static int stray_write(const struct bt_obs *plain, unsigned int n, const struct bt_obs *h)
{
	bool hbh = h->run.packet.shape == BT_SHAPE_HBH;

	for (unsigned int at = 0; at < BT_RUN_HEAD - BT_HBH_LEN; at++) {
		bool expected = false;

		if (!wrote(h, at))
			continue;
		for (unsigned int i = 0; i < n; i++) {
			if (!hbh || at < hbh_off(h))
				expected |= wrote(&plain[i], at);
			else if (at >= hbh_off(h) + BT_HBH_LEN)
				expected |= wrote(&plain[i], at - BT_HBH_LEN);
		}
		if (!expected)
			return at;
	}
	return -1;
}

static void compare_packet(struct bt_diff *d, const struct bt_obs *plain, unsigned int n,
			   const struct bt_obs *h)
{
	__s64 grown = (__s64)h->run.out_len - h->run.in_len;
	bool resized = grown != 0;
	int at;

	for (unsigned int i = 0; i < n; i++) {
		__s64 g = (__s64)plain[i].run.out_len - plain[i].run.in_len;

		resized |= g != 0;
		if (g == grown || !i)
			continue;
		bt_diff_set(d, BT_VERDICT_MISREADS, "the packet's length changes by %lld, not %lld",
			    (long long)grown, (long long)g);
		return;
	}
	if (resized) /* nothing is where it was: the audit answers for that */
		return;
	at = stray_write(plain, n, h);
	if (at >= 0) {
		if (!bt_diff_set(d, BT_VERDICT_CORRUPTS,
				 "writes to offset %d of the packet, which is %s", at,
				 bt_place_name(&h->run.packet, at)))
			return;
		d->offset = at;
		bt_hex(d->plain_bytes, sizeof(d->plain_bytes), h->run.in + at, BT_DIFF_BYTES,
		       BT_DIFF_BYTES);
		bt_hex(d->jumbo_bytes, sizeof(d->jumbo_bytes), h->run.out + at, BT_DIFF_BYTES,
		       BT_DIFF_BYTES);
		return;
	}
	for (unsigned int b = 0; b < BT_RUN_HEAD - BT_HBH_LEN; b++) {
		if (byte_alike(plain, n, h, b))
			continue;
		if (!bt_diff_set(d, BT_VERDICT_MISREADS,
				 "the packet is not rewritten as it should be"))
			return;
		d->offset = b;
		bt_hex(d->plain_bytes, sizeof(d->plain_bytes), plain[0].run.out + b, BT_DIFF_BYTES,
		       BT_DIFF_BYTES);
		bt_hex(d->jumbo_bytes, sizeof(d->jumbo_bytes), h->run.out + place(h, b),
		       BT_DIFF_BYTES, BT_DIFF_BYTES);
		return;
	}
}

static bool one_verdict(const struct bt_obs *plain, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		if (plain[i].run.retval != plain[0].run.retval && !bt_obs_large(&plain[i]))
			return false;
	}
	return true;
}

void bt_compare(const struct bt_obs *plain, unsigned int n, const struct bt_obs *h, bool far,
		bool direct, const struct bt_maps *maps, struct bt_diff *d)
{
	enum bt_kind kind = h->run.kind;

	*d = (struct bt_diff){
		.offset = -1,
		.plain_ret = plain[0].run.retval,
		.jumbo_ret = h->run.retval,
	};
	if (!one_verdict(plain, n)) {
		for (unsigned int i = 0; i < n; i++) {
			if (plain[i].run.retval != h->run.retval)
				continue;
			bt_diff_set(d, BT_VERDICT_UNKNOWN,
				    "plain packets of one flow get different verdicts");
			return;
		}
	}
	compare_ret(d, kind, plain[0].run.retval, h->run.retval, direct);
	if (bt_ret_fate(kind, h->run.retval) != BT_FATE_LOST &&
	    bt_ret_fate(kind, plain[0].run.retval) != BT_FATE_LOST) {
		compare_packet(d, plain, n, h);
#define FIELD(f) compare_field(d, plain, n, h, offsetof(struct bt_obs, run.f), sizeof(h->run.f), #f)
		FIELD(mark);
		FIELD(priority);
		FIELD(cb);
		FIELD(tstamp);
		FIELD(meta_len);
		FIELD(meta);
#undef FIELD
	}
	if (!far)
		bt_compare_events(d, plain, n, h, maps);
}

__u64 bt_obs_kind(const struct bt_obs *o)
{
	__u64 k = 1469598103934665603ull;

#define MIX(v) (k = (k ^ (__u64)(v)) * 1099511628211ull)
	MIX(o->run.retval);
	MIX(o->run.mark);
	MIX(o->run.priority);
	MIX(o->run.tstamp != 0);
	MIX(o->run.meta_len);
	MIX(o->run.out_len - o->run.in_len);
	for (unsigned int i = 0; i < BT_RUN_HEAD; i++)
		MIX(wrote(o, i));
	for (unsigned int i = 0; i < o->events.n; i++) {
		MIX(o->events.v[i].map);
		MIX(o->events.v[i].kind);
	}
#undef MIX
	return k;
}
