// SPDX-License-Identifier: GPL-2.0
/*
 * Service guard built from subprograms that the compiler may not inline. The packet's context
 * goes to them as first or second argument, or in a struct on the caller's stack. Blocked ports
 * are dropped and everything else passes, so a packet whose ports are not found is let in.
 */
/* expect: subprogs audit=bypasses twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=23 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=445 */
#include "corpus.h"

struct guard_stats {
	__u64 seen;
	__u64 blocked;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* IP protocol << 16 | port */
	__type(value, struct guard_stats);
} guard_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct in6_addr);
	__type(value, __u64); /* blocked packets */
} offenders SEC(".maps");

struct request {
	struct in6_addr saddr;
	struct __sk_buff *skb;
	__u32 l4_off;
	__u16 sport;
	__u16 dport;
	__u8 proto;
	__u8 syn;
};

/* Keeps the compiler from replacing a pointer argument by the values behind it. */
#define keep(p) asm volatile("" : "+r"(p) : : "memory")

/* ctx is the second argument. */
static __noinline int parse_l3(struct request *r, struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip6 = data + ETH_HLEN;
	struct iphdr *ip = data + ETH_HLEN;

	switch (skb->protocol) {
	case bpf_htons(ETH_P_IPV6):
		if ((void *)(ip6 + 1) > data_end)
			return -1;
		r->saddr = ip6->saddr;
		r->proto = ip6->nexthdr;
		r->l4_off = ETH_HLEN + sizeof(*ip6);
		return 0;
	case bpf_htons(ETH_P_IP):
		if ((void *)(ip + 1) > data_end || ip->ihl < 5)
			return -1;
		r->saddr.s6_addr32[2] = bpf_htonl(0xffff);
		r->saddr.s6_addr32[3] = ip->saddr;
		r->proto = ip->frag_off & bpf_htons(0x1fff) ? IPPROTO_FRAGMENT : ip->protocol;
		r->l4_off = ETH_HLEN + ip->ihl * 4;
		return 0;
	}
	return 1;
}

/* ctx comes in the struct. */
static __noinline int parse_l4(struct request *r)
{
	struct __sk_buff *skb;
	void *data, *data_end;
	struct tcphdr *th;
	struct udphdr uh;

	keep(r);
	skb = r->skb;
	if (r->proto == IPPROTO_TCP) {
		__u32 off = r->l4_off;

		if (off > 128)
			return -1;
		data = (void *)(long)skb->data;
		data_end = (void *)(long)skb->data_end;
		th = data + off;
		if ((void *)(th + 1) > data_end)
			return -1;
		r->sport = bpf_ntohs(th->source);
		r->dport = bpf_ntohs(th->dest);
		r->syn = th->syn && !th->ack;
	} else if (r->proto == IPPROTO_UDP) {
		if (bpf_skb_load_bytes(skb, r->l4_off, &uh, sizeof(uh)))
			return -1;
		r->sport = bpf_ntohs(uh.source);
		r->dport = bpf_ntohs(uh.dest);
	}
	return 0;
}

static __noinline bool blocked(__u8 proto, __u16 port)
{
	if (proto == IPPROTO_TCP)
		return port == 23 || port == 135 || port == 139 || port == 445 || port == 2323;
	if (proto == IPPROTO_UDP)
		return port == 69 || port == 111 || port == 137 || port == 1900 || port == 11211;
	return false;
}

/* ctx is the fourth argument and is used after calls. */
static __noinline int account(struct request *r, __u32 blocked, __u64 *total, struct __sk_buff *skb)
{
	__u32 key = (__u32)r->proto << 16 | r->dport;
	struct guard_stats *s, fresh = {};

	s = bpf_map_lookup_elem(&guard_stats, &key);
	if (!s) {
		bpf_map_update_elem(&guard_stats, &key, &fresh, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&guard_stats, &key);
		if (!s)
			return -1;
	}
	__sync_fetch_and_add(&s->seen, 1);
	__sync_fetch_and_add(&s->bytes, skb->len);
	if (blocked)
		__sync_fetch_and_add(&s->blocked, 1);
	*total = s->seen;
	return 0;
}

static __noinline void punish(struct request *r)
{
	__u64 one = 1, *n;

	keep(r);
	n = bpf_map_lookup_elem(&offenders, &r->saddr);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&offenders, &r->saddr, &one, BPF_ANY);
}

static __noinline int inspect(struct __sk_buff *skb)
{
	struct request r = { .skb = skb };
	__u64 total = 0;
	bool stop;
	int ret;

	ret = parse_l3(&r, skb);
	if (ret)
		return ret > 0 ? TC_ACT_OK : TC_ACT_SHOT;
	if (parse_l4(&r))
		return TC_ACT_SHOT;
	stop = blocked(r.proto, r.dport);
	if (account(&r, stop, &total, skb))
		return TC_ACT_OK;
	if (stop) {
		punish(&r);
		return TC_ACT_SHOT;
	}
	/* The first packets of a service are marked, for a sampler further on. */
	if (total <= 16 && r.proto == IPPROTO_TCP)
		skb->mark = 0x5a000000 | r.dport;
	return TC_ACT_OK;
}

SEC("tc")
int subprogs(struct __sk_buff *skb)
{
	return inspect(skb);
}
