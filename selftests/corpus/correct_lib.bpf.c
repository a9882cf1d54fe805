// SPDX-License-Identifier: GPL-2.0
/*
 * The same kind of policy as in correct.bpf.c, with the parser of <bigtcp/parse.bpf.h>: ports
 * that are refused, and the packets and payload bytes of all others by protocol and port.
 */
/* expect: correct_lib audit=safe twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=25 */
/* flow: src=192.0.2.1 dst=192.0.2.2 sport=40000 dport=5201 */
#include "corpus.h"
#include <bigtcp/parse.bpf.h>

struct account {
	__u64 packets;
	__u64 payload; /* bytes behind the TCP or UDP header */
	__u64 refused;
};

/* Key: protocol << 16 | port, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct account);
} accounts SEC(".maps");

enum {
	WHY_SHORT,
	WHY_BAD,
	WHY_PORT,
	WHY_MAX,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WHY_MAX);
	__type(key, __u32);
	__type(value, __u64);
} drops SEC(".maps");

static __always_inline int drop(__u32 why)
{
	__u64 *n = bpf_map_lookup_elem(&drops, &why);

	if (n)
		(*n)++;
	return TC_ACT_SHOT;
}

static __always_inline struct account *account_of(__u32 key)
{
	struct account *a = bpf_map_lookup_elem(&accounts, &key);
	struct account first = {};

	if (a)
		return a;
	bpf_map_update_elem(&accounts, &key, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&accounts, &key);
}

SEC("tc")
int correct_lib(struct __sk_buff *skb)
{
	struct bigtcp_pkt pkt;
	struct account *a;
	struct udphdr *l4; /* TCP has its ports at the same place */
	__u32 hlen = sizeof(*l4);
	__u16 port;
	int ret;

	ret = bigtcp_parse_skb(skb, &pkt);
	if (ret == BIGTCP_PARSE_SHORT && !bigtcp_pull_skb(skb, 128))
		ret = bigtcp_parse_skb(skb, &pkt);
	if (ret == BIGTCP_PARSE_NOT_IP)
		return TC_ACT_OK;
	if (ret != BIGTCP_PARSE_OK)
		return drop(ret == BIGTCP_PARSE_SHORT ? WHY_SHORT : WHY_BAD);
	if (pkt.fragment == BIGTCP_FRAG_LATER)
		return TC_ACT_OK;
	if (pkt.l4_proto != IPPROTO_TCP && pkt.l4_proto != IPPROTO_UDP)
		return TC_ACT_OK;

	if (pkt.l4_proto == IPPROTO_TCP) {
		struct tcphdr *tcp;

		tcp = bigtcp_l4(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), &pkt, sizeof(*tcp));
		if (!tcp)
			return drop(WHY_SHORT);
		hlen = tcp->doff * 4;
	}
	l4 = bigtcp_l4(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), &pkt, sizeof(*l4));
	if (!l4)
		return drop(WHY_SHORT);
	if (pkt.l4_len < hlen)
		return drop(WHY_BAD);

	port = bpf_ntohs(l4->dest);
	a = account_of((__u32)pkt.l4_proto << 16 | port);
	if (!a)
		return TC_ACT_OK;
	if (pkt.l4_proto == IPPROTO_TCP && (port == 23 || port == 25 || port == 445)) {
		__sync_fetch_and_add(&a->refused, 1);
		return drop(WHY_PORT);
	}
	__sync_fetch_and_add(&a->packets, 1);
	__sync_fetch_and_add(&a->payload, pkt.l4_len - hlen);
	return TC_ACT_OK;
}
