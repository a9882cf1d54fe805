// SPDX-License-Identifier: GPL-2.0
/* Needs the kernel's BTF (CO-RE), and a map that is pinned by its name. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct sk_buff {
	unsigned int mark;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} bt_by_name SEC(".maps");

SEC("tc")
int core(struct __sk_buff *skb)
{
	__u32 key = 0;
	__u64 *val = bpf_map_lookup_elem(&bt_by_name, &key);

	if (val)
		*val = bpf_core_field_offset(struct sk_buff, mark) + skb->len;
	return -1;
}

char _license[] SEC("license") = "GPL";
