// SPDX-License-Identifier: GPL-2.0
/*
 * For tests at a hook of their own: what really passes there, to compare a program's own account with; and
 * tags put on and taken off. All of it lets the hook's next program run.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

#define PORT 5201 /* of the traffic that counts */

/* Of TCP packets of the port. */
struct truth {
	__u64 packets;
	__u64 bytes; /* without jumbo headers, which are there on the host only */
	__u64 jumbo; /* packets that have one */
	__u64 tagged; /* jumbo packets with a VLAN tag in the packet */
	__u64 stacked; /* ... with two */
	__u64 marked; /* packets with a traffic class */
	__u64 failed; /* tags that the kernel would not put on or take off */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct truth);
} truth_map SEC(".maps");

static __always_inline struct truth *book(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&truth_map, &key);
}

static __always_inline int ours(struct __sk_buff *skb, struct bigtcp_pkt *pkt)
{
	__u8 *tcp;

	if (bigtcp_parse_skb(skb, pkt) || pkt->l4_proto != 6)
		return 0;
	tcp = bigtcp_l4(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), pkt, 20);
	return tcp &&
	       (bigtcp_ld16(tcp) == BIGTCP_BE16(PORT) || bigtcp_ld16(tcp + 2) == BIGTCP_BE16(PORT));
}

static __always_inline void count(struct __sk_buff *skb)
{
	struct truth *t = book();
	struct bigtcp_pkt pkt;
	__u8 *ip6;

	if (!t || !ours(skb, &pkt))
		return;
	__sync_fetch_and_add(&t->packets, 1);
	__sync_fetch_and_add(&t->bytes, BIGTCP_CTX_U32(skb, len));
	ip6 = bigtcp_l3(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), &pkt, 40);
	if (ip6 && bigtcp_ld16(ip6) & BIGTCP_BE16(0x0fc0))
		__sync_fetch_and_add(&t->marked, 1);
	if (pkt.is_jumbo != BIGTCP_JUMBO_HBH)
		return;
	__sync_fetch_and_add(&t->bytes, -8);
	__sync_fetch_and_add(&t->jumbo, 1);
	if (pkt.nr_vlan)
		__sync_fetch_and_add(&t->tagged, 1);
	if (pkt.nr_vlan == 2)
		__sync_fetch_and_add(&t->stacked, 1);
}

SEC("tc")
int truth(struct __sk_buff *skb)
{
	count(skb);
	return TC_ACT_UNSPEC;
}

/* The first tag is in the metadata until the next is put on. */
static __always_inline int push(struct __sk_buff *skb, int n)
{
	struct truth *t = book();
	struct bigtcp_pkt pkt;
	int i;

	if (!t || !ours(skb, &pkt))
		return TC_ACT_UNSPEC;
	for (i = 0; i < n; i++) {
		if (bpf_skb_vlan_push(skb, BIGTCP_BE16(0x8100), 100 + i))
			__sync_fetch_and_add(&t->failed, 1);
	}
	count(skb);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int push2(struct __sk_buff *skb)
{
	return push(skb, 2);
}

SEC("tc")
int push3(struct __sk_buff *skb)
{
	return push(skb, 3);
}

/* Counts, and takes off what there is. */
SEC("tc")
int pop_all(struct __sk_buff *skb)
{
	struct truth *t = book();
	int i;

	if (!t || !skb->vlan_present)
		return TC_ACT_UNSPEC;
	count(skb);
	for (i = 0; i < 3 && skb->vlan_present; i++) {
		if (bpf_skb_vlan_pop(skb))
			__sync_fetch_and_add(&t->failed, 1);
	}
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
