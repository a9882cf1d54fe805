// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "maps.h"

struct dump {
	char *buf; /* entries of key and value, sorted */
	size_t n, entry, key;
};

static size_t value_bytes(const struct bpf_map *m)
{
	size_t v = bpf_map__value_size(m);

	switch (bpf_map__type(m)) {
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		return ((v + 7) & ~7UL) * libbpf_num_possible_cpus();
	default:
		return v;
	}
}

static size_t sort_key; /* qsort has no argument for it; tests are single-threaded */

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sort_key);
}

static int dump_map(const struct bpf_map *m, struct dump *d)
{
	int fd = bpf_map__fd(m), err;
	__free char *key = NULL;
	bool first = true;

	d->n = 0;
	d->key = bpf_map__key_size(m);
	d->entry = d->key + value_bytes(m);
	d->buf = malloc(d->entry * (bpf_map__max_entries(m) + 1));
	key = malloc(d->key);
	if (!d->buf || !key)
		return -ENOMEM;
	while (d->n < bpf_map__max_entries(m)) {
		char *e = d->buf + d->n * d->entry;

		err = bpf_map_get_next_key(fd, first ? NULL : key, e);
		if (err)
			break;
		memcpy(key, e, d->key);
		first = false;
		memset(e + d->key, 0, d->entry - d->key);
		if (bpf_map_lookup_elem(fd, key, e + d->key))
			return -errno;
		d->n++;
	}
	sort_key = d->key;
	qsort(d->buf, d->n, d->entry, by_key);
	return 0;
}

static int differ(const struct bpf_map *m, const struct dump *a, const struct dump *b, char *why,
		  size_t len)
{
	size_t i, at;

	if (a->n != b->n) {
		snprintf(why, len, "map %s: %zu entries, the twin's %zu", bpf_map__name(m), a->n,
			 b->n);
		return 1;
	}
	for (i = 0; i < a->n; i++) {
		const char *x = a->buf + i * a->entry, *y = b->buf + i * b->entry;

		for (at = 0; at < a->entry && x[at] == y[at]; at++)
			;
		if (at < a->entry) {
			snprintf(
				why, len,
				"map %s: entry %zu of %zu differs at byte %zd of its %s: %02x, the "
				"twin's %02x",
				bpf_map__name(m), i, a->n,
				at < a->key ? (ssize_t)at : (ssize_t)(at - a->key),
				at < a->key ? "key" : "value", (__u8)x[at], (__u8)y[at]);
			return 1;
		}
	}
	return 0;
}

static int compare_entries(const struct bpf_map *a, const struct bpf_map *b, char *why, size_t len)
{
	struct dump da = {}, db = {};
	int err;

	err = dump_map(a, &da);
	if (!err)
		err = dump_map(b, &db);
	if (!err)
		err = differ(a, &da, &db, why, len);
	free(da.buf);
	free(db.buf);
	return err;
}

struct ring {
	unsigned long *consumer, *producer;
	char *data;
	size_t size, page;
};

static void ring_close(struct ring *r)
{
	if (r->consumer)
		munmap(r->consumer, r->page);
	if (r->producer)
		munmap(r->producer, r->page + 2 * r->size);
}

static int ring_open(const struct bpf_map *m, struct ring *r)
{
	void *p;

	memset(r, 0, sizeof(*r));
	r->page = sysconf(_SC_PAGESIZE);
	r->size = bpf_map__max_entries(m);
	p = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
	if (p == MAP_FAILED)
		return -errno;
	r->consumer = p;
	p = mmap(NULL, r->page + 2 * r->size, PROT_READ, MAP_SHARED, bpf_map__fd(m), r->page);
	if (p == MAP_FAILED) {
		ring_close(r);
		return -errno;
	}
	r->producer = p;
	r->data = (char *)p + r->page;
	return 0;
}

/* Records are compared without their headers, whose page offset is the kernel's own. */
static int compare_rings(const struct bpf_map *ma, const struct bpf_map *mb, char *why, size_t len)
{
	struct ring a, b;
	unsigned long at;
	int ret;

	ret = ring_open(ma, &a);
	if (ret)
		return ret;
	ret = ring_open(mb, &b);
	if (ret) {
		ring_close(&a);
		return ret;
	}
	if (*a.producer != *b.producer) {
		snprintf(why, len, "ring buffer %s: %lu bytes, the twin's %lu", bpf_map__name(ma),
			 *a.producer, *b.producer);
		ret = 1;
	}
	for (at = *a.consumer; !ret && at < *a.producer;) {
		const char *x = a.data + (at & (a.size - 1)), *y = b.data + (at & (b.size - 1));
		__u32 hx, hy;

		memcpy(&hx, x, 4);
		memcpy(&hy, y, 4);
		if (hx != hy || memcmp(x + 8, y + 8, hx & 0x3fffffff)) {
			snprintf(why, len, "ring buffer %s: the record at %lu differs",
				 bpf_map__name(ma), at);
			ret = 1;
		}
		at += ((hx & 0x3fffffff) + 8 + 7) & ~7UL;
	}
	if (!ret) {
		*a.consumer = *a.producer;
		*b.consumer = *b.producer;
	}
	ring_close(&a);
	ring_close(&b);
	return ret;
}

int maps_compare(struct bpf_object *a, struct bpf_object *b, char *why, size_t len)
{
	const struct bpf_map *ma, *mb;
	int err = 0;

	bpf_object__for_each_map(ma, a) {
		mb = bpf_object__find_map_by_name(b, bpf_map__name(ma));
		if (!mb)
			return -ENOENT;
		switch (bpf_map__type(ma)) {
		/* which programs can't write */
		case BPF_MAP_TYPE_DEVMAP:
		case BPF_MAP_TYPE_CPUMAP:
		case BPF_MAP_TYPE_PROG_ARRAY:
		case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
			continue;
		case BPF_MAP_TYPE_RINGBUF:
			err = compare_rings(ma, mb, why, len);
			break;
		default:
			err = compare_entries(ma, mb, why, len);
		}
		if (err)
			return err;
	}
	return 0;
}
