// SPDX-License-Identifier: GPL-2.0
#include "core/ownprog.h"
#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#define MAPS_MAX 32

int bt_own_load_error(int err, const char *what)
{
	if (err == -EPERM)
		return bt_err(
			err, "loading a BPF program was refused: it takes CAP_BPF, CAP_PERFMON and "
			     "CAP_NET_ADMIN");
	return bt_err(err, "%s could not be loaded: %s; -v shows libbpf's log", what,
		      strerror(-err));
}

int bt_own_map(__u32 prog_id, const char *name)
{
	__u32 ids[MAPS_MAX], len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.nr_map_ids = MAPS_MAX,
		.map_ids = (__u64)(unsigned long)ids,
	};
	int prog __close = bt_prog_by_id(prog_id);

	if (prog < 0)
		return prog;
	if (bpf_obj_get_info_by_fd(prog, &info, &len))
		return -errno;
	for (__u32 i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++) {
		int fd __close = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info map = { 0 };

		len = sizeof(map);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &map, &len) && !strcmp(map.name, name))
			return TAKE_FD(fd);
	}
	return -ENOENT;
}

static bool same_struct(const struct btf *a, __u32 type_a, const struct btf *b, __u32 type_b)
{
	const struct btf_type *s = btf__type_by_id(a, type_a), *t = btf__type_by_id(b, type_b);
	const struct btf_member *m, *n;

	if (!s || !t || !btf_is_struct(s) || !btf_is_struct(t) || btf_vlen(s) != btf_vlen(t) ||
	    s->size != t->size)
		return false;
	m = btf_members(s);
	n = btf_members(t);
	for (unsigned int i = 0; i < btf_vlen(s); i++) {
		if (m[i].offset != n[i].offset ||
		    btf__resolve_size(a, m[i].type) != btf__resolve_size(b, n[i].type) ||
		    strcmp(btf__name_by_offset(a, m[i].name_off),
			   btf__name_by_offset(b, n[i].name_off)))
			return false;
	}
	return true;
}

bool bt_own_same_values(int fd, const struct btf *btf, __u32 type)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	struct btf *theirs;
	bool same;

	if (bpf_obj_get_info_by_fd(fd, &info, &len) || !info.btf_id)
		return false;
	theirs = btf__load_from_kernel_by_id(info.btf_id);
	same = theirs && same_struct(theirs, info.btf_value_type_id, btf, type);
	btf__free(theirs);
	return same;
}
