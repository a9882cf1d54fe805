// SPDX-License-Identifier: GPL-2.0
/*
 * A cursor over the packet that allows every offset the verifier does (65535 with what is read),
 * as SYN proxies have it, to read the TCP options: MSS and window scale of each SYN by port.
 */
/* expect: far_off audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=192.0.2.1 dst=192.0.2.2 sport=40000 dport=5201 */
#include "corpus.h"

#define MAX_OFF	    0xffff
#define MAX_OPTIONS 10

/* Bytes in front of the link header, for devices that have them; set by the agent. */
__u32 link_skip = 0;

struct cursor {
	void *data, *end;
	__u32 off;
};

struct opts {
	__u64 packets;
	__u16 mss;
	__u8 wscale;
	__u8 seen; /* options read */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct opts);
} by_port SEC(".maps");

/* The next @size bytes, or NULL behind the end. */
static __always_inline void *next(struct cursor *c, __u32 size)
{
	__u32 off = c->off;
	void *p;

	/* keep it one comparison, of the register that is added */
	asm volatile("" : "+r"(off));
	if (off > MAX_OFF - size)
		return NULL;
	p = c->data + off;
	asm volatile("" : "+r"(p));
	if (p + size > c->end)
		return NULL;
	c->off += size;
	return p;
}

static __always_inline int read_option(struct cursor *c, struct opts *o)
{
	__u8 *kind = next(c, 1), *len, *val;
	__u32 skip;

	if (!kind || *kind == 0)
		return -1;
	if (*kind == 1)
		return 0;
	len = next(c, 1);
	if (!len || *len < 2)
		return -1;
	skip = *len - 2;
	o->seen++;
	val = next(c, 1);
	if (!val)
		return -1;
	if (*kind == 2)
		o->mss = *val;
	else if (*kind == 3)
		o->wscale = *val;
	c->off += skip - 1;
	return 0;
}

static __always_inline int find_tcp(struct cursor *c)
{
	struct ethhdr *eth = next(c, sizeof(*eth));
	struct ipv6hdr *ip6;
	struct iphdr *ip;

	if (!eth)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		ip6 = next(c, sizeof(*ip6));
		return ip6 && ip6->nexthdr == IPPROTO_TCP ? 0 : -1;
	}
	if (eth->h_proto != bpf_htons(ETH_P_IP))
		return -1;
	ip = next(c, sizeof(*ip));
	if (!ip || ip->protocol != IPPROTO_TCP)
		return -1;
	c->off += ip->ihl * 4 - sizeof(*ip);
	return 0;
}

SEC("tc")
int far_off(struct __sk_buff *skb)
{
	struct cursor c = {
		.data = (void *)(long)skb->data,
		.end = (void *)(long)skb->data_end,
		.off = link_skip,
	};
	struct opts read = {}, *o;
	struct tcphdr *tcp;
	__u32 port, n;

	if (find_tcp(&c))
		return TC_ACT_OK;
	tcp = next(&c, sizeof(*tcp));
	if (!tcp)
		return TC_ACT_OK;
	port = bpf_ntohs(tcp->dest);
	for (n = 0; n < MAX_OPTIONS; n++)
		if (read_option(&c, &read))
			break;
	o = bpf_map_lookup_elem(&by_port, &port);
	if (!o) {
		read.packets = 1;
		bpf_map_update_elem(&by_port, &port, &read, BPF_NOEXIST);
		return TC_ACT_OK;
	}
	__sync_fetch_and_add(&o->packets, 1);
	o->mss = read.mss;
	o->wscale = read.wscale;
	o->seen = read.seen;
	return TC_ACT_OK;
}
