// SPDX-License-Identifier: GPL-2.0
/*
 * Egress guard whose parsers are functions that the compiler may not inline: one gets a pointer to the
 * network header, one a pointer to the transport header, and one the context again.
 */
/* expect: cg_subprog audit=bypasses twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=25 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=25 */
#include "corpus.h"

/* Ports that no service may use, host byte order, and how often one tried. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u16);
	__type(value, __u64);
} cgs_refused SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} cgs_protos SEC(".maps");

static __noinline int cgs_proto6(struct ipv6hdr *ip6, void *end)
{
	if ((void *)(ip6 + 1) > end)
		return -1;
	return ip6->nexthdr;
}

static __noinline int cgs_proto4(struct iphdr *ip, void *end)
{
	if ((void *)(ip + 1) > end || ip->ihl != 5)
		return -1;
	return ip->protocol;
}

static __noinline int cgs_port(struct udphdr *ports, void *end)
{
	if ((void *)(ports + 1) > end)
		return -1;
	return bpf_ntohs(ports->dest);
}

static __noinline void cgs_count(struct __sk_buff *skb, __u32 proto)
{
	__u64 *n = bpf_map_lookup_elem(&cgs_protos, &proto);

	if (n)
		__sync_fetch_and_add(n, skb->len);
}

SEC("cgroup_skb/egress")
int cg_subprog(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	int proto, port;
	__u64 *n;
	__u16 key;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		proto = cgs_proto6(data, end);
		if (proto < 0)
			return 0;
		if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
			goto out;
		port = cgs_port(data + sizeof(struct ipv6hdr), end);
	} else {
		proto = cgs_proto4(data, end);
		if (proto < 0)
			return 0;
		if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
			goto out;
		port = cgs_port(data + sizeof(struct iphdr), end);
	}
	if (port < 0)
		return 0;
	key = port;
	n = bpf_map_lookup_elem(&cgs_refused, &key);
	if (n) {
		__sync_fetch_and_add(n, 1);
		return 0;
	}
out:
	cgs_count(skb, proto);
	return 1;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 25, 445, 1119 };
	__u64 zero = 0;
	long err = 0;

	for (int i = 0; i < 3; i++)
		err |= bpf_map_update_elem(&cgs_refused, &ports[i], &zero, BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
