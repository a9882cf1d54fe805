// SPDX-License-Identifier: GPL-2.0
/*
 * TCP option reader: walks the options with bpf_loop, keeps window scale, MSS and the last
 * timestamps by connection, and drops TCP segments whose options are malformed.
 */
/* expect: opts_loop audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
/* flow: src=192.0.2.1 dst=198.51.100.2 sport=40000 dport=443 */
#include "corpus.h"

#define TCPOPT_EOL	 0
#define TCPOPT_NOP	 1
#define TCPOPT_MSS	 2
#define TCPOPT_WSCALE	 3
#define TCPOPT_SACKOK	 4
#define TCPOPT_SACK	 5
#define TCPOPT_TIMESTAMP 8
#define TCPOPT_MAX_LEN	 40

struct conn_key {
	__u8 saddr[16];
	__u8 daddr[16];
	__be16 sport;
	__be16 dport;
	__u32 pad;
};

struct conn_opts {
	__u64 seen_ns;
	__u64 segments;
	__u32 tsval;
	__u32 tsecr;
	__u32 seen; /* bit mask of option kinds below 32 */
	__u16 mss;
	__u8 wscale;
	__u8 sack_blocks;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct conn_key);
	__type(value, struct conn_opts);
} conns SEC(".maps");

enum {
	OPTS_TCP,
	OPTS_OTHER,
	OPTS_MALFORMED,
	OPTS_COUNTERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OPTS_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct walk {
	struct __sk_buff *skb;
	__u32 off; /* of the next option, from the start of the packet */
	__u32 end; /* of the options */
	bool malformed;
	struct conn_opts opts;
};

static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &what);

	if (n)
		(*n)++;
}

/* One option a call; 1 ends the walk. */
static long walk_option(__u32 i, void *arg)
{
	struct walk *w = arg;
	struct __sk_buff *skb = w->skb;
	__u8 kind, len, body[8];

	if (w->off >= w->end)
		return 1;
	if (bpf_skb_load_bytes(skb, w->off, &kind, 1))
		goto malformed;
	if (kind == TCPOPT_EOL)
		return 1;
	if (kind == TCPOPT_NOP) {
		w->off++;
		return 0;
	}
	if (bpf_skb_load_bytes(skb, w->off + 1, &len, 1) || len < 2 || w->off + len > w->end)
		goto malformed;
	if (kind < 32)
		w->opts.seen |= 1U << (kind & 31);

	switch (kind) {
	case TCPOPT_MSS:
		if (len != 4 || bpf_skb_load_bytes(skb, w->off + 2, body, 2))
			goto malformed;
		w->opts.mss = (__u16)body[0] << 8 | body[1];
		break;
	case TCPOPT_WSCALE:
		if (len != 3 || bpf_skb_load_bytes(skb, w->off + 2, body, 1))
			goto malformed;
		w->opts.wscale = body[0];
		break;
	case TCPOPT_SACK:
		w->opts.sack_blocks = (len - 2) / 8;
		break;
	case TCPOPT_TIMESTAMP:
		if (len != 10 || bpf_skb_load_bytes(skb, w->off + 2, body, 8))
			goto malformed;
		w->opts.tsval = (__u32)body[0] << 24 | body[1] << 16 | body[2] << 8 | body[3];
		w->opts.tsecr = (__u32)body[4] << 24 | body[5] << 16 | body[6] << 8 | body[7];
		break;
	}
	w->off += len;
	return 0;

malformed:
	w->malformed = true;
	return 1;
}

static __always_inline void remember(const struct conn_key *key, const struct walk *w)
{
	struct conn_opts *c = bpf_map_lookup_elem(&conns, key);
	struct conn_opts fresh = w->opts;

	if (!c) {
		fresh.seen_ns = bt_now();
		fresh.segments = 1;
		bpf_map_update_elem(&conns, key, &fresh, BPF_ANY);
		return;
	}
	c->seen_ns = bt_now();
	c->segments++;
	c->seen |= w->opts.seen;
	if (w->opts.tsval) {
		c->tsval = w->opts.tsval;
		c->tsecr = w->opts.tsecr;
	}
	if (w->opts.mss) {
		c->mss = w->opts.mss;
		c->wscale = w->opts.wscale;
	}
	c->sack_blocks = w->opts.sack_blocks;
}

/* Returns the offset of the TCP header, 0 if this is not TCP. */
static __always_inline __u32 find_tcp(struct __sk_buff *skb, struct conn_key *key)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip6 = data + ETH_HLEN;
	struct iphdr *ip = data + ETH_HLEN;

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(ip6 + 1) > data_end || ip6->nexthdr != IPPROTO_TCP)
			return 0;
		__builtin_memcpy(key->saddr, &ip6->saddr, 16);
		__builtin_memcpy(key->daddr, &ip6->daddr, 16);
		return ETH_HLEN + sizeof(*ip6);
	}
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if ((void *)(ip + 1) > data_end || ip->protocol != IPPROTO_TCP || ip->ihl < 5 ||
		    (ip->frag_off & bpf_htons(0x1fff)))
			return 0;
		__builtin_memcpy(key->saddr, &ip->saddr, 4);
		__builtin_memcpy(key->daddr, &ip->daddr, 4);
		return ETH_HLEN + ip->ihl * 4;
	}
	return 0;
}

SEC("tc")
int opts_loop(struct __sk_buff *skb)
{
	struct walk w = { .skb = skb };
	struct conn_key key = {};
	struct tcphdr th;
	__u32 off;

	off = find_tcp(skb, &key);
	if (!off) {
		count(OPTS_OTHER);
		return TC_ACT_OK;
	}
	if (bpf_skb_load_bytes(skb, off, &th, sizeof(th)) || th.doff < 5) {
		count(OPTS_MALFORMED);
		return TC_ACT_SHOT;
	}
	key.sport = th.source;
	key.dport = th.dest;
	w.off = off + sizeof(th);
	w.end = off + th.doff * 4;
	bpf_loop(TCPOPT_MAX_LEN, walk_option, &w, 0);
	if (w.malformed) {
		count(OPTS_MALFORMED);
		return TC_ACT_SHOT;
	}
	count(OPTS_TCP);
	remember(&key, &w);
	return TC_ACT_OK;
}
