// SPDX-License-Identifier: GPL-2.0
/*
 * A matcher whose offsets are configured, as in the u32 classifier: each rule compares a masked word at
 * some offset of the packet. Whether an offset lies below or above the transport header is known at run
 * time only, so there is no twin by addressing.
 */
/* expect: cg_refused audit=bypasses twin=refused:offset kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=25 */
#include "corpus.h"

#define CGR_RULES 8

struct cgr_rule {
	__u32 used;
	__u32 off;
	__be32 mask;
	__be32 value;
	__u64 hits;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CGR_RULES);
	__type(key, __u32);
	__type(value, struct cgr_rule);
} cgr_rules SEC(".maps");

SEC("cgroup_skb/egress")
int cg_refused(struct __sk_buff *skb)
{
	struct cgr_rule *rule;
	__be32 word;
	__u32 key;

	for (__u32 i = 0; i < CGR_RULES; i++) {
		key = i;
		rule = bpf_map_lookup_elem(&cgr_rules, &key);
		if (!rule || !rule->used)
			break;
		if (bpf_skb_load_bytes(skb, rule->off, &word, sizeof(word)))
			continue;
		if ((word & rule->mask) != rule->value)
			continue;
		__sync_fetch_and_add(&rule->hits, 1);
		return 0;
	}
	return 1;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	/* Mail over IPv6: the ports' word behind the fixed header. */
	struct cgr_rule rule = { .used = 1,
				 .off = sizeof(struct ipv6hdr),
				 .mask = bpf_htonl(0xffff),
				 .value = bpf_htonl(25) };
	__u32 zero = 0;

	return bpf_map_update_elem(&cgr_rules, &zero, &rule, BPF_ANY) ? TC_ACT_SHOT : TC_ACT_OK;
}
