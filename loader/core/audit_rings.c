// SPDX-License-Identifier: GPL-2.0
#include "core/audit_maps_int.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define RING_BUSY    (1u << 31)
#define RING_DISCARD (1u << 30)
#define RING_HDR     8

#define PERF_PAGES   64

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/*
 * A ring buffer's pages can be read by anyone who has the map: what was written between two points
 * in time is there to see without being consumed.
 */
int bt_ring_open(struct bt_maps *m, struct bt_watch *w)
{
	size_t page = page_size();
	__u8 *pages;

	w->ctl_len = page;
	w->ctl =
		mmap(NULL, page, m->own ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, w->fd, 0);
	if (w->ctl == MAP_FAILED) {
		w->ctl = NULL;
		return -errno;
	}
	w->data_len = page + 2 * (size_t)w->max_entries;
	pages = mmap(NULL, w->data_len, PROT_READ, MAP_SHARED, w->fd, page);
	if (pages == MAP_FAILED)
		return -errno;
	w->producer = (unsigned long *)pages;
	w->data = pages + page;
	w->seen = __atomic_load_n(w->producer, __ATOMIC_ACQUIRE);
	return 0;
}

int bt_ring_read(struct bt_maps *m, unsigned int map, struct bt_events *ev)
{
	struct bt_watch *w = &m->w[map];
	unsigned long *consumer = w->ctl;
	__u64 end = __atomic_load_n(w->producer, __ATOMIC_ACQUIRE);
	__u64 free_len = w->max_entries - (end - __atomic_load_n(consumer, __ATOMIC_ACQUIRE));
	__u32 nr = 0, hdr, len;
	int err;

	if (end - w->seen > w->max_entries) {
		bt_unseen(m, "ring buffer %s overran while it was watched", w->name);
		w->seen = end;
	}
	while (w->seen < end) {
		const __u8 *rec = w->data + (w->seen & (w->max_entries - 1));

		hdr = __atomic_load_n((__u32 *)rec, __ATOMIC_ACQUIRE);
		len = hdr & ~(RING_BUSY | RING_DISCARD);
		if (!(hdr & (RING_BUSY | RING_DISCARD)) && ev) {
			err = bt_events_add(ev, BT_EVENT_RECORD, map, &nr, sizeof(nr), NULL,
					    rec + RING_HDR, len);
			if (err)
				return err;
			nr++;
		}
		w->seen += (len + RING_HDR + 7) & ~7ULL;
	}
	w->seen = end;
	if (m->own)
		__atomic_store_n(consumer, end, __ATOMIC_RELEASE);
	else if (free_len < w->max_entries / 8)
		bt_unseen(m, "ring buffer %s is full: nothing can be written to it", w->name);
	return 0;
}

int bt_perf_open(struct bt_maps *m, struct bt_watch *w)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.watermark = 1,
		.wakeup_watermark = 1u << 30,
	};
	__u32 cpu = m->cpu;
	void *p;

	if (cpu >= w->max_entries)
		return -ERANGE;
	w->perf_fd = syscall(SYS_perf_event_open, &attr, -1, m->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (w->perf_fd < 0)
		return -errno;
	w->ctl_len = (1 + PERF_PAGES) * page_size();
	p = mmap(NULL, w->ctl_len, PROT_READ | PROT_WRITE, MAP_SHARED, w->perf_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	w->ctl = p;
	w->data = (__u8 *)p + page_size();
	w->data_len = PERF_PAGES * page_size();
	return bpf_map_update_elem(w->fd, &cpu, &w->perf_fd, BPF_ANY) ? -errno : 0;
}

static void perf_copy(const struct bt_watch *w, __u64 pos, void *dst, size_t len)
{
	size_t off = pos & (w->data_len - 1);
	size_t first = len < w->data_len - off ? len : w->data_len - off;

	memcpy(dst, w->data + off, first);
	memcpy((__u8 *)dst + first, w->data, len - first);
}

int bt_perf_read(struct bt_maps *m, unsigned int map, struct bt_events *ev)
{
	struct bt_watch *w = &m->w[map];
	struct perf_event_mmap_page *page = w->ctl;
	__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	__u64 pos = page->data_tail;
	struct {
		struct perf_event_header h;
		__u32 size;
	} rec;
	__u32 nr = 0;
	int err;

	for (; pos < head; pos += rec.h.size) {
		__u8 *raw __free = NULL;

		perf_copy(w, pos, &rec, sizeof(rec));
		if (rec.h.type == PERF_RECORD_LOST)
			bt_unseen(m, "perf events of %s were lost", w->name);
		if (rec.h.type != PERF_RECORD_SAMPLE || !ev)
			continue;
		raw = malloc(rec.size + 1);
		if (!raw)
			return -ENOMEM;
		perf_copy(w, pos + sizeof(rec), raw, rec.size);
		err = bt_events_add(ev, BT_EVENT_RECORD, map, &nr, sizeof(nr), NULL, raw, rec.size);
		if (err)
			return err;
		nr++;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return 0;
}

void bt_rings_close(struct bt_watch *w)
{
	if (w->producer)
		munmap(w->producer, w->data_len);
	if (w->ctl)
		munmap(w->ctl, w->ctl_len);
	if (w->perf_fd >= 0)
		close(w->perf_fd);
}
