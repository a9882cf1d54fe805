// SPDX-License-Identifier: GPL-2.0
#include "core/twintype.h"
#include "base/cleanup.h"

#include <bigtcp/twin.h>

#include <bpf/bpf.h>
#include <string.h>

/* Newer than linux-libc-dev 6.1. */
#define TYPE_NETFILTER 32 /* 6.4 */

static const char kernel_memory[] = "what it reads of packets it reads in the kernel's own memory, "
				    "which is what it is";
static const char no_packets[] = "it sees no packets";
static const char payload[] = "it sees what is in packets above TCP, and no headers";

/* What the context of each type leads to: include/linux/bpf_types.h, net/core/filter.c. */
static const struct bt_twin_type types[] = {
	[BPF_PROG_TYPE_SOCKET_FILTER] = { "socket filter", NULL, 4 },
	[BPF_PROG_TYPE_KPROBE] = { "kprobe", kernel_memory },
	[BPF_PROG_TYPE_SCHED_CLS] = { "tc", NULL, 1 },
	[BPF_PROG_TYPE_SCHED_ACT] = { "tc", NULL, 1 },
	[BPF_PROG_TYPE_TRACEPOINT] = { "tracepoint", kernel_memory },
	[BPF_PROG_TYPE_XDP] = { "XDP", NULL, 2 },
	[BPF_PROG_TYPE_PERF_EVENT] = { "perf event", kernel_memory },
	[BPF_PROG_TYPE_CGROUP_SKB] = { "cgroup_skb", NULL, 3 },
	[BPF_PROG_TYPE_CGROUP_SOCK] = { "cgroup socket", no_packets },
	[BPF_PROG_TYPE_LWT_IN] = { "lwt_in", NULL },
	[BPF_PROG_TYPE_LWT_OUT] = { "lwt_out", NULL },
	[BPF_PROG_TYPE_LWT_XMIT] = { "lwt_xmit", NULL },
	[BPF_PROG_TYPE_SOCK_OPS] = { "sock_ops",
				     "of packets it sees the TCP header at most, where it stands" },
	[BPF_PROG_TYPE_SK_SKB] = { "sk_skb", payload },
	[BPF_PROG_TYPE_CGROUP_DEVICE] = { "cgroup device", no_packets },
	[BPF_PROG_TYPE_SK_MSG] = { "sk_msg", payload },
	[BPF_PROG_TYPE_RAW_TRACEPOINT] = { "raw tracepoint", kernel_memory },
	[BPF_PROG_TYPE_CGROUP_SOCK_ADDR] = { "cgroup socket address", no_packets },
	[BPF_PROG_TYPE_LWT_SEG6LOCAL] = { "lwt_seg6local", NULL },
	[BPF_PROG_TYPE_LIRC_MODE2] = { "lirc", no_packets },
	[BPF_PROG_TYPE_SK_REUSEPORT] = { "sk_reuseport",
					 "it chooses the socket for a connection's first packet, which "
					 "is never a jumbo one" },
	[BPF_PROG_TYPE_FLOW_DISSECTOR] = { "flow dissector", NULL },
	[BPF_PROG_TYPE_CGROUP_SYSCTL] = { "cgroup sysctl", no_packets },
	[BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE] = { "raw tracepoint", kernel_memory },
	[BPF_PROG_TYPE_CGROUP_SOCKOPT] = { "cgroup socket option", no_packets },
	[BPF_PROG_TYPE_TRACING] = { "tracing", kernel_memory },
	[BPF_PROG_TYPE_STRUCT_OPS] = { "struct_ops", kernel_memory },
	[BPF_PROG_TYPE_EXT] = { "freplace", "the program it goes into has no jumbo packets" },
	[BPF_PROG_TYPE_LSM] = { "LSM", kernel_memory },
	[BPF_PROG_TYPE_SK_LOOKUP] = { "sk_lookup",
				      "it sees a connection's addresses and ports, never a packet" },
	[BPF_PROG_TYPE_SYSCALL] = { "syscall", no_packets },
	[TYPE_NETFILTER] = { "netfilter", NULL },
};

const struct bt_twin_type *bt_twin_type(enum bpf_prog_type type)
{
	static const struct bt_twin_type unknown = { "new type of" };

	if ((unsigned int)type >= sizeof(types) / sizeof(types[0]) || !types[type].name)
		return &unknown;
	return &types[type];
}

bool bt_twin_type_has(enum bpf_prog_type type)
{
	return bt_twin_type(type)->group;
}

enum bpf_prog_type bt_twin_type_of(enum bpf_prog_type type, int attach_prog_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (type != BPF_PROG_TYPE_EXT || bpf_obj_get_info_by_fd(attach_prog_fd, &info, &len))
		return type;
	return bt_twin_type(info.type)->unaffected ? type : info.type;
}

static bool is_state_map(__u32 id)
{
	int fd __close = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       !strcmp(info.name, BIGTCP_TWIN_STATE_NAME);
}

bool bt_is_twin(int prog_fd)
{
	__u32 ids[64]; /* the most that a program has (MAX_USED_MAPS) */
	struct bpf_prog_info info = {
		.nr_map_ids = sizeof(ids) / sizeof(ids[0]),
		.map_ids = (__u64)(unsigned long)ids,
	};
	__u32 len = sizeof(info), n;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return false;
	for (n = 0; n < info.nr_map_ids && n < sizeof(ids) / sizeof(ids[0]); n++) {
		if (is_state_map(ids[n]))
			return true;
	}
	return false;
}
