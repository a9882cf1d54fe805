// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4 load balancer, direct server return: a packet to a virtual address is sent to a real
 * server chosen by consistent hashing over the connection's addresses and ports, and stays with
 * it. What comes for a virtual address and cannot be parsed is dropped: nothing on this host
 * listens on it.
 */
/* expect: lb_maglev audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::7 dst=2001:db8:2::2 sport=40007 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

#define LB_RING_SIZE 1021 /* prime, and far more than there are servers */
#define LB_REALS     8
#define LB_NO_REAL   0xffffffff

struct lb_vip_key {
	__be32 addr[4]; /* IPv4: the first word */
	__be16 port;
	__u8 proto;
	__u8 pad;
};

struct lb_vip {
	__u32 index;
	__u32 flags;
};
#define LB_F_HASH_NO_PORT 1

struct lb_addr {
	__be32 addr[4];
};

struct lb_flow {
	__be32 saddr[4];
	__be32 daddr[4];
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 pad[3];
};

struct lb_real {
	__u8 mac[ETH_ALEN];
	__u16 pad;
	__u32 mark;
};

struct lb_stats {
	__u64 packets;
	__u64 bytes;
	__u64 new_conns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct lb_vip_key);
	__type(value, struct lb_vip);
} lb_vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct lb_addr);
	__type(value, __u32);
} lb_addrs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4 * LB_RING_SIZE);
	__type(key, __u32);
	__type(value, __u32);
} lb_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LB_REALS);
	__type(key, __u32);
	__type(value, struct lb_real);
} lb_reals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct lb_flow);
	__type(value, __u32);
} lb_conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct lb_stats);
} lb_stats SEC(".maps");

static __always_inline __u32 rol(__u32 v, int n)
{
	return (v << n) | (v >> (32 - n));
}

/* Bob Jenkins' lookup3 over whole words. */
#define LB_MIX(a, b, c)                           \
	do {                                      \
		a = (a - c) ^ rol(c, 4), c += b;  \
		b = (b - a) ^ rol(a, 6), a += c;  \
		c = (c - b) ^ rol(b, 8), b += a;  \
		a = (a - c) ^ rol(c, 16), c += b; \
		b = (b - a) ^ rol(a, 19), a += c; \
		c = (c - b) ^ rol(b, 4), b += a;  \
	} while (0)

#define LB_FINAL(a, b, c)                 \
	do {                              \
		c = (c ^ b) - rol(b, 14); \
		a = (a ^ c) - rol(c, 11); \
		b = (b ^ a) - rol(a, 25); \
		c = (c ^ b) - rol(b, 16); \
		a = (a ^ c) - rol(c, 4);  \
		b = (b ^ a) - rol(a, 14); \
		c = (c ^ b) - rol(b, 24); \
	} while (0)

static __always_inline __u32 lb_hash(const struct lb_flow *f, __u32 ports, __u32 seed)
{
	__u32 a, b, c;

	a = b = c = 0xdeadbeef + (6 << 2) + seed;
	a += f->saddr[0];
	b += f->saddr[1];
	c += f->saddr[2];
	LB_MIX(a, b, c);
	a += f->saddr[3];
	b += ports;
	c += f->proto;
	LB_FINAL(a, b, c);
	return c;
}

static __always_inline int lb_parse(void *data, void *data_end, struct lb_flow *f)
{
	struct ethhdr *eth = data;
	__be16 *ports;

	if ((void *)(eth + 1) > data_end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > data_end)
			return -1;
		__builtin_memcpy(f->saddr, &ip6->saddr, sizeof(f->saddr));
		__builtin_memcpy(f->daddr, &ip6->daddr, sizeof(f->daddr));
		f->proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > data_end)
			return -1;
		f->saddr[0] = ip->saddr;
		f->daddr[0] = ip->daddr;
		/* No options, no fragments: their ports are elsewhere or nowhere. */
		if (ip->ihl != 5 || (ip->frag_off & bpf_htons(0x3fff)))
			return 0;
		f->proto = ip->protocol;
		ports = (void *)(ip + 1);
	} else {
		return -1;
	}
	if (f->proto != IPPROTO_TCP && f->proto != IPPROTO_UDP)
		return 0;
	if ((void *)(ports + 2) > data_end)
		return 0;
	f->sport = ports[0];
	f->dport = ports[1];
	return 1;
}

static __always_inline __u32 lb_choose(const struct lb_flow *f, const struct lb_vip *vip, bool *new)
{
	__u32 ports = (__u32)f->sport << 16 | f->dport;
	__u32 *real, slot, choice;

	real = bpf_map_lookup_elem(&lb_conns, f);
	if (real)
		return *real;

	if (vip->flags & LB_F_HASH_NO_PORT)
		ports = f->dport;
	slot = vip->index * LB_RING_SIZE + lb_hash(f, ports, vip->index) % LB_RING_SIZE;
	real = bpf_map_lookup_elem(&lb_ring, &slot);
	if (!real)
		return LB_NO_REAL;
	choice = *real;
	bpf_map_update_elem(&lb_conns, f, &choice, BPF_ANY);
	*new = true;
	return choice;
}

SEC("tc")
int lb_maglev(struct __sk_buff *skb)
{
	struct lb_vip_key key = {};
	struct lb_stats *stats;
	struct lb_real *real;
	struct lb_flow f = {};
	struct lb_vip *vip;
	__u32 index;
	bool new = false;
	int ret;

	ret = lb_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &f);
	if (ret < 0 || !bpf_map_lookup_elem(&lb_addrs, f.daddr))
		return TC_ACT_OK;
	if (!ret)
		return f.proto == IPPROTO_ICMP || f.proto == IPPROTO_ICMPV6 ? TC_ACT_OK
									    : TC_ACT_SHOT;

	__builtin_memcpy(key.addr, f.daddr, sizeof(key.addr));
	key.port = f.dport;
	key.proto = f.proto;
	vip = bpf_map_lookup_elem(&lb_vips, &key);
	if (!vip)
		return TC_ACT_SHOT;

	index = lb_choose(&f, vip, &new);
	real = bpf_map_lookup_elem(&lb_reals, &index);
	if (!real)
		return TC_ACT_SHOT;
	stats = bpf_map_lookup_elem(&lb_stats, &vip->index);
	if (stats) {
		stats->packets++;
		stats->bytes += skb->len;
		stats->new_conns += new;
	}

	skb->mark = real->mark;
	if (bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_dest), real->mac, ETH_ALEN, 0))
		return TC_ACT_SHOT;
	return bpf_redirect(skb->ifindex, 0);
}

static __always_inline long lb_add_vip(const __be32 *addr, __u16 port, __u8 proto, __u32 index)
{
	struct lb_vip_key key = { .port = bpf_htons(port), .proto = proto };
	struct lb_vip vip = { .index = index };

	__builtin_memcpy(key.addr, addr, sizeof(key.addr));
	return bpf_map_update_elem(&lb_addrs, addr, &index, BPF_ANY) |
	       bpf_map_update_elem(&lb_vips, &key, &vip, BPF_ANY);
}

/* A control plane would fill the ring by Maglev's permutations. */
static long lb_fill_ring(__u32 i, void *err)
{
	__u32 choice = (i * 2654435761U) >> 29;

	*(long *)err |= bpf_map_update_elem(&lb_ring, &i, &choice, BPF_ANY);
	return 0;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	__be32 vip6[4] = { bpf_htonl(0x20010db8), bpf_htonl(0x20000), 0, bpf_htonl(2) };
	__be32 vip4[4] = { bpf_htonl(0xc6336402) }; /* 198.51.100.2 */
	long err = 0;
	__u32 i, key;

	for (i = 0; i < LB_REALS; i++) {
		struct lb_real real = { .mac = { 2, 0, 0, 0, 0x10, i }, .mark = 0x100 + i };

		key = i; /* the loop's own counter stays in a register */
		err |= bpf_map_update_elem(&lb_reals, &key, &real, BPF_ANY);
	}
	bpf_loop(4 * LB_RING_SIZE, lb_fill_ring, &err, 0);
	err |= lb_add_vip(vip6, 443, IPPROTO_TCP, 0);
	err |= lb_add_vip(vip6, 443, IPPROTO_UDP, 1);
	err |= lb_add_vip(vip4, 443, IPPROTO_TCP, 2);
	err |= lb_add_vip(vip4, 443, IPPROTO_UDP, 3);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
