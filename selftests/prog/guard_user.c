// SPDX-License-Identifier: GPL-2.0
/*
 * The guard's walk, the same source, as a function of this process: no test run makes a packet of more than
 * 64 KiB at tc that is no GSO packet.
 */
#include <linux/bpf.h>
#include <string.h>

#include "guard_model.h"

struct bytes {
	const __u8 *data;
	__u32 len;
};
typedef struct bytes guard_ctx;

static long guard_load(const struct bytes *b, __u32 off, void *to, __u32 len)
{
	if (off > b->len || len > b->len - off)
		return -1;
	memcpy(to, b->data + off, len);
	return 0;
}

#include "../../bpf/guard_walk.h"

static struct guard_walk walk;

static void *walk_map(void *map, const void *key)
{
	(void)key;
	return map == &guard_walk ? &walk : NULL;
}

static long loop(__u32 n, void *fn, void *arg, __u64 flags)
{
	long (*step)(__u32 i, struct guard_step * s) = fn;
	__u32 i;

	(void)flags;
	for (i = 0; i < n; i++) {
		if (step(i, arg))
			return i + 1;
	}
	return i;
}

__u32 guard_user(const struct guard_view *v, __u32 l3)
{
	struct bytes b = { .data = v->data, .len = v->len };
	struct guard_pkt pkt = {
		.len = v->len,
		.l3 = l3,
		.gso_size = v->gso_size,
		.gso = v->xdp || v->gso_size,
	};

	/* In BPF these are calls of helpers by number. */
	bpf_map_lookup_elem = walk_map;
	bpf_loop = loop;
	return guard_classify(&b, &pkt);
}
