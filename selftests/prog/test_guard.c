// SPDX-License-Identifier: GPL-2.0
/*
 * bpf/guard_*.bpf.c by BPF_PROG_TEST_RUN: every class and its near misses at both hooks, random packets
 * against guard_model(), what is dropped, counted and reported.
 */
#include <bigtcp/jumbo.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <linux/pkt_cls.h>
#include <stdlib.h>
#include <time.h>

#include "../../bpf/guard.h"
#include "audit_lift.skel.h"
#include "guard_frames.h"
#include "guard_model.h"
#include "guard_tc.skel.h"
#include "guard_xdp.skel.h"

#define IFINDEX	 1u /* lo: what a test run has for a device */
#define TC_MIN	 54u /* shorter IPv6 packets are no input for a test run (6.18) */
#define TC_MAX	 3712u
#define N_RANDOM 100000u
#define M	 GUARD_M
#define FORGERY	 (M(FORGED) | M(SHORT))

static const char *const names[] = {
#define NAME(sym, name, kind, rule, help) name,
	GUARD_CLASSES(NAME)
#undef NAME
};

/* --- the two programs ------------------------------------------------------------------------ */

struct guard {
	bool xdp;
	int prog, conf, counts, events;
	struct guard_tc *tc;
	struct guard_xdp *x;
};

static struct guard open_guard(bool xdp, __u32 link)
{
	struct guard g = { .xdp = xdp };

	if (xdp) {
		g.x = guard_xdp__open();
		cr_assert(g.x);
		g.x->rodata->guard_link = link;
		cr_assert_eq(guard_xdp__load(g.x), 0);
		g.prog = bpf_program__fd(g.x->progs.guard_xdp);
		g.conf = bpf_map__fd(g.x->maps.guard_conf);
		g.counts = bpf_map__fd(g.x->maps.guard_counts);
		g.events = bpf_map__fd(g.x->maps.guard_events);
	} else {
		g.tc = guard_tc__open();
		cr_assert(g.tc);
		g.tc->rodata->guard_link = link;
		cr_assert_eq(guard_tc__load(g.tc), 0);
		g.prog = bpf_program__fd(g.tc->progs.guard_tc);
		g.conf = bpf_map__fd(g.tc->maps.guard_conf);
		g.counts = bpf_map__fd(g.tc->maps.guard_counts);
		g.events = bpf_map__fd(g.tc->maps.guard_events);
	}
	return g;
}

static void close_guard(struct guard *g)
{
	guard_tc__destroy(g->tc);
	guard_xdp__destroy(g->x);
}

static void configure(const struct guard *g, __u32 drop, __u32 burst, __u64 interval)
{
	struct guard_conf conf = { .drop = drop, .burst = burst, .interval = interval };
	__u32 key = IFINDEX;

	cr_assert_eq(bpf_map_update_elem(g->conf, &key, &conf, BPF_ANY), 0);
}

static struct guard_counts counts(const struct guard *g)
{
	int n = libbpf_num_possible_cpus();
	struct guard_counts *cpu = calloc(n, sizeof(*cpu)), sum = {};
	__u64 *to = (__u64 *)&sum, *from;
	__u32 key = IFINDEX;

	if (!bpf_map_lookup_elem(g->counts, &key, cpu)) {
		for (int i = 0; i < n; i++) {
			from = (__u64 *)&cpu[i];
			for (size_t k = 0; k < sizeof(sum) / sizeof(*to); k++)
				to[k] += from[k];
		}
	}
	free(cpu);
	return sum;
}

static bool run(const struct guard *g, const void *data, __u32 len, __u32 gso_size, __u32 times)
{
	struct __sk_buff skb = { .gso_size = gso_size, .gso_segs = gso_size ? 2 : 0 };
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = data, .data_size_in = len, .repeat = times);

	if (!g->xdp) {
		o.ctx_in = &skb;
		o.ctx_size_in = sizeof(skb);
	}
	cr_assert_eq(bpf_prog_test_run_opts(g->prog, &o), 0, "%u bytes: %d", len, errno);
	if (g->xdp)
		cr_assert(o.retval == XDP_DROP || o.retval == XDP_PASS, "%u", o.retval);
	else
		cr_assert((int)o.retval == TC_ACT_SHOT || (int)o.retval == TC_ACT_UNSPEC, "%d",
			  (int)o.retval);
	return o.retval == (g->xdp ? XDP_DROP : TC_ACT_SHOT);
}

/* The classes that one run has counted; the rest of the books must agree. */
static __u32 classes_of(const struct guard_counts *a, const struct guard_counts *b, __u32 len,
			bool dropped)
{
	__u32 mask = 0;

	for (int i = 0; i < GUARD_NR; i++) {
		__u64 n = b->class[i].packets - a->class[i].packets;

		cr_assert_leq(n, 1);
		cr_assert_eq(b->class[i].bytes - a->class[i].bytes, n * len);
		cr_assert_eq(b->class[i].dropped - a->class[i].dropped, dropped ? n : 0);
		mask |= n << i;
	}
	cr_assert_eq(b->wrong - a->wrong, !!(mask & GUARD_WRONG_MASK));
	cr_assert_eq(b->dropped - a->dropped, dropped);
	return mask;
}

static const char *text(__u32 mask)
{
	static char buf[4][256];
	static int turn;
	char *s = buf[turn++ % 4];

	strcpy(s, mask ? "" : " nothing");
	for (int i = 0; i < GUARD_NR; i++)
		if (mask >> i & 1)
			sprintf(s + strlen(s), " %s", names[i]);
	return s;
}

/* Longer than a tc test run takes: grown by 64 KiB from within, as the audit does it. */
static bool run_lifted(const struct guard *g, struct audit_lift *lift, __u32 gso_size)
{
	struct {
		__u32 grow, slot;
		__u8 head[128];
	} plan = { .grow = 65536 };
	struct __sk_buff skb = { .gso_size = gso_size, .gso_segs = 2 };
	__u8 in[TC_MAX] = {};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = in, .data_size_in = f.len - 65536,
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb));
	__u32 key = 0;

	memcpy(plan.head, f.data, sizeof(plan.head));
	memcpy(in, f.data, 54);
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(lift->maps.lift_plan), &key, &plan, BPF_ANY),
		     0);
	cr_assert_eq(
		bpf_map_update_elem(bpf_map__fd(lift->maps.lift_prog), &key, &g->prog, BPF_ANY), 0);
	cr_assert_eq(bpf_prog_test_run_opts(bpf_program__fd(lift->progs.audit_lift), &o), 0);
	cr_assert((int)o.retval == TC_ACT_SHOT || (int)o.retval == TC_ACT_UNSPEC, "%x", o.retval);
	return (int)o.retval == TC_ACT_SHOT;
}

static void check_row(const struct guard *g, struct audit_lift *lift, const struct guard_row *row,
		      __u32 gso_size)
{
	__u32 want = g->xdp ? row->xdp : gso_size ? row->gso : row->tc, got;
	struct guard_view v = { .data = f.data, .gso_size = gso_size, .xdp = g->xdp };
	struct guard_counts a = counts(g), b;
	bool dropped;

	row->make();
	v.len = f.len;
	got = guard_model(&v);
	cr_expect_eq(got, want, "%s: the model finds%s, not%s", row->what, text(got), text(want));
	if (guard_model_l3(&v) < f.len) {
		got = guard_user(&v, guard_model_l3(&v));
		cr_expect_eq(got, want, "%s: the walk finds%s, not%s", row->what, text(got),
			     text(want));
	}
	if (g->xdp || f.len <= TC_MAX)
		dropped = run(g, f.data, f.len, gso_size, 1);
	else if (gso_size && f.len >= 65536 + TC_MIN)
		dropped = run_lifted(g, lift, gso_size);
	else
		return;
	b = counts(g);
	got = classes_of(&a, &b, f.len, dropped);
	cr_expect_eq(got, want, "%s, %s%s: found%s, expected%s", row->what, g->xdp ? "xdp" : "tc",
		     gso_size ? ", gso" : "", text(got), text(want));
	cr_expect_eq(dropped, !!(want & GUARD_WRONG_MASK), "%s", row->what);
}

static void all_rows(__u32 link)
{
	struct audit_lift *lift = audit_lift__open_and_load();
	struct guard tc = open_guard(false, link), xdp = open_guard(true, link);

	cr_assert(lift);
	for (size_t i = 0; i < guard_nrows; i++) {
		check_row(&tc, lift, &guard_rows[i], 0);
		check_row(&tc, lift, &guard_rows[i], 1428);
		check_row(&xdp, lift, &guard_rows[i], 0);
	}
	close_guard(&tc);
	close_guard(&xdp);
	audit_lift__destroy(lift);
}

Test(guard, classes)
{
	all_rows(GUARD_LINK_UNKNOWN);
}

Test(guard, classes_ethernet)
{
	all_rows(GUARD_LINK_ETHER);
}

/* Every class is in the table, on both hooks where it can be. */
Test(guard, classes_are_all_there)
{
	__u32 tc = 0, xdp = 0;

	for (size_t i = 0; i < guard_nrows; i++) {
		tc |= guard_rows[i].tc | guard_rows[i].gso;
		xdp |= guard_rows[i].xdp;
	}
	cr_assert_eq(tc, (1u << GUARD_NR) - 1, "not at tc:%s", text(~tc & ((1u << GUARD_NR) - 1)));
	cr_assert_eq(xdp, (1u << GUARD_NR) - 1);
}

/* --- random packets ------------------------------------------------------------------------------ */

static __u64 seed(void)
{
	const char *env = getenv("BT_PROG_SEED");
	struct timespec ts;

	if (env)
		return strtoull(env, NULL, 0);
	clock_gettime(CLOCK_REALTIME, &ts);
	return (__u64)ts.tv_sec * 1000000007 ^ ts.tv_nsec;
}

/* BT_PROG_PACKETS, for slow machines, is of a program of the corpus; packets are cheaper here. */
static __u32 n_packets(void)
{
	const char *env = getenv("BT_PROG_PACKETS");

	return env ? 10 * strtoul(env, NULL, 0) : N_RANDOM;
}

/* So many packets reach every class. */
#define N_ALL 30000u

static void random_packets(bool xdp, __u32 link)
{
	__u64 s = seed();
	struct rng r = { .s = s | 1 };
	struct guard g = open_guard(xdp, link);
	struct guard_counts a = {}, b;
	__u32 all = 0, n = n_packets();

	configure(&g, GUARD_WRONG_MASK, 1, GUARD_NO_EVENTS);
	for (__u32 i = 0; i < n; i++) {
		struct guard_view v = { .data = f.data, .xdp = xdp };
		__u32 max = xdp && !rng_below(&r, 16) ? GUARD_PACKET_MAX : 1600, want, got;
		bool dropped;

		v.len = guard_packet(&r, f.data, max);
		if (!xdp && v.len < TC_MIN)
			v.len = TC_MIN;
		v.gso_size = xdp || rng_below(&r, 2) ? 0 : 1400;
		want = guard_model(&v);
		all |= want;
		dropped = run(&g, v.data, v.len, v.gso_size, 1);
		b = counts(&g);
		got = classes_of(&a, &b, v.len, dropped);
		cr_assert_eq(got, want,
			     "BT_PROG_SEED=%llu packet %u of %u bytes: found%s, expected%s",
			     (unsigned long long)s, i, v.len, text(got), text(want));
		cr_assert_eq(dropped, !!(want & GUARD_WRONG_MASK), "BT_PROG_SEED=%llu packet %u",
			     (unsigned long long)s, i);
		a = b;
	}
	/* The generator must reach them all; no tc test run makes the kernel's own. */
	if (n >= N_ALL)
		cr_assert_eq(all | (xdp ? 0 : GUARD_OWN_MASK | M(FOREIGN)), (1u << GUARD_NR) - 1,
			     "BT_PROG_SEED=%llu never:%s", (unsigned long long)s,
			     text(~all & ((1u << GUARD_NR) - 1)));
	close_guard(&g);
}

Test(guard, random_tc, .timeout = 240)
{
	random_packets(false, GUARD_LINK_UNKNOWN);
}

Test(guard, random_tc_ethernet, .timeout = 240)
{
	random_packets(false, GUARD_LINK_ETHER);
}

Test(guard, random_xdp, .timeout = 240)
{
	random_packets(true, GUARD_LINK_UNKNOWN);
}

/* The walk alone, with packets that are longer than a test run takes. */
Test(guard, random_walk, .timeout = 240)
{
	__u64 s = seed();
	struct rng r = { .s = s | 1 };
	__u32 all = 0, n = n_packets();

	for (__u32 i = 0; i < n; i++) {
		struct guard_view v = { .data = f.data };
		__u32 max = rng_below(&r, 4) ? 1600 : GUARD_PACKET_MAX, want, got, l3;

		v.len = guard_packet(&r, f.data, max);
		v.gso_size = rng_below(&r, 2) ? 0 : 1400;
		l3 = guard_model_l3(&v);
		if (l3 >= v.len)
			continue;
		want = guard_model(&v);
		got = guard_user(&v, l3);
		all |= want;
		cr_assert_eq(got, want,
			     "BT_PROG_SEED=%llu packet %u of %u bytes: found%s, expected%s",
			     (unsigned long long)s, i, v.len, text(got), text(want));
	}
	if (n >= N_ALL)
		cr_assert_eq(all, (1u << GUARD_NR) - 1, "BT_PROG_SEED=%llu", (unsigned long long)s);
}

/* --- devices without link header ----------------------------------------------------------------- */

/* An IP packet whose source address has the type of IPv6 where Ethernet has it. */
static void start_with_ip(void)
{
	memmove(f.data, f.data + 14, f.len - 14);
	f.len -= 14;
	memcpy(f.data + 8, "\x20\x01\x0d\xb8\x86\xdd\x00\x00", 8);
}

static void no_link(bool xdp)
{
	struct guard g = open_guard(xdp, GUARD_LINK_NONE);
	struct guard_counts a, b;
	bool dropped;

	mld();
	start_with_ip();
	a = counts(&g);
	dropped = run(&g, f.data, f.len, 0, 1);
	b = counts(&g);
	cr_expect_eq(classes_of(&a, &b, f.len, dropped), M(HBH));
	kernel_small();
	start_with_ip();
	dropped = run(&g, f.data, f.len, 0, 1);
	a = counts(&g);
	cr_expect_eq(classes_of(&b, &a, f.len, dropped), FORGERY);
	cr_expect(dropped);
	plain_tcp();
	start_with_ip();
	cr_expect_not(run(&g, f.data, f.len, 0, 1));
	b = counts(&g);
	cr_expect_eq(memcmp(&a, &b, sizeof(a)), 0);
	close_guard(&g);
}

Test(guard, no_link_tc)
{
	no_link(false);
}

Test(guard, no_link_xdp)
{
	no_link(true);
}

/* --- what is dropped, and the events ------------------------------------------------------------- */

static void drops_as_told(bool xdp)
{
	struct guard g = open_guard(xdp, GUARD_LINK_ETHER);

	for (size_t i = 0; i < guard_nrows; i++) {
		__u32 is = xdp ? guard_rows[i].xdp : guard_rows[i].tc;

		guard_rows[i].make();
		if (!xdp && f.len > TC_MAX)
			continue;
		for (int c = 0; c < GUARD_NR; c++) {
			bool want = is & 1u << c & ~GUARD_OWN_MASK;

			configure(&g, 1u << c, 1, GUARD_NO_EVENTS);
			cr_expect_eq(run(&g, f.data, f.len, 0, 1), want, "%s, drop %s",
				     guard_rows[i].what, names[c]);
		}
		configure(&g, 0, 1, GUARD_NO_EVENTS);
		cr_expect_not(run(&g, f.data, f.len, 0, 1), "%s", guard_rows[i].what);
	}
	close_guard(&g);
}

Test(guard, drops_as_told_tc)
{
	drops_as_told(false);
}

Test(guard, drops_as_told_xdp)
{
	drops_as_told(true);
}

struct caught {
	struct guard_event e[64];
	int n;
};

static int catch (void *arg, void *data, size_t len)
{
	struct caught *c = arg;

	cr_assert_eq(len, sizeof(struct guard_event));
	if (c->n < 64)
		memcpy(&c->e[c->n], data, len);
	c->n++;
	return 0;
}

static int events(const struct guard *g, struct caught *c)
{
	struct ring_buffer *rb = ring_buffer__new(g->events, catch, c, NULL);

	c->n = 0;
	cr_assert(rb);
	cr_assert_geq(ring_buffer__consume(rb), 0);
	ring_buffer__free(rb);
	return c->n;
}

static void events_say(bool xdp)
{
	struct guard g = open_guard(xdp, GUARD_LINK_ETHER);
	struct caught c = {};

	configure(&g, M(HBH), 10, 1000);
	kernel_small();
	cr_expect_not(run(&g, f.data, f.len, xdp ? 0 : 1428, 1));
	cr_assert_eq(events(&g, &c), 1);
	cr_expect_eq(c.e[0].found, FORGERY);
	cr_expect_eq(c.e[0].dropped, 0);
	cr_expect_eq(c.e[0].ifindex, IFINDEX);
	cr_expect_eq(c.e[0].len, GUARD_FRAME);
	cr_expect_eq(c.e[0].l3_off, 14);
	cr_expect_eq(c.e[0].gso_size, xdp ? 0 : 1428);
	cr_expect_eq(c.e[0].hook, xdp ? GUARD_HOOK_XDP : GUARD_HOOK_TC);
	cr_expect_neq(c.e[0].ns, 0);
	cr_expect_eq(c.e[0].ext_len, GUARD_EVENT_EXT);
	cr_expect_arr_eq(c.e[0].ip6, f.data + 14, 40);
	cr_expect_arr_eq(c.e[0].ext, f.data + 54, GUARD_EVENT_EXT);
	/* Not wrong, but dropped; and shorter than an event has room for. */
	mld();
	f.len = 14 + 40 + 16;
	f.data[14 + 5] = 16;
	cr_expect(run(&g, f.data, f.len, 0, 1));
	cr_assert_eq(events(&g, &c), 1);
	cr_expect_eq(c.e[0].found, M(HBH));
	cr_expect_eq(c.e[0].dropped, 1);
	cr_expect_eq(c.e[0].ext_len, 8);
	cr_expect_arr_eq(c.e[0].ext, f.data + 54, 8);
	/* Neither wrong nor dropped. */
	configure(&g, GUARD_WRONG_MASK, 10, 1000);
	cr_expect_not(run(&g, f.data, f.len, 0, 1));
	cr_assert_eq(events(&g, &c), 0);
	close_guard(&g);
}

Test(guard, events_tc)
{
	events_say(false);
}

Test(guard, events_xdp)
{
	events_say(true);
}

Test(guard, events_are_limited)
{
	struct guard g = open_guard(false, GUARD_LINK_ETHER);
	struct guard_counts n;
	struct caught c = {};

	kernel_small();
	configure(&g, GUARD_WRONG_MASK, 5, 3600000000000ULL);
	run(&g, f.data, f.len, 0, 100);
	n = counts(&g);
	cr_expect_eq(events(&g, &c), 5);
	cr_expect_eq(n.events, 5);
	cr_expect_eq(n.suppressed, 95);
	cr_expect_eq(n.wrong, 100);
	cr_expect_eq(n.dropped, 100);
	/* No events at all; what the device has for a limit is its own. */
	configure(&g, GUARD_WRONG_MASK, 5, GUARD_NO_EVENTS);
	run(&g, f.data, f.len, 0, 10);
	cr_expect_eq(events(&g, &c), 0);
	cr_expect_eq(counts(&g).suppressed, 105);
	close_guard(&g);

	/* Without a configuration: the defaults. */
	g = open_guard(false, GUARD_LINK_ETHER);
	cr_expect(run(&g, f.data, f.len, 0, GUARD_BURST));
	cr_expect_eq(events(&g, &c), GUARD_BURST);
	close_guard(&g);
}

/* Tokens come back with time. */
Test(guard, events_come_back, .timeout = 60)
{
	struct guard g = open_guard(true, GUARD_LINK_ETHER);
	struct caught c = {};
	int tries;

	kernel_small();
	configure(&g, GUARD_WRONG_MASK, 1, 50000000);
	run(&g, f.data, f.len, 0, 3);
	cr_expect_geq(events(&g, &c), 1);
	for (tries = 0; tries < 200; tries++) {
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		run(&g, f.data, f.len, 0, 1);
		if (events(&g, &c))
			break;
	}
	cr_expect_lt(tries, 200);
	close_guard(&g);
}

Test(guard, nobody_reads_events)
{
	struct guard g = open_guard(true, GUARD_LINK_ETHER);
	struct guard_counts n;
	struct caught c = {};

	kernel_small();
	configure(&g, GUARD_WRONG_MASK, 100000, 1);
	run(&g, f.data, f.len, 0, 10000);
	n = counts(&g);
	cr_expect_gt(n.events, 1000);
	cr_expect_gt(n.lost, 0);
	cr_expect_eq(n.events + n.lost, 10000);
	cr_expect_eq((__u64)events(&g, &c), n.events);
	close_guard(&g);
}
