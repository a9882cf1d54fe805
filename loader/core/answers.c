// SPDX-License-Identifier: GPL-2.0
#include "core/answers.h"
#include "core/kbtf.h"

#include <bpf/bpf.h>
#include <errno.h>

static int kfunc_name(void *arg, __s32 imm, __s16 off, char *buf, size_t len)
{
	const struct bt_answers *a = arg;

	return bt_kfunc_name(imm, off, a->fd_array, buf, len);
}

static __s32 kfunc_id(void *arg, const char *name)
{
	(void)arg;
	return bt_kfunc_id(name);
}

static int const_value(void *arg, int fd, __u32 off, __u32 size, __u64 *val)
{
	struct bt_answers *a = arg;

	return bt_romap_read(&a->ro, fd, off, size, val);
}

static int map_sizes(void *arg, int fd, __u32 *key, __u32 *value)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	(void)arg;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	*key = info.key_size;
	*value = info.value_size;
	return 0;
}

void bt_answers_give(struct bt_answers *a, struct bigtcp_twin_opts *o)
{
	o->arg = a;
	o->kfunc_name = kfunc_name;
	o->kfunc_id = kfunc_id;
	o->const_value = const_value;
	o->map_sizes = map_sizes;
}

void bt_answers_free(struct bt_answers *a)
{
	bt_romaps_free(&a->ro);
}
