// SPDX-License-Identifier: GPL-2.0
/* Maps as iproute2's and libbpf's objects had them before BTF. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct old_map_def {
	unsigned int type, key_size, value_size, max_entries, map_flags;
};

struct old_map_def SEC("maps") counters = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = 4,
	.value_size = 8,
	.max_entries = 1,
};

SEC("classifier")
int count(struct __sk_buff *skb)
{
	__u32 key = 0;
	__u64 *val = bpf_map_lookup_elem(&counters, &key);

	if (val)
		*val += skb->len;
	return 0;
}

char _license[] SEC("license") = "GPL";
