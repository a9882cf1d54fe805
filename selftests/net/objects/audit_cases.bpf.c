// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that are made to fool the audit: into "safe" where they are not, and the other way
 * round. Statements as in selftests/corpus.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct l4 {
	__u8 proto;
	__u16 sport, dport; /* host order */
};

struct value {
	__u64 packets;
	__u64 bytes;
	__u64 seen; /* ns */
	__u32 random;
	__u16 len;
	__u16 port;
};

#define MAP(name, map_type, k, v, n)    \
	struct {                        \
		__uint(type, map_type); \
		__uint(max_entries, n); \
		__type(key, k);         \
		__type(value, v);       \
	} name SEC(".maps")

MAP(stats, BPF_MAP_TYPE_ARRAY, __u32, struct value, 64);
MAP(percpu, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 256);
MAP(table, BPF_MAP_TYPE_HASH, __u64, struct value, 1024);
MAP(blocked, BPF_MAP_TYPE_HASH, __u16, __u8, 16);

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 64);
	__type(value, __u32);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} ring SEC(".maps");

__u64 calls;

/* TCP right after the IP header, right or wrong. aware: skips the jumbo header, above @from bytes.
 */
static __always_inline int parse(struct __sk_buff *skb, struct l4 *l4, bool aware, __u32 from)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct tcphdr *th;

	*l4 = (struct l4){};
	if (data + ETH_HLEN + 40 + 8 + 20 > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);
		__u8 *hbh = (void *)(ip6 + 1);

		l4->proto = ip6->nexthdr;
		th = (void *)(ip6 + 1);
		if (aware && l4->proto == 0 && skb->len > from && hbh[2] == 0xc2) {
			l4->proto = hbh[0];
			th = (void *)(hbh + 8);
		}
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		l4->proto = ip->protocol;
		th = (void *)(ip + 1);
	} else {
		return -1;
	}
	if ((void *)(th + 1) > end)
		return -1;
	if (l4->proto == IPPROTO_TCP) {
		l4->sport = bpf_ntohs(th->source);
		l4->dport = bpf_ntohs(th->dest);
	}
	return 0;
}

static __always_inline struct value *slot(__u32 i)
{
	return bpf_map_lookup_elem(&stats, &i);
}

/* Length alone decides, and no test run on short packets can show it. */
/* expect: len_gate audit=drops */
SEC("tc")
int len_gate(struct __sk_buff *skb)
{
	return skb->len > 65600 ? TC_ACT_SHOT : TC_ACT_OK;
}

/* expect: len_gate_far audit=drops */
SEC("tc")
int len_gate_far(struct __sk_buff *skb)
{
	return skb->len > 300000 ? TC_ACT_SHOT : TC_ACT_OK;
}

/* Knows the header, but only where the kernel puts one. */
/* expect: aware_gated audit=safe */
SEC("tc")
int aware_gated(struct __sk_buff *skb)
{
	struct l4 l4;

	if (parse(skb, &l4, true, 65536))
		return TC_ACT_SHOT;
	return l4.proto == IPPROTO_TCP ? TC_ACT_OK : TC_ACT_SHOT;
}

/* Keeps the length in 16 bits. */
/* expect: len16 audit=misreads */
SEC("tc")
int len16(struct __sk_buff *skb)
{
	struct value *v = slot(1);

	if (v)
		v->len = skb->len;
	return TC_ACT_OK;
}

/* Adds 16-bit lengths up in a wide counter. */
/* expect: sum16 audit=misreads */
SEC("tc")
int sum16(struct __sk_buff *skb)
{
	struct value *v = slot(2);

	if (v)
		v->bytes += (__u16)skb->len;
	return TC_ACT_OK;
}

/* Caps the length: above 64 KiB all packets are alike. */
/* expect: cap16 audit=safe */
SEC("tc")
int cap16(struct __sk_buff *skb)
{
	struct value *v = slot(3);

	if (v)
		v->len = skb->len > 65535 ? 65535 : skb->len;
	return TC_ACT_OK;
}

/* A histogram by powers of two: a long packet has its own bucket, whatever its form. */
/* expect: histogram audit=safe */
SEC("tc")
int histogram(struct __sk_buff *skb)
{
	__u32 len = skb->len, i = 0;
	__u64 *n;

#pragma unroll
	for (int k = 0; k < 20; k++) {
		if (len > 1) {
			len >>= 1;
			i++;
		}
	}
	n = bpf_map_lookup_elem(&percpu, &i);
	if (n)
		(*n)++;
	return TC_ACT_OK;
}

/* Books every protocol once: the second misread packet changes nothing. */
/* expect: set_once audit=misreads */
SEC("tc")
int set_once(struct __sk_buff *skb)
{
	struct value v = {};
	struct l4 l4;
	__u64 key;

	if (parse(skb, &l4, false, 0))
		return TC_ACT_OK;
	key = l4.proto;
	bpf_map_update_elem(&table, &key, &v, BPF_NOEXIST);
	return TC_ACT_OK;
}

/* A port that nothing but the program itself knows. */
/* expect: odd_port audit=bypasses */
SEC("tc")
int odd_port(struct __sk_buff *skb)
{
	struct l4 l4;

	return !parse(skb, &l4, false, 0) && l4.dport == 31337 ? TC_ACT_SHOT : TC_ACT_OK;
}

/* Both forms are redirected, to different devices. */
/* expect: redir_by_port audit=unknown */
SEC("tc")
int redir_by_port(struct __sk_buff *skb)
{
	struct l4 l4;

	parse(skb, &l4, false, 0);
	return bpf_redirect(l4.dport ? 2 : 3, 0);
}

/* expect: redir_const audit=safe */
SEC("tc")
int redir_const(struct __sk_buff *skb)
{
	return bpf_redirect(2, 0);
}

/* expect: queue_push audit=unknown */
SEC("tc")
int queue_push(struct __sk_buff *skb)
{
	struct l4 l4;
	__u32 v;

	parse(skb, &l4, false, 0);
	v = l4.dport;
	bpf_map_push_elem(&queue, &v, BPF_EXIST);
	return TC_ACT_OK;
}

/* expect: count_proto audit=misreads */
SEC("tc")
int count_proto(struct __sk_buff *skb)
{
	struct l4 l4;
	__u32 key;
	__u64 *n;

	if (parse(skb, &l4, false, 0))
		return TC_ACT_OK;
	key = l4.proto;
	n = bpf_map_lookup_elem(&percpu, &key);
	if (n)
		(*n)++;
	return TC_ACT_OK;
}

/* Clocks, random numbers, byte and packet counters: none of them is a difference. */
/* expect: noisy audit=safe */
SEC("tc")
int noisy(struct __sk_buff *skb)
{
	struct value *v = slot(4);
	struct l4 l4;

	if (parse(skb, &l4, true, 0) || !v)
		return TC_ACT_OK;
	v->packets++;
	v->bytes += skb->len;
	v->seen = bpf_ktime_get_ns();
	v->random = bpf_get_prandom_u32();
	v->port = l4.dport;
	skb->tstamp = v->seen + 1000;
	return TC_ACT_OK;
}

/* The same with a misread port between the noise. */
/* expect: noisy_port audit=misreads */
SEC("tc")
int noisy_port(struct __sk_buff *skb)
{
	struct value *v = slot(5);
	struct l4 l4;

	if (parse(skb, &l4, false, 0) || !v)
		return TC_ACT_OK;
	v->packets++;
	v->bytes += skb->len;
	v->seen = bpf_ktime_get_ns();
	v->random = bpf_get_prandom_u32();
	v->port = l4.dport;
	return TC_ACT_OK;
}

/* Leaves out the clock for what it does not know. */
/* expect: stale_clock audit=misreads */
SEC("tc")
int stale_clock(struct __sk_buff *skb)
{
	struct value *v = slot(6);
	struct l4 l4;

	if (parse(skb, &l4, false, 0) || !v)
		return TC_ACT_OK;
	v->random = bpf_get_prandom_u32();
	if (l4.dport)
		v->seen = bpf_ktime_get_ns();
	return TC_ACT_OK;
}

/* An agent fills the map later. */
/* expect: empty_list audit=unknown */
SEC("tc")
int empty_list(struct __sk_buff *skb)
{
	struct l4 l4;

	if (parse(skb, &l4, false, 0))
		return TC_ACT_OK;
	return bpf_map_lookup_elem(&blocked, &l4.dport) ? TC_ACT_SHOT : TC_ACT_OK;
}

/* Nothing that is fed to it makes a difference. */
/* expect: no_match audit=unknown */
SEC("tc")
int no_match(struct __sk_buff *skb)
{
	struct l4 l4;

	if (parse(skb, &l4, false, 0))
		return TC_ACT_OK;
	return l4.sport * l4.dport == 0x7fff1234 ? TC_ACT_SHOT : TC_ACT_OK;
}

/* Right for IPv6; trusts IPv4's length. */
/* expect: tot_len audit=misreads */
SEC("tc")
int tot_len(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + ETH_HLEN;
	struct value *v = slot(7);

	if ((void *)(ip + 1) > end || !v || skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	v->bytes += bpf_ntohs(ip->tot_len);
	return TC_ACT_OK;
}

/* Identical packets are treated by turns. */
/* expect: by_turns audit=unknown */
SEC("tc")
int by_turns(struct __sk_buff *skb)
{
	return __sync_fetch_and_add(&calls, 1) & 1 ? TC_ACT_SHOT : TC_ACT_OK;
}

/* expect: mark_port audit=misreads */
SEC("tc")
int mark_port(struct __sk_buff *skb)
{
	struct l4 l4;

	parse(skb, &l4, false, 0);
	skb->mark = l4.dport ? 7 : 0;
	return TC_ACT_OK;
}

/* Writes far behind the headers, the same for all. */
/* expect: write_far audit=safe */
SEC("tc")
int write_far(struct __sk_buff *skb)
{
	__u8 b = 1;

	bpf_skb_store_bytes(skb, 600, &b, 1, 0);
	return TC_ACT_OK;
}

/* A record for what it knows, none for the rest. */
/* expect: ring_some audit=misreads */
SEC("tc")
int ring_some(struct __sk_buff *skb)
{
	struct l4 l4;

	if (!parse(skb, &l4, false, 0) && l4.dport)
		bpf_ringbuf_output(&ring, &l4.dport, 2, 0);
	return TC_ACT_OK;
}

/* A length in network byte order. */
/* expect: len_be audit=safe */
SEC("tc")
int len_be(struct __sk_buff *skb)
{
	__u32 len = bpf_htonl(skb->len);

	bpf_ringbuf_output(&ring, &len, 4, 0);
	return TC_ACT_OK;
}

/* A class, not a verdict, and no packet is looked at. */
/* expect: all_alike audit=safe */
SEC("tc")
int all_alike(struct __sk_buff *skb)
{
	skb->priority = 3;
	return TC_ACT_UNSPEC;
}

/* The packet's bytes from @off on, in host order; 0 beyond its end. */
static __always_inline __u32 word(struct __sk_buff *skb, __u32 off)
{
	__be32 w = 0;

	bpf_skb_load_bytes(skb, off, &w, 4);
	return bpf_ntohl(w);
}

static __always_inline int count(__u64 key)
{
	struct value v = {}, *p = bpf_map_lookup_elem(&table, &key);

	if (p)
		p->packets++;
	else
		bpf_map_update_elem(&table, &key, &v, BPF_ANY);
	return TC_ACT_OK;
}

/* For devices without Ethernet header, and wrong there. */
/* expect: no_link_port audit=unknown */
SEC("tc")
int no_link_port(struct __sk_buff *skb)
{
	return skb->protocol == bpf_htons(ETH_P_IPV6) ? count(word(skb, 40)) : TC_ACT_OK;
}

/* The same for long packets only, so that short ones in jumbo form would not show it. */
/* expect: no_link_long audit=unknown */
SEC("tc")
int no_link_long(struct __sk_buff *skb)
{
	bool v6 = skb->protocol == bpf_htons(ETH_P_IPV6);

	return v6 && skb->len > 65536 && (word(skb, 40) & 0xff00) == 0xc200 ? TC_ACT_SHOT
									    : TC_ACT_OK;
}

/* IPv4's length there. */
/* expect: no_link_len audit=unknown */
SEC("tc")
int no_link_len(struct __sk_buff *skb)
{
	struct value *v = slot(8);

	if (v && skb->protocol == bpf_htons(ETH_P_IP))
		v->bytes += word(skb, 0) & 0xffff;
	return TC_ACT_OK;
}

/* For these devices too, and right. */
/* expect: no_link_right audit=safe */
SEC("tc")
int no_link_right(struct __sk_buff *skb)
{
	__u32 off = 40;

	if (skb->protocol != bpf_htons(ETH_P_IPV6))
		return TC_ACT_OK;
	if (!(word(skb, 4) & 0xff00) && (word(skb, 40) & 0xff00) == 0xc200)
		off += 8;
	return count(word(skb, off));
}

/* For Ethernet: its last word of the address is a word of TCP's, or the jumbo header's, without. */
/* expect: by_dest audit=unknown */
SEC("tc")
int by_dest(struct __sk_buff *skb)
{
	return skb->protocol == bpf_htons(ETH_P_IPV6) ? count(word(skb, 50)) : TC_ACT_OK;
}

/* expect: no_hook audit=unknown */
SEC("lwt_in")
int no_hook(struct __sk_buff *skb)
{
	return BPF_OK;
}

char _license[] SEC("license") = "GPL";
