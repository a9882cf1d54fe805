// SPDX-License-Identifier: GPL-2.0
/*
 * Counts by TCP or UDP source port on a device without link-layer header, as a program does that knows where
 * it is attached: it looks at no version field and at no next header.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define ETH_P_IPV6 0x86dd

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u16);
	__type(value, __u64);
} ports SEC(".maps");

SEC("tc")
int l3_ports(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	__u64 one = 1, *v;
	__u16 port;

	if (skb->protocol != bpf_htons(ETH_P_IPV6) || data + 60 > (void *)(long)skb->data_end)
		return TC_ACT_OK;
	port = bpf_ntohs(*(__be16 *)(data + 40));
	if (port == 23)
		return TC_ACT_SHOT;
	v = bpf_map_lookup_elem(&ports, &port);
	if (v)
		__sync_fetch_and_add(v, 1);
	else
		bpf_map_update_elem(&ports, &port, &one, BPF_ANY);
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
