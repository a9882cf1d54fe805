// SPDX-License-Identifier: GPL-2.0
#include "core/audit_kind.h"

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stddef.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct ret {
	const char *name;
	enum bt_fate fate;
};

static const struct ret tc[] = {
	[TC_ACT_OK] = { "pass", BT_FATE_PASSED },
	[TC_ACT_RECLASSIFY] = { "reclassify", BT_FATE_PASSED },
	[TC_ACT_SHOT] = { "drop", BT_FATE_LOST },
	[TC_ACT_PIPE] = { "continue", BT_FATE_PASSED },
	[TC_ACT_STOLEN] = { "stolen", BT_FATE_LOST },
	[TC_ACT_QUEUED] = { "queued", BT_FATE_LOST },
	[TC_ACT_REPEAT] = { "repeat", BT_FATE_OTHER },
	[TC_ACT_REDIRECT] = { "redirect", BT_FATE_SENT },
	[TC_ACT_TRAP] = { "trap", BT_FATE_LOST },
};

static const struct ret xdp[] = {
	[XDP_ABORTED] = { "aborted", BT_FATE_LOST },   [XDP_DROP] = { "drop", BT_FATE_LOST },
	[XDP_PASS] = { "pass", BT_FATE_PASSED },       [XDP_TX] = { "tx", BT_FATE_SENT },
	[XDP_REDIRECT] = { "redirect", BT_FATE_SENT },
};

/* Bit 1, at egress: tell the sender of congestion. */
static const struct ret cgroup[] = {
	{ "drop", BT_FATE_LOST },
	{ "pass", BT_FATE_PASSED },
	{ "drop, congested", BT_FATE_LOST },
	{ "pass, congested", BT_FATE_PASSED },
};

static const struct ret *lookup(enum bt_kind kind, __u32 ret)
{
	static const struct ret next = { "next", BT_FATE_PASSED };
	static const struct ret tc_odd = { "unknown", BT_FATE_OTHER };
	/* The kernel warns, and drops the packet. */
	static const struct ret xdp_odd = { "unknown", BT_FATE_LOST };
	static const struct ret nothing = { "drop", BT_FATE_LOST };
	static const struct ret all = { "keep", BT_FATE_PASSED };
	static const struct ret part = { "cut", BT_FATE_OTHER };

	switch (kind) {
	case BT_KIND_XDP:
		return ret < COUNT(xdp) ? &xdp[ret] : &xdp_odd;
	case BT_KIND_CGROUP:
		return &cgroup[ret & 3];
	case BT_KIND_SOCKET:
		return !ret ? &nothing : ret == BT_KEEP_ALL ? &all : &part;
	default:
		if (ret == (__u32)TC_ACT_UNSPEC)
			return &next;
		return ret < COUNT(tc) && tc[ret].name ? &tc[ret] : &tc_odd;
	}
}

enum bt_kind bt_kind_of(__u32 prog_type)
{
	switch (prog_type) {
	case BPF_PROG_TYPE_SCHED_CLS:
	case BPF_PROG_TYPE_SCHED_ACT:
		return BT_KIND_TC;
	case BPF_PROG_TYPE_XDP:
		return BT_KIND_XDP;
	case BPF_PROG_TYPE_CGROUP_SKB:
		return BT_KIND_CGROUP;
	case BPF_PROG_TYPE_SOCKET_FILTER:
		return BT_KIND_SOCKET;
	case BPF_PROG_TYPE_SK_LOOKUP:
		return BT_KIND_LOOKUP;
	}
	return BT_KIND_NONE;
}

enum bt_fate bt_ret_fate(enum bt_kind kind, __u32 ret)
{
	return lookup(kind, ret)->fate;
}

const char *bt_ret_name(enum bt_kind kind, __u32 ret)
{
	return lookup(kind, ret)->name;
}

bool bt_ret_redirects(enum bt_kind kind, __u32 ret)
{
	return (kind == BT_KIND_TC && ret == TC_ACT_REDIRECT) ||
	       (kind == BT_KIND_XDP && ret == XDP_REDIRECT);
}

__u32 bt_ret_of_run(enum bt_kind kind, __u32 ret, __u32 len)
{
	return kind == BT_KIND_SOCKET && ret >= len ? BT_KEEP_ALL : ret;
}
