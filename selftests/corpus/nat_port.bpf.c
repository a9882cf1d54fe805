// SPDX-License-Identifier: GPL-2.0
/*
 * Static NAT in both directions: a packet to a service's address and port goes to the
 * backend's, an answer of the backend gets the service's back. Header fields are written with
 * helpers at offsets computed from the fixed IPv6 header.
 */
/* expect: nat_port audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:2::3 dst=2001:db8:1::1 sport=8443 dport=40000 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=80 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

enum nat_side {
	NAT_DST,
	NAT_SRC,
};

struct nat_key {
	__be32 addr[4]; /* IPv4: the first word, others 0 */
	__be16 port;
	__u8 proto;
	__u8 side;
};

struct nat_val {
	__be32 addr[4];
	__be16 port;
	__u16 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct nat_key);
	__type(value, struct nat_val);
} nat_table SEC(".maps");

/* Packets by IP protocol. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} nat_seen SEC(".maps");

struct nat_pkt {
	__u32 l3_off;
	__u32 l4_off;
	__be32 saddr[4];
	__be32 daddr[4];
	__be16 sport;
	__be16 dport;
	__u8 proto;
	bool v6;
};

static __always_inline bool nat_parse(struct __sk_buff *skb, struct nat_pkt *p)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__be16 *ports;

	if (data + sizeof(*eth) > data_end)
		return false;
	p->l3_off = ETH_HLEN;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = data + ETH_HLEN;

		if ((void *)(ip6 + 1) > data_end)
			return false;
		__builtin_memcpy(p->saddr, &ip6->saddr, sizeof(p->saddr));
		__builtin_memcpy(p->daddr, &ip6->daddr, sizeof(p->daddr));
		p->proto = ip6->nexthdr;
		p->l4_off = ETH_HLEN + sizeof(*ip6);
		p->v6 = true;
		ports = data + ETH_HLEN + sizeof(*ip6);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data + ETH_HLEN;

		/* Options and fragments are not translated. */
		if ((void *)(ip + 1) > data_end || ip->ihl != 5 ||
		    (ip->frag_off & bpf_htons(0x3fff)))
			return false;
		p->saddr[0] = ip->saddr;
		p->daddr[0] = ip->daddr;
		p->proto = ip->protocol;
		p->l4_off = ETH_HLEN + sizeof(*ip);
		ports = data + ETH_HLEN + sizeof(*ip);
	} else {
		return false;
	}

	if (p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP)
		return true;
	if ((void *)(ports + 2) > data_end)
		return false;
	p->sport = ports[0];
	p->dport = ports[1];
	return true;
}

static __always_inline long nat_rewrite(struct __sk_buff *skb, const struct nat_pkt *p,
					const struct nat_val *v, __u8 side)
{
	__be32 old[4], new[4];
	__u32 csum_off, csum_flags = 0, alen, addr_off, port_off;
	__be16 old_port, port = v->port;
	long diff, err;

	__builtin_memcpy(old, side == NAT_DST ? p->daddr : p->saddr, sizeof(old));
	__builtin_memcpy(new, v->addr, sizeof(new));
	old_port = side == NAT_DST ? p->dport : p->sport;
	port_off = p->l4_off + (side == NAT_DST ? 2 : 0);
	if (p->v6) {
		alen = 16;
		addr_off = p->l3_off + (side == NAT_DST ? offsetof(struct ipv6hdr, daddr)
							: offsetof(struct ipv6hdr, saddr));
	} else {
		alen = 4;
		addr_off = p->l3_off + (side == NAT_DST ? offsetof(struct iphdr, daddr)
							: offsetof(struct iphdr, saddr));
	}
	csum_off = p->l4_off + offsetof(struct tcphdr, check);
	if (p->proto == IPPROTO_UDP) {
		csum_off = p->l4_off + offsetof(struct udphdr, check);
		csum_flags = BPF_F_MARK_MANGLED_0;
	}

	diff = bpf_csum_diff(old, alen, new, alen, 0);
	err = bpf_l4_csum_replace(skb, csum_off, 0, diff, csum_flags | BPF_F_PSEUDO_HDR);
	if (err)
		return err;
	err = bpf_l4_csum_replace(skb, csum_off, old_port, port, csum_flags | sizeof(port));
	if (err)
		return err;
	if (!p->v6) {
		err = bpf_l3_csum_replace(skb, p->l3_off + offsetof(struct iphdr, check), 0, diff,
					  0);
		if (err)
			return err;
	}
	err = bpf_skb_store_bytes(skb, addr_off, new, alen, 0);
	if (err)
		return err;
	return bpf_skb_store_bytes(skb, port_off, &port, sizeof(port), 0);
}

SEC("tc")
int nat_port(struct __sk_buff *skb)
{
	struct nat_pkt p = {};
	struct nat_key key = {};
	struct nat_val *v;
	__u32 proto;
	__u64 *seen;

	if (!nat_parse(skb, &p))
		return TC_ACT_OK;
	proto = p.proto;
	seen = bpf_map_lookup_elem(&nat_seen, &proto);
	if (seen)
		(*seen)++;
	if (p.proto != IPPROTO_TCP && p.proto != IPPROTO_UDP)
		return TC_ACT_OK;

	key.proto = p.proto;
	key.side = NAT_DST;
	key.port = p.dport;
	__builtin_memcpy(key.addr, p.daddr, sizeof(key.addr));
	v = bpf_map_lookup_elem(&nat_table, &key);
	if (v)
		return nat_rewrite(skb, &p, v, NAT_DST) ? TC_ACT_SHOT : TC_ACT_OK;

	key.side = NAT_SRC;
	key.port = p.sport;
	__builtin_memcpy(key.addr, p.saddr, sizeof(key.addr));
	v = bpf_map_lookup_elem(&nat_table, &key);
	if (v)
		return nat_rewrite(skb, &p, v, NAT_SRC) ? TC_ACT_SHOT : TC_ACT_OK;
	return TC_ACT_OK;
}

/* @addr and @port of the service are those of @to on the backend. */
static __always_inline long nat_add(const __be32 *addr, __u16 port, const __be32 *to, __u16 to_port,
				    __u8 proto)
{
	struct nat_key key = { .port = bpf_htons(port), .proto = proto, .side = NAT_DST };
	struct nat_val val = { .port = bpf_htons(to_port) };
	long err;

	__builtin_memcpy(key.addr, addr, sizeof(key.addr));
	__builtin_memcpy(val.addr, to, sizeof(val.addr));
	err = bpf_map_update_elem(&nat_table, &key, &val, BPF_ANY);

	key.side = NAT_SRC;
	key.port = bpf_htons(to_port);
	val.port = bpf_htons(port);
	__builtin_memcpy(key.addr, to, sizeof(key.addr));
	__builtin_memcpy(val.addr, addr, sizeof(val.addr));
	return err | bpf_map_update_elem(&nat_table, &key, &val, BPF_ANY);
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	__be32 svc6[4] = { bpf_htonl(0x20010db8), bpf_htonl(0x20000), 0, bpf_htonl(2) };
	__be32 pod6[4] = { bpf_htonl(0x20010db8), bpf_htonl(0x20000), 0, bpf_htonl(3) };
	__be32 svc4[4] = { bpf_htonl(0xc6336402) }; /* 198.51.100.2 */
	__be32 pod4[4] = { bpf_htonl(0xc6336403) };
	long err = 0;

	err |= nat_add(svc6, 443, pod6, 8443, IPPROTO_TCP);
	err |= nat_add(svc6, 80, svc6, 8080, IPPROTO_TCP); /* port only */
	err |= nat_add(svc6, 53, pod6, 5353, IPPROTO_UDP);
	err |= nat_add(svc4, 443, pod4, 8443, IPPROTO_TCP);
	err |= nat_add(svc4, 53, pod4, 5353, IPPROTO_UDP);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
