// SPDX-License-Identifier: GPL-2.0
/*
 * DSCP marker on dynptrs: reads headers as slices (which the kernel copies to a buffer if they
 * are not linear) and writes the traffic class through a writable slice or bpf_dynptr_write.
 */
/* expect: dynptr audit=misreads twin=made kernel=6.12 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=5201 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ptr) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, __u32 offset, void *buffer,
			      __u32 buffer__szk) __ksym;
extern void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *ptr, __u32 offset, void *buffer,
				   __u32 buffer__szk) __ksym;

#define DSCP_EF	  46
#define DSCP_AF31 26
#define DSCP_CS1  8

struct mark_stats {
	__u64 packets;
	__u64 marked;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* IP protocol << 16 | port */
	__type(value, struct mark_stats);
} mark_stats SEC(".maps");

/* DSCP of a service, -1 for "leave alone". */
static __always_inline int dscp_of(__u8 proto, __u16 port)
{
	if (proto == IPPROTO_UDP)
		return port == 53 ? DSCP_EF : -1;
	if (port == 443 || port == 80)
		return DSCP_AF31;
	if (port >= 5201 && port <= 5202)
		return DSCP_CS1;
	return -1;
}

static __always_inline int l4_port(struct bpf_dynptr *ptr, __u8 proto, __u32 off)
{
	struct tcphdr tcp_buf, *th;
	struct udphdr udp_buf, *uh;

	switch (proto) {
	case IPPROTO_TCP:
		th = bpf_dynptr_slice(ptr, off, &tcp_buf, sizeof(tcp_buf));
		return th ? bpf_ntohs(th->dest) : -1;
	case IPPROTO_UDP:
		uh = bpf_dynptr_slice(ptr, off, &udp_buf, sizeof(udp_buf));
		return uh ? bpf_ntohs(uh->dest) : -1;
	}
	return 0;
}

static __always_inline void count(__u8 proto, int port, bool marked)
{
	__u32 key = (__u32)proto << 16 | (__u16)port;
	struct mark_stats *s, fresh = { 1, marked };

	s = bpf_map_lookup_elem(&mark_stats, &key);
	if (s) {
		s->packets++;
		s->marked += marked;
	} else {
		bpf_map_update_elem(&mark_stats, &key, &fresh, BPF_NOEXIST);
	}
}

static __always_inline int mark_ipv6(struct bpf_dynptr *ptr)
{
	struct ipv6hdr buf, *ip6;
	__u8 *tc, tc_buf[2];
	int port, dscp;
	__u8 proto;

	ip6 = bpf_dynptr_slice(ptr, ETH_HLEN, &buf, sizeof(buf));
	if (!ip6 || ip6->version != 6)
		return TC_ACT_OK;
	proto = ip6->nexthdr;
	port = l4_port(ptr, proto, ETH_HLEN + sizeof(*ip6));
	if (port < 0)
		return TC_ACT_SHOT;
	dscp = dscp_of(proto, port);
	count(proto, port, dscp >= 0);
	if (dscp < 0 || (proto != IPPROTO_TCP && proto != IPPROTO_UDP))
		return TC_ACT_OK;

	/* version:4, traffic class:8 (DSCP:6, ECN:2), flow label:20 */
	tc = bpf_dynptr_slice_rdwr(ptr, ETH_HLEN, tc_buf, sizeof(tc_buf));
	if (!tc)
		return TC_ACT_SHOT;
	tc[0] = (tc[0] & 0xf0) | dscp >> 2;
	tc[1] = (tc[1] & 0x3f) | (dscp & 3) << 6;
	if (tc == tc_buf)
		bpf_dynptr_write(ptr, ETH_HLEN, tc_buf, sizeof(tc_buf), 0);
	return TC_ACT_OK;
}

static __always_inline int mark_ipv4(struct __sk_buff *skb, struct bpf_dynptr *ptr)
{
	struct iphdr buf, *ip;
	int port, dscp;
	__be16 old, new;
	__u8 proto, tos;

	ip = bpf_dynptr_slice(ptr, ETH_HLEN, &buf, sizeof(buf));
	if (!ip || ip->version != 4 || ip->ihl < 5 || (ip->frag_off & bpf_htons(0x1fff)))
		return TC_ACT_OK;
	proto = ip->protocol;
	tos = ip->tos;
	port = l4_port(ptr, proto, ETH_HLEN + ip->ihl * 4);
	if (port < 0)
		return TC_ACT_SHOT;
	dscp = dscp_of(proto, port);
	count(proto, port, dscp >= 0);
	if (dscp < 0 || (proto != IPPROTO_TCP && proto != IPPROTO_UDP))
		return TC_ACT_OK;

	/* The checksum covers tos as the low byte of the first word. */
	old = bpf_htons(tos);
	tos = (tos & 3) | dscp << 2;
	new = bpf_htons(tos);
	if (bpf_l3_csum_replace(skb, ETH_HLEN + offsetof(struct iphdr, check), old, new, 2))
		return TC_ACT_SHOT;
	if (bpf_dynptr_write(ptr, ETH_HLEN + offsetof(struct iphdr, tos), &tos, sizeof(tos), 0))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

SEC("tc")
int dynptr(struct __sk_buff *skb)
{
	struct ethhdr buf, *eth;
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(skb, 0, &ptr))
		return TC_ACT_SHOT;
	eth = bpf_dynptr_slice(&ptr, 0, &buf, sizeof(buf));
	if (!eth)
		return TC_ACT_OK;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return mark_ipv6(&ptr);
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return mark_ipv4(skb, &ptr);
	return TC_ACT_OK;
}
