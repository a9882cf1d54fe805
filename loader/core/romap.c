// SPDX-License-Identifier: GPL-2.0
#include "core/romap.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Map info does not tell, only the descriptor's own file does. */
static bool is_frozen(int fd)
{
	char path[64], line[128];
	__fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strcmp(line, "frozen:\t1\n"))
			return true;
	return false;
}

static void read_map(struct bt_romap *m)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0;

	if (bpf_obj_get_info_by_fd(m->fd, &info, &len) || info.type != BPF_MAP_TYPE_ARRAY ||
	    info.max_entries != 1 || !(info.map_flags & BPF_F_RDONLY_PROG) || !is_frozen(m->fd))
		return;
	m->value = malloc(info.value_size);
	if (m->value && !bpf_map_lookup_elem(m->fd, &zero, m->value))
		m->size = info.value_size;
}

static struct bt_romap *find(struct bt_romaps *r, int fd)
{
	unsigned int n;

	for (n = 0; n < r->n; n++)
		if (r->map[n].fd == fd)
			return &r->map[n];
	if (r->n == BT_ROMAPS_MAX)
		return NULL;
	r->map[r->n].fd = fd;
	read_map(&r->map[r->n]);
	return &r->map[r->n++];
}

int bt_romap_read(struct bt_romaps *r, int fd, __u32 off, __u32 size, __u64 *val)
{
	struct bt_romap *m = find(r, fd);
	__u64 v64;
	__u32 v32;
	__u16 v16;

	if (!m)
		return -ENOSPC;
	if (!m->size)
		return -EPERM;
	if (off > m->size || size > m->size - off)
		return -ERANGE;
	switch (size) {
	case 1:
		*val = m->value[off];
		return 0;
	case 2:
		memcpy(&v16, m->value + off, 2);
		*val = v16;
		return 0;
	case 4:
		memcpy(&v32, m->value + off, 4);
		*val = v32;
		return 0;
	case 8:
		memcpy(&v64, m->value + off, 8);
		*val = v64;
		return 0;
	default:
		return -ERANGE;
	}
}

void bt_romaps_free(struct bt_romaps *r)
{
	while (r->n)
		free(r->map[--r->n].value);
}
