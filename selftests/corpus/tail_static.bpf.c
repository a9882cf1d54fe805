// SPDX-License-Identifier: GPL-2.0
/*
 * A packet pipeline of tail calls: parse, policy, account, mark. The program array is filled at
 * load time from its definition, the results of the parser travel in skb->cb. Slot 3 (a debug
 * stage) is left empty in production, so the call to it falls through.
 *
 * The parser knows TCP, UDP and ICMP behind the fixed headers only.
 */
/* expect: tail_static audit=drops twin=made kernel=6.1 */
/* expect: ts_policy audit=unknown twin=made kernel=6.1 */
/* expect: ts_account audit=unknown twin=made kernel=6.1 */
/* expect: ts_mark audit=safe twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define CB_MAGIC 0x7ac5u

enum {
	STAGE_POLICY,
	STAGE_ACCOUNT,
	STAGE_MARK,
	STAGE_DEBUG,
	STAGE_MAX,
};

/* skb->cb: [0] magic and protocol, [1] L4 offset, [2] ports, [3] payload bytes, [4] class */
enum {
	CB_PROTO,
	CB_L4,
	CB_PORTS,
	CB_BYTES,
	CB_CLASS,
};

struct stats {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct stats);
} proto_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} refused SEC(".maps");

int ts_policy(struct __sk_buff *skb);
int ts_account(struct __sk_buff *skb);
int ts_mark(struct __sk_buff *skb);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, STAGE_MAX);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct __sk_buff *));
} stages SEC(".maps") = {
	.values = {
		[STAGE_POLICY] = &ts_policy,
		[STAGE_ACCOUNT] = &ts_account,
		[STAGE_MARK] = &ts_mark,
	},
};

static __always_inline void refuse(__u32 why)
{
	__u64 *n = bpf_map_lookup_elem(&refused, &why);

	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline bool handed_over(struct __sk_buff *skb)
{
	return skb->cb[CB_PROTO] >> 16 == CB_MAGIC;
}

SEC("tc")
int ts_mark(struct __sk_buff *skb)
{
	__u32 class;

	if (!handed_over(skb))
		return TC_ACT_OK;
	class = skb->cb[CB_CLASS];
	skb->mark = (skb->mark & ~0xfu) | class;
	skb->priority = class == 2 ? 6 : 0;
	return TC_ACT_OK;
}

SEC("tc")
int ts_account(struct __sk_buff *skb)
{
	struct stats *s;
	__u32 proto;

	if (!handed_over(skb))
		return TC_ACT_OK;
	proto = skb->cb[CB_PROTO] & 0xff;
	s = bpf_map_lookup_elem(&proto_stats, &proto);
	if (s) {
		s->packets++;
		s->bytes += skb->cb[CB_BYTES];
	}
	bpf_tail_call(skb, &stages, STAGE_MARK);
	return TC_ACT_OK;
}

SEC("tc")
int ts_policy(struct __sk_buff *skb)
{
	__u32 proto, ports, class = 1;
	__u16 dport;

	if (!handed_over(skb))
		return TC_ACT_OK;
	proto = skb->cb[CB_PROTO] & 0xff;
	ports = skb->cb[CB_PORTS];
	dport = ports & 0xffff;

	switch (proto) {
	case IPPROTO_TCP:
		/* no telnet, no SMB */
		if (dport == 23 || dport == 445) {
			refuse(0);
			return TC_ACT_SHOT;
		}
		if (dport == 22 || ports >> 16 == 22)
			class = 2;
		break;
	case IPPROTO_UDP:
		if (dport == 161) {
			refuse(1);
			return TC_ACT_SHOT;
		}
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		class = 3;
		break;
	default:
		refuse(2);
		return TC_ACT_SHOT;
	}
	skb->cb[CB_CLASS] = class;
	bpf_tail_call(skb, &stages, STAGE_DEBUG);
	bpf_tail_call(skb, &stages, STAGE_ACCOUNT);
	return TC_ACT_OK;
}

SEC("tc")
int tail_static(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	__u32 l4, ports = 0;
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return TC_ACT_SHOT;

	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return TC_ACT_SHOT;
		proto = ip6->nexthdr;
		l4 = sizeof(*eth) + sizeof(*ip6);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5)
			return TC_ACT_SHOT;
		proto = ip->protocol;
		l4 = sizeof(*eth) + sizeof(*ip);
	} else {
		return TC_ACT_OK;
	}

	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP) {
		__be16 *p = data + l4;

		if ((void *)(p + 2) > end)
			return TC_ACT_SHOT;
		ports = (__u32)bpf_ntohs(p[0]) << 16 | bpf_ntohs(p[1]);
	}

	skb->cb[CB_PROTO] = CB_MAGIC << 16 | proto;
	skb->cb[CB_L4] = l4;
	skb->cb[CB_PORTS] = ports;
	skb->cb[CB_BYTES] = skb->len - l4;
	skb->cb[CB_CLASS] = 0;
	bpf_tail_call(skb, &stages, STAGE_POLICY);
	return TC_ACT_SHOT;
}
