// SPDX-License-Identifier: GPL-2.0
/*
 * Access list and accounting in the manner of service managers and of agents that must not depend on
 * linear data: whole headers are copied to the stack with bpf_skb_load_bytes, field by field where a field
 * is enough.
 *
 * - cg_load_bytes reads the IPv6 header, then the TCP or UDP header behind it, and refuses by port;
 * - cg_load_field reads single fields (offsetof) and books flag combinations by port.
 */
/* expect: cg_load_bytes audit=drops twin=made kernel=6.1 */
/* expect: cg_load_field audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=25 */
#include "corpus.h"

/* Ports that may be used, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u64);
} cgl_allowed SEC(".maps");

struct cgl_flags {
	__u16 port;
	__u8 flags;
	__u8 proto;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct cgl_flags);
	__type(value, __u64);
} cgl_seen SEC(".maps");

static __always_inline bool cgl_port_ok(__be16 port, __u64 bytes)
{
	__u16 key = bpf_ntohs(port);
	__u64 *n = bpf_map_lookup_elem(&cgl_allowed, &key);

	if (n)
		__sync_fetch_and_add(n, bytes);
	return n;
}

SEC("cgroup_skb/egress")
int cg_load_bytes(struct __sk_buff *skb)
{
	__u8 proto;
	int off;

	switch (bpf_ntohs(skb->protocol)) {
	case ETH_P_IPV6: {
		struct ipv6hdr ip6;

		if (bpf_skb_load_bytes(skb, 0, &ip6, sizeof(ip6)) < 0)
			return 0;
		proto = ip6.nexthdr;
		off = sizeof(ip6);
		break;
	}
	case ETH_P_IP: {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)) < 0 || ip.ihl != 5)
			return 0;
		proto = ip.protocol;
		off = sizeof(ip);
		break;
	}
	default:
		return 1;
	}

	if (proto == IPPROTO_TCP) {
		struct tcphdr tcp;

		if (bpf_skb_load_bytes(skb, off, &tcp, sizeof(tcp)) < 0)
			return 0;
		/* Answers to what was let in are allowed. */
		return cgl_port_ok(tcp.dest, skb->len) || cgl_port_ok(tcp.source, skb->len);
	}
	if (proto == IPPROTO_UDP) {
		struct udphdr udp;

		if (bpf_skb_load_bytes(skb, off, &udp, sizeof(udp)) < 0)
			return 0;
		return cgl_port_ok(udp.dest, skb->len);
	}
	return proto == IPPROTO_ICMPV6 || proto == IPPROTO_ICMP;
}

SEC("cgroup_skb/ingress")
int cg_load_field(struct __sk_buff *skb)
{
	struct cgl_flags key = {};
	__u64 *n, bytes = skb->len;
	__be16 port;

	if (skb->protocol != bpf_htons(ETH_P_IPV6))
		return 1;
	if (bpf_skb_load_bytes(skb, offsetof(struct ipv6hdr, nexthdr), &key.proto, 1))
		return 1;
	if (key.proto == IPPROTO_TCP) {
		if (bpf_skb_load_bytes(skb, sizeof(struct ipv6hdr) + offsetof(struct tcphdr, dest),
				       &port, sizeof(port)) ||
		    bpf_skb_load_bytes(skb, sizeof(struct ipv6hdr) + 13, &key.flags, 1))
			return 0;
		key.port = bpf_ntohs(port);
	}
	n = bpf_map_lookup_elem(&cgl_seen, &key);
	if (n)
		__sync_fetch_and_add(n, bytes);
	else
		bpf_map_update_elem(&cgl_seen, &key, &bytes, BPF_ANY);
	return 1;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 443, 5201, 53, 8443 };
	__u64 zero = 0;
	long err = 0;

	for (int i = 0; i < 4; i++)
		err |= bpf_map_update_elem(&cgl_allowed, &ports[i], &zero, BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
