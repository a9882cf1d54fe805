// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "../../bpf/observe.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/attach.h"
#include "core/guard_id.h"
#include "core/ours.h"
#include "core/pins.h"

static int is_it(const struct bt_attached *at, const char *dev, void *arg)
{
	(void)dev;
	return at->prog_id == *(const __u32 *)arg;
}

static bool observer_at(__u32 prog_id, const char *dev)
{
	int found = bt_attached_each(dev, BT_PIN_OBSERVE, is_it, &prog_id);

	if (found < 0)
		bt_err_clear();
	return found == 1;
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

enum bt_ours bt_ours(__u32 prog_id, const char *dev, int fd)
{
	if (bt_guard_is(prog_id, dev))
		return BT_OURS_GUARD;
	if (has_map(fd, BIGTCP_OBSERVE_STATS) && observer_at(prog_id, dev))
		return BT_OURS_OBSERVER;
	return BT_OURS_NOT;
}
