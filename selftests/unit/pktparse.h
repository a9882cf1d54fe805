/* SPDX-License-Identifier: GPL-2.0 */
/* Link layers and exact buffers for the tests of <bigtcp/parse.bpf.h>. */
#ifndef UNIT_PKTPARSE_H
#define UNIT_PKTPARSE_H

#include <bigtcp/parse.bpf.h>
#include <stdlib.h>

#include "pktbuild.h"

#define TCP   6
#define UDP   17
#define ICMP6 58
#define BIG   150000u

enum link { ETH, VLAN, QINQ, L3DEV, LINKS };

static const uint32_t link_len[LINKS] = { 14, 18, 22, 0 };

static inline int l3_hint(enum link l)
{
	return l == L3DEV ? 0 : BIGTCP_L3_AFTER_ETH;
}

static inline void link_hdr(struct pktbuild *p, enum link l, uint16_t proto)
{
	memset(p, 0, sizeof(*p));
	if (l == ETH) {
		pb_eth(p, proto);
	} else if (l == VLAN) {
		pb_eth(p, 0x8100);
		pb_vlan(p, 0x6123, proto);
	} else if (l == QINQ) {
		pb_eth(p, 0x88a8);
		pb_vlan(p, 0x0456, 0x8100);
		pb_vlan(p, 0x6123, proto);
	}
}

/* Parses a copy of exactly @linear bytes, so that the sanitizer sees any read beyond them. */
static inline int parse_n(const void *bytes, uint32_t linear, uint32_t len, uint32_t gso_size,
			  int l3, struct bigtcp_pkt *pkt)
{
	uint8_t *copy = malloc(linear);
	int ret;

	if (linear)
		memcpy(copy, bytes, linear);
	memset(pkt, 0xff, sizeof(*pkt));
	ret = bigtcp_parse(copy, copy + linear, len, gso_size, l3, pkt);
	free(copy);
	return ret;
}

#endif /* UNIT_PKTPARSE_H */
