// SPDX-License-Identifier: GPL-2.0
/* Which maps there are to watch, and how each can be. */
#include "core/audit_maps_int.h"
#include "base/cleanup.h"

#include <bigtcp/twin.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#define MAPS_MAX  512
#define BATCH_MEM (64u << 20)

static const char *type_name(__u32 type)
{
	const char *name = libbpf_bpf_map_type_str(type);

	return name ? name : "unknown type of";
}

/* Maps that a program only looks things up in. */
static bool passive(__u32 type)
{
	switch (type) {
	case BPF_MAP_TYPE_PROG_ARRAY:
	case BPF_MAP_TYPE_STACK_TRACE:
	case BPF_MAP_TYPE_CGROUP_ARRAY:
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
	case BPF_MAP_TYPE_HASH_OF_MAPS:
	case BPF_MAP_TYPE_DEVMAP:
	case BPF_MAP_TYPE_DEVMAP_HASH:
	case BPF_MAP_TYPE_CPUMAP:
	case BPF_MAP_TYPE_XSKMAP:
	case BPF_MAP_TYPE_REUSEPORT_SOCKARRAY:
	case BPF_MAP_TYPE_STRUCT_OPS:
		return true;
	}
	return false;
}

static bool table(__u32 type, bool *percpu)
{
	switch (type) {
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		*percpu = true;
		return true;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_LPM_TRIE:
		return true;
	}
	return false;
}

static int table_open(struct bt_maps *m, struct bt_watch *w)
{
	size_t batch = w->max_entries < BT_BATCH ? w->max_entries : BT_BATCH;
	size_t raw = w->percpu ? ((w->val_size + 7) & ~7u) * (size_t)m->n_cpus : w->val_size;

	if (batch * raw > BATCH_MEM) {
		w->no_batch = true;
		batch = 1;
	}
	w->raw = malloc(batch * raw + 8);
	if (!w->raw)
		return -ENOMEM;
	w->kind = BT_WATCH_TABLE;
	return 0;
}

/* The twin engine's own: no part of what the program does. */
static bool of_twin(const char *name)
{
	return !strcmp(name, BIGTCP_TWIN_STATE_NAME) || !strcmp(name, BIGTCP_TWIN_BUF_NAME);
}

static int classify(struct bt_maps *m, struct bt_watch *w, __u32 flags)
{
	int err = 0;

	if (passive(w->type) || of_twin(w->name) || (flags & BPF_F_RDONLY_PROG))
		return 0;
	if (flags & BPF_F_WRONLY) {
		bt_unseen(m, "map %s may not be read from userspace", w->name);
		return 0;
	}
	if (table(w->type, &w->percpu))
		return table_open(m, w);
	if (w->type == BPF_MAP_TYPE_RINGBUF) {
		err = bt_ring_open(m, w);
		w->kind = err ? BT_WATCH_NOTHING : BT_WATCH_RING;
	} else if (w->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY && m->own) {
		err = bt_perf_open(m, w);
		w->kind = err ? BT_WATCH_NOTHING : BT_WATCH_PERF;
	} else if (w->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
		bt_unseen(m, "what goes into the perf event array %s is for its reader alone",
			  w->name);
	} else {
		bt_unseen(m, "the %s map %s cannot be read without changing it", type_name(w->type),
			  w->name);
	}
	if (err)
		bt_unseen(m, "%s %s cannot be watched: %s", type_name(w->type), w->name,
			  strerror(-err));
	return 0;
}

static int add_inner(struct bt_maps *m, __u32 outer, __u32 key_size);

static int add_map(struct bt_maps *m, __u32 id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	struct bt_watch *w;
	int err;

	for (unsigned int i = 0; i < m->n; i++) {
		if (m->w[i].id == id)
			return 0;
	}
	if (m->n == m->cap) {
		bt_unseen(m, "the program has more than %u maps", m->cap);
		return 0;
	}
	w = &m->w[m->n];
	*w = (struct bt_watch){ .id = id, .perf_fd = -1 };
	w->fd = bpf_map_get_fd_by_id(id);
	if (w->fd < 0)
		return -errno;
	m->n++;
	if (bpf_obj_get_info_by_fd(w->fd, &info, &len))
		return -errno;
	w->type = info.type;
	w->key_size = info.key_size;
	w->val_size = info.value_size;
	w->max_entries = info.max_entries;
	memcpy(w->name, info.name, sizeof(w->name));
	err = classify(m, w, info.map_flags);
	if (!err && (w->type == BPF_MAP_TYPE_ARRAY_OF_MAPS || w->type == BPF_MAP_TYPE_HASH_OF_MAPS))
		err = add_inner(m, m->n - 1, w->key_size);
	return err;
}

static int add_inner(struct bt_maps *m, __u32 outer, __u32 key_size)
{
	__u8 *prev __free = calloc(1, key_size);
	__u8 *key __free = calloc(1, key_size);
	bool first = true;
	__u32 id;
	int err;

	if (!prev || !key)
		return -ENOMEM;
	while (!bpf_map_get_next_key(m->w[outer].fd, first ? NULL : prev, key)) {
		if (!bpf_map_lookup_elem(m->w[outer].fd, key, &id)) {
			err = add_map(m, id);
			if (err && err != -ENOENT)
				return err;
		}
		memcpy(prev, key, key_size);
		first = false;
		if (m->n == m->cap)
			break;
	}
	return 0;
}

int bt_maps_open(const __u32 *ids, unsigned int n, bool own, int cpu, struct bt_maps **out)
{
	struct bt_maps *m = calloc(1, sizeof(*m));
	int err = 0;

	if (!m)
		return -ENOMEM;
	m->own = own;
	m->cpu = cpu;
	m->n_cpus = libbpf_num_possible_cpus();
	m->cap = MAPS_MAX;
	m->w = calloc(m->cap, sizeof(*m->w));
	if (!m->w || m->n_cpus <= cpu)
		err = m->w ? -EINVAL : -ENOMEM;
	for (unsigned int i = 0; i < n && !err; i++)
		err = add_map(m, ids[i]);
	if (err) {
		bt_maps_close(m);
		return err;
	}
	*out = m;
	return 0;
}

static bool all_zero(const __u8 *p, __u32 len)
{
	for (__u32 i = 0; i < len; i++) {
		if (p[i])
			return false;
	}
	return true;
}

/* Has a map of devices or the like an entry? Those of XDP sockets can't be read. */
static bool has_target(const struct bt_watch *w)
{
	__u8 *key __free = calloc(1, w->key_size), *val __free = calloc(1, w->val_size);
	bool first = true;

	while (key && val && !bpf_map_get_next_key(w->fd, first ? NULL : key, key)) {
		if (!bpf_map_lookup_elem(w->fd, key, val) && !all_zero(val, w->val_size))
			return true;
		first = false;
	}
	return false;
}

const char *bt_maps_no_target(const struct bt_maps *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		switch (m->w[i].type) {
		case BPF_MAP_TYPE_DEVMAP:
		case BPF_MAP_TYPE_DEVMAP_HASH:
		case BPF_MAP_TYPE_CPUMAP:
		case BPF_MAP_TYPE_XSKMAP:
			if (!has_target(&m->w[i]))
				return m->w[i].name;
		}
	}
	return NULL;
}

void bt_maps_close(struct bt_maps *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; i < m->n; i++) {
		struct bt_watch *w = &m->w[i];

		bt_rings_close(w);
		free(w->raw);
		free(w->before.keys);
		free(w->before.vals);
		free(w->after.keys);
		free(w->after.vals);
		close(w->fd);
	}
	free(m->w);
	free(m);
}
