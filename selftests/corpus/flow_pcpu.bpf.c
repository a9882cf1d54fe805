// SPDX-License-Identifier: GPL-2.0
/*
 * Flow exporter: counts by connection in a per-CPU hash that a collector reads and empties.
 * VLAN tags in the packet are skipped. An unknown IP protocol is booked with ports 0.
 */
/* expect: flow_pcpu audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
#include "corpus.h"

struct flow_key {
	__u8 saddr[16]; /* IPv4 in the last 4 bytes */
	__u8 daddr[16];
	__be16 sport; /* ICMP: type and code */
	__be16 dport;
	__be16 vlan;
	__u8 proto;
	__u8 family;
};

struct flow_metrics {
	__u64 first_ns;
	__u64 last_ns;
	__u64 packets;
	__u64 bytes;
	__u16 flags; /* TCP flags seen, ored */
	__u16 pad[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, struct flow_metrics);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} flows_full SEC(".maps");

struct vlan_tag {
	__be16 tci;
	__be16 proto;
};

struct cursor {
	void *pos;
	void *end;
};

static __always_inline __be16 flow_eth(struct cursor *c, struct flow_key *key)
{
	struct ethhdr *eth = c->pos;
	struct vlan_tag *tag;
	__be16 proto;
	int i;

	if ((void *)(eth + 1) > c->end)
		return 0;
	proto = eth->h_proto;
	c->pos = eth + 1;
#pragma unroll
	for (i = 0; i < 2; i++) {
		if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
			break;
		tag = c->pos;
		if ((void *)(tag + 1) > c->end)
			return 0;
		key->vlan = tag->tci & bpf_htons(0xfff);
		proto = tag->proto;
		c->pos = tag + 1;
	}
	return proto;
}

static __always_inline bool flow_ip(struct cursor *c, __be16 eth_proto, struct flow_key *key)
{
	if (eth_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = c->pos;

		if ((void *)(ip + 1) > c->end || ip->ihl < 5)
			return false;
		key->family = AF_INET;
		key->proto = ip->protocol;
		__builtin_memcpy(key->saddr + 12, &ip->saddr, 4);
		__builtin_memcpy(key->daddr + 12, &ip->daddr, 4);
		c->pos += ip->ihl * 4;
		return true;
	}
	if (eth_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = c->pos;

		if ((void *)(ip6 + 1) > c->end)
			return false;
		key->family = AF_INET6;
		key->proto = ip6->nexthdr;
		__builtin_memcpy(key->saddr, &ip6->saddr, 16);
		__builtin_memcpy(key->daddr, &ip6->daddr, 16);
		c->pos = ip6 + 1;
		return true;
	}
	return false;
}

static __always_inline void flow_ports(struct cursor *c, struct flow_key *key, __u16 *flags)
{
	struct tcphdr *th = c->pos;
	struct udphdr *uh = c->pos;
	struct icmp6hdr *ih = c->pos;

	switch (key->proto) {
	case IPPROTO_TCP:
		if ((void *)(th + 1) > c->end)
			return;
		key->sport = th->source;
		key->dport = th->dest;
		*flags = bpf_ntohs(*((__be16 *)th + 6)) & 0xff;
		break;
	case IPPROTO_UDP:
		if ((void *)(uh + 1) > c->end)
			return;
		key->sport = uh->source;
		key->dport = uh->dest;
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if ((void *)(ih + 1) > c->end)
			return;
		key->sport = bpf_htons(ih->icmp6_type);
		key->dport = bpf_htons(ih->icmp6_code);
		break;
	}
}

SEC("tc")
int flow_pcpu(struct __sk_buff *skb)
{
	struct cursor c = { (void *)(long)skb->data, (void *)(long)skb->data_end };
	struct flow_key key = {};
	struct flow_metrics *m;
	__u64 now = bt_now();
	__u16 flags = 0;
	__be16 proto;

	proto = flow_eth(&c, &key);
	if (!flow_ip(&c, proto, &key))
		return TC_ACT_OK;
	flow_ports(&c, &key, &flags);

	m = bpf_map_lookup_elem(&flows, &key);
	if (m) {
		m->last_ns = now;
		m->packets++;
		m->bytes += skb->len;
		m->flags |= flags;
	} else {
		struct flow_metrics fresh = {
			.first_ns = now,
			.last_ns = now,
			.packets = 1,
			.bytes = skb->len,
			.flags = flags,
		};
		__u32 zero = 0;
		__u64 *full;

		if (bpf_map_update_elem(&flows, &key, &fresh, BPF_NOEXIST)) {
			full = bpf_map_lookup_elem(&flows_full, &zero);
			if (full)
				(*full)++;
		}
	}
	return TC_ACT_OK;
}
