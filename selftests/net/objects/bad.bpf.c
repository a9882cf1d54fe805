// SPDX-License-Identifier: GPL-2.0
/* Programs that load, attach and exec have to say something sensible about. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int good(struct __sk_buff *skb)
{
	return skb->mark == 7 ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("tc")
int good_two(struct __sk_buff *skb)
{
	return skb->mark == 8 ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* Reads the packet without a bounds check. */
SEC("tc")
int unsafe(struct __sk_buff *skb)
{
	return *(volatile __u8 *)(long)skb->data;
}

static __always_inline int walk(struct __sk_buff *skb, int rounds)
{
	volatile __u32 seen[16] = { 0 };
	__u32 bits = skb->hash, sum = 0;

	for (int i = 0; i < rounds; i++) {
		if (bpf_get_prandom_u32() & 1)
			sum += i ^ bits;
		seen[i & 15] = sum;
	}
	return seen[bits & 15] & 1;
}

/* More instructions than a verifier walks. */
SEC("tc")
int endless(struct __sk_buff *skb)
{
	return walk(skb, 100000);
}

/* Fewer, but the twin has two of it. */
SEC("tc")
int half(struct __sk_buff *skb)
{
	return walk(skb, 36000);
}

/* Too many for a twin by addressing, which has one for every kind of link header. */
SEC("tc")
int third(struct __sk_buff *skb)
{
	return walk(skb, 20000);
}

SEC("xdp")
int an_xdp(struct xdp_md *ctx)
{
	return ctx->rx_queue_index ? XDP_DROP : XDP_PASS;
}

SEC("action")
int an_action(struct __sk_buff *skb)
{
	return skb->mark ? TC_ACT_OK : TC_ACT_SHOT;
}

/* iproute2 takes any section's name. */
SEC("from-netdev")
int own_section(struct __sk_buff *skb)
{
	return skb->mark == 9 ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
