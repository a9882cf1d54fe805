// SPDX-License-Identifier: GPL-2.0
/*
 * Flow exporter: one record a packet (or a sample of them) through a ring buffer. An unknown
 * IP protocol is exported without ports.
 */
/* expect: flow_rb audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
#include "corpus.h"

enum flow_tcp_flags {
	FLOW_FIN = 0x01,
	FLOW_SYN = 0x02,
	FLOW_RST = 0x04,
	FLOW_ACK = 0x10,
	FLOW_SYN_ACK = 0x100,
	FLOW_FIN_ACK = 0x200,
};

struct flow_id {
	struct in6_addr src_ip; /* IPv4 as ::ffff:a.b.c.d */
	struct in6_addr dst_ip;
	__u16 src_port;
	__u16 dst_port;
	__u16 eth_protocol;
	__u8 protocol;
	__u8 dscp;
};

struct flow_record {
	__u64 time_ns;
	struct flow_id id;
	__u8 src_mac[ETH_ALEN];
	__u8 dst_mac[ETH_ALEN];
	__u32 bytes;
	__u32 ifindex;
	__u32 seq;
	__u16 tcp_flags;
	__u16 window;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} flow_events SEC(".maps");

enum {
	FLOW_SENT,
	FLOW_LOST, /* ring buffer full */
	FLOW_SKIPPED, /* not IP, or truncated */
	FLOW_STATS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FLOW_STATS);
	__type(key, __u32);
	__type(value, __u64);
} flow_stats SEC(".maps");

/* One packet in 2^sample_shift is exported. */
const volatile __u32 sample_shift = 0;

static __always_inline void flow_stat(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&flow_stats, &what);

	if (n)
		(*n)++;
}

static __always_inline __u16 flow_flags(const struct tcphdr *th)
{
	__u16 flags = 0;

	if (th->ack && th->syn)
		flags |= FLOW_SYN_ACK;
	else if (th->ack && th->fin)
		flags |= FLOW_FIN_ACK;
	else if (th->syn)
		flags |= FLOW_SYN;
	else if (th->fin)
		flags |= FLOW_FIN;
	else if (th->rst)
		flags |= FLOW_RST;
	else if (th->ack)
		flags |= FLOW_ACK;
	return flags;
}

static __always_inline int flow_fill_l4(void *l4, void *data_end, struct flow_record *rec)
{
	switch (rec->id.protocol) {
	case IPPROTO_TCP: {
		struct tcphdr *th = l4;

		if ((void *)(th + 1) <= data_end) {
			rec->id.src_port = bpf_ntohs(th->source);
			rec->id.dst_port = bpf_ntohs(th->dest);
			rec->seq = bpf_ntohl(th->seq);
			rec->window = bpf_ntohs(th->window);
			rec->tcp_flags = flow_flags(th);
		}
		break;
	}
	case IPPROTO_UDP: {
		struct udphdr *uh = l4;

		if ((void *)(uh + 1) <= data_end) {
			rec->id.src_port = bpf_ntohs(uh->source);
			rec->id.dst_port = bpf_ntohs(uh->dest);
		}
		break;
	}
	default:
		break;
	}
	return 0;
}

static __always_inline int flow_fill_ip4(struct iphdr *ip, void *data_end, struct flow_record *rec)
{
	if ((void *)(ip + 1) > data_end)
		return -1;
	rec->id.src_ip.s6_addr32[2] = bpf_htonl(0xffff);
	rec->id.src_ip.s6_addr32[3] = ip->saddr;
	rec->id.dst_ip.s6_addr32[2] = bpf_htonl(0xffff);
	rec->id.dst_ip.s6_addr32[3] = ip->daddr;
	rec->id.dscp = ip->tos >> 2;
	rec->id.protocol = ip->protocol;
	return flow_fill_l4((void *)ip + ip->ihl * 4, data_end, rec);
}

static __always_inline int flow_fill_ip6(struct ipv6hdr *ip6, void *data_end,
					 struct flow_record *rec)
{
	if ((void *)(ip6 + 1) > data_end)
		return -1;
	rec->id.src_ip = ip6->saddr;
	rec->id.dst_ip = ip6->daddr;
	rec->id.dscp = (bpf_ntohs(*(__be16 *)ip6) >> 6) & 0x3f;
	rec->id.protocol = ip6->nexthdr;
	return flow_fill_l4(ip6 + 1, data_end, rec);
}

static __always_inline int flow_fill(struct __sk_buff *skb, struct flow_record *rec)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > data_end)
		return -1;
	__builtin_memcpy(rec->src_mac, eth->h_source, ETH_ALEN);
	__builtin_memcpy(rec->dst_mac, eth->h_dest, ETH_ALEN);
	rec->id.eth_protocol = bpf_ntohs(eth->h_proto);
	if (rec->id.eth_protocol == ETH_P_IP)
		return flow_fill_ip4((void *)(eth + 1), data_end, rec);
	if (rec->id.eth_protocol == ETH_P_IPV6)
		return flow_fill_ip6((void *)(eth + 1), data_end, rec);
	return -1;
}

SEC("tc")
int flow_rb(struct __sk_buff *skb)
{
	struct flow_record rec = {};
	struct flow_record *out;

	if (sample_shift && (bt_random() & ((1U << (sample_shift & 31)) - 1)))
		return TC_ACT_UNSPEC;

	if (flow_fill(skb, &rec)) {
		flow_stat(FLOW_SKIPPED);
		return TC_ACT_UNSPEC;
	}
	rec.time_ns = bt_now();
	rec.bytes = skb->len;
	rec.ifindex = skb->ifindex;

	out = bpf_ringbuf_reserve(&flow_events, sizeof(*out), 0);
	if (!out) {
		flow_stat(FLOW_LOST);
		return TC_ACT_UNSPEC;
	}
	*out = rec;
	bpf_ringbuf_submit(out, 0);
	flow_stat(FLOW_SENT);
	return TC_ACT_UNSPEC;
}
