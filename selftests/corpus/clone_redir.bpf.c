// SPDX-License-Identifier: GPL-2.0
/*
 * Port mirroring: a copy of each packet of the watched TCP ports is sent to the device of an
 * analyser (bpf_clone_redirect), the packet itself goes on. Without a device copies are only
 * counted, for a dry run.
 */
/* expect: clone_redir audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

struct mirror {
	__u32 ifindex; /* of the analyser; 0: dry run */
	__u32 errors;
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct mirror);
} mirrors SEC(".maps");

/* The analyser's device, for ports that have none of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} analyser SEC(".maps");

static __always_inline struct tcphdr *find_tcp(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct tcphdr *tcp;

	if ((void *)(eth + 1) > end)
		return NULL;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end || ip6->nexthdr != IPPROTO_TCP)
			return NULL;
		tcp = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->protocol != IPPROTO_TCP || ip->ihl < 5)
			return NULL;
		tcp = (void *)ip + ip->ihl * 4;
	} else {
		return NULL;
	}
	return (void *)(tcp + 1) > end ? NULL : tcp;
}

SEC("tc")
int clone_redir(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct tcphdr *tcp = find_tcp(data, end);
	__u32 zero = 0, ifindex, *dev;
	struct mirror *m;
	__u16 port;

	if (!tcp)
		return TC_ACT_OK;
	port = bpf_ntohs(tcp->dest);
	m = bpf_map_lookup_elem(&mirrors, &port);
	if (!m) {
		port = bpf_ntohs(tcp->source);
		m = bpf_map_lookup_elem(&mirrors, &port);
		if (!m)
			return TC_ACT_OK;
	}
	__sync_fetch_and_add(&m->packets, 1);
	__sync_fetch_and_add(&m->bytes, skb->len);

	ifindex = m->ifindex;
	dev = bpf_map_lookup_elem(&analyser, &zero);
	if (!ifindex && dev)
		ifindex = *dev;
	if (ifindex && bpf_clone_redirect(skb, ifindex, 0))
		__sync_fetch_and_add(&m->errors, 1);
	return TC_ACT_OK;
}

/* Watches iperf3's port and two more, as a dry run. */
SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	struct mirror m = {};
	__u16 port;

	port = 5201;
	bpf_map_update_elem(&mirrors, &port, &m, BPF_ANY);
	port = 8443;
	bpf_map_update_elem(&mirrors, &port, &m, BPF_ANY);
	port = 443;
	bpf_map_update_elem(&mirrors, &port, &m, BPF_ANY);
	return TC_ACT_OK;
}
