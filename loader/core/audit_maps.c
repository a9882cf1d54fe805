// SPDX-License-Identifier: GPL-2.0
#include "core/audit_maps_int.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

/* A table larger than this is not read: a snapshot takes too long and too much memory. */
#define TABLE_MAX (64u << 20)

/* A table that takes longer to read is cooled when nothing changes in it. */
#define COOL_NS 30000

void bt_unseen(struct bt_maps *m, const char *fmt, ...)
{
	va_list ap;

	if (m->unseen[0])
		return;
	va_start(ap, fmt);
	vsnprintf(m->unseen, sizeof(m->unseen), fmt, ap);
	va_end(ap);
}

void bt_events_free(struct bt_events *e)
{
	for (unsigned int i = 0; i < e->n; i++)
		free(e->v[i].key);
	free(e->v);
	*e = (struct bt_events){};
}

int bt_events_add(struct bt_events *ev, enum bt_event_kind kind, unsigned int map, const void *key,
		  __u32 key_len, const void *old, const void *new, __u32 val_len)
{
	struct bt_event *e;
	__u8 *mem;

	if (ev->n == ev->cap) {
		unsigned int cap = ev->cap ? ev->cap * 2 : 16;

		e = realloc(ev->v, cap * sizeof(*e));
		if (!e)
			return -ENOMEM;
		ev->v = e;
		ev->cap = cap;
	}
	mem = calloc(1, (size_t)key_len + 2 * (size_t)val_len + 1);
	if (!mem)
		return -ENOMEM;
	ev->v[ev->n++] = (struct bt_event){
		kind, map, key_len, val_len, mem, mem + key_len, mem + key_len + val_len
	};
	memcpy(mem, key, key_len);
	if (old)
		memcpy(mem + key_len, old, val_len);
	if (new)
		memcpy(mem + key_len + val_len, new, val_len);
	return 0;
}

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int snap_room(struct bt_watch *w, struct bt_snap *s, __u32 more)
{
	__u64 need = (__u64)s->n + more;
	__u8 *p;

	if (need * (w->key_size + w->val_size) > TABLE_MAX)
		return -E2BIG;
	if (need <= s->cap)
		return 0;
	p = realloc(s->keys, need * w->key_size);
	if (!p)
		return -ENOMEM;
	s->keys = p;
	p = realloc(s->vals, need * w->val_size);
	if (!p)
		return -ENOMEM;
	s->vals = p;
	s->cap = need;
	return 0;
}

static __u32 cpu_stride(const struct bt_watch *w)
{
	return (w->val_size + 7) & ~7u;
}

static __u32 raw_size(const struct bt_maps *m, const struct bt_watch *w)
{
	return w->percpu ? cpu_stride(w) * m->n_cpus : w->val_size;
}

/* @n values as the system call gives them, behind those that the snapshot has. */
static void snap_values(const struct bt_maps *m, const struct bt_watch *w, struct bt_snap *s,
			__u32 n)
{
	__u32 raw = raw_size(m, w), at = w->percpu ? cpu_stride(w) * m->cpu : 0;

	for (__u32 i = 0; i < n; i++)
		memcpy(s->vals + (size_t)(s->n + i) * w->val_size, w->raw + (size_t)i * raw + at,
		       w->val_size);
}

/* Key by key, for maps and kernels without batches. */
static int snap_walk(struct bt_maps *m, struct bt_watch *w, struct bt_snap *s)
{
	__u8 *prev = NULL;
	int err;

	s->n = 0;
	for (;;) {
		err = snap_room(w, s, s->n < s->cap ? 1 : s->n + 64);
		if (err)
			return err;
		/* after realloc the previous key is elsewhere */
		prev = s->n ? s->keys + (size_t)(s->n - 1) * w->key_size : NULL;
		if (bpf_map_get_next_key(w->fd, prev, s->keys + (size_t)s->n * w->key_size))
			return errno == ENOENT ? 0 : -errno;
		if (bpf_map_lookup_elem(w->fd, s->keys + (size_t)s->n * w->key_size, w->raw)) {
			if (errno != ENOENT)
				return -errno;
			memset(w->raw, 0,
			       raw_size(m, w)); /* just deleted, or a slot that is empty */
		}
		snap_values(m, w, s, 1);
		s->n++;
		if (s->n > w->max_entries && w->max_entries)
			return 0; /* deletions by others make a walk start again */
	}
}

static int snap_batches(struct bt_maps *m, struct bt_watch *w, struct bt_snap *s)
{
	__u32 size = w->key_size < 8 ? 8 : w->key_size, count;
	__u8 *token __free = calloc(1, size);
	bool first = true;
	int err, end;

	if (!token)
		return -ENOMEM;
	s->n = 0;
	for (;;) {
		count = w->max_entries < BT_BATCH ? w->max_entries : BT_BATCH;
		err = snap_room(w, s, count);
		if (err)
			return err;
		end = bpf_map_lookup_batch(w->fd, first ? NULL : token, token,
					   s->keys + (size_t)s->n * w->key_size, w->raw, &count,
					   NULL);
		if (end && errno != ENOENT)
			return -errno;
		snap_values(m, w, s, count);
		s->n += count;
		first = false;
		if (end || !count)
			return 0;
	}
}

static int snap_take(struct bt_maps *m, struct bt_watch *w, struct bt_snap *s)
{
	__u64 start = now_ns();
	int err = -EINVAL;

	if (!w->no_batch) {
		err = snap_batches(m, w, s);
		/* ENOSPC: more in one hash bucket than fits a batch */
		if (err && err != -E2BIG && err != -ENOMEM)
			w->no_batch = true;
	}
	if (w->no_batch)
		err = snap_walk(m, w, s);
	w->cost_ns = now_ns() - start;
	return err;
}

static __u32 hash_key(const __u8 *key, __u32 len)
{
	__u32 h = 2166136261u;

	while (len--)
		h = (h ^ *key++) * 16777619u;
	return h;
}

/* Open addressing over the keys of a snapshot; 0 is an empty slot. */
struct index {
	__u32 *slots, mask;
};

static int index_make(const struct bt_watch *w, const struct bt_snap *s, struct index *ix)
{
	__u32 size = 16, h;

	while (size < s->n * 2)
		size *= 2;
	ix->slots = calloc(size, sizeof(*ix->slots));
	if (!ix->slots)
		return -ENOMEM;
	ix->mask = size - 1;
	for (__u32 i = 0; i < s->n; i++) {
		h = hash_key(s->keys + (size_t)i * w->key_size, w->key_size) & ix->mask;
		while (ix->slots[h])
			h = (h + 1) & ix->mask;
		ix->slots[h] = i + 1;
	}
	return 0;
}

/* Value of @key in @s, or NULL. */
static const __u8 *index_find(const struct bt_watch *w, const struct bt_snap *s,
			      const struct index *ix, const __u8 *key)
{
	__u32 h = hash_key(key, w->key_size) & ix->mask, i;

	for (; ix->slots[h]; h = (h + 1) & ix->mask) {
		i = ix->slots[h] - 1;
		if (!memcmp(s->keys + (size_t)i * w->key_size, key, w->key_size))
			return s->vals + (size_t)i * w->val_size;
	}
	return NULL;
}

/* Events of what is in @a and, when @kind is CREATED, changed values; @b is the other one. */
static int diff_side(struct bt_maps *m, unsigned int map, enum bt_event_kind kind,
		     const struct bt_snap *a, const struct bt_snap *b, struct bt_events *ev)
{
	struct bt_watch *w = &m->w[map];
	__u32 *slots __free = NULL;
	const __u8 *key, *val, *other;
	struct index ix = {};
	int err;

	err = index_make(w, b, &ix);
	if (err)
		return err;
	slots = ix.slots;
	for (__u32 i = 0; i < a->n && !err; i++) {
		key = a->keys + (size_t)i * w->key_size;
		val = a->vals + (size_t)i * w->val_size;
		other = index_find(w, b, &ix, key);
		if (kind == BT_EVENT_DELETED && !other)
			err = bt_events_add(ev, kind, map, key, w->key_size, val, NULL,
					    w->val_size);
		else if (kind == BT_EVENT_CREATED && !other)
			err = bt_events_add(ev, kind, map, key, w->key_size, NULL, val,
					    w->val_size);
		else if (kind == BT_EVENT_CREATED && memcmp(val, other, w->val_size))
			err = bt_events_add(ev, BT_EVENT_CHANGED, map, key, w->key_size, other, val,
					    w->val_size);
	}
	return err;
}

static bool same(const void *a, const void *b, size_t len)
{
	return !len || !memcmp(a, b, len);
}

static int table_diff(struct bt_maps *m, unsigned int map, struct bt_events *ev)
{
	struct bt_watch *w = &m->w[map];
	const struct bt_snap *b = &w->before, *a = &w->after;
	int err;

	if (a->n == b->n && same(a->keys, b->keys, (size_t)a->n * w->key_size) &&
	    same(a->vals, b->vals, (size_t)a->n * w->val_size))
		return 0;
	w->changed = true;
	if (!ev)
		return 0;
	err = diff_side(m, map, BT_EVENT_CREATED, a, b, ev);
	return err ? err : diff_side(m, map, BT_EVENT_DELETED, b, a, ev);
}

/* Reads one map; the snapshot becomes the new "before". ev NULL: no events wanted. */
static int watch_read(struct bt_maps *m, unsigned int map, struct bt_events *ev)
{
	struct bt_watch *w = &m->w[map];
	struct bt_snap tmp;
	int err;

	if (w->kind == BT_WATCH_RING)
		return bt_ring_read(m, map, ev);
	if (w->kind == BT_WATCH_PERF)
		return bt_perf_read(m, map, ev);
	if (w->kind != BT_WATCH_TABLE || w->cold)
		return 0;
	err = snap_take(m, w, &w->after);
	if (err == -E2BIG || err == -EPERM) {
		bt_unseen(m, "map %s cannot be read whole: %s", w->name,
			  err == -E2BIG ? "more than 64 MB" : "no permission");
		w->kind = BT_WATCH_NOTHING;
		return 0;
	}
	if (!err && ev)
		err = table_diff(m, map, ev);
	tmp = w->before;
	w->before = w->after;
	w->after = tmp;
	return err;
}

int bt_maps_mark(struct bt_maps *m)
{
	int err = 0;

	for (unsigned int i = 0; i < m->n && !err; i++)
		err = watch_read(m, i, NULL);
	return err;
}

int bt_maps_diff(struct bt_maps *m, struct bt_events *ev)
{
	int err = 0;

	*ev = (struct bt_events){};
	for (unsigned int i = 0; i < m->n && !err; i++)
		err = watch_read(m, i, ev);
	if (err)
		bt_events_free(ev);
	return err;
}

void bt_maps_cool(struct bt_maps *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		struct bt_watch *w = &m->w[i];

		if (w->kind == BT_WATCH_TABLE && !w->changed && w->cost_ns > COOL_NS)
			w->cold = true;
	}
}

bool bt_maps_warm(struct bt_maps *m)
{
	bool changed = false;

	for (unsigned int i = 0; i < m->n; i++) {
		struct bt_watch *w = &m->w[i];

		if (!w->cold)
			continue;
		w->cold = false;
		if (snap_take(m, w, &w->after) || table_diff(m, i, NULL) || w->changed)
			changed = true;
	}
	return changed;
}

const char *bt_maps_unseen(const struct bt_maps *m)
{
	return m->unseen[0] ? m->unseen : NULL;
}

const char *bt_maps_empty(const struct bt_maps *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		const struct bt_watch *w = &m->w[i];

		if (w->kind == BT_WATCH_TABLE && !w->before.n && !w->changed)
			return w->name;
	}
	return NULL;
}

unsigned int bt_maps_count(const struct bt_maps *m)
{
	return m->n;
}

const char *bt_maps_name(const struct bt_maps *m, unsigned int map)
{
	return map < m->n ? m->w[map].name : "?";
}

__u32 bt_maps_id(const struct bt_maps *m, unsigned int map)
{
	return map < m->n ? m->w[map].id : 0;
}

void bt_maps_each(const struct bt_maps *m, unsigned int max, bt_entry_fn fn, void *arg)
{
	__u32 key_len;

	for (unsigned int i = 0; i < m->n; i++) {
		const struct bt_watch *w = &m->w[i];

		if (w->kind != BT_WATCH_TABLE || w->before.n > max)
			continue;
		/* the key of an array is no more than a number */
		key_len = w->type == BPF_MAP_TYPE_ARRAY || w->type == BPF_MAP_TYPE_PERCPU_ARRAY
				  ? 0
				  : w->key_size;
		for (__u32 k = 0; k < w->before.n; k++)
			fn(arg, w->before.keys + (size_t)k * w->key_size, key_len,
			   w->before.vals + (size_t)k * w->val_size, w->val_size);
	}
}
