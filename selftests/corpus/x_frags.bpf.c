// SPDX-License-Identifier: GPL-2.0
/*
 * For packets in several buffers: headers are read and written through helpers only.
 *
 * - x_frags counts by port, with the length of the whole packet, and lowers the hop limit of what goes to
 *   a service port, which it marks in the traffic class;
 * - x_trailer knows packets of a tunnel by the last eight bytes of the packet and drops those whose
 *   trailer names another port than the TCP header does.
 */
/* expect: x_frags audit=misreads twin=made kernel=6.1 */
/* expect: x_trailer audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=5201 */
#include "corpus.h"

struct xfr_count {
	__u64 packets;
	__u64 bytes;
};

/* By port, host byte order; 0: neither TCP nor UDP. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u16);
	__type(value, struct xfr_count);
} xfr_ports SEC(".maps");

/* Service ports and the traffic class of each. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u8);
} xfr_service SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct xfr_count);
} xfr_stats SEC(".maps");

struct xfr_pkt {
	__u32 l3_off;
	__u32 l4_off;
	__u32 len;
	__u8 proto;
	bool v6;
	__u16 sport, dport;
};

static __always_inline int xfr_parse(struct xdp_md *ctx, struct xfr_pkt *p)
{
	struct ethhdr eth;
	struct udphdr ports;

	if (bpf_xdp_load_bytes(ctx, 0, &eth, sizeof(eth)))
		return -1;
	p->l3_off = sizeof(eth);
	if (eth.h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip6;

		if (bpf_xdp_load_bytes(ctx, p->l3_off, &ip6, sizeof(ip6)))
			return -1;
		p->v6 = true;
		p->proto = ip6.nexthdr;
		p->l4_off = p->l3_off + sizeof(ip6);
	} else if (eth.h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;

		if (bpf_xdp_load_bytes(ctx, p->l3_off, &ip, sizeof(ip)))
			return -1;
		p->proto = ip.protocol;
		p->l4_off = p->l3_off + ip.ihl * 4;
	} else {
		return -1;
	}
	p->len = bpf_xdp_get_buff_len(ctx);
	if (p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP)
		return 0;
	if (bpf_xdp_load_bytes(ctx, p->l4_off, &ports, sizeof(ports)))
		return -1;
	p->sport = bpf_ntohs(ports.source);
	p->dport = bpf_ntohs(ports.dest);
	return 0;
}

static __always_inline void xfr_book(void *map, const void *key, __u64 bytes)
{
	struct xfr_count *c = bpf_map_lookup_elem(map, key), one = { 1, bytes };

	if (c) {
		__sync_fetch_and_add(&c->packets, 1);
		__sync_fetch_and_add(&c->bytes, bytes);
	} else {
		bpf_map_update_elem(map, key, &one, BPF_ANY);
	}
}

SEC("xdp.frags")
int x_frags(struct xdp_md *ctx)
{
	struct xfr_pkt p = {};
	__u8 *class, head[2];

	if (xfr_parse(ctx, &p))
		return XDP_PASS;
	xfr_book(&xfr_ports, &p.dport, p.len);
	class = bpf_map_lookup_elem(&xfr_service, &p.dport);
	if (!class || !p.v6)
		return XDP_PASS;
	if (bpf_xdp_load_bytes(ctx, p.l3_off, head, sizeof(head)))
		return XDP_DROP;
	head[0] = (head[0] & 0xf0) | *class >> 4;
	head[1] = (head[1] & 0x0f) | *class << 4;
	if (bpf_xdp_store_bytes(ctx, p.l3_off, head, sizeof(head)))
		return XDP_DROP;
	if (bpf_xdp_load_bytes(ctx, p.l3_off + offsetof(struct ipv6hdr, hop_limit), head, 1))
		return XDP_DROP;
	if (head[0] <= 1)
		return XDP_DROP;
	head[0]--;
	if (bpf_xdp_store_bytes(ctx, p.l3_off + offsetof(struct ipv6hdr, hop_limit), head, 1))
		return XDP_DROP;
	/* An urgent pointer that nobody asked for. */
	head[0] = head[1] = 0;
	if (p.proto == IPPROTO_TCP &&
	    bpf_xdp_store_bytes(ctx, p.l4_off + offsetof(struct tcphdr, urg_ptr), head, 2))
		return XDP_DROP;
	return XDP_PASS;
}

#define XFR_MAGIC 0x7f

struct xfr_trailer {
	__u8 magic;
	__u8 version;
	__be16 port;
	__be32 serial;
};

SEC("xdp.frags")
int x_trailer(struct xdp_md *ctx)
{
	struct xfr_trailer t = {};
	struct xfr_pkt p = {};
	__u32 what = 0;

	if (xfr_parse(ctx, &p) || p.proto != IPPROTO_TCP)
		return XDP_PASS;
	if (p.len < p.l4_off + sizeof(struct tcphdr) + sizeof(t))
		return XDP_PASS;
	if (bpf_xdp_load_bytes(ctx, p.len - sizeof(t), &t, sizeof(t)))
		return XDP_ABORTED;
	if (t.magic >= XFR_MAGIC)
		what = t.port == bpf_htons(p.dport) ? 1 : 2;
	xfr_book(&xfr_stats, &what, p.len - p.l4_off);
	/* Only an eighth of the values is taken for a trailer of this version. */
	return what == 2 && t.version < 32 ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	static const __u16 ports[] = { 443, 5201, 8443 };
	static const __u8 class[] = { 0x20, 0x48, 0xb8 };
	long err = 0;

	for (int i = 0; i < 3; i++)
		err |= bpf_map_update_elem(&xfr_service, &ports[i], &class[i], BPF_ANY);
	return err ? TC_ACT_SHOT : TC_ACT_OK;
}
