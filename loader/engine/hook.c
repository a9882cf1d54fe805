// SPDX-License-Identifier: GPL-2.0
#include <stddef.h>

#include "engine/hook.h"

#define SKB(field) offsetof(struct __sk_buff, field)
#define XDP(field) offsetof(struct xdp_md, field)

static const struct hook hooks[] = {
	{ BPF_PROG_TYPE_SCHED_CLS, "tc", false, true, true, SKB(data), SKB(data_end),
	  SKB(data_meta), SKB(len), SKB(protocol) },
	{ BPF_PROG_TYPE_SCHED_ACT, "tc", false, true, true, SKB(data), SKB(data_end),
	  SKB(data_meta), SKB(len), SKB(protocol) },
	{ BPF_PROG_TYPE_XDP, "XDP", true, true, true, XDP(data), XDP(data_end), XDP(data_meta),
	  FIELD_NONE, FIELD_NONE },
	/* cg_skb_is_valid_access(), sk_filter_is_valid_access() */
	{ BPF_PROG_TYPE_CGROUP_SKB, "cgroup_skb", false, false, false, SKB(data), SKB(data_end),
	  FIELD_NONE, SKB(len), SKB(protocol) },
	{ BPF_PROG_TYPE_SOCKET_FILTER, "socket filter", false, false, true, FIELD_NONE, FIELD_NONE,
	  FIELD_NONE, SKB(len), SKB(protocol) },
};

const struct hook *hook_of(enum bpf_prog_type type)
{
	unsigned int n;

	for (n = 0; n < sizeof(hooks) / sizeof(hooks[0]); n++)
		if (hooks[n].type == type)
			return &hooks[n];
	return NULL;
}
