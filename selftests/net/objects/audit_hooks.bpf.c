// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for XDP, cgroups and sockets that are made to fool the audit, most of all by looking at the
 * length, which a test run does not show them as it is. Statements as in selftests/corpus.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PTR(x) ((void *)(long)(x))

struct count {
	__u64 packets;
	__u64 bytes;
};

struct brief {
	__u32 packets;
	__u16 len;
	__u16 pad;
};

#define MAP(name, map_type, k, v, n)    \
	struct {                        \
		__uint(type, map_type); \
		__uint(max_entries, n); \
		__type(key, k);         \
		__type(value, v);       \
	} name SEC(".maps")

MAP(counts, BPF_MAP_TYPE_ARRAY, __u32, struct count, 256);
MAP(briefs, BPF_MAP_TYPE_ARRAY, __u32, struct brief, 4);
MAP(scratch, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count, 1);
MAP(devs, BPF_MAP_TYPE_DEVMAP, __u32, __u32, 4);
MAP(tokens, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1);

char _license[] SEC("license") = "GPL";

static __always_inline void book(__u32 key, __u64 bytes)
{
	struct count *c = bpf_map_lookup_elem(&counts, &key);

	if (c) {
		c->packets++;
		c->bytes += bytes;
	}
}

/* Protocol of an IPv6 packet at @ip; aware: behind a hop-by-hop header, if there is one. -1: no IPv6. */
static __always_inline int proto6(void *ip, void *end, bool aware)
{
	struct ipv6hdr *ip6 = ip;
	__u8 *hbh = ip + 40;

	if (ip + 40 > end || ip6->version != 6)
		return -1;
	if (!aware || ip6->nexthdr != 0)
		return ip6->nexthdr;
	return ip + 48 > end ? -1 : hbh[0];
}

static __always_inline bool is_tcp(struct xdp_md *ctx, bool aware)
{
	return proto6(PTR(ctx->data) + 14, PTR(ctx->data_end), aware) == IPPROTO_TCP;
}

static __always_inline __u64 room(struct xdp_md *ctx)
{
	return PTR(ctx->data_end) - PTR(ctx->data);
}

/* --- XDP ---------------------------------------------------------------------------------------- */

/* expect: x_naive audit=drops */
SEC("xdp")
int x_naive(struct xdp_md *ctx)
{
	int proto = proto6(PTR(ctx->data) + 14, PTR(ctx->data_end), false);

	return proto < 0 || proto == IPPROTO_TCP ? XDP_PASS : XDP_DROP;
}

/* ABORTED is no worse than DROP: nothing is lost that was not. */
/* expect: x_aborts audit=misreads */
SEC("xdp")
int x_aborts(struct xdp_md *ctx)
{
	return is_tcp(ctx, false) ? XDP_DROP : XDP_ABORTED;
}

/* expect: x_lets_pass audit=bypasses */
SEC("xdp")
int x_lets_pass(struct xdp_md *ctx)
{
	return is_tcp(ctx, false) ? XDP_DROP : XDP_PASS;
}

/* expect: x_back audit=bypasses */
SEC("xdp")
int x_back(struct xdp_md *ctx)
{
	return is_tcp(ctx, false) ? XDP_TX : XDP_PASS;
}

/* expect: x_not_back audit=misreads */
SEC("xdp")
int x_not_back(struct xdp_md *ctx)
{
	return is_tcp(ctx, false) ? XDP_PASS : XDP_TX;
}

/* What is between data and data_end may be counted in full. */
/* expect: x_counts audit=safe */
SEC("xdp")
int x_counts(struct xdp_md *ctx)
{
	int proto = proto6(PTR(ctx->data) + 14, PTR(ctx->data_end), true);

	book(proto & 0xff, room(ctx));
	return XDP_PASS;
}

/* In 16 bits, more than 64 KiB is something else. */
/* expect: x_counts_16 audit=unknown */
SEC("xdp")
int x_counts_16(struct xdp_md *ctx)
{
	struct brief *b;
	__u32 key = 0;

	b = bpf_map_lookup_elem(&briefs, &key);
	if (b) {
		b->packets++;
		b->len = room(ctx);
	}
	return XDP_PASS;
}

/* expect: x_too_long audit=unknown */
SEC("xdp")
int x_too_long(struct xdp_md *ctx)
{
	return room(ctx) > 9000 ? XDP_DROP : XDP_PASS;
}

/* The same without a subtraction. */
/* expect: x_reaches audit=unknown */
SEC("xdp")
int x_reaches(struct xdp_md *ctx)
{
	return PTR(ctx->data) + 9000 <= PTR(ctx->data_end) ? XDP_DROP : XDP_PASS;
}

/* What all packets have. */
/* expect: x_not_short audit=safe */
SEC("xdp")
int x_not_short(struct xdp_md *ctx)
{
	return room(ctx) < 60 ? XDP_DROP : XDP_PASS;
}

static __noinline int too_long(__u64 len)
{
	return len > 20000;
}

/* expect: x_by_call audit=unknown */
SEC("xdp")
int x_by_call(struct xdp_md *ctx)
{
	return too_long(room(ctx)) ? XDP_DROP : XDP_PASS;
}

struct info {
	__u64 pad;
	__u32 len;
	__u32 proto;
};

static __noinline int by_info(struct info *i)
{
	if (!i)
		return 0;
	return i->len > 20000;
}

/* expect: x_by_pointer audit=unknown */
SEC("xdp")
int x_by_pointer(struct xdp_md *ctx)
{
	struct info i = { .len = room(ctx), .proto = 6 };

	return by_info(&i) ? XDP_DROP : XDP_PASS;
}

/* expect: x_by_scratch audit=unknown */
SEC("xdp")
int x_by_scratch(struct xdp_md *ctx)
{
	__u32 key = 0;
	volatile struct count *c = bpf_map_lookup_elem(&scratch, &key);

	if (!c)
		return XDP_PASS;
	c->bytes = room(ctx);
	return c->bytes > 30000 ? XDP_DROP : XDP_PASS;
}

/* A test run gives a packet of 66148 bytes, and this asks for more. */
/* expect: x_huge audit=unknown */
SEC("xdp.frags")
int x_huge(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx) > 100000 ? XDP_DROP : XDP_PASS;
}

/* expect: x_large audit=drops */
SEC("xdp.frags")
int x_large(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx) > 66000 ? XDP_DROP : XDP_PASS;
}

/* expect: x_frags_counts audit=safe */
SEC("xdp.frags")
int x_frags_counts(struct xdp_md *ctx)
{
	__u8 head[48] = {}, proto;

	if (bpf_xdp_load_bytes(ctx, 14, head, sizeof(head)))
		return XDP_PASS;
	proto = head[0] >> 4 != 6 ? 0xff : head[6] ? head[6] : head[40];
	book(proto, bpf_xdp_get_buff_len(ctx));
	return XDP_PASS;
}

/* Beyond what a program without frags is shown of a long packet in a test run, not beyond the packet. */
/* expect: x_tail audit=unknown */
SEC("xdp")
int x_tail(struct xdp_md *ctx)
{
	void *data = PTR(ctx->data), *end = PTR(ctx->data_end);
	__u8 *ip = data + 14;
	__u32 len;

	if (data + 62 > end || ip[0] >> 4 != 6)
		return XDP_PASS;
	len = bpf_ntohs(*(__be16 *)(ip + 4));
	if (!len)
		len = bpf_ntohl(*(__be32 *)(ip + 44)) & 0x3ffff;
	return data + 54 + len > end ? XDP_DROP : XDP_PASS;
}

/* expect: x_redirects audit=safe */
SEC("xdp")
int x_redirects(struct xdp_md *ctx)
{
	return is_tcp(ctx, true) ? bpf_redirect(1, 0) : XDP_PASS;
}

/* expect: x_redirects_where audit=unknown */
SEC("xdp")
int x_redirects_where(struct xdp_md *ctx)
{
	return bpf_redirect(is_tcp(ctx, false) ? 1 : 2, 0);
}

/* The kernel compares the MTU with what is between data and data_end. */
/* expect: x_mtu audit=unknown */
SEC("xdp")
int x_mtu(struct xdp_md *ctx)
{
	__u32 mtu = 0;

	return bpf_check_mtu(ctx, 0, &mtu, 0, 0) == BPF_MTU_CHK_RET_FRAG_NEEDED ? XDP_DROP
										: XDP_PASS;
}

/* Nothing to redirect to: a match is no different from none. */
/* expect: x_empty_devs audit=unknown */
SEC("xdp")
int x_empty_devs(struct xdp_md *ctx)
{
	return is_tcp(ctx, false) ? bpf_redirect_map(&devs, 0, XDP_PASS) : XDP_PASS;
}

/* expect: x_shrinks audit=unknown */
SEC("xdp")
int x_shrinks(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_tail(ctx, -4) ? XDP_DROP : XDP_PASS;
}

/* expect: x_marks audit=misreads */
SEC("xdp")
int x_marks(struct xdp_md *ctx)
{
	bool tcp = is_tcp(ctx, false);
	__u32 *meta;

	if (bpf_xdp_adjust_meta(ctx, -4))
		return XDP_PASS;
	meta = PTR(ctx->data_meta);
	if ((void *)(meta + 1) > PTR(ctx->data))
		return XDP_PASS;
	*meta = tcp ? 7 : 8;
	return XDP_PASS;
}

/* expect: x_marks_some audit=misreads */
SEC("xdp")
int x_marks_some(struct xdp_md *ctx)
{
	__u32 *meta;

	if (!is_tcp(ctx, false) || bpf_xdp_adjust_meta(ctx, -4))
		return XDP_PASS;
	meta = PTR(ctx->data_meta);
	if ((void *)(meta + 1) > PTR(ctx->data))
		return XDP_PASS;
	*meta = 0;
	return XDP_PASS;
}

/* expect: x_writes audit=corrupts */
SEC("xdp")
int x_writes(struct xdp_md *ctx)
{
	void *data = PTR(ctx->data), *end = PTR(ctx->data_end);

	if (data + 80 > end)
		return XDP_PASS;
	*(__u8 *)(data + 70) ^= 1;
	return XDP_PASS;
}

/* --- cgroup_skb ----------------------------------------------------------------------------------- */

static __always_inline int cg_proto(struct __sk_buff *skb, bool aware)
{
	return proto6(PTR(skb->data), PTR(skb->data_end), aware);
}

/* expect: c_naive audit=drops */
SEC("cgroup_skb/egress")
int c_naive(struct __sk_buff *skb)
{
	int proto = cg_proto(skb, false);

	return proto < 0 || proto == IPPROTO_TCP;
}

/* Pass, and tell the sender of congestion: passed all the same. */
/* expect: c_congested audit=misreads */
SEC("cgroup_skb/egress")
int c_congested(struct __sk_buff *skb)
{
	return cg_proto(skb, false) == IPPROTO_TCP ? 1 : 3;
}

/* expect: c_congested_drop audit=drops */
SEC("cgroup_skb/egress")
int c_congested_drop(struct __sk_buff *skb)
{
	return cg_proto(skb, false) == IPPROTO_TCP ? 3 : 2;
}

/* As systemd's IPAccounting does. */
/* expect: c_counts audit=safe */
SEC("cgroup_skb/ingress")
int c_counts(struct __sk_buff *skb)
{
	__u32 key = skb->protocol == bpf_htons(ETH_P_IPV6);
	struct count *c = bpf_map_lookup_elem(&counts, &key);

	if (c) {
		__sync_fetch_and_add(&c->packets, 1);
		__sync_fetch_and_add(&c->bytes, skb->len);
	}
	return 1;
}

/* expect: c_counts_16 audit=unknown */
SEC("cgroup_skb/egress")
int c_counts_16(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct brief *b = bpf_map_lookup_elem(&briefs, &key);

	if (b) {
		b->packets++;
		b->len = skb->len;
	}
	return 1;
}

/* expect: c_too_long audit=unknown */
SEC("cgroup_skb/egress")
int c_too_long(struct __sk_buff *skb)
{
	return skb->len <= 65536;
}

/* Right about packets above 64 KiB, and a test run has none. */
/* expect: c_large_only audit=unknown */
SEC("cgroup_skb/egress")
int c_large_only(struct __sk_buff *skb)
{
	int proto = cg_proto(skb, skb->len > 65536);

	return proto < 0 || proto == IPPROTO_TCP;
}

/* expect: c_not_short audit=safe */
SEC("cgroup_skb/egress")
int c_not_short(struct __sk_buff *skb)
{
	return skb->len >= 40;
}

/* expect: c_rate audit=unknown */
SEC("cgroup_skb/egress")
int c_rate(struct __sk_buff *skb)
{
	__u32 key = 0;
	__u64 *t = bpf_map_lookup_elem(&tokens, &key);

	if (!t)
		return 1;
	if (*t && *t < skb->len)
		return 0;
	*t = *t + 1000000 - skb->len;
	return 1;
}

/* expect: c_spills audit=unknown */
SEC("cgroup_skb/egress")
int c_spills(struct __sk_buff *skb)
{
	volatile __u32 len = skb->len;
	__u8 b[4] = {};

	if (bpf_skb_load_bytes(skb, 0, b, sizeof(b)))
		return 0;
	return len < 50000;
}

/* expect: c_last audit=unknown */
SEC("cgroup_skb/egress")
int c_last(struct __sk_buff *skb)
{
	__u8 b[4];

	return !bpf_skb_load_bytes(skb, skb->len - 4, b, sizeof(b));
}

/* expect: c_aware audit=safe */
SEC("cgroup_skb/egress")
int c_aware(struct __sk_buff *skb)
{
	int proto = cg_proto(skb, true);

	return proto < 0 || proto == IPPROTO_TCP;
}

/* --- sockets -------------------------------------------------------------------------------------- */

static __always_inline int sock_proto(struct __sk_buff *skb, __u32 off)
{
	__u8 b[7] = {};

	if (bpf_skb_load_bytes(skb, off, b, sizeof(b)) || b[0] >> 4 != 6)
		return -1;
	return b[6];
}

/* expect: s_l2 audit=drops */
SEC("socket")
int s_l2(struct __sk_buff *skb)
{
	return sock_proto(skb, 14) == IPPROTO_TCP ? 0xffff : 0;
}

/* It may be at a socket that shows it no Ethernet header. */
/* expect: s_l3 audit=unknown */
SEC("socket")
int s_l3(struct __sk_buff *skb)
{
	return sock_proto(skb, 0) == IPPROTO_TCP ? 0xffff : 0;
}

/* expect: s_all audit=safe */
SEC("socket")
int s_all(struct __sk_buff *skb)
{
	return skb->len;
}

/* expect: s_first audit=safe */
SEC("socket")
int s_first(struct __sk_buff *skb)
{
	return 96;
}

/* expect: s_long audit=unknown */
SEC("socket")
int s_long(struct __sk_buff *skb)
{
	return skb->len > 60000 ? 0 : 96;
}

/* expect: lookup audit=safe */
SEC("sk_lookup")
int lookup(struct bpf_sk_lookup *ctx)
{
	return ctx->local_port == 7 ? SK_DROP : SK_PASS;
}
