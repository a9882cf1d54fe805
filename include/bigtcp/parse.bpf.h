/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the IP and transport headers of a packet, and how long it really is, in a tc, cgroup
 * skb or XDP program; BIG TCP packets included, on every kernel:
 *
 *	IPv6, 5.19 to 6.19	payload_len 0, 8 bytes of hop-by-hop header before TCP
 *	IPv6, from 7.0		payload_len 0, TCP right after IPv6
 *	IPv4, from 6.3		tot_len 0
 *
 * A program needs nothing else to be right under BIG TCP than to take l4_off, l4_proto and
 * l4_len from here:
 *
 *	struct bigtcp_pkt pkt;
 *
 *	if (bigtcp_parse_skb(skb, &pkt) != BIGTCP_PARSE_OK)
 *		return TC_ACT_OK;
 *	if (pkt.l4_proto == IPPROTO_TCP) {
 *		tcp = bigtcp_l4(BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), &pkt, sizeof(*tcp));
 *		if (!tcp)
 *			return TC_ACT_OK;
 *		...
 *
 * Only headers in the linear part of an skb can be read in place. BIGTCP_PARSE_SHORT, or no
 * pointer from bigtcp_l4(), says that they are not: bigtcp_pull_skb() and parse again.
 *
 * No map, no global data, no subprogram: all of it is inlined, and what a program does not use
 * of struct bigtcp_pkt costs nothing. Include <linux/bpf.h> or vmlinux.h first, as you like.
 * As with any parser that meets headers of variable length, the loader needs CAP_PERFMON beside
 * CAP_BPF and CAP_NET_ADMIN: without it the verifier takes no variable packet offset.
 * Test the return value before anything else: the fields' values on error then cost nothing.
 * In userspace (tests, capture tools) there is bigtcp_parse() over a flat buffer.
 */
#ifndef BIGTCP_PARSE_BPF_H
#define BIGTCP_PARSE_BPF_H

#ifdef __bpf__
#ifndef __VMLINUX_H__
#include <linux/bpf.h>
#endif
#include <bpf/bpf_helpers.h>
#endif

#include <bigtcp/jumbo.h>

/* Extension headers walked before BIGTCP_PARSE_DEEP; define it before the include to change. */
#ifndef BIGTCP_MAX_EXT_HDRS
#define BIGTCP_MAX_EXT_HDRS 6
#endif

/* l4_off is never above this: a mask that tells the verifier. */
#define BIGTCP_L4_OFF_MASK 0x3fff
#if BIGTCP_MAX_EXT_HDRS > 7
#error "BIGTCP_MAX_EXT_HDRS: 7 headers of 2048 bytes are all that BIGTCP_L4_OFF_MASK has room for"
#endif

#define BIGTCP_ETH_HLEN	    14
#define BIGTCP_ETH_P_IPV4   0x0800
#define BIGTCP_ETH_P_IPV6   0x86dd
#define BIGTCP_ETH_P_8021Q  0x8100
#define BIGTCP_ETH_P_8021AD 0x88a8

/* For bigtcp_parse(): there is an Ethernet header at @data. */
#define BIGTCP_L3_AFTER_ETH (-1)

enum bigtcp_parse_ret {
	BIGTCP_PARSE_OK = 0,
	BIGTCP_PARSE_NOT_IP = 1, /* l3_proto and l3_off say what it is and where it starts */
	BIGTCP_PARSE_SHORT = -1, /* a header goes beyond data_end: not linear, or cut off */
	BIGTCP_PARSE_BAD = -2, /* a header is wrong; the kernel would drop the packet */
	BIGTCP_PARSE_DEEP = -3, /* more than BIGTCP_MAX_EXT_HDRS extension headers */
};

/* struct bigtcp_pkt.is_jumbo: how a packet says that it is longer than its length field can. */
enum bigtcp_jumbo_kind {
	BIGTCP_JUMBO_NONE = 0,
	BIGTCP_JUMBO_HBH = 1, /* IPv6 with the kernel's own hop-by-hop header */
	BIGTCP_JUMBO_LEN0 = 2, /* IPv6, payload_len 0 and no such header (7.0) */
	BIGTCP_JUMBO_IPV4 = 3, /* IPv4, tot_len 0 */
};

enum bigtcp_frag {
	BIGTCP_FRAG_NONE = 0,
	BIGTCP_FRAG_FIRST = 1, /* the transport header is in this one */
	BIGTCP_FRAG_LATER = 2, /* there is data at l4_off, and no transport header */
};

/*
 * Offsets and lengths are in bytes, offsets count from the packet's data pointer; everything is
 * in host byte order. After an error the fields that were found before it are set, the others 0.
 */
struct bigtcp_pkt {
	__u32 l3_off; /* IP header */
	__u32 l4_off; /* transport header, after all extension headers */
	__u32 l3_len; /* the IP packet, IP header (and jumbo header) included, padding not */
	__u32 l4_len; /* from l4_off to the end of the IP packet: the same in every BIG TCP form */
	__u16 l3_proto; /* EtherType, after VLAN tags */
	__u8 l4_proto;
	__u8 is_jumbo; /* enum bigtcp_jumbo_kind */
	__u8 has_hbh; /* a hop-by-hop header of any kind */
	__u8 fragment; /* enum bigtcp_frag */
	__u8 nr_vlan; /* VLAN tags in the packet: 0, 1 or 2 */
	__u8 vlan_meta; /* 1: a tag in the skb's metadata, which is outside of the others */
	__u16 vlan_tci[2]; /* tags in the packet, the outer one first */
	__u16 vlan_meta_tci;
};

BIGTCP_INLINE int bigtcp_is_vlan(__u16 proto_be)
{
	return proto_be == BIGTCP_BE16(BIGTCP_ETH_P_8021Q) ||
	       proto_be == BIGTCP_BE16(BIGTCP_ETH_P_8021AD);
}

/* The headers that the kernel's ipv6_ext_hdr() knows, less "no next header" (59): hop-by-hop,
 * routing, fragment, authentication, destination options.
 */
BIGTCP_INLINE int bigtcp_is_ext_hdr(__u8 nexthdr)
{
	const __u64 set = 1ULL << 0 | 1ULL << 43 | 1ULL << 44 | 1ULL << 51 | 1ULL << 60;

	return nexthdr < 64 && (set >> nexthdr & 1);
}

/* May a length of 0 mean "see skb->len"? The kernel's ipv6_payload_len() and skb_ip_totlen()
 * ask for a TCP GSO packet. XDP can't tell, but no packet this long comes from a wire.
 */
BIGTCP_INLINE int bigtcp_len0_is_jumbo(__u32 gso_size, __u32 l3_payload)
{
	return gso_size || l3_payload > BIGTCP_IPV6_MAXPLEN;
}

/*
 * @off, of which the verifier then knows only that @mask covers it. Without this it checks the
 * rest of the program again for every way through the headers that gives another range of
 * offsets. @len: any value that the verifier does not know. Not for the ordinary packet's path.
 */
BIGTCP_INLINE __u32 bigtcp_forget(__u32 off, __u32 len, __u32 mask)
{
#ifdef __bpf__
	__u64 v = off, unknown = len;

	asm volatile("%0 ^= %1; %0 ^= %1" : "+r"(v) : "r"(unknown));
	return v & mask;
#else
	(void)len;
	return off & mask;
#endif
}

BIGTCP_INLINE int bigtcp_parse_eth(const void *data, const void *data_end, struct bigtcp_pkt *pkt)
{
	const __u8 *p = (const __u8 *)data;
	__u16 proto, tci;

	if (p + 14 > (const __u8 *)data_end)
		return BIGTCP_PARSE_SHORT;
	proto = bigtcp_ld16(p + 12);
	pkt->l3_off = 14;
	if (bigtcp_is_vlan(proto)) {
		if (p + 18 > (const __u8 *)data_end)
			return BIGTCP_PARSE_SHORT;
		tci = bigtcp_ld16(p + 14);
		pkt->vlan_tci[0] = BIGTCP_BE16(tci);
		pkt->nr_vlan = 1;
		proto = bigtcp_ld16(p + 16);
		pkt->l3_off = bigtcp_forget(18, tci, 31);
		if (bigtcp_is_vlan(proto)) {
			if (p + 22 > (const __u8 *)data_end)
				return BIGTCP_PARSE_SHORT;
			pkt->vlan_tci[1] = BIGTCP_BE16(bigtcp_ld16(p + 18));
			pkt->nr_vlan = 2;
			proto = bigtcp_ld16(p + 20);
			pkt->l3_off = bigtcp_forget(22, tci, 31);
		}
	}
	pkt->l3_proto = BIGTCP_BE16(proto);
	return BIGTCP_PARSE_OK;
}

BIGTCP_INLINE int bigtcp_parse_ip4(const void *data, const void *data_end, __u32 len,
				   __u32 gso_size, struct bigtcp_pkt *pkt)
{
	const __u8 *ip = (const __u8 *)data + pkt->l3_off;
	__u32 room = len - pkt->l3_off, hlen, tot, frag;

	if (ip + 20 > (const __u8 *)data_end)
		return BIGTCP_PARSE_SHORT;
	hlen = (ip[0] & 0xf) * 4;
	if (ip[0] >> 4 != 4 || hlen < 20)
		return BIGTCP_PARSE_BAD;
	tot = BIGTCP_BE16(bigtcp_ld16(ip + 2));
	frag = BIGTCP_BE16(bigtcp_ld16(ip + 6));
	if (!tot && ip[9] == BIGTCP_NEXTHDR_TCP && !(frag & 0x3fff) &&
	    bigtcp_len0_is_jumbo(gso_size, room)) {
		pkt->is_jumbo = BIGTCP_JUMBO_IPV4;
		tot = room;
	}
	if (tot < hlen || tot > room)
		return BIGTCP_PARSE_BAD;
	pkt->l3_len = tot;
	pkt->l4_off = pkt->l3_off + hlen;
	pkt->l4_len = tot - hlen;
	pkt->l4_proto = ip[9];
	if (frag & 0x3fff) /* more fragments, or an offset */
		pkt->fragment = frag & 0x1fff ? BIGTCP_FRAG_LATER : BIGTCP_FRAG_FIRST;
	return BIGTCP_PARSE_OK;
}

/* Walks the extension headers from @off, the first of type pkt->l4_proto, up to the transport
 * header. @end is the end of the IP packet.
 */
BIGTCP_INLINE int bigtcp_walk_ip6(const void *data, const void *data_end, __u32 off, __u32 end,
				  struct bigtcp_pkt *pkt)
{
	__u32 nexthdr = pkt->l4_proto, step, frag;
	const __u8 *h;
	int i;

#ifdef __bpf__
#pragma clang loop unroll(disable)
#endif
	for (i = 0; i < BIGTCP_MAX_EXT_HDRS; i++) {
		h = (const __u8 *)data + off;
		if (h + 8 > (const __u8 *)data_end)
			return BIGTCP_PARSE_SHORT;
		step = (h[1] + 1) * 8;
		frag = 0;
		if (nexthdr == BIGTCP_NEXTHDR_HOP) {
			if (i) /* only ever the first */
				return BIGTCP_PARSE_BAD;
			pkt->has_hbh = 1;
		} else if (nexthdr == 51) {
			step = (h[1] + 2) * 4;
		} else if (nexthdr == 44) {
			step = 8;
			frag = BIGTCP_BE16(bigtcp_ld16(h + 2));
		}
		nexthdr = h[0];
		off = bigtcp_forget(off + step, end, BIGTCP_L4_OFF_MASK);
		if (off > end)
			return BIGTCP_PARSE_BAD;
		if (frag & 1)
			pkt->fragment = BIGTCP_FRAG_FIRST;
		if (frag & 0xfff8)
			pkt->fragment = BIGTCP_FRAG_LATER;
		if (!bigtcp_is_ext_hdr(nexthdr) || frag & 0xfff8) {
			pkt->l4_proto = nexthdr;
			pkt->l4_off = off;
			pkt->l4_len = end - off;
			return BIGTCP_PARSE_OK;
		}
	}
	return BIGTCP_PARSE_DEEP;
}

/* payload_len is 0: sets is_jumbo, and for the form with the kernel's header all the rest. */
BIGTCP_INLINE int bigtcp_parse_ip6_len0(const __u8 *ip6, const void *data_end, __u32 room,
					struct bigtcp_pkt *pkt)
{
	if (ip6[6] == BIGTCP_NEXTHDR_HOP) {
		if (ip6 + 48 > (const __u8 *)data_end)
			return BIGTCP_PARSE_SHORT;
		if (bigtcp_jumbo_match(ip6, room + BIGTCP_IPV6_HDR_LEN)) {
			pkt->is_jumbo = BIGTCP_JUMBO_HBH;
			pkt->has_hbh = 1;
			pkt->l4_proto = BIGTCP_NEXTHDR_TCP;
			pkt->l4_off = pkt->l3_off + BIGTCP_IPV6_HDR_LEN + BIGTCP_JUMBO_HDR_LEN;
			pkt->l4_len = room - BIGTCP_JUMBO_HDR_LEN;
			pkt->l3_len = room + BIGTCP_IPV6_HDR_LEN;
			return BIGTCP_PARSE_OK;
		}
		if (ip6[42] == BIGTCP_JUMBO_TLV_TYPE) { /* says jumbo, and isn't */
			pkt->has_hbh = 1;
			return BIGTCP_PARSE_BAD;
		}
	}
	pkt->is_jumbo = BIGTCP_JUMBO_LEN0;
	return BIGTCP_PARSE_OK;
}

BIGTCP_INLINE int bigtcp_parse_ip6(const void *data, const void *data_end, __u32 len,
				   __u32 gso_size, struct bigtcp_pkt *pkt)
{
	const __u8 *ip6 = (const __u8 *)data + pkt->l3_off;
	__u32 off = pkt->l3_off + BIGTCP_IPV6_HDR_LEN;
	__u32 room = len - off, plen;
	int ret;

	if (ip6 + BIGTCP_IPV6_HDR_LEN > (const __u8 *)data_end)
		return BIGTCP_PARSE_SHORT;
	if (ip6[0] >> 4 != 6)
		return BIGTCP_PARSE_BAD;
	pkt->l4_proto = ip6[6];
	plen = BIGTCP_BE16(bigtcp_ld16(ip6 + 4));
	if (!plen && bigtcp_len0_is_jumbo(gso_size, room)) {
		ret = bigtcp_parse_ip6_len0(ip6, data_end, room, pkt);
		if (ret || pkt->is_jumbo == BIGTCP_JUMBO_HBH)
			return ret;
		plen = room;
	}
	if (plen > room)
		return BIGTCP_PARSE_BAD;
	pkt->l3_len = plen + BIGTCP_IPV6_HDR_LEN;
	if (bigtcp_is_ext_hdr(pkt->l4_proto)) {
		ret = bigtcp_walk_ip6(data, data_end, off, off + plen, pkt);
		if (ret)
			return ret;
	} else {
		pkt->l4_off = off;
		pkt->l4_len = plen;
	}
	/* Only TCP is ever this long, and GSO packets are not fragments. */
	if (pkt->is_jumbo && (pkt->l4_proto != BIGTCP_NEXTHDR_TCP || pkt->fragment))
		return BIGTCP_PARSE_BAD;
	return BIGTCP_PARSE_OK;
}

/* bigtcp_parse() into a @pkt that is zero but for what the caller knows. */
BIGTCP_INLINE int bigtcp_parse_into(const void *data, const void *data_end, __u32 len,
				    __u32 gso_size, int l3, struct bigtcp_pkt *pkt)
{
	const __u8 *ip;
	int ret;

	if (l3 < 0) {
		ret = bigtcp_parse_eth(data, data_end, pkt);
		if (ret)
			return ret;
	} else {
		ip = (const __u8 *)data + l3;
		if (ip + 1 > (const __u8 *)data_end)
			return BIGTCP_PARSE_SHORT;
		pkt->l3_off = l3;
		if (*ip >> 4 == 6)
			pkt->l3_proto = BIGTCP_ETH_P_IPV6;
		else if (*ip >> 4 == 4)
			pkt->l3_proto = BIGTCP_ETH_P_IPV4;
	}
	if (pkt->l3_proto == BIGTCP_ETH_P_IPV6)
		return bigtcp_parse_ip6(data, data_end, len, gso_size, pkt);
	if (pkt->l3_proto == BIGTCP_ETH_P_IPV4)
		return bigtcp_parse_ip4(data, data_end, len, gso_size, pkt);
	return BIGTCP_PARSE_NOT_IP;
}

/*
 * The parser itself; the functions below it fill in what tc and XDP know.
 *
 * @data, @data_end: the bytes that can be read, as in the context.
 * @len: length of the whole packet from @data, linear or not; never less than they hold.
 * @gso_size: of the skb; 0 if unknown (XDP).
 * @l3: offset of the IP header if it is known (0 on a device without link-layer header and in
 * cgroup skb programs), or BIGTCP_L3_AFTER_ETH.
 * Returns enum bigtcp_parse_ret. Never reads outside [@data, @data_end).
 */
BIGTCP_INLINE int bigtcp_parse(const void *data, const void *data_end, __u32 len, __u32 gso_size,
			       int l3, struct bigtcp_pkt *pkt)
{
	*pkt = (struct bigtcp_pkt){ 0 };
	return bigtcp_parse_into(data, data_end, len, gso_size, l3, pkt);
}

/*
 * A pointer to @size bytes at @off, or NULL if they can't be read in place (see
 * bigtcp_pull_skb()). @off is one of pkt->l3_off and pkt->l4_off. @data, @data_end: of the
 * context (BIGTCP_DATA() and BIGTCP_DATA_END()).
 */
BIGTCP_INLINE void *bigtcp_hdr(void *data, void *data_end, __u32 off, __u32 size)
{
	__u64 o = off;
	__u8 *p;

#ifdef __bpf__
	/* Or the compiler drops the mask, or adds to the pointer twice, and the verifier is lost. */
	asm volatile("" : "+r"(o));
#endif
	p = (__u8 *)data + (o & BIGTCP_L4_OFF_MASK);
	return p + size > (__u8 *)data_end ? (void *)0 : p;
}

/* The IP header. */
BIGTCP_INLINE void *bigtcp_l3(void *data, void *data_end, const struct bigtcp_pkt *pkt, __u32 size)
{
	return bigtcp_hdr(data, data_end, pkt->l3_off, size);
}

/* The transport header. Whether the IP packet has @size bytes of it is for pkt->l4_len to say. */
BIGTCP_INLINE void *bigtcp_l4(void *data, void *data_end, const struct bigtcp_pkt *pkt, __u32 size)
{
	return bigtcp_hdr(data, data_end, pkt->l4_off, size);
}

#ifdef __bpf__

/*
 * A 32-bit field of a context (struct __sk_buff, struct xdp_md), and its packet pointers. In C
 * the compiler may keep the address of a field over a branch ("dereference of modified ctx
 * ptr"), or copy a packet pointer through a 32-bit register, after which it is none: clang 19
 * did both here. So it must see neither an address nor the width. The "m" keeps the load
 * after helpers that move the packet.
 */
#define BIGTCP_CTX_U64(ctx, field)                                                                \
	({                                                                                        \
		__u64 __v;                                                                        \
                                                                                                  \
		asm("%0 = *(u32 *)(%1 + %2)"                                                      \
		    : "=r"(__v)                                                                   \
		    : "r"(ctx), "i"(__builtin_offsetof(__typeof__(*(ctx)), field)), "m"(*(ctx))); \
		__v;                                                                              \
	})
#define BIGTCP_CTX_U32(ctx, field) ((__u32)BIGTCP_CTX_U64(ctx, field))
#define BIGTCP_DATA(ctx)	   ((void *)BIGTCP_CTX_U64(ctx, data))
#define BIGTCP_DATA_END(ctx)	   ((void *)BIGTCP_CTX_U64(ctx, data_end))

/* For tc: @l3 as for bigtcp_parse(), or BIGTCP_PARSE_BAD. */
BIGTCP_INLINE int bigtcp_parse_skb_at(struct __sk_buff *skb, const void *data, const void *data_end,
				      int l3, struct bigtcp_pkt *pkt)
{
	*pkt = (struct bigtcp_pkt){
		.vlan_meta = BIGTCP_CTX_U32(skb, vlan_present),
		.vlan_meta_tci = BIGTCP_CTX_U32(skb, vlan_tci),
	};
	if (l3 == BIGTCP_PARSE_BAD)
		return BIGTCP_PARSE_BAD;
	return bigtcp_parse_into(data, data_end, BIGTCP_CTX_U32(skb, len),
				 BIGTCP_CTX_U32(skb, gso_size), l3, pkt);
}

/*
 * Does @skb start with its IP header (tun, WireGuard, ipip ...), or with an Ethernet header?
 * No context field says so, and the content alone can't: 60:... is a MAC address as well as
 * the start of an IPv6 header, and on a tunnel the sender chooses the bytes. Only the skb
 * knows where its network header is, so in doubt (1 Ethernet address in 8) ask it. A packet
 * made so that both answers fit is refused.
 *
 * Returns 0, BIGTCP_L3_AFTER_ETH, or BIGTCP_PARSE_BAD.
 */
BIGTCP_INLINE int bigtcp_skb_l3(struct __sk_buff *skb, const void *data, const void *data_end)
{
	const __u8 *p = (const __u8 *)data;
	__u32 net[2] = {};

	if (p + 22 > (const __u8 *)data_end || (p[0] & 0xd0) != 0x40) /* neither 4. nor 6. */
		return BIGTCP_L3_AFTER_ETH;
	if (bpf_skb_load_bytes_relative(skb, 0, net, sizeof(net), BPF_HDR_START_NET) ||
	    net[0] != bigtcp_ld32(p) || net[1] != bigtcp_ld32(p + 4))
		return BIGTCP_L3_AFTER_ETH;
	if (net[0] == bigtcp_ld32(p + 14) && net[1] == bigtcp_ld32(p + 18))
		return BIGTCP_PARSE_BAD;
	return 0;
}

/* tc, any device: Ethernet, with VLAN tags or without, or a device without link-layer header. */
BIGTCP_INLINE int bigtcp_parse_skb(struct __sk_buff *skb, struct bigtcp_pkt *pkt)
{
	const void *data = BIGTCP_DATA(skb), *data_end = BIGTCP_DATA_END(skb);

	return bigtcp_parse_skb_at(skb, data, data_end, bigtcp_skb_l3(skb, data, data_end), pkt);
}

/* tc, on a device known to have an Ethernet header. */
BIGTCP_INLINE int bigtcp_parse_skb_eth(struct __sk_buff *skb, struct bigtcp_pkt *pkt)
{
	return bigtcp_parse_skb_at(skb, BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), BIGTCP_L3_AFTER_ETH,
				   pkt);
}

/* tc, on a device known to have no link-layer header, and cgroup skb programs. */
BIGTCP_INLINE int bigtcp_parse_skb_ip(struct __sk_buff *skb, struct bigtcp_pkt *pkt)
{
	return bigtcp_parse_skb_at(skb, BIGTCP_DATA(skb), BIGTCP_DATA_END(skb), 0, pkt);
}

/*
 * tc: makes the first @bytes bytes of the packet (all of them if it has less) readable in
 * place, after BIGTCP_PARSE_SHORT. All packet pointers must be taken from @skb again.
 * Returns 0 or -errno. Ask for headers only: the whole packet would be copied.
 */
BIGTCP_INLINE int bigtcp_pull_skb(struct __sk_buff *skb, __u32 bytes)
{
	__u32 len = BIGTCP_CTX_U32(skb, len);

	return bpf_skb_pull_data(skb, bytes < len ? bytes : len);
}

/* XDP on a device with an Ethernet header. Needs 5.18 for bpf_xdp_get_buff_len(). */
BIGTCP_INLINE int bigtcp_parse_xdp(struct xdp_md *ctx, struct bigtcp_pkt *pkt)
{
	return bigtcp_parse(BIGTCP_DATA(ctx), BIGTCP_DATA_END(ctx), bpf_xdp_get_buff_len(ctx), 0,
			    BIGTCP_L3_AFTER_ETH, pkt);
}

/* XDP on a device without link-layer header (tun). */
BIGTCP_INLINE int bigtcp_parse_xdp_ip(struct xdp_md *ctx, struct bigtcp_pkt *pkt)
{
	return bigtcp_parse(BIGTCP_DATA(ctx), BIGTCP_DATA_END(ctx), bpf_xdp_get_buff_len(ctx), 0, 0,
			    pkt);
}

#endif /* __bpf__ */
#endif /* BIGTCP_PARSE_BPF_H */
