/* SPDX-License-Identifier: GPL-2.0 */
/* What a run of a program changes in its maps, ring buffers and perf event arrays. */
#ifndef CORE_AUDIT_MAPS_H
#define CORE_AUDIT_MAPS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

enum bt_event_kind {
	BT_EVENT_CHANGED,
	BT_EVENT_CREATED,
	BT_EVENT_DELETED,
	BT_EVENT_RECORD, /* sent to userspace: key is its number within the run, u32 */
};

/* One change. Per-CPU values are those of the CPU the audit runs on. */
struct bt_event {
	enum bt_event_kind kind;
	unsigned int map; /* index for bt_maps_name() */
	__u32 key_len, val_len;
	__u8 *key; /* owns all three */
	__u8 *old; /* zeros for what was created or is a record */
	__u8 *new; /* zeros for what was deleted */
};

struct bt_events {
	struct bt_event *v;
	unsigned int n, cap;
};
void bt_events_free(struct bt_events *e);

struct bt_maps;

/*
 * Watches the maps with these @ids and the maps inside them. @own: they are ours alone, so that
 * their buffers may be read empty. @cpu: the CPU that the runs are on.
 */
int bt_maps_open(const __u32 *ids, unsigned int n, bool own, int cpu, struct bt_maps **out);
void bt_maps_close(struct bt_maps *m);

/* Notes the present state: what changes after this is an event. */
int bt_maps_mark(struct bt_maps *m);
/* What has changed since the last mark or diff; *ev is to be freed. */
int bt_maps_diff(struct bt_maps *m, struct bt_events *ev);

/*
 * Maps that are slow to read and have not changed so far are left out of marks and diffs, until
 * bt_maps_warm() finds that one of them has changed (true; all are watched from then on).
 */
void bt_maps_cool(struct bt_maps *m);
bool bt_maps_warm(struct bt_maps *m);

/* What cannot be seen, a phrase, or NULL: "queue map conns cannot be read without changing it". */
const char *bt_maps_unseen(const struct bt_maps *m);

/* Name of a table without entries that nothing was put into either, or NULL: what a match in it
 * would bring about has not been seen.
 */
const char *bt_maps_empty(const struct bt_maps *m);

/* Name of a map of redirect targets (devices, CPUs, XDP sockets) in which none can be seen, or NULL. */
const char *bt_maps_no_target(const struct bt_maps *m);

unsigned int bt_maps_count(const struct bt_maps *m);
const char *bt_maps_name(const struct bt_maps *m, unsigned int map);
__u32 bt_maps_id(const struct bt_maps *m, unsigned int map);

/* Calls fn with each entry as it is at the last mark, of tables with at most @max entries. */
typedef void (*bt_entry_fn)(void *arg, const __u8 *key, __u32 key_len, const __u8 *val,
			    __u32 val_len);
void bt_maps_each(const struct bt_maps *m, unsigned int max, bt_entry_fn fn, void *arg);

#endif
