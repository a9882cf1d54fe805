// SPDX-License-Identifier: GPL-2.0
/*
 * One program for each hook that is no tc hook. All of them take the TCP header to follow the IPv6 header: as
 * they are they miss jumbo packets, which the firewall drops and the others book as something else.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define PORT 5201 /* of the traffic that counts */

enum { BOOK_PORT, BOOK_OTHER, BOOK_MAX }; /* TCP of the port; anything else that is no ICMPv6 */

struct book {
	__u64 packets;
	__u64 bytes;
	__u64 large; /* packets above 64 KiB */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BOOK_MAX);
	__type(key, __u32);
	__type(value, struct book);
} books SEC(".maps");

static __always_inline void book(__u32 key, __u32 len)
{
	struct book *b = bpf_map_lookup_elem(&books, &key);

	if (!b)
		return;
	__sync_fetch_and_add(&b->packets, 1);
	__sync_fetch_and_add(&b->bytes, len);
	if (len > 65536)
		__sync_fetch_and_add(&b->large, 1);
}

static __always_inline int is_port(const struct tcphdr *tcp)
{
	return tcp->source == bpf_htons(PORT) || tcp->dest == bpf_htons(PORT);
}

static __always_inline int firewall(struct xdp_md *ctx, __u32 len)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = data + sizeof(*eth);
	struct tcphdr *tcp = data + sizeof(*eth) + sizeof(*ip6);

	if ((void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6) ||
	    ip6->nexthdr == IPPROTO_ICMPV6)
		return XDP_PASS;
	if (ip6->nexthdr != IPPROTO_TCP || (void *)(tcp + 1) > end || !is_port(tcp)) {
		book(BOOK_OTHER, len);
		return XDP_DROP;
	}
	book(BOOK_PORT, len);
	return XDP_PASS;
}

SEC("xdp")
int fw(struct xdp_md *ctx)
{
	return firewall(ctx, ctx->data_end - ctx->data);
}

SEC("xdp.frags")
int fw_frags(struct xdp_md *ctx)
{
	return firewall(ctx, bpf_xdp_get_buff_len(ctx));
}

/* A program that is right whatever it is given: no packet access. */
SEC("xdp")
int nothing(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

/* A program that looks at the packet itself, and has a function to be replaced. */
__attribute__((noinline)) int part(struct xdp_md *ctx)
{
	volatile int ret = XDP_PASS;

	return ctx ? ret : XDP_ABORTED;
}

SEC("xdp")
int host(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + ETH_HLEN > end ? XDP_DROP : part(ctx);
}

/* Only its name is that of libxdp's. */
SEC("xdp")
int xdp_dispatcher(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

/* The packet begins at its IPv6 header. */
static __always_inline int account(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip6 = data;
	struct tcphdr *tcp = data + sizeof(*ip6);

	if (skb->protocol != bpf_htons(ETH_P_IPV6) || (void *)(ip6 + 1) > end ||
	    ip6->nexthdr == IPPROTO_ICMPV6)
		return 1;
	if (ip6->nexthdr == IPPROTO_TCP && (void *)(tcp + 1) <= end && is_port(tcp))
		book(BOOK_PORT, skb->len);
	else
		book(BOOK_OTHER, skb->len);
	return 1;
}

SEC("cgroup_skb/ingress")
int acct_in(struct __sk_buff *skb)
{
	return account(skb);
}

SEC("cgroup_skb/egress")
int acct_out(struct __sk_buff *skb)
{
	return account(skb);
}

/* A packet socket's filter: the packet begins at its Ethernet header, and is only looked at by helpers. */
SEC("socket")
int tap(struct __sk_buff *skb)
{
	__u16 proto = 0, ports[2] = {};
	__u8 nexthdr = 0;

	bpf_skb_load_bytes(skb, 12, &proto, sizeof(proto));
	if (proto != bpf_htons(ETH_P_IPV6))
		return 0;
	bpf_skb_load_bytes(skb, ETH_HLEN + 6, &nexthdr, sizeof(nexthdr));
	if (nexthdr == IPPROTO_ICMPV6)
		return 0;
	bpf_skb_load_bytes(skb, ETH_HLEN + 40, ports, sizeof(ports));
	if (nexthdr == IPPROTO_TCP && (ports[0] == bpf_htons(PORT) || ports[1] == bpf_htons(PORT)))
		book(BOOK_PORT, skb->len);
	else
		book(BOOK_OTHER, skb->len);
	return 0;
}

SEC("sk_lookup")
int lookup(struct bpf_sk_lookup *ctx)
{
	(void)ctx;
	return SK_PASS;
}

char _license[] SEC("license") = "GPL";
