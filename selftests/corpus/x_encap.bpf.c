// SPDX-License-Identifier: GPL-2.0
/*
 * The load balancer that tunnels: a packet to a service port gets another IPv6 header in front (IP in IP)
 * with the address of a real server, and leaves through the device it came from. A jumbo packet has no form
 * in a tunnel: its twin has to drop and count it.
 */
/* expect: x_encap audit=bypasses twin=made kernel=6.1 */
/* loses: x_encap */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

struct xen_real {
	struct in6_addr addr;
	__u8 mac[ETH_ALEN];
	__u16 pad;
	__u64 packets;
	__u64 bytes;
};

/* By destination port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct xen_real);
} xen_reals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct in6_addr);
} xen_own SEC(".maps");

static __always_inline struct xen_real *xen_find(void *data, void *end, __u8 *inner)
{
	struct ethhdr *eth = data;
	struct udphdr *ports;
	__u16 port;
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return NULL;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return NULL;
		proto = ip6->nexthdr;
		*inner = IPPROTO_IPV6;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return NULL;
		proto = ip->protocol;
		*inner = IPPROTO_IPIP;
		ports = (void *)(ip + 1);
	} else {
		return NULL;
	}
	if (proto != IPPROTO_TCP || (void *)(ports + 1) > end)
		return NULL;
	port = bpf_ntohs(ports->dest);
	return bpf_map_lookup_elem(&xen_reals, &port);
}

SEC("xdp")
int x_encap(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u32 len = end - data, zero = 0;
	struct ethhdr *eth, old;
	struct in6_addr *own;
	struct xen_real *real;
	struct ipv6hdr *outer;
	__u8 inner;

	real = xen_find(data, end, &inner);
	own = bpf_map_lookup_elem(&xen_own, &zero);
	if (!real || !own || data + sizeof(old) > end)
		return XDP_PASS;
	old = *(struct ethhdr *)data;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*outer)))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	eth = data;
	outer = (void *)(eth + 1);
	if ((void *)(outer + 1) > end)
		return XDP_DROP;
	__builtin_memcpy(eth->h_dest, real->mac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, old.h_dest, ETH_ALEN);
	eth->h_proto = bpf_htons(ETH_P_IPV6);
	__builtin_memset(outer, 0, sizeof(*outer));
	outer->version = 6;
	outer->payload_len = bpf_htons(len - ETH_HLEN);
	outer->nexthdr = inner;
	outer->hop_limit = 64;
	outer->saddr = *own;
	outer->daddr = real->addr;
	__sync_fetch_and_add(&real->packets, 1);
	__sync_fetch_and_add(&real->bytes, len);
	return XDP_TX;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 443, 8443 };
	struct in6_addr own = {};
	__u32 zero = 0;
	long err;

	own.s6_addr32[0] = bpf_htonl(0x20010db8);
	own.s6_addr32[3] = bpf_htonl(0xfe);
	err = bpf_map_update_elem(&xen_own, &zero, &own, BPF_ANY);
	for (int i = 0; i < 2; i++) {
		struct xen_real real = { .mac = { 2, 0, 0, 0, 0x40, i } };

		real.addr.s6_addr32[0] = bpf_htonl(0x20010db8);
		real.addr.s6_addr32[1] = bpf_htonl(0x30000);
		real.addr.s6_addr32[3] = bpf_htonl(i + 1);
		err |= bpf_map_update_elem(&xen_reals, &ports[i], &real, BPF_ANY);
	}
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
