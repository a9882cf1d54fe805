// SPDX-License-Identifier: GPL-2.0
/*
 * The tc half of a classifier whose XDP half leaves its result in front of the packet
 * (bpf_xdp_adjust_meta). Packets without metadata, as on devices without XDP, are classified
 * here. The class goes into skb->mark and skb->priority.
 */
/* expect: meta_user audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define META_MAGIC 0x6d657461u

struct meta {
	__u32 magic;
	__u16 class;
	__u16 flags;
};

enum class {
	CLASS_OTHER,
	CLASS_BULK,
	CLASS_INTERACTIVE,
	CLASS_CONTROL,
	CLASS_MAX,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CLASS_MAX * 2);
	__type(key, __u32);
	__type(value, __u64);
} class_packets SEC(".maps");

static __always_inline __u32 class_of_port(__be16 port)
{
	switch (bpf_ntohs(port)) {
	case 22:
	case 3389:
		return CLASS_INTERACTIVE;
	case 179:
	case 53:
		return CLASS_CONTROL;
	case 80:
	case 443:
	case 5201:
		return CLASS_BULK;
	}
	return CLASS_OTHER;
}

static __always_inline __u32 classify(void *data, void *end)
{
	struct ethhdr *eth = data;
	__u32 class;
	__be16 *ports;
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return CLASS_OTHER;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return CLASS_OTHER;
		proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return CLASS_OTHER;
		proto = ip->protocol;
		ports = (void *)(ip + 1);
	} else {
		return CLASS_CONTROL; /* ARP, LLDP ... */
	}
	if (proto == IPPROTO_ICMPV6 || proto == IPPROTO_ICMP)
		return CLASS_CONTROL;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return CLASS_OTHER;
	if ((void *)(ports + 2) > end)
		return CLASS_OTHER;
	class = class_of_port(ports[1]);
	return class ? class : class_of_port(ports[0]);
}

SEC("tc")
int meta_user(struct __sk_buff *skb)
{
	void *data_meta = (void *)(long)skb->data_meta;
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct meta *meta = data_meta;
	bool from_xdp = false;
	__u32 class, key;
	__u64 *n;

	if ((void *)(meta + 1) <= data && meta->magic == META_MAGIC) {
		class = meta->class;
		from_xdp = true;
	} else {
		class = classify(data, end);
	}
	if (class >= CLASS_MAX)
		class = CLASS_OTHER;

	key = class * 2 + from_xdp;
	n = bpf_map_lookup_elem(&class_packets, &key);
	if (n)
		(*n)++;
	skb->mark = class;
	skb->priority = class == CLASS_CONTROL ? 7 : class == CLASS_INTERACTIVE ? 6 : 0;
	return TC_ACT_OK;
}
