/* SPDX-License-Identifier: GPL-2.0 */
/* Packets for unit tests, put together header by header in a flat buffer. */
#ifndef UNIT_PKTBUILD_H
#define UNIT_PKTBUILD_H

#include <bigtcp/jumbo.h>
#include <stdint.h>
#include <string.h>

struct pktbuild {
	uint8_t b[512]; /* headers only; a packet's length is a number */
	uint32_t n;
	uint32_t l3; /* where the last IP header was put */
};

static inline void pb_bytes(struct pktbuild *p, const void *bytes, uint32_t n)
{
	memcpy(p->b + p->n, bytes, n);
	p->n += n;
}

static inline void pb_be16(struct pktbuild *p, uint16_t v)
{
	p->b[p->n++] = v >> 8;
	p->b[p->n++] = v & 0xff;
}

static inline void pb_eth(struct pktbuild *p, uint16_t proto)
{
	pb_bytes(p, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02", 12);
	pb_be16(p, proto);
}

/* After pb_eth() with the tag's own type; @proto is what follows. */
static inline void pb_vlan(struct pktbuild *p, uint16_t tci, uint16_t proto)
{
	pb_be16(p, tci);
	pb_be16(p, proto);
}

static inline void pb_ip6(struct pktbuild *p, uint16_t plen, uint8_t nexthdr)
{
	p->l3 = p->n;
	pb_bytes(p, "\x60\x01\x23\x45", 4);
	pb_be16(p, plen);
	p->b[p->n++] = nexthdr;
	p->b[p->n++] = 64;
	memset(p->b + p->n, 0x20, 32);
	p->n += 32;
}

static inline void pb_ip4(struct pktbuild *p, uint16_t tot_len, uint8_t proto, uint16_t frag,
			  uint32_t opts)
{
	p->l3 = p->n;
	p->b[p->n++] = 0x40 | (5 + opts / 4);
	p->b[p->n++] = 0;
	pb_be16(p, tot_len);
	pb_be16(p, 1);
	pb_be16(p, frag);
	p->b[p->n++] = 64;
	p->b[p->n++] = proto;
	memset(p->b + p->n, 1, 10 + opts);
	p->n += 10 + opts;
}

/* An extension header of @size bytes with hdrlen @hdrlen. */
static inline void pb_ext(struct pktbuild *p, uint8_t nexthdr, uint8_t hdrlen, uint32_t size)
{
	memset(p->b + p->n, 0, size);
	p->b[p->n] = nexthdr;
	p->b[p->n + 1] = hdrlen;
	p->n += size;
}

static inline void pb_frag(struct pktbuild *p, uint8_t nexthdr, uint16_t off_and_more)
{
	pb_ext(p, nexthdr, 0, 8);
	p->b[p->n - 6] = off_and_more >> 8;
	p->b[p->n - 5] = off_and_more & 0xff;
}

static inline void pb_jumbo(struct pktbuild *p, uint32_t seg_len)
{
	bigtcp_jumbo_fill(p->b + p->n, seg_len);
	p->n += BIGTCP_JUMBO_HDR_LEN;
}

static inline void pb_tcp(struct pktbuild *p)
{
	memset(p->b + p->n, 0, 20);
	p->b[p->n + 1] = 80;
	p->b[p->n + 12] = 0x50;
	p->n += 20;
}

#endif /* UNIT_PKTBUILD_H */
