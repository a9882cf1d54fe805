/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hop-by-hop jumbo header that Linux puts between IPv6 and TCP in packets above 64 KiB
 * (BIG TCP, kernels 5.19 to 6.19):
 *
 *	ipv6 (40)  payload_len 0, nexthdr 0
 *	06 00 c2 04 <be32 jumbo payload length>	(8)
 *	tcp
 *
 * Usable from BPF (with <linux/types.h> or vmlinux.h) and from userspace; needs no libc.
 *
 * Sources: RFC 2675 section 2 (the option); net/ipv6/ip6_output.c:ip6_xmit() (how the kernel
 * writes it on send), net/ipv6/ip6_offload.c:ipv6_gro_complete() (on receive);
 * include/net/ipv6.h:ipv6_has_hopopt_jumbo() (how the kernel knows it again).
 */
#ifndef BIGTCP_JUMBO_H
#define BIGTCP_JUMBO_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define BIGTCP_INLINE static inline __attribute__((always_inline, unused))

struct bigtcp_jumbo_hdr {
	__u8 nexthdr; /* BIGTCP_NEXTHDR_TCP */
	__u8 hdrlen; /* in 8-byte units after the first: 0 */
	__u8 tlv_type; /* BIGTCP_JUMBO_TLV_TYPE */
	__u8 tlv_len; /* BIGTCP_JUMBO_TLV_LEN */
	__be32 jumbo_payload_len; /* bytes after the IPv6 header, this header's 8 included */
};

#define BIGTCP_JUMBO_TLV_TYPE 0xc2 /* RFC 2675 section 2; IPV6_TLV_JUMBO */
#define BIGTCP_JUMBO_TLV_LEN  4
#define BIGTCP_JUMBO_HDR_LEN  8

#define BIGTCP_IPV6_HDR_LEN   40
#define BIGTCP_IPV6_MAXPLEN   65535 /* the most payload_len can say; more needs the header */
#define BIGTCP_NEXTHDR_HOP    0
#define BIGTCP_NEXTHDR_TCP    6

/* An skb with the header is longer than this, Ethernet header included (GRO_LEGACY_MAX_SIZE). */
#define BIGTCP_LEGACY_MAX_SIZE 65536

/* The largest gso_max_size and gro_max_size a device can be given (GSO_MAX_SIZE, GRO_MAX_SIZE). */
#define BIGTCP_MAX_SIZE (8 * 65535)

/* Byte order without a header of the platform: a BPF object may be built against vmlinux.h alone. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BIGTCP_BE16(x) ((__u16)__builtin_bswap16(x))
#define BIGTCP_BE32(x) ((__u32)__builtin_bswap32(x))
#else
#define BIGTCP_BE16(x) ((__u16)(x))
#define BIGTCP_BE32(x) ((__u32)(x))
#endif

/*
 * Loads from a packet, where nothing is aligned; the value stays in network byte order. The
 * BPF back end would turn a memcpy() of unknown alignment into byte loads, userspace must not
 * use a misaligned pointer.
 */
#ifdef __bpf__
#define bigtcp_ld16(p) (*(const __u16 *)(p))
#define bigtcp_ld32(p) (*(const __u32 *)(p))
#else
BIGTCP_INLINE __u16 bigtcp_ld16(const void *p)
{
	__u16 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

BIGTCP_INLINE __u32 bigtcp_ld32(const void *p)
{
	__u32 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}
#endif

/*
 * True if the packet at @ip6 has the jumbo header just as the kernel writes it: payload_len 0,
 * nexthdr 0, hdrlen 0, option type 0xc2 of length 4, TCP inside, and a jumbo length that is
 * the real one. Nothing less will do: MLD has nexthdr 0 too, and anyone can put a hop-by-hop
 * header on the wire.
 *
 * @ip6: the IPv6 header; 48 bytes must be readable.
 * @ip6_len: bytes from @ip6 to the end of the packet (skb->len less the offset of @ip6), at
 * least 48.
 *
 * Whether the packet is a GSO packet (gso_size != 0) is left to the caller: a packet from the
 * wire that has not been through GRO is not, and must not pass for a jumbo packet.
 */
BIGTCP_INLINE int bigtcp_jumbo_match(const void *ip6, __u32 ip6_len)
{
	const __u8 *p = (const __u8 *)ip6;

	return bigtcp_ld16(p + 4) == 0 && p[6] == BIGTCP_NEXTHDR_HOP &&
	       bigtcp_ld32(p + 40) == BIGTCP_BE32(0x0600c204) &&
	       BIGTCP_BE32(bigtcp_ld32(p + 44)) == ip6_len - BIGTCP_IPV6_HDR_LEN;
}

/*
 * Writes the header as ip6_xmit() does. The caller sets the IPv6 header's payload_len and
 * nexthdr to 0.
 *
 * @h: where it goes, 8 bytes, of any alignment.
 * @seg_len: the TCP segment, header and data, in bytes (host byte order).
 */
BIGTCP_INLINE void bigtcp_jumbo_fill(void *h, __u32 seg_len)
{
	__u32 len = seg_len + BIGTCP_JUMBO_HDR_LEN;
	__u8 *p = (__u8 *)h;

	p[0] = BIGTCP_NEXTHDR_TCP;
	p[1] = 0;
	p[2] = BIGTCP_JUMBO_TLV_TYPE;
	p[3] = BIGTCP_JUMBO_TLV_LEN;
	p[4] = len >> 24;
	p[5] = len >> 16;
	p[6] = len >> 8;
	p[7] = len;
}

#endif /* BIGTCP_JUMBO_H */
