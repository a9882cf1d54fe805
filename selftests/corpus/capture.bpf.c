// SPDX-License-Identifier: GPL-2.0
/*
 * Packet capture for a user space reader: packets of the ports that are configured go into the
 * perf event array, a header first and then the packet's first bytes, which the helper appends.
 */
/* expect: capture audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define SNAPLEN 256u

struct capture_hdr {
	__u64 time;
	__u32 ifindex;
	__u32 len; /* of the packet on the wire */
	__u32 caplen;
	__u16 l4_off;
	__u16 sport;
	__u16 dport;
	__u8 proto;
	__u8 direction;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 256);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} events SEC(".maps");

/* Ports to capture, host byte order; port 0 stands for packets without ports. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u8);
} wanted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} stats SEC(".maps");

enum {
	STAT_SEEN,
	STAT_MATCHED,
	STAT_BYTES,
};

static __always_inline void add(__u32 key, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(&stats, &key);

	if (v)
		__sync_fetch_and_add(v, n);
}

static __always_inline int dissect(struct __sk_buff *skb, struct capture_hdr *h)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__be16 *ports;

	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		h->proto = ip6->nexthdr;
		h->l4_off = sizeof(*eth) + sizeof(*ip6);
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return -1;
		h->proto = ip->protocol;
		h->l4_off = sizeof(*eth) + ip->ihl * 4;
		ports = (void *)ip + ip->ihl * 4;
	} else {
		return -1;
	}

	switch (h->proto) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		if ((void *)(ports + 2) > end)
			return -1;
		h->sport = bpf_ntohs(ports[0]);
		h->dport = bpf_ntohs(ports[1]);
	}
	return 0;
}

SEC("tc")
int capture(struct __sk_buff *skb)
{
	struct capture_hdr h = {};
	__u64 flags;

	add(STAT_SEEN, 1);
	if (dissect(skb, &h))
		return TC_ACT_OK;
	if (!bpf_map_lookup_elem(&wanted, &h.dport) && !bpf_map_lookup_elem(&wanted, &h.sport))
		return TC_ACT_OK;

	h.time = bt_now();
	h.ifindex = skb->ifindex;
	h.direction = skb->ingress_ifindex ? 1 : 2;
	h.len = skb->len;
	h.caplen = h.len < SNAPLEN ? h.len : SNAPLEN;
	add(STAT_MATCHED, 1);
	add(STAT_BYTES, h.len);

	flags = BPF_F_CURRENT_CPU | (__u64)h.caplen << 32;
	bpf_perf_event_output(skb, &events, flags, &h, sizeof(h));
	return TC_ACT_OK;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	__u16 ports[] = { 5201, 443, 8443 };
	__u8 on = 1;

	for (int i = 0; i < 3; i++)
		bpf_map_update_elem(&wanted, &ports[i], &on, BPF_ANY);
	return TC_ACT_OK;
}
