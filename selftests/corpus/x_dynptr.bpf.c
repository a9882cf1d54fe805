// SPDX-License-Identifier: GPL-2.0
/*
 * Marker on dynptrs, for packets in one buffer or in several: headers are read as slices, the traffic class
 * is written through a writable slice or with bpf_dynptr_write, and the packet's length is asked of the
 * dynptr's buffer.
 */
/* expect: x_dynptr audit=misreads twin=made kernel=6.12 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

extern int bpf_dynptr_from_xdp(struct xdp_md *xdp, __u64 flags, struct bpf_dynptr *ptr) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, __u32 offset, void *buffer,
			      __u32 buffer__szk) __ksym;
extern void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *ptr, __u32 offset, void *buffer,
				   __u32 buffer__szk) __ksym;

struct xdy_service {
	__u8 class;
	__u8 pad[7];
	__u64 packets;
	__u64 bytes;
};

/* By destination port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct xdy_service);
} xdy_services SEC(".maps");

static __always_inline bool xdy_class6(struct bpf_dynptr *ptr, __u8 class)
{
	__u8 buf[4], *head;

	head = bpf_dynptr_slice_rdwr(ptr, ETH_HLEN, buf, sizeof(buf));
	if (!head)
		return false;
	head[0] = (head[0] & 0xf0) | class >> 4;
	head[1] = (head[1] & 0x0f) | class << 4;
	if (head == buf)
		return !bpf_dynptr_write(ptr, ETH_HLEN, buf, sizeof(buf), 0);
	return true;
}

SEC("xdp.frags")
int x_dynptr(struct xdp_md *ctx)
{
	struct xdy_service *service;
	struct udphdr ports_buf;
	struct ipv6hdr ip6_buf;
	const struct udphdr *ports;
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	const struct ethhdr *eth;
	struct bpf_dynptr ptr;
	struct ethhdr eth_buf;
	__u32 l4_off;
	bool v6;
	__u16 port;
	__u8 proto;

	if (bpf_dynptr_from_xdp(ctx, 0, &ptr))
		return XDP_ABORTED;
	eth = bpf_dynptr_slice(&ptr, 0, &eth_buf, sizeof(eth_buf));
	if (!eth)
		return XDP_PASS;
	v6 = eth->h_proto == bpf_htons(ETH_P_IPV6);
	if (v6) {
		ip6 = bpf_dynptr_slice(&ptr, ETH_HLEN, &ip6_buf, sizeof(ip6_buf));
		if (!ip6)
			return XDP_PASS;
		proto = ip6->nexthdr;
		l4_off = ETH_HLEN + sizeof(*ip6);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		ip = bpf_dynptr_slice(&ptr, ETH_HLEN, &ip6_buf, sizeof(*ip));
		if (!ip || ip->ihl < 5)
			return XDP_PASS;
		proto = ip->protocol;
		l4_off = ETH_HLEN + ip->ihl * 4;
	} else {
		return XDP_PASS;
	}
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return XDP_PASS;
	ports = bpf_dynptr_slice(&ptr, l4_off, &ports_buf, sizeof(ports_buf));
	if (!ports)
		return XDP_PASS;
	port = bpf_ntohs(ports->dest);
	service = bpf_map_lookup_elem(&xdy_services, &port);
	if (!service)
		return XDP_PASS;
	__sync_fetch_and_add(&service->packets, 1);
	__sync_fetch_and_add(&service->bytes, bpf_xdp_get_buff_len(ctx) - l4_off);
	if (v6 && !xdy_class6(&ptr, service->class))
		return XDP_DROP;
	return XDP_PASS;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 443, 5201, 53 };
	long err = 0;

	for (__u8 i = 0; i < 3; i++) {
		struct xdy_service s = { .class = 0x28 + 0x10 * i };

		err |= bpf_map_update_elem(&xdy_services, &ports[i], &s, BPF_ANY);
	}
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
