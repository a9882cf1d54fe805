// SPDX-License-Identifier: GPL-2.0
/* <bigtcp/parse.bpf.h> on random packets. BIGTCP_SEED=N repeats a run. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

#include "pktparse.h"

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (rnd_state >> 33) % below;
}

/* In the runner, before it starts the tests: with --tap a test's own stderr goes nowhere. The
 * tests inherit the variable.
 */
__attribute__((constructor)) static void rnd_seed(void)
{
	char seed[24];

	if (getenv("BIGTCP_SEED"))
		return;
	snprintf(seed, sizeof(seed), "%llu", time(NULL) * 2654435761ull);
	setenv("BIGTCP_SEED", seed, 1);
	fprintf(stderr, "# BIGTCP_SEED=%s\n", seed);
}

static void rnd_init(void)
{
	rnd_state = strtoull(getenv("BIGTCP_SEED"), NULL, 0);
}

/* A packet that is nearly right: each step of the parser is reached. */
static void random_packet(struct pktbuild *p, enum link l)
{
	static const uint8_t proto[] = { 0, 43, 44, 51, 60, 60, TCP, TCP, TCP, UDP, 59 };
	uint8_t next = proto[rnd(sizeof(proto))], after;
	int v6 = rnd(4) != 0;

	link_hdr(p, l, v6 ? 0x86dd : 0x0800);
	if (!v6) {
		pb_ip4(p, rnd(3) ? rnd(300) : 0, rnd(2) ? TCP : rnd(256), rnd(3) ? 0 : rnd(65536),
		       rnd(11) * 4);
	} else {
		pb_ip6(p, rnd(3) ? rnd(300) : 0, next);
		if (!rnd(16)) { /* too long a chain */
			for (int i = 0; i <= BIGTCP_MAX_EXT_HDRS; i++)
				pb_ext(p, 60, 0, 8);
		}
		for (int i = rnd(8); i > 0 && bigtcp_is_ext_hdr(next); i--) {
			after = proto[rnd(sizeof(proto))];
			if (rnd(2))
				pb_jumbo(p, BIG);
			else
				pb_ext(p, after, rnd(3), 8 + 8 * rnd(3));
			next = after;
		}
	}
	pb_tcp(p);
	for (int i = rnd(4); i > 0; i--)
		p->b[rnd(p->n)] = rnd(256);
}

static void check_answer(const struct pktbuild *p, uint32_t len, const struct bigtcp_pkt *pkt)
{
	const uint8_t *ip = p->b + pkt->l3_off;

	cr_assert_leq(pkt->l3_off + pkt->l3_len, len);
	cr_assert_eq(pkt->l4_off + pkt->l4_len, pkt->l3_off + pkt->l3_len);
	cr_assert_leq(pkt->l4_off, BIGTCP_L4_OFF_MASK);
	if (pkt->l3_proto == 0x0800) {
		cr_assert_eq(pkt->l4_off - pkt->l3_off, (ip[0] & 15) * 4u);
		cr_assert_eq(pkt->l3_len, pkt->is_jumbo ? len - pkt->l3_off : ip[2] * 256u + ip[3]);
		return;
	}
	cr_assert_eq(pkt->l3_len, pkt->is_jumbo ? len - pkt->l3_off : 40 + ip[4] * 256u + ip[5]);
	cr_assert_eq(pkt->has_hbh, ip[6] == 0);
	cr_assert_eq(pkt->is_jumbo == BIGTCP_JUMBO_HBH,
		     pkt->is_jumbo && bigtcp_jumbo_match(ip, len - pkt->l3_off));
	if (pkt->is_jumbo) {
		cr_assert_eq(pkt->l4_proto, TCP);
		cr_assert_eq(pkt->fragment, 0);
	}
	if (!bigtcp_is_ext_hdr(ip[6]))
		cr_assert_eq(pkt->l4_off, pkt->l3_off + 40);
}

/* Any bytes, any number of them readable: nothing outside is read (ASan), and what comes out
 * agrees with the bytes.
 */
Test(parse, random_packets)
{
	int seen[8] = {}, jumbo[4] = {}, ret;
	uint32_t linear, len;
	struct bigtcp_pkt pkt;
	struct pktbuild p;

	rnd_init();
	for (int i = 0; i < 300000; i++) {
		enum link l = rnd(LINKS);
		uint32_t gso = rnd(2) ? 1428 : 0;

		random_packet(&p, l);
		len = rnd(2) ? p.n + rnd(200) : p.l3 + 48 + BIG;
		linear = rnd(4) ? p.n : rnd(p.n + 1);
		ret = parse_n(p.b, linear, len, gso, l3_hint(l), &pkt);
		cr_assert(ret >= BIGTCP_PARSE_DEEP && ret <= BIGTCP_PARSE_NOT_IP);
		seen[ret + 4]++;
		if (ret == BIGTCP_PARSE_OK) {
			check_answer(&p, len, &pkt);
			jumbo[pkt.is_jumbo]++;
		}
	}
	/* a generator that no longer reaches a case proves nothing about it */
	for (int i = BIGTCP_PARSE_DEEP; i <= BIGTCP_PARSE_NOT_IP; i++)
		cr_assert_gt(seen[i + 4], 0, "never answered %d", i);
	for (int i = 0; i < 4; i++)
		cr_assert_gt(jumbo[i], 0, "never saw jumbo kind %d", i);
}

Test(parse, random_bytes)
{
	uint8_t buf[256];
	struct bigtcp_pkt pkt;
	uint32_t n;

	rnd_init();
	for (int i = 0; i < 100000; i++) {
		n = rnd(sizeof(buf) + 1);
		for (uint32_t k = 0; k < n; k++)
			buf[k] = rnd(256);
		parse_n(buf, n, n + rnd(100000), rnd(2),
			rnd(2) ? BIGTCP_L3_AFTER_ETH : (int)rnd(64), &pkt);
	}
}
