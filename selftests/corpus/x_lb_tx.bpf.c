// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4 load balancer on one leg: a packet to a virtual address gets the address of a real server,
 * chosen by a hash over addresses and ports, with checksums put right, and leaves through the device it came
 * from (XDP_TX). What comes for a virtual address and has no service there is dropped.
 */
/* expect: x_lb_tx audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::7 dst=2001:db8:2::2 sport=40007 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

#define XLB_REALS 8 /* a power of two */

struct xlb_vip {
	__be32 addr[4]; /* IPv4: the first word */
	__be16 port;
	__u8 proto;
	__u8 pad;
};

struct xlb_real {
	__be32 addr6[4];
	__be32 addr4;
	__u8 mac[ETH_ALEN];
	__u16 pad;
};

struct xlb_count {
	__u64 packets;
	__u64 bytes;
};

struct xlb_pkt {
	struct xlb_vip vip; /* where it goes to */
	__be32 saddr[4];
	__be16 sport;
	bool v6;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct xlb_vip);
	__type(value, __u32);
} xlb_vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, XLB_REALS);
	__type(key, __u32);
	__type(value, struct xlb_real);
} xlb_reals SEC(".maps");

/* By real server; the last one has what was dropped. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XLB_REALS + 1);
	__type(key, __u32);
	__type(value, struct xlb_count);
} xlb_counts SEC(".maps");

static __always_inline void xlb_count(__u32 slot, __u64 bytes)
{
	struct xlb_count *c = bpf_map_lookup_elem(&xlb_counts, &slot);

	if (c) {
		c->packets++;
		c->bytes += bytes;
	}
}

static __always_inline __u32 xlb_hash(const struct xlb_pkt *p)
{
	__u32 h = p->saddr[0] ^ p->saddr[1] ^ p->saddr[2] ^ p->saddr[3];

	h ^= (__u32)p->sport << 16 | p->vip.port;
	h = (h ^ h >> 16) * 0x7feb352d;
	h = (h ^ h >> 15) * 0x846ca68b;
	return h ^ h >> 16;
}

/* 0: a packet with ports; 1: none; -1: not IP, or cut short. */
static __always_inline int xlb_parse(void *data, void *end, struct xlb_pkt *p)
{
	struct ethhdr *eth = data;
	struct udphdr *ports;

	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		__builtin_memcpy(p->saddr, &ip6->saddr, 16);
		__builtin_memcpy(p->vip.addr, &ip6->daddr, 16);
		p->vip.proto = ip6->nexthdr;
		p->v6 = true;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return -1;
		p->saddr[0] = ip->saddr;
		p->vip.addr[0] = ip->daddr;
		if (ip->ihl != 5 || (ip->frag_off & bpf_htons(0x3fff)))
			return 1;
		p->vip.proto = ip->protocol;
		ports = (void *)(ip + 1);
	} else {
		return -1;
	}
	if (p->vip.proto != IPPROTO_TCP && p->vip.proto != IPPROTO_UDP)
		return 1;
	if ((void *)(ports + 1) > end)
		return -1;
	p->sport = ports->source;
	p->vip.port = ports->dest;
	return 0;
}

static __always_inline __u16 xlb_fold(__s64 sum)
{
	sum = (sum & 0xffff) + ((__u64)sum >> 16 & 0xffff) + ((__u64)sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline int xlb_rewrite(void *data, void *end, const struct xlb_pkt *p,
				       struct xlb_real *real)
{
	struct ethhdr *eth = data;
	__s64 diff;
	void *l4;
	__sum16 *check;

	if (p->v6) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return -1;
		diff = bpf_csum_diff((void *)p->vip.addr, 16, real->addr6, 16, 0);
		__builtin_memcpy(&ip6->daddr, real->addr6, 16);
		l4 = ip6 + 1;
	} else {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return -1;
		diff = bpf_csum_diff((void *)p->vip.addr, 4, &real->addr4, 4, 0);
		ip->daddr = real->addr4;
		ip->check = xlb_fold((__u16)~ip->check + diff);
		l4 = ip + 1;
	}
	if (p->vip.proto == IPPROTO_TCP) {
		struct tcphdr *tcp = l4;

		if ((void *)(tcp + 1) > end)
			return -1;
		check = &tcp->check;
	} else {
		struct udphdr *udp = l4;

		if ((void *)(udp + 1) > end)
			return -1;
		check = &udp->check;
		if (!*check && !p->v6)
			diff = -1;
	}
	if (diff != -1)
		*check = xlb_fold((__u16) ~*check + diff);
	/* Back to where it came from, and on from there. */
	__builtin_memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, real->mac, ETH_ALEN);
	return 0;
}

SEC("xdp")
int x_lb_tx(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u64 bytes = end - data;
	struct xlb_pkt p = {};
	struct xlb_vip any = {};
	struct xlb_real *real;
	__u32 slot;
	int ret;

	ret = xlb_parse(data, end, &p);
	if (ret < 0)
		return XDP_PASS;
	if (ret || !bpf_map_lookup_elem(&xlb_vips, &p.vip)) {
		/* An entry without port and protocol says that the address is a virtual one. */
		__builtin_memcpy(any.addr, p.vip.addr, 16);
		if (!bpf_map_lookup_elem(&xlb_vips, &any) || p.vip.proto == IPPROTO_ICMPV6 ||
		    p.vip.proto == IPPROTO_ICMP)
			return XDP_PASS;
		xlb_count(XLB_REALS, bytes);
		return XDP_DROP;
	}
	slot = xlb_hash(&p) & (XLB_REALS - 1);
	real = bpf_map_lookup_elem(&xlb_reals, &slot);
	if (!real || xlb_rewrite(data, end, &p, real))
		return XDP_DROP;
	xlb_count(slot, bytes);
	return XDP_TX;
}

static __always_inline long xlb_add(const __be32 *addr)
{
	struct xlb_vip vip = {};
	__u32 on = 1;
	long err;

	__builtin_memcpy(vip.addr, addr, 16);
	err = bpf_map_update_elem(&xlb_vips, &vip, &on, BPF_ANY);
	vip.port = bpf_htons(443);
	vip.proto = IPPROTO_TCP;
	err |= bpf_map_update_elem(&xlb_vips, &vip, &on, BPF_ANY);
	vip.proto = IPPROTO_UDP;
	return err | bpf_map_update_elem(&xlb_vips, &vip, &on, BPF_ANY);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	__be32 vip6[4] = { bpf_htonl(0x20010db8), bpf_htonl(0x20000), 0, bpf_htonl(2) };
	__be32 vip4[4] = { bpf_htonl(0xc6336402) }; /* 198.51.100.2 */
	long err = 0;
	__u32 key;

	for (__u32 i = 0; i < XLB_REALS; i++) {
		struct xlb_real real = {
			.addr6 = { bpf_htonl(0x20010db8), bpf_htonl(0x30000), 0, bpf_htonl(i + 1) },
			.addr4 = bpf_htonl(0xcb007101 + i), /* 203.0.113.1 ... */
			.mac = { 2, 0, 0, 0, 0x30, i },
		};

		key = i;
		err |= bpf_map_update_elem(&xlb_reals, &key, &real, BPF_ANY);
	}
	return err | xlb_add(vip6) | xlb_add(vip4) ? TC_ACT_SHOT : TC_ACT_OK;
}
