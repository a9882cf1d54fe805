// SPDX-License-Identifier: GPL-2.0
/*
 * Flow meter for a collector: packets and bytes by connection in an LRU hash, by protocol in a per-CPU
 * hash, and a record through a ring buffer for each new connection and for each FIN and RST. Everything
 * passes. An unknown IP protocol is booked with ports 0.
 */
/* expect: x_flow audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

struct xfl_key {
	__be32 saddr[4];
	__be32 daddr[4];
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 family;
	__u16 vlan;
};

struct xfl_flow {
	__u64 first;
	__u64 last;
	__u64 packets;
	__u64 bytes;
	__u8 tcp_flags;
	__u8 pad[7];
};

struct xfl_event {
	struct xfl_key key;
	__u64 time;
	__u32 len;
	__u8 tcp_flags;
	__u8 is_new;
	__u16 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, struct xfl_key);
	__type(value, struct xfl_flow);
} xfl_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 512);
	__type(key, __u16);
	__type(value, __u64);
} xfl_protos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} xfl_events SEC(".maps");

struct xfl_vlan {
	__be16 tci;
	__be16 proto;
};

static __always_inline int xfl_parse(void *data, void *end, struct xfl_key *k, __u8 *tcp_flags)
{
	struct ethhdr *eth = data;
	void *at = eth + 1;
	__be16 type;
	void *l4;

	if (at > end)
		return -1;
	type = eth->h_proto;
	for (int i = 0; i < 2; i++) {
		struct xfl_vlan *v = at;

		if (type != bpf_htons(ETH_P_8021Q) && type != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(v + 1) > end)
			return -1;
		k->vlan = bpf_ntohs(v->tci) & 0xfff;
		type = v->proto;
		at = v + 1;
	}
	if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = at;

		if ((void *)(ip6 + 1) > end)
			return -1;
		__builtin_memcpy(k->saddr, &ip6->saddr, 16);
		__builtin_memcpy(k->daddr, &ip6->daddr, 16);
		k->proto = ip6->nexthdr;
		k->family = AF_INET6;
		l4 = ip6 + 1;
	} else if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return -1;
		k->saddr[0] = ip->saddr;
		k->daddr[0] = ip->daddr;
		k->proto = ip->protocol;
		k->family = AF_INET;
		l4 = at + ip->ihl * 4;
	} else {
		return -1;
	}
	if (k->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = l4;

		if ((void *)(tcp + 1) > end)
			return -1;
		k->sport = tcp->source;
		k->dport = tcp->dest;
		*tcp_flags = ((__u8 *)tcp)[13];
	} else if (k->proto == IPPROTO_UDP) {
		struct udphdr *udp = l4;

		if ((void *)(udp + 1) > end)
			return -1;
		k->sport = udp->source;
		k->dport = udp->dest;
	}
	return 0;
}

static __always_inline void xfl_tell(const struct xfl_key *k, __u32 len, __u8 flags, __u8 is_new)
{
	struct xfl_event *e = bpf_ringbuf_reserve(&xfl_events, sizeof(*e), 0);

	if (!e)
		return;
	e->key = *k;
	e->time = bt_now();
	e->len = len;
	e->tcp_flags = flags;
	e->is_new = is_new;
	e->pad = 0;
	bpf_ringbuf_submit(e, 0);
}

SEC("xdp")
int x_flow(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct xfl_key key = {};
	__u32 len = end - data;
	struct xfl_flow *f;
	__u8 flags = 0;
	__u16 proto;
	__u64 *n, one = 1;

	if (xfl_parse(data, end, &key, &flags))
		return XDP_PASS;
	f = bpf_map_lookup_elem(&xfl_flows, &key);
	if (f) {
		f->last = bt_now();
		f->packets++;
		f->bytes += len;
		f->tcp_flags |= flags;
	} else {
		struct xfl_flow new = {
			.first = bt_now(), .packets = 1, .bytes = len, .tcp_flags = flags
		};

		new.last = new.first;
		bpf_map_update_elem(&xfl_flows, &key, &new, BPF_NOEXIST);
	}
	if (!f || (flags & 0x05))
		xfl_tell(&key, len, flags, !f);

	proto = (__u16)key.family << 8 | key.proto;
	n = bpf_map_lookup_elem(&xfl_protos, &proto);
	if (n)
		(*n)++;
	else
		bpf_map_update_elem(&xfl_protos, &proto, &one, BPF_ANY);
	return XDP_PASS;
}
