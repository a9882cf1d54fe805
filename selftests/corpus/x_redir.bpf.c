// SPDX-License-Identifier: GPL-2.0
/*
 * Service redirection by TCP or UDP destination port: x_redir to the interface that the port's entry
 * names, x_redir_map through a device map, where an empty slot lets the packet pass, x_redir_cpu to
 * another CPU. What is not recognised goes its normal way.
 */
/* expect: x_redir audit=bypasses twin=made kernel=6.1 */
/* expect: x_redir_map audit=misreads twin=made kernel=6.1 */
/* expect: x_redir_cpu audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=5201 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

#define XRD_SLOTS 8

struct xrd_port {
	__u32 ifindex; /* x_redir */
	__u32 slot; /* x_redir_map */
	__u8 dmac[ETH_ALEN]; /* 0: as it is */
	__u16 pad;
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, struct xrd_port);
} xrd_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, XRD_SLOTS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} xrd_devs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, XRD_SLOTS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} xrd_cpus SEC(".maps");

/* What had no entry, by protocol. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} xrd_others SEC(".maps");

static __always_inline struct xrd_port *xrd_find(struct xdp_md *ctx, __u32 *proto)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct xrd_port *port;
	struct udphdr *ports;
	__u16 dport;

	if ((void *)(eth + 1) > end)
		return NULL;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return NULL;
		*proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return NULL;
		*proto = ip->protocol;
		ports = (void *)(ip + 1);
	} else {
		return NULL;
	}
	if (*proto != IPPROTO_TCP && *proto != IPPROTO_UDP)
		return NULL;
	if ((void *)(ports + 1) > end)
		return NULL;
	dport = bpf_ntohs(ports->dest);
	port = bpf_map_lookup_elem(&xrd_ports, &dport);
	if (!port)
		return NULL;
	__sync_fetch_and_add(&port->packets, 1);
	__sync_fetch_and_add(&port->bytes, end - data);
	if (port->dmac[0] | port->dmac[5])
		__builtin_memcpy(eth->h_dest, port->dmac, ETH_ALEN);
	return port;
}

static __always_inline int xrd_pass(__u32 proto)
{
	__u64 *n = bpf_map_lookup_elem(&xrd_others, &proto);

	if (n)
		(*n)++;
	return XDP_PASS;
}

SEC("xdp")
int x_redir(struct xdp_md *ctx)
{
	__u32 proto = 0;
	struct xrd_port *port = xrd_find(ctx, &proto);

	if (!port || !port->ifindex)
		return xrd_pass(proto);
	return bpf_redirect(port->ifindex, 0);
}

SEC("xdp")
int x_redir_map(struct xdp_md *ctx)
{
	__u32 proto = 0;
	struct xrd_port *port = xrd_find(ctx, &proto);

	if (!port)
		return xrd_pass(proto);
	return bpf_redirect_map(&xrd_devs, port->slot, XDP_PASS);
}

SEC("xdp")
int x_redir_cpu(struct xdp_md *ctx)
{
	__u32 proto = 0;
	struct xrd_port *port = xrd_find(ctx, &proto);

	if (!port)
		return xrd_pass(proto);
	return bpf_redirect_map(&xrd_cpus, port->slot, XDP_PASS);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 known[] = { 443, 5201, 8080, 8443 };
	long err = 0;

	for (__u32 i = 0; i < 4; i++) {
		struct xrd_port port = { .ifindex = i & 1, .slot = i };

		if (i == 2)
			__builtin_memcpy(port.dmac, (__u8[]){ 2, 0, 0, 0, 0x20, i }, ETH_ALEN);
		err |= bpf_map_update_elem(&xrd_ports, &known[i], &port, BPF_ANY);
	}
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
