/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by audit_maps.c (tables) and audit_rings.c (ring buffers and perf events). */
#ifndef CORE_AUDIT_MAPS_INT_H
#define CORE_AUDIT_MAPS_INT_H

#include "core/audit_maps.h"

#include <linux/bpf.h>

#define BT_BATCH 4096u /* entries read by one system call */

enum bt_watch_kind { BT_WATCH_NOTHING, BT_WATCH_TABLE, BT_WATCH_RING, BT_WATCH_PERF };

/* The entries of a table; keys and values are arrays of their own. */
struct bt_snap {
	__u8 *keys, *vals;
	__u32 n, cap;
};

struct bt_watch {
	enum bt_watch_kind kind;
	__u32 id, type, key_size, max_entries;
	__u32 val_size; /* of one CPU */
	char name[BPF_OBJ_NAME_LEN];
	int fd;
	/* tables */
	bool percpu, no_batch, cold, changed;
	__u64 cost_ns; /* of the last snapshot */
	__u8 *raw; /* a batch of values of all CPUs */
	struct bt_snap before, after;
	/* ring buffers and perf events */
	void *ctl; /* ring: consumer page; perf: the page with data_head */
	__u8 *data;
	size_t ctl_len, data_len;
	unsigned long *producer; /* ring */
	__u64 seen; /* position up to which records have been read */
	int perf_fd;
};

struct bt_maps {
	struct bt_watch *w;
	unsigned int n, cap;
	bool own;
	int cpu, n_cpus;
	char unseen[192];
};

/* Appends an event; old and new may be NULL for zeros. */
int bt_events_add(struct bt_events *ev, enum bt_event_kind kind, unsigned int map, const void *key,
		  __u32 key_len, const void *old, const void *new, __u32 val_len);

int bt_ring_open(struct bt_maps *m, struct bt_watch *w);
int bt_ring_read(struct bt_maps *m, unsigned int map, struct bt_events *ev);
int bt_perf_open(struct bt_maps *m, struct bt_watch *w);
int bt_perf_read(struct bt_maps *m, unsigned int map, struct bt_events *ev);
void bt_rings_close(struct bt_watch *w);

void bt_unseen(struct bt_maps *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
