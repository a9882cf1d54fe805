// SPDX-License-Identifier: GPL-2.0
/*
 * Budget of packets and bytes per TCP or UDP port and window. The counters are guarded by a spin
 * lock, since they go together, and a timer of each entry starts the next window.
 */
/* expect: timer_lock audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define WINDOW_NS   (10 * BT_NSEC_PER_SEC)
#define MAX_PACKETS 50000000u
#define CLOCK_MONO  1

struct budget {
	struct bpf_spin_lock lock;
	__u32 packets; /* in this window */
	__u64 bytes;
	__u32 windows;
	__u32 over; /* packets refused, ever */
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

/* 6.1 has no lock for the entry that the callback is given, only for one that was looked up. */
static int next_window(void *map, __u32 *port, struct budget *entry)
{
	struct budget *b = bpf_map_lookup_elem(&budgets, port);

	if (!b)
		return 0;
	bpf_spin_lock(&b->lock);
	b->packets = 0;
	b->bytes = 0;
	b->windows++;
	bpf_spin_unlock(&b->lock);
	bpf_timer_start(&entry->timer, WINDOW_NS, 0);
	return 0;
}

static __always_inline struct budget *budget_of(__u32 port)
{
	struct budget *b = bpf_map_lookup_elem(&budgets, &port);
	struct budget first = {};

	if (b)
		return b;
	/* whoever inserts the entry starts its timer */
	if (bpf_map_update_elem(&budgets, &port, &first, BPF_NOEXIST))
		return bpf_map_lookup_elem(&budgets, &port);
	b = bpf_map_lookup_elem(&budgets, &port);
	if (!b)
		return NULL;
	if (bpf_timer_init(&b->timer, &budgets, CLOCK_MONO))
		return b;
	bpf_timer_set_callback(&b->timer, next_window);
	bpf_timer_start(&b->timer, WINDOW_NS, 0);
	return b;
}

/* The service's port, which is the lower one, and the bytes behind the IP header; 0: none. */
static __always_inline __u32 service_port(struct __sk_buff *skb, __u32 *bytes)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__u16 sport, dport;
	__be16 *ports;
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return 0;
		proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
		*bytes = skb->len - ETH_HLEN - sizeof(*ip6);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return 0;
		if (ip->frag_off & bpf_htons(0x1fff))
			return 0;
		proto = ip->protocol;
		ports = (void *)(ip + 1);
		*bytes = skb->len - ETH_HLEN - sizeof(*ip);
	} else {
		return 0;
	}
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return 0;
	if ((void *)(ports + 2) > end)
		return 0;
	sport = bpf_ntohs(ports[0]);
	dport = bpf_ntohs(ports[1]);
	return sport < dport ? sport : dport;
}

SEC("tc")
int timer_lock(struct __sk_buff *skb)
{
	bool over = false;
	struct budget *b;
	__u32 port, bytes = 0;

	port = service_port(skb, &bytes);
	if (!port)
		return TC_ACT_OK;
	b = budget_of(port);
	if (!b)
		return TC_ACT_OK;

	bpf_spin_lock(&b->lock);
	if (b->packets >= MAX_PACKETS) {
		b->over++;
		over = true;
	} else {
		b->packets++;
		b->bytes += bytes;
	}
	bpf_spin_unlock(&b->lock);
	return over ? TC_ACT_SHOT : TC_ACT_OK;
}
