// SPDX-License-Identifier: GPL-2.0
/*
 * Egress policy of a service: the longest prefix that holds the destination names a zone, and a zone has a
 * set of TCP and UDP ports. What is in a zone and not in its set is refused; addresses in no zone are allowed.
 */
/* expect: cg_policy audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=25 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

struct cgp_prefix {
	__u32 bits;
	__u8 addr[16]; /* IPv4 as ::ffff:a.b.c.d */
};

struct cgp_port {
	__u32 zone;
	__u16 port; /* host byte order */
	__u8 proto;
	__u8 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct cgp_prefix);
	__type(value, __u32);
} cgp_zones SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct cgp_port);
	__type(value, __u8);
} cgp_ports SEC(".maps");

/* By verdict: allowed, refused; bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} cgp_bytes SEC(".maps");

static __always_inline int cgp_end(struct __sk_buff *skb, __u32 refused)
{
	__u64 *n = bpf_map_lookup_elem(&cgp_bytes, &refused);

	if (n)
		*n += skb->len;
	return !refused;
}

SEC("cgroup_skb/egress")
int cg_policy(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct cgp_prefix prefix = { .bits = 128 };
	struct cgp_port key = {};
	struct udphdr *ports;
	__u32 *zone;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = data;

		if ((void *)(ip6 + 1) > end)
			return cgp_end(skb, 1);
		__builtin_memcpy(prefix.addr, &ip6->daddr, 16);
		key.proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else {
		struct iphdr *ip = data;

		if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5)
			return cgp_end(skb, 1);
		prefix.addr[10] = prefix.addr[11] = 0xff;
		__builtin_memcpy(prefix.addr + 12, &ip->daddr, 4);
		key.proto = ip->protocol;
		ports = (void *)(ip + 1);
	}
	zone = bpf_map_lookup_elem(&cgp_zones, &prefix);
	if (!zone)
		return cgp_end(skb, 0);
	key.zone = *zone;
	if (key.proto == IPPROTO_TCP || key.proto == IPPROTO_UDP) {
		if ((void *)(ports + 1) > end)
			return cgp_end(skb, 1);
		key.port = bpf_ntohs(ports->dest);
	}
	return cgp_end(skb, !bpf_map_lookup_elem(&cgp_ports, &key));
}

static __always_inline long cgp_allow(__u32 zone, __u8 proto, __u16 port)
{
	struct cgp_port key = { .zone = zone, .proto = proto, .port = port };
	__u8 on = 1;

	return bpf_map_update_elem(&cgp_ports, &key, &on, BPF_ANY);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	struct cgp_prefix net = { .bits = 48, .addr = { 0x20, 1, 0x0d, 0xb8, 0, 2 } };
	__u32 zone = 1;
	long err;

	err = bpf_map_update_elem(&cgp_zones, &net, &zone, BPF_ANY);
	zone = 2;
	net = (struct cgp_prefix){ .bits = 120, .addr = { [10] = 0xff, 0xff, 198, 51, 100 } };
	err |= bpf_map_update_elem(&cgp_zones, &net, &zone, BPF_ANY);
	for (__u32 i = 1; i < 3; i++) {
		err |= cgp_allow(i, IPPROTO_TCP, 443);
		err |= cgp_allow(i, IPPROTO_TCP, 5201);
		err |= cgp_allow(i, IPPROTO_UDP, 53);
		err |= cgp_allow(i, IPPROTO_ICMP, 0);
		err |= cgp_allow(i, IPPROTO_ICMPV6, 0);
	}
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
