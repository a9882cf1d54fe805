// SPDX-License-Identifier: GPL-2.0
/*
 * VLANs by service: x_vlan_push puts packets of a configured TCP or UDP port into that port's VLAN,
 * x_vlan_pop takes the tag away from those that have the right one, and drops a tagged packet whose VLAN
 * does not belong to its port.
 */
/* expect: x_vlan_push audit=misreads twin=made kernel=6.1 */
/* expect: x_vlan_pop audit=unknown twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

struct xvl_hdr {
	__be16 tci;
	__be16 proto;
};

/* Port (host byte order) to VLAN. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u16);
} xvl_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} xvl_stats SEC(".maps");

enum {
	XVL_CHANGED,
	XVL_OTHER,
	XVL_WRONG,
	XVL_FAILED,
};

static __always_inline int xvl_end(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&xvl_stats, &what);

	if (n)
		__sync_fetch_and_add(n, 1);
	return what == XVL_WRONG || what == XVL_FAILED ? XDP_DROP : XDP_PASS;
}

/* VLAN of the lower of the packet's ports that has one, or 0. */
static __always_inline __u16 xvl_of(void *l3, void *end, __be16 type)
{
	struct udphdr *ports;
	__u16 port, *vlan;
	__u8 proto;

	if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = l3;

		if ((void *)(ip6 + 1) > end)
			return 0;
		proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = l3;

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return 0;
		proto = ip->protocol;
		ports = (void *)(ip + 1);
	} else {
		return 0;
	}
	if ((proto != IPPROTO_TCP && proto != IPPROTO_UDP) || (void *)(ports + 1) > end)
		return 0;
	port = bpf_ntohs(ports->dest);
	vlan = bpf_map_lookup_elem(&xvl_ports, &port);
	if (vlan)
		return *vlan;
	port = bpf_ntohs(ports->source);
	vlan = bpf_map_lookup_elem(&xvl_ports, &port);
	return vlan ? *vlan : 0;
}

SEC("xdp")
int x_vlan_push(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data, old;
	struct xvl_hdr *tag;
	__u16 vlan;

	if ((void *)(eth + 1) > end)
		return xvl_end(XVL_OTHER);
	vlan = xvl_of(eth + 1, end, eth->h_proto);
	if (!vlan)
		return xvl_end(XVL_OTHER);
	old = *eth;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*tag)))
		return xvl_end(XVL_FAILED);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	eth = data;
	tag = (void *)(eth + 1);
	if ((void *)(tag + 1) > end)
		return xvl_end(XVL_FAILED);
	__builtin_memcpy(eth, &old, 2 * ETH_ALEN);
	eth->h_proto = bpf_htons(ETH_P_8021Q);
	tag->tci = bpf_htons(vlan);
	tag->proto = old.h_proto;
	return xvl_end(XVL_CHANGED);
}

SEC("xdp")
int x_vlan_pop(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data, old;
	struct xvl_hdr *tag = (void *)(eth + 1);
	__be16 type;
	__u16 vlan;

	if ((void *)(tag + 1) > end || eth->h_proto != bpf_htons(ETH_P_8021Q))
		return xvl_end(XVL_OTHER);
	type = tag->proto;
	vlan = xvl_of(tag + 1, end, type);
	if (!vlan)
		return xvl_end(XVL_OTHER);
	if (vlan != (bpf_ntohs(tag->tci) & 0xfff) % 4)
		return xvl_end(XVL_WRONG);
	old = *eth;
	if (bpf_xdp_adjust_head(ctx, sizeof(*tag)))
		return xvl_end(XVL_FAILED);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	eth = data;
	if ((void *)(eth + 1) > end)
		return xvl_end(XVL_FAILED);
	__builtin_memcpy(eth, &old, 2 * ETH_ALEN);
	eth->h_proto = type;
	return xvl_end(XVL_CHANGED);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 443, 5201, 8443, 80 };
	static const __u16 vlans[] = { 1, 2, 3, 1 };
	long err = 0;

	for (int i = 0; i < 4; i++)
		err |= bpf_map_update_elem(&xvl_ports, &ports[i], &vlans[i], BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
