// SPDX-License-Identifier: GPL-2.0
#include "core/audit_parts.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>

/* Is the program behind a tracing link one that replaces another program's function? */
static bool is_ext(__u32 id)
{
	int fd __close = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       info.type == BPF_PROG_TYPE_EXT;
}

int bt_parts_list(struct bt_part **parts, unsigned int *n)
{
	struct bt_part *v __free = NULL, *more;
	unsigned int found = 0;
	__u32 id = 0;

	while (!bpf_link_get_next_id(id, &id)) {
		int fd __close = bpf_link_get_fd_by_id(id);
		struct bpf_link_info info = {};
		__u32 len = sizeof(info);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ||
		    info.type != BPF_LINK_TYPE_TRACING || !is_ext(info.prog_id))
			continue;
		more = realloc(v, (found + 1) * sizeof(*v));
		if (!more)
			return -ENOMEM;
		v = more;
		v[found++] = (struct bt_part){ info.tracing.target_obj_id, info.prog_id };
	}
	if (errno != ENOENT)
		return -errno;
	*parts = TAKE_PTR(v);
	*n = found;
	return 0;
}
