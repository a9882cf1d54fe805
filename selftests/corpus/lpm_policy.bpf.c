// SPDX-License-Identifier: GPL-2.0
/*
 * Policy by source prefix: the longest prefix that holds the source address names a zone, and
 * a zone has a set of protocols and ports it may talk to, or is trusted with all. Addresses in
 * no zone are none of this program's business.
 */
/* expect: lpm_policy audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1:1::1 dst=2001:db8:2::2 sport=40000 dport=5201 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

enum zone {
	ZONE_NONE,
	ZONE_CLIENTS,
	ZONE_BENCH,
	ZONE_TRUSTED,
	ZONE_BLOCKED,
	ZONES,
};

struct lpm6_key {
	__u32 prefixlen;
	__u8 addr[16];
};

struct lpm4_key {
	__u32 prefixlen;
	__u8 addr[4];
};

struct zone_val {
	__u32 zone;
	__u32 prefixlen;
};

struct port_key {
	__u32 zone;
	__u16 port; /* host order */
	__u8 proto;
	__u8 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lpm6_key);
	__type(value, struct zone_val);
} zones6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lpm4_key);
	__type(value, struct zone_val);
} zones4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct port_key);
	__type(value, __u8);
} zone_ports SEC(".maps");

struct zone_stats {
	__u64 allowed;
	__u64 denied;
	__u64 denied_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ZONES);
	__type(key, __u32);
	__type(value, struct zone_stats);
} zone_stats SEC(".maps");

struct pkt {
	struct zone_val *zone;
	__u16 sport;
	__u16 dport;
	__u8 proto;
	bool fragment;
};

/* Makes the first @len bytes directly accessible; false if the packet is shorter. */
static __always_inline bool reach(struct __sk_buff *skb, __u32 len)
{
	if (skb->data + len <= skb->data_end)
		return true;
	return !bpf_skb_pull_data(skb, len) && skb->data + len <= skb->data_end;
}

static __always_inline bool parse_ports(struct __sk_buff *skb, __u32 off, struct pkt *p)
{
	__be16 *ports;

	if (p->fragment || (p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP))
		return true;
	if (!reach(skb, off + 4))
		return false;
	ports = (void *)(long)skb->data + off;
	if ((void *)(ports + 2) > (void *)(long)skb->data_end)
		return false;
	p->sport = bpf_ntohs(ports[0]);
	p->dport = bpf_ntohs(ports[1]);
	return true;
}

static __always_inline bool parse_ipv6(struct __sk_buff *skb, struct pkt *p)
{
	struct lpm6_key key = { .prefixlen = 128 };
	struct ipv6hdr *ip6;

	if (!reach(skb, ETH_HLEN + sizeof(*ip6)))
		return false;
	ip6 = (void *)(long)skb->data + ETH_HLEN;
	if ((void *)(ip6 + 1) > (void *)(long)skb->data_end)
		return false;
	__builtin_memcpy(key.addr, &ip6->saddr, sizeof(key.addr));
	p->proto = ip6->nexthdr;
	p->zone = bpf_map_lookup_elem(&zones6, &key);
	return parse_ports(skb, ETH_HLEN + sizeof(*ip6), p);
}

static __always_inline bool parse_ipv4(struct __sk_buff *skb, struct pkt *p)
{
	struct lpm4_key key = { .prefixlen = 32 };
	struct iphdr *ip;

	if (!reach(skb, ETH_HLEN + sizeof(*ip)))
		return false;
	ip = (void *)(long)skb->data + ETH_HLEN;
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return false;
	__builtin_memcpy(key.addr, &ip->saddr, sizeof(key.addr));
	p->proto = ip->protocol;
	p->fragment = ip->frag_off & bpf_htons(0x1fff);
	p->zone = bpf_map_lookup_elem(&zones4, &key);
	return parse_ports(skb, ETH_HLEN + ip->ihl * 4, p);
}

static __always_inline bool zone_allows(const struct pkt *p)
{
	struct port_key key = { .zone = p->zone->zone, .port = p->dport, .proto = p->proto };

	if (p->zone->zone == ZONE_TRUSTED)
		return true;
	if (p->zone->zone == ZONE_BLOCKED)
		return false;
	if (p->proto == IPPROTO_ICMP || p->proto == IPPROTO_ICMPV6)
		return true;
	if (p->fragment)
		return false;
	if (bpf_map_lookup_elem(&zone_ports, &key))
		return true;
	key.port = p->sport; /* an answer: there is no state */
	return bpf_map_lookup_elem(&zone_ports, &key);
}

SEC("tc")
int lpm_policy(struct __sk_buff *skb)
{
	struct zone_stats *stats;
	struct pkt p = {};
	__u32 zone;
	bool ok;

	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		ok = parse_ipv6(skb, &p);
	else if (skb->protocol == bpf_htons(ETH_P_IP))
		ok = parse_ipv4(skb, &p);
	else
		return TC_ACT_OK;

	if (!ok)
		return TC_ACT_SHOT;
	if (!p.zone)
		return TC_ACT_OK;

	ok = zone_allows(&p);
	zone = p.zone->zone;
	stats = bpf_map_lookup_elem(&zone_stats, &zone);
	if (stats) {
		stats->allowed += ok;
		stats->denied += !ok;
		stats->denied_bytes += ok ? 0 : skb->len;
	}
	return ok ? TC_ACT_OK : TC_ACT_SHOT;
}

static __always_inline long add_zone6(__u16 third, __u16 fourth, __u32 len, __u32 zone)
{
	struct lpm6_key key = { .prefixlen = len, .addr = { 0x20, 0x01, 0x0d, 0xb8 } };
	struct zone_val val = { .zone = zone, .prefixlen = len };

	key.addr[4] = third >> 8;
	key.addr[5] = third;
	key.addr[6] = fourth >> 8;
	key.addr[7] = fourth;
	return bpf_map_update_elem(&zones6, &key, &val, BPF_ANY);
}

static __always_inline long add_zone4(__u32 addr, __u32 len, __u32 zone)
{
	struct lpm4_key key = { .prefixlen = len };
	struct zone_val val = { .zone = zone, .prefixlen = len };
	__be32 be = bpf_htonl(addr);

	__builtin_memcpy(key.addr, &be, sizeof(be));
	return bpf_map_update_elem(&zones4, &key, &val, BPF_ANY);
}

static __always_inline long add_port(__u32 zone, __u8 proto, __u16 port)
{
	struct port_key key = { .zone = zone, .port = port, .proto = proto };
	__u8 one = 1;

	return bpf_map_update_elem(&zone_ports, &key, &one, BPF_ANY);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	long err = 0;

	err |= add_zone6(0, 0, 32, ZONE_CLIENTS);
	err |= add_zone6(1, 1, 64, ZONE_BENCH);
	err |= add_zone6(0xffff, 0, 48, ZONE_BLOCKED);
	err |= add_zone6(0xfffe, 0, 48, ZONE_TRUSTED);
	err |= add_zone4(0xc0000200, 24, ZONE_CLIENTS); /* 192.0.2.0/24 */
	err |= add_zone4(0xc6336400, 24, ZONE_BENCH); /* 198.51.100.0/24 */
	err |= add_port(ZONE_CLIENTS, IPPROTO_TCP, 443);
	err |= add_port(ZONE_CLIENTS, IPPROTO_TCP, 5201);
	err |= add_port(ZONE_CLIENTS, IPPROTO_TCP, 5202);
	err |= add_port(ZONE_CLIENTS, IPPROTO_UDP, 443);
	err |= add_port(ZONE_CLIENTS, IPPROTO_UDP, 53);
	err |= add_port(ZONE_BENCH, IPPROTO_TCP, 5201);
	err |= add_port(ZONE_BENCH, IPPROTO_TCP, 5202);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
