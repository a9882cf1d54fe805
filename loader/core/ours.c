// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "../../bpf/observe.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/attach.h"
#include "core/guard_id.h"
#include "core/ours.h"
#include "core/pins.h"

struct search {
	__u64 netns;
	__u32 prog_id;
};

static int holds(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct search *s = arg;
	struct bt_attached at = {};

	return pin->netns == s->netns && bt_attached_read(pin, path, &at) &&
	       at.prog_id == s->prog_id;
}

static bool pinned(__u32 prog_id)
{
	int netns __close = bt_netns_self();
	struct search s = { .prog_id = prog_id };
	int dirfd __close = -1;

	if (netns < 0 || bt_netns_inode(netns, &s.netns))
		return false;
	dirfd = bt_pins_open(true);
	if (dirfd < 0) {
		bt_err_clear();
		return false;
	}
	return bt_pins_each(dirfd, holds, &s) == 1;
}

static bool has_map(int fd, const char *name)
{
	__u32 ids[8] = {}, len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.nr_map_ids = sizeof(ids) / sizeof(ids[0]),
		.map_ids = (__u64)(unsigned long)ids,
	};

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return false;
	for (__u32 i = 0; i < info.nr_map_ids && i < sizeof(ids) / sizeof(ids[0]); i++) {
		int map __close = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info m = {};

		len = sizeof(m);
		if (map >= 0 && !bpf_obj_get_info_by_fd(map, &m, &len) && !strcmp(m.name, name))
			return true;
	}
	return false;
}

enum bt_ours bt_ours(__u32 prog_id, int fd)
{
	if (bt_guard_is(prog_id))
		return BT_OURS_GUARD;
	if (has_map(fd, BIGTCP_OBSERVE_STATS) && pinned(prog_id))
		return BT_OURS_OBSERVER;
	return BT_OURS_NOT;
}
