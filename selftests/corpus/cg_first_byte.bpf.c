// SPDX-License-Identifier: GPL-2.0
/*
 * cg_var_ihl.bpf.c by copies, with the family taken from the packet's first byte.
 */
/* expect: cg_first_byte audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

struct cgf_count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct cgf_count);
} cgf_open SEC(".maps");

static __always_inline int cgf_policy(__be16 sport, __be16 dport, __u32 bytes)
{
	__u16 key = bpf_ntohs(dport);
	struct cgf_count *c = bpf_map_lookup_elem(&cgf_open, &key);

	if (!c) {
		key = bpf_ntohs(sport);
		c = bpf_map_lookup_elem(&cgf_open, &key);
	}
	if (!c)
		return 0;
	__sync_fetch_and_add(&c->packets, 1);
	__sync_fetch_and_add(&c->bytes, bytes);
	return 1;
}

SEC("cgroup_skb/ingress")
int cg_first_byte(struct __sk_buff *skb)
{
	__be16 ports[2];
	__u8 first, proto;
	__u32 l4_off;

	if (bpf_skb_load_bytes(skb, 0, &first, 1))
		return 0;
	if (first >> 4 == 6) {
		if (bpf_skb_load_bytes(skb, offsetof(struct ipv6hdr, nexthdr), &proto, 1))
			return 0;
		l4_off = sizeof(struct ipv6hdr);
	} else {
		if (bpf_skb_load_bytes(skb, offsetof(struct iphdr, protocol), &proto, 1))
			return 0;
		l4_off = (first & 0xf) * 4;
	}
	if (proto == IPPROTO_ICMPV6 || proto == IPPROTO_ICMP)
		return 1;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return 0;
	if (bpf_skb_load_bytes(skb, l4_off, ports, sizeof(ports)))
		return 0;
	return cgf_policy(ports[0], ports[1], skb->len - l4_off);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 22, 443, 5201, 8443 };
	struct cgf_count none = {};
	long err = 0;

	for (int i = 0; i < 4; i++)
		err |= bpf_map_update_elem(&cgf_open, &ports[i], &none, BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
