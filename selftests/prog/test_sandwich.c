// SPDX-License-Identifier: GPL-2.0
/*
 * bpf/xdp_strip.bpf.c and bpf/xdp_restore.bpf.c by BPF_PROG_TEST_RUN, on whole jumbo packets: what the one
 * takes out the other puts back, bit for bit; what a program in between did to the packet shows.
 */
#include <arpa/inet.h>
#include <bigtcp/jumbo.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../bpf/xdp_sandwich.h"
#include "packet.h"
#include "xdp_restore.skel.h"
#include "xdp_strip.skel.h"

#define LONGEST 73000u /* the kernel takes 73152 bytes, metadata and all */
#define META	(unsigned int)sizeof(struct sandwich_meta)

/* Metadata, then the packet, as BPF_PROG_TEST_RUN wants them and gives them back. */
struct pkt {
	__u8 b[75000];
	__u32 meta, len; /* bytes of metadata; of the packet */
};

static struct xdp_strip *strip_skel;
static struct xdp_restore *restore_skel;
static struct rng rng;
static struct pkt in, mid, out, want;

static void setup(void)
{
	const char *seed = getenv("BT_PROG_SEED");

	strip_skel = xdp_strip__open_and_load();
	restore_skel = xdp_restore__open_and_load();
	cr_assert(strip_skel && restore_skel, "the objects do not load");
	rng.s = seed ? strtoull(seed, NULL, 0) : 1;
}

static void teardown(void)
{
	xdp_strip__destroy(strip_skel);
	xdp_restore__destroy(restore_skel);
}

static int run(int fd, struct pkt *from, struct pkt *to)
{
	struct xdp_md ctx = { .data = from->meta, .data_end = from->meta + from->len }, got = {};

	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = from->b,
		    .data_size_in = from->meta + from->len, .data_out = to->b,
		    .data_size_out = sizeof(to->b), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .ctx_out = &got, .ctx_size_out = sizeof(got));
	cr_assert_eq(bpf_prog_test_run_opts(fd, &opts), 0, "test run: %m (%u bytes)",
		     from->meta + from->len);
	to->meta = got.data;
	to->len = opts.data_size_out - got.data;
	return (int)opts.retval;
}

static int strip(struct pkt *from, struct pkt *to)
{
	return run(bpf_program__fd(strip_skel->progs.bigtcp_strip), from, to);
}

static int restore(struct pkt *from, struct pkt *to)
{
	return run(bpf_program__fd(restore_skel->progs.bigtcp_restore), from, to);
}

static void same(const struct pkt *a, const struct pkt *b, const char *what)
{
	cr_assert_eq(a->meta, b->meta, "%s: %u and %u bytes of metadata", what, a->meta, b->meta);
	cr_assert_eq(a->len, b->len, "%s: %u and %u bytes", what, a->len, b->len);
	for (__u32 i = 0; i < a->meta + a->len; i++)
		cr_assert_eq(a->b[i], b->b[i], "%s: byte %d is 0x%02x, not 0x%02x", what,
			     (int)(i - a->meta), a->b[i], b->b[i]);
}

static struct sandwich_stats stats(const struct bpf_map *map)
{
	int n = libbpf_num_possible_cpus();
	struct sandwich_stats *cpu = calloc(n, sizeof(*cpu)), sum = {};
	__u32 key = 0;

	cr_assert_eq(bpf_map_lookup_elem(bpf_map__fd(map), &key, cpu), 0);
	for (int i = 0; i < n; i++) {
		sum.stripped += cpu[i].stripped;
		sum.unstripped += cpu[i].unstripped;
		sum.restored += cpu[i].restored;
		sum.resized += cpu[i].resized;
		sum.plain += cpu[i].plain;
		sum.changed += cpu[i].changed;
		sum.lost += cpu[i].lost;
	}
	free(cpu);
	return sum;
}

static struct sandwich_stats strip_stats(void)
{
	return stats(strip_skel->maps.bigtcp_sandwich);
}

static struct sandwich_stats restore_stats(void)
{
	return stats(restore_skel->maps.bigtcp_sandwich);
}

static __u8 *packet(struct pkt *p)
{
	return p->b + p->meta;
}

static void random_bytes(__u8 *p, __u32 n)
{
	for (__u32 i = 0; i < n; i++)
		p[i] = (__u8)rng_next(&rng);
}

/* A packet as the kernel builds it, with @vlans tags and @meta bytes of another's metadata. */
static __u32 jumbo(struct pkt *p, unsigned int vlans, __u32 meta, __u32 len)
{
	__u32 l3 = 14 + 4 * vlans;
	__u8 *b = p->b + meta;

	p->meta = meta;
	p->len = len;
	random_bytes(p->b, meta + len);
	for (unsigned int v = 0; v < vlans; v++) {
		b[12 + 4 * v] = v || vlans == 1 ? 0x81 : 0x88;
		b[13 + 4 * v] = v || vlans == 1 ? 0x00 : 0xa8;
	}
	b[l3 - 2] = 0x86;
	b[l3 - 1] = 0xdd;
	b[l3] = 0x60 | (b[l3] & 0xf);
	b[l3 + 4] = b[l3 + 5] = b[l3 + 6] = 0;
	bigtcp_jumbo_fill(b + l3 + 40, len - l3 - 48);
	return l3;
}

static __u32 random_jumbo(struct pkt *p)
{
	/* The shortest ones, and others' metadata up to what 6.1 has room for, more often. */
	unsigned int vlans = rng_below(&rng, 3);
	__u32 least = 14 + 4 * vlans + 48 + 65536;
	__u32 more = rng_below(&rng, 4) ? LONGEST - least : 100;

	return jumbo(p, vlans, rng_below(&rng, 2) ? 0 : 4 * rng_below(&rng, 7),
		     least + rng_below(&rng, more));
}

/* What strip must make of @from. */
static void stripped(const struct pkt *from, __u32 l3, __u16 payload_len, struct pkt *to)
{
	struct sandwich_meta m = { BIGTCP_SANDWICH_MAGIC, from->len - l3 - 40 };
	const __u8 *b = from->b + from->meta;
	__u8 *t = to->b;

	memcpy(t, from->b, from->meta);
	memcpy(t + from->meta, &m, sizeof(m));
	to->meta = from->meta + META;
	to->len = from->len - 8;
	t += to->meta;
	memcpy(t, b, l3 + 40);
	t[l3 + 4] = payload_len >> 8;
	t[l3 + 5] = payload_len & 0xff;
	t[l3 + 6] = 6;
	memcpy(t + l3 + 40, b + l3 + 48, from->len - l3 - 48);
}

/* What a packet of @len bytes, stripped, must become. */
static void restored(const struct pkt *from, __u32 l3, struct pkt *to)
{
	__u32 seg = from->len - l3 - 40, big = seg > 65535 ? 8 : 0, others = from->meta - META;
	const __u8 *b = from->b + from->meta;
	__u8 *t = to->b + others;

	memcpy(to->b, from->b, others);
	to->meta = others;
	to->len = from->len + big;
	memcpy(t, b, l3 + 40);
	t[l3 + 4] = big ? 0 : seg >> 8;
	t[l3 + 5] = big ? 0 : seg & 0xff;
	t[l3 + 6] = big ? 0 : 6;
	if (big)
		bigtcp_jumbo_fill(t + l3 + 40, seg);
	memcpy(t + l3 + 40 + big, b + l3 + 40, seg);
}

TestSuite(sandwich, .init = setup, .fini = teardown, .timeout = 120);

/* restore(strip(p)) is p. */
Test(sandwich, puts_back_bit_for_bit)
{
	int rounds = 400;

	for (int i = 0; i < rounds; i++) {
		__u32 l3 = random_jumbo(&in);

		stripped(&in, l3, 0, &want);
		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		same(&mid, &want, "stripped");
		cr_assert_eq(restore(&mid, &out), XDP_PASS);
		same(&out, &in, "put back");
	}
	cr_assert_eq(strip_stats().stripped, rounds);
	cr_assert_eq(strip_stats().unstripped + strip_stats().lost, 0);
	cr_assert_eq(restore_stats().restored, rounds);
	cr_assert_eq(restore_stats().resized + restore_stats().plain + restore_stats().lost, 0);
}

/* A program in between cut the packet, or made it longer, or put something before our metadata. */
Test(sandwich, lengths_are_those_of_now)
{
	__u64 big = 0, plain = 0, resized = 0;

	for (int i = 0; i < 400; i++) {
		__u32 l3 = random_jumbo(&in), was, edge;

		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		was = mid.len;
		edge = l3 + 40 + 65535;
		switch (rng_below(&rng, 4)) {
		case 0: /* close to what payload_len can say */
			mid.len = edge - 4 + rng_below(&rng, 9);
			break;
		case 1:
			mid.len = l3 + 60 + rng_below(&rng, was - l3 - 60);
			break;
		case 2:
			mid.len = was + rng_below(&rng, 74000 - mid.meta - was - 1000);
			break;
		}
		if (mid.len > was)
			random_bytes(packet(&mid) + was, mid.len - was);
		restored(&mid, l3, &want);
		cr_assert_eq(restore(&mid, &out), XDP_PASS);
		same(&out, &want, "restored");
		big += mid.len > edge;
		plain += mid.len <= edge;
		resized += mid.len > edge && mid.len != was;
	}
	cr_assert(big > 100 && plain > 100 && resized > 50);
	cr_assert_eq(restore_stats().restored, big);
	cr_assert_eq(restore_stats().plain, plain);
	cr_assert_eq(restore_stats().resized, resized);
	cr_assert_eq(restore_stats().lost, 0);
}

/* A VLAN tag pushed or popped in between. */
Test(sandwich, headers_may_move)
{
	for (unsigned int from = 0; from < 3; from++) {
		for (unsigned int to = 0; to < 3; to++) {
			__u32 l3 = jumbo(&in, from, 0, 70000), n;
			__u8 ip[70000];

			cr_assert_eq(strip(&in, &mid), XDP_PASS);
			n = mid.len - l3;
			memcpy(ip, packet(&mid) + l3, n);
			l3 = jumbo(&want, to, META, 14 + 4 * to + n);
			memcpy(want.b, mid.b, META);
			memcpy(packet(&want) + l3, ip, n);
			mid = want;
			restored(&mid, l3, &want);
			cr_assert_eq(restore(&mid, &out), XDP_PASS);
			same(&out, &want, "with other tags");
		}
	}
	cr_assert_eq(restore_stats().restored, 9);
}

/* Whatever the kernel has not made itself stays as it is, through both. */
Test(sandwich, others_pass)
{
	static const struct {
		unsigned int at;
		__u8 val;
		bool anywhere; /* at: of the packet, not of IPv6 */
	} forged[] = {
		{ 5, 1 },  { 4, 1 },	 { 6, 6 },  { 6, 60 }, { 40, 17 },   { 40, 0 },
		{ 41, 1 }, { 42, 0xc3 }, { 43, 5 }, { 44, 1 }, { 12, 0, 1 }, { 13, 0, 1 },
	};
	__u32 l3;

	for (unsigned int i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		l3 = jumbo(&in, 0, 0, 70000);
		packet(&in)[(forged[i].anywhere ? 0 : l3) + forged[i].at] = forged[i].val;
		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		same(&mid, &in, "forged");
		cr_assert_eq(restore(&mid, &out), XDP_PASS);
		same(&out, &in, "forged");
	}
	/* a length that is not the packet's */
	jumbo(&in, 0, 0, 70000);
	in.len--;
	cr_assert_eq(strip(&in, &mid), XDP_PASS);
	same(&mid, &in, "cut");
	/* as long as the kernel never makes one; MLD and IPv4 among the noise of others */
	for (__u32 len = 65530; len < 14 + 48 + 65536; len++) {
		jumbo(&in, 0, 0, len);
		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		same(&mid, &in, "short");
	}
	jumbo(&in, 1, 0, 70000); /* three tags */
	memmove(packet(&in) + 20, packet(&in) + 12, in.len - 20);
	cr_assert_eq(strip(&in, &mid), XDP_PASS);
	same(&mid, &in, "three tags");
	for (int i = 0; i < 100; i++) {
		in.meta = 4 * rng_below(&rng, 9);
		in.len = i < 50 ? 65537 + rng_below(&rng, 5000) : 14 + rng_below(&rng, 3000);
		random_bytes(in.b, in.meta + in.len);
		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		same(&mid, &in, "noise");
		cr_assert_eq(restore(&mid, &out), XDP_PASS);
		same(&out, &in, "noise");
	}
	cr_assert_eq(strip_stats().stripped + strip_stats().unstripped, 0);
	cr_assert_eq(restore_stats().restored + restore_stats().plain + restore_stats().lost, 0);
}

/* The most metadata that this kernel takes for a packet: 32 bytes before 6.3, then some 216. */
static __u32 most_meta(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in.b, .data_out = mid.b,
		    .data_size_out = sizeof(mid.b), .ctx_size_in = sizeof(struct xdp_md));

	for (__u32 meta = 252; meta > 0; meta -= 4) {
		struct xdp_md ctx = { .data = meta, .data_end = meta + 100 };

		opts.ctx_in = &ctx;
		opts.data_size_in = meta + 100;
		if (!bpf_prog_test_run_opts(bpf_program__fd(strip_skel->progs.bigtcp_strip), &opts))
			return meta;
	}
	cr_assert(false, "no metadata at all");
	return 0;
}

#define MOVED (4 * BIGTCP_META_WORDS) /* bytes of others' metadata that ours can be put behind */

/* Much metadata: kept, or the packet goes on as it came if there is no room for ours behind it. */
Test(sandwich, much_metadata)
{
	__u32 most = most_meta(), l3, left = 0, n = 0;

	for (__u32 meta = 0; meta <= most; meta += 4) {
		unsigned int vlans = meta % 3;

		l3 = jumbo(&in, vlans, meta, 70000);
		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		n++;
		if (mid.meta == meta) {
			cr_assert(meta + META > most || meta > MOVED);
			same(&mid, &in, "without room");
			left++;
			continue;
		}
		stripped(&in, l3, 0, &want);
		same(&mid, &want, "stripped");
		cr_assert_eq(restore(&mid, &out), XDP_PASS);
		same(&out, &in, "put back");
	}
	cr_assert_eq(strip_stats().unstripped, left);
	cr_assert_eq(strip_stats().stripped, n - left);
	cr_assert_eq(left, most == 32 ? 2 : n - BIGTCP_META_WORDS - 1);
	cr_assert_eq(restore_stats().restored, n - left);
}

/* A program in between added so much metadata that ours can't be taken out: the packet is dropped, for without
 * its header it is none. Metadata of others alone is nothing.
 */
Test(sandwich, metadata_grown_in_between)
{
	__u32 most = most_meta();

	for (__u32 more = 4; META + more <= most; more += 4) {
		jumbo(&in, 0, 0, 70000);
		cr_assert_eq(strip(&in, &mid), XDP_PASS);
		memmove(mid.b + more, mid.b, mid.meta + mid.len);
		random_bytes(mid.b, more);
		mid.meta += more;
		restored(&mid, 14, &want);
		if (more <= MOVED) {
			cr_assert_eq(restore(&mid, &out), XDP_PASS);
			same(&out, &want, "restored");
			continue;
		}
		cr_assert_eq(restore(&mid, &out), XDP_ABORTED);
		mid.b[more]++; /* no mark of ours */
		cr_assert_eq(restore(&mid, &out), XDP_PASS);
		same(&out, &mid, "others'");
	}
	cr_assert_eq(restore_stats().lost, most == 32 ? 0 : (most - META - MOVED) / 4);
}

/* A program in between made something of it that has no place for the header. */
Test(sandwich, other_packets_come_out)
{
	jumbo(&in, 0, 0, 70000);
	cr_assert_eq(strip(&in, &mid), XDP_PASS);
	packet(&mid)[14 + 6] = 17;
	cr_assert_eq(restore(&mid, &out), XDP_ABORTED);
	cr_assert_eq(restore_stats().lost, 1);
	/* a reply of its own */
	cr_assert_eq(strip(&in, &mid), XDP_PASS);
	mid.len = 14 + 28;
	packet(&mid)[12] = 0x08;
	packet(&mid)[13] = 0x06;
	want = mid;
	cr_assert_eq(restore(&mid, &out), XDP_PASS);
	memmove(want.b, want.b + META, want.len);
	want.meta = 0;
	same(&out, &want, "reply");
	cr_assert_eq(restore_stats().changed, 1);
	cr_assert_eq(restore_stats().restored + restore_stats().plain, 0);
}

Test(sandwich, payload_len_as_configured)
{
	__u32 l3;

	xdp_strip__destroy(strip_skel);
	strip_skel = xdp_strip__open();
	strip_skel->rodata->strip_payload_len = htons(65535);
	cr_assert_eq(xdp_strip__load(strip_skel), 0);
	l3 = jumbo(&in, 1, 0, 70000);
	stripped(&in, l3, 65535, &want);
	cr_assert_eq(strip(&in, &mid), XDP_PASS);
	same(&mid, &want, "stripped");
	cr_assert_eq(restore(&mid, &out), XDP_PASS);
	same(&out, &in, "put back");
}
