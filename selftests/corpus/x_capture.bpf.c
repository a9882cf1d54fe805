// SPDX-License-Identifier: GPL-2.0
/*
 * Packet capture in front of the stack: packets of the ports that are configured go into the perf
 * event array, a header first and then the packet's first bytes, which the helper appends.
 */
/* expect: x_capture audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define XCA_SNAPLEN 256u

struct xca_hdr {
	__u64 time;
	__u32 ifindex;
	__u32 queue;
	__u32 len;
	__u32 caplen;
	__u16 sport;
	__u16 dport;
	__u8 proto;
	__u8 pad[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 256);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} xca_events SEC(".maps");

/* Ports to capture, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u8);
} xca_wanted SEC(".maps");

/* Packets seen and captured, bytes of those. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} xca_stats SEC(".maps");

static __always_inline void xca_add(__u32 key, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(&xca_stats, &key);

	if (v)
		__sync_fetch_and_add(v, n);
}

static __always_inline int xca_dissect(void *data, void *end, struct xca_hdr *h)
{
	struct ethhdr *eth = data;
	struct udphdr *ports;

	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		h->proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return -1;
		h->proto = ip->protocol;
		ports = (void *)ip + ip->ihl * 4;
	} else {
		return -1;
	}
	if ((h->proto != IPPROTO_TCP && h->proto != IPPROTO_UDP) || (void *)(ports + 1) > end)
		return -1;
	h->sport = bpf_ntohs(ports->source);
	h->dport = bpf_ntohs(ports->dest);
	return 0;
}

SEC("xdp")
int x_capture(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct xca_hdr h = {};

	xca_add(0, 1);
	if (xca_dissect(data, end, &h))
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&xca_wanted, &h.dport) &&
	    !bpf_map_lookup_elem(&xca_wanted, &h.sport))
		return XDP_PASS;
	h.time = bt_now();
	h.ifindex = ctx->ingress_ifindex;
	h.queue = ctx->rx_queue_index;
	h.len = end - data;
	h.caplen = h.len < XCA_SNAPLEN ? h.len : XCA_SNAPLEN;
	xca_add(1, 1);
	xca_add(2, h.len);
	bpf_perf_event_output(ctx, &xca_events, BPF_F_CURRENT_CPU | (__u64)h.caplen << 32, &h,
			      sizeof(h));
	return XDP_PASS;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 5201, 443, 8443 };
	__u8 on = 1;

	for (int i = 0; i < 3; i++)
		bpf_map_update_elem(&xca_wanted, &ports[i], &on, BPF_ANY);
	return TC_ACT_OK;
}
