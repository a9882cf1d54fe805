// SPDX-License-Identifier: GPL-2.0
#include "core/audit_cells.h"
#include "core/packets.h"

#include <string.h>

/* A part of a value, 8, 4, 2 or 1 bytes wide, in all runs, as a number. */
struct cell {
	__u64 old[BT_CELL_SAMPLES], new[BT_CELL_SAMPLES];
	__u64 h_old, h_new;
	unsigned int n, size;
	const struct bt_sample *plain, *h;
};

static __u64 number(const __u8 *p, unsigned int size)
{
	__u64 v64;
	__u32 v32;
	__u16 v16;

	switch (size) {
	case 8:
		memcpy(&v64, p, 8);
		return v64;
	case 4:
		memcpy(&v32, p, 4);
		return v32;
	case 2:
		memcpy(&v16, p, 2);
		return v16;
	}
	return *p;
}

static __u64 swapped(__u64 v, unsigned int size)
{
	return __builtin_bswap64(v) >> (64 - size * 8);
}

/* The same in the other byte order: some values are kept as the network has them. */
static void cell_swap(struct cell *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		c->old[i] = swapped(c->old[i], c->size);
		c->new[i] = swapped(c->new[i], c->size);
	}
	c->h_old = swapped(c->h_old, c->size);
	c->h_new = swapped(c->h_new, c->size);
}

static void cell_load(struct cell *c, const struct bt_sample *plain, unsigned int n,
		      const struct bt_sample *h, unsigned int off, unsigned int size)
{
	c->plain = plain;
	c->h = h;
	c->n = n < BT_CELL_SAMPLES ? n : BT_CELL_SAMPLES;
	c->size = size;
	for (unsigned int i = 0; i < c->n; i++) {
		c->old[i] = number(plain[i].old + off, size);
		c->new[i] = number(plain[i].new + off, size);
	}
	c->h_old = number(h->old + off, size);
	c->h_new = number(h->new + off, size);
}

static __u64 mask_of(const struct cell *c)
{
	return c->size == 8 ? ~0ull : (1ull << c->size * 8) - 1;
}

/* The two ways to look at a value: what it was set to, and what was added to it. */
enum way { WAY_SET, WAY_ADD, WAYS };

static __u64 value(const struct cell *c, enum way way, unsigned int i)
{
	return way == WAY_SET ? c->new[i] : (c->new[i] - c->old[i]) & mask_of(c);
}

static __u64 h_value(const struct cell *c, enum way way)
{
	return way == WAY_SET ? c->h_new : (c->h_new - c->h_old) & mask_of(c);
}

static bool all_equal(const struct cell *c, enum way way)
{
	for (unsigned int i = 1; i < c->n; i++) {
		if (value(c, way, i) != value(c, way, 0))
			return false;
	}
	return true;
}

/* As a signed number of the cell's width. */
static __s64 sign(const struct cell *c, __u64 v)
{
	unsigned int shift = 64 - c->size * 8;

	return (__s64)(v << shift) >> shift;
}

/* Indices of the shortest and the longest packet up to 64 KiB; false if there is only one length.
 */
static bool extremes(const struct cell *c, unsigned int *lo, unsigned int *hi)
{
	int a = -1, b = -1;

	for (unsigned int i = 0; i < c->n; i++) {
		if (c->plain[i].large)
			continue;
		if (a < 0 || c->plain[i].len < c->plain[a].len)
			a = i;
		if (b < 0 || c->plain[i].len > c->plain[b].len)
			b = i;
	}
	if (a < 0 || c->plain[a].len == c->plain[b].len)
		return false;
	*lo = a;
	*hi = b;
	return true;
}

/* Is the jumbo packet's value what the line gives for its length, with the header or without? One
 * that does not fit the cell's width has been cut off: that is a misreading.
 */
static bool on_line(const struct cell *c, enum way way, __s64 at, __s64 slope, __u32 len)
{
	for (unsigned int less = 0; less <= BT_HBH_LEN; less += BT_HBH_LEN) {
		__int128 want = at + (__int128)slope * ((__s64)c->h->len - less - (__s64)len);
		__int128 top = c->size == 8 ? ((__int128)1 << 64) : (__int128)1 << c->size * 8;

		if (want >= top || want <= -top)
			continue;
		if (way == WAY_SET && c->size < 8 && want < 0)
			continue;
		if (((__u64)want & mask_of(c)) == h_value(c, way))
			return true;
	}
	return false;
}

/*
 * Does the value grow with the length, by a whole number a byte? All packets up to 64 KiB have to
 * agree. Packets above it need not: what is cut to 16 bits is to be found.
 */
static bool linear(const struct cell *c, enum way way, bool *consistent)
{
	unsigned int lo, hi;
	__s64 rise, slope, run;

	if (!extremes(c, &lo, &hi))
		return false;
	run = (__s64)c->plain[hi].len - c->plain[lo].len;
	rise = sign(c, value(c, way, hi) - value(c, way, lo));
	if (!rise || rise % run)
		return false;
	slope = rise / run;
	for (unsigned int i = 0; i < c->n; i++) {
		__u64 want = value(c, way, lo) +
			     (__u64)(slope * ((__s64)c->plain[i].len - c->plain[lo].len));

		if (!c->plain[i].large && (want & mask_of(c)) != value(c, way, i))
			return false;
	}
	*consistent = true;
	return on_line(c, way,
		       way == WAY_SET ? (__s64)value(c, way, lo) : sign(c, value(c, way, lo)),
		       slope, c->plain[lo].len);
}

/* The same for what is rounded, such as the time that a packet takes at a rate. */
static bool about_linear(const struct cell *c, enum way way)
{
	double slope, at, want, got;
	unsigned int lo, hi;
	int big = -1;

	if (c->size < 4 || !extremes(c, &lo, &hi))
		return false;
	for (unsigned int i = 0; i < c->n; i++) {
		if (c->plain[i].large)
			big = i;
	}
	at = sign(c, value(c, way, lo));
	got = sign(c, value(c, way, hi) - value(c, way, lo));
	if (big < 0 || (got < 8 && got > -8))
		return false;
	slope = (sign(c, value(c, way, big)) - at) / (c->plain[big].len - c->plain[lo].len);
	for (unsigned int i = 0; i < c->n; i++) {
		want = at + slope * ((double)c->plain[i].len - c->plain[lo].len);
		got = sign(c, value(c, way, i));
		if (got - want > 2 || want - got > 2)
			return false;
	}
	want = at + slope * ((double)c->h->len - c->plain[lo].len);
	got = sign(c, h_value(c, way));
	slope = slope < 0 ? -slope : slope;
	return got - want <= 3 + 8 * slope && want - got <= 3 + 8 * slope;
}

/* Is it what a plain packet above 64 KiB leaves behind, and do plain packets differ among
 * themselves?
 */
static bool as_large(const struct cell *c, enum way way, bool strict)
{
	/* A byte of a number is equal by chance too often. */
	if (all_equal(c, way) || (strict && c->size == 1))
		return false;
	for (unsigned int i = 0; i < c->n; i++) {
		/* What the jumbo packet's run left alone may be what the long packet's run wrote.
		 */
		if (c->plain[i].large && value(c, way, i) == h_value(c, way) &&
		    (c->h_new != c->h_old || c->new[i] == c->old[i]))
			return true;
	}
	return false;
}

/* A clock: it goes up from run to run, and the jumbo packet's time lies between its neighbours'. */
static bool clock_like(const struct cell *c)
{
	unsigned int last = 0;
	__u64 prev = 0;
	bool before = false, after = false;

	if (c->size < 4 || c->n < 3)
		return false;
	/* plain runs are given in the order of time */
	for (unsigned int i = 0; i < c->n; i++) {
		if (i && (c->plain[i].seq <= last || c->new[i] <= prev))
			return false;
		last = c->plain[i].seq;
		prev = c->new[i];
		if (last < c->h->seq) {
			before = true;
			if (c->h_new <= prev)
				return false;
		} else {
			after = true;
			if (c->h_new >= prev)
				return false;
		}
	}
	return before && after;
}

/* Two runs on packets of one length that do not agree, whichever way one looks at it. */
static bool noisy(const struct cell *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		for (unsigned int j = 0; j < i; j++) {
			if (c->plain[i].len == c->plain[j].len &&
			    value(c, WAY_SET, i) != value(c, WAY_SET, j) &&
			    value(c, WAY_ADD, i) != value(c, WAY_ADD, j))
				return true;
		}
	}
	return false;
}

/* What noise must have in common all the same: written or not, zero or not. */
static bool noise_alike(const struct cell *c)
{
	bool all_written = true, all_set = true;

	for (unsigned int i = 0; i < c->n; i++) {
		all_written &= c->new[i] != c->old[i];
		all_set &= c->new[i] != 0;
	}
	return !(all_written && c->h_new == c->h_old) && !(all_set && !c->h_new);
}

/* Do the plain runs follow a rule (*consistent), and the jumbo packet too (true)? */
static bool explained(struct cell *c, bool strict, bool *consistent)
{
	bool yes = false;

	for (enum way w = WAY_SET; w < WAYS; w++) {
		if (all_equal(c, w)) {
			*consistent = true;
			if (value(c, w, 0) == h_value(c, w))
				return true;
		}
		if (linear(c, w, consistent) || as_large(c, w, strict) || about_linear(c, w))
			return true;
	}
	if (c->size == 1)
		return false;
	cell_swap(c);
	yes = linear(c, WAY_SET, consistent);
	cell_swap(c);
	return yes;
}

/* Offset within the value of the first byte that is not accounted for, or -1. strict: the bytes are
 * part of something that the plain runs agree on, so none of them is noise.
 */
static int check(const struct bt_sample *plain, unsigned int n, const struct bt_sample *h,
		 unsigned int off, unsigned int size, bool strict, bool *noise)
{
	bool consistent = false, below = false;
	struct cell c;
	int bad;

	cell_load(&c, plain, n, h, off, size);
	if (explained(&c, strict, &consistent))
		return -1;
	if (!consistent && !strict && clock_like(&c))
		return -1;
	if (size == 1) {
		if (strict || consistent || !noisy(&c))
			return off;
		*noise = true;
		return -1;
	}
	bad = check(plain, n, h, off, size / 2, strict || consistent, &below);
	if (bad < 0)
		bad = check(plain, n, h, off + size / 2, size / 2, strict || consistent, &below);
	if (bad < 0 && below && !noise_alike(&c))
		bad = off;
	*noise |= below;
	return bad;
}

int bt_cells_check(const struct bt_sample *plain, unsigned int n, const struct bt_sample *h,
		   unsigned int size)
{
	unsigned int off = 0, step;
	bool noise = false;
	int bad = -1;

	for (; off < size && bad < 0; off += step) {
		step = 8;
		while (step > size - off)
			step /= 2;
		bad = check(plain, n, h, off, step, false, &noise);
	}
	return bad;
}
