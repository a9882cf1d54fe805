// SPDX-License-Identifier: GPL-2.0
/*
 * The property of a twin (design section 3): the original on a packet, and the twin on that packet with
 * the jumbo header put in, give the same verdict, maps, context and, without the header, the
 * same packet; and on everything else the two are the same program. BT_PROG_PACKETS sets the
 * number of packets a program (100000), BT_PROG_SEED the seed, BT_PROG_MAPS_EVERY after how many
 * packets the maps are compared (16384), BT_PROG_ONLY one program.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "maps.h"
#include "pair.h"

/* So much less packets above 64 KiB, each of which costs as much more. */
#define WHOLE_SHARE 20

struct param {
	struct statement st;
	bool max_payload_len;
	bool direct;
	bool move; /* tc: also where changing offsets would do */
	bool any_len;
	bool whole; /* packets above 64 KiB, and the twin as it is for real */
};

static unsigned long env_number(const char *name, unsigned long dflt)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : dflt;
}

static __u64 seed(void)
{
	__u64 s = env_number("BT_PROG_SEED", 0);

	while (!s)
		if (getrandom(&s, sizeof(s), 0) != sizeof(s))
			s = time(NULL);
	return s;
}

/* Is it one to be tested here? */
static bool is_meant(const struct statement *st)
{
	const char *only = getenv("BT_PROG_ONLY");

	return !strcmp(st->twin, "made") && statement_runs_here(st) &&
	       (!only || !strcmp(only, st->prog));
}

/* The others' files are named after their hook. */
static bool is_tc(const struct statement *st)
{
	return strncmp(st->file, "x_", 2) && strncmp(st->file, "cg_", 3) &&
	       strncmp(st->file, "sf_", 3);
}

static struct criterion_test_params made_programs(void)
{
	struct statement *all = NULL;
	int n = statements_read(&all), k;
	size_t cnt = 0;
	struct param *p;

	cr_assert_gt(n, 0, "no corpus: %s", strerror(-n));
	p = cr_malloc(3 * n * sizeof(*p));
	for (k = 0; k < n; k++) {
		if (!is_meant(&all[k]))
			continue;
		memset(&p[cnt], 0, 3 * sizeof(p[cnt]));
		p[cnt].st = all[k];
		/* both ways to move, both lengths, both entries come up across the corpus */
		p[cnt].any_len = k % 2 && !all[k].cuts;
		p[cnt].direct = k % 3 == 2;
		p[cnt].max_payload_len = k % 4 == 3;
		cnt++;
		if (is_tc(&all[k]) && !p[cnt - 1].direct) {
			p[cnt] = p[cnt - 1];
			p[cnt++].move = true;
		}
		if (!all[k].frags)
			continue;
		p[cnt].st = all[k];
		p[cnt++].whole = true;
	}
	free(all);
	return cr_make_param_array(struct param, p, cnt);
}

/* The last packet, for the message: Criterion keeps a test's own output to itself. */
static const char *packet_text(void)
{
	const struct packet *p = pair_last();
	static char text[1024];
	__u32 k, at;

	at = snprintf(text, sizeof(text), "%s, %u bytes, gso_size %u:", p->kind, p->len,
		      p->gso_size);
	for (k = 0; k < p->len && k < 160; k++)
		at += snprintf(text + at, sizeof(text) - at, "%s%02x", k % 4 ? "" : " ",
			       p->data[k]);
	return text;
}

static void check_maps(struct pair *p, __u64 s, unsigned long n)
{
	char why[512] = "";
	int err = maps_compare(bt_object_bpf(p->plain), bt_object_bpf(p->twin), why, sizeof(why));

	cr_assert_eq(err, 0, "%s: seed %llu, up to packet %lu: %s", p->st->prog,
		     (unsigned long long)s, n, err < 0 ? strerror(-err) : why);
}

/* Per-CPU maps: both programs must run on one CPU. Which one is left to the scheduler, once. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	cr_assert_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

ParameterizedTestParameters(prop, twin_equals_original)
{
	return made_programs();
}

ParameterizedTest(struct param *par, prop, twin_equals_original, .timeout = 600)
{
	struct bigtcp_twin_opts opts = { .sz = sizeof(opts),
					 .any_len = par->any_len,
					 .direct = par->direct,
					 .move = par->move,
					 .max_payload_len = par->max_payload_len };
	unsigned long packets = env_number("BT_PROG_PACKETS", 100000), n, jumbo = 0;
	unsigned long maps_every = env_number("BT_PROG_MAPS_EVERY", 16384);
	__u64 s = seed();
	struct rng r = { s };
	char why[1024] = "";
	struct pair p;
	int err;

	cr_assert_eq(unshare(CLONE_NEWNET), 0, "no private network namespace: %s", strerror(errno));
	stay_on_this_cpu();
	err = pair_open(&p, &par->st, "16", &opts, par->whole, why, sizeof(why));
	cr_assert_eq(err, 0, "%s: %s", par->st.prog, why);
	if (par->whole)
		packets = packets / WHOLE_SHARE + 20;
	if (par->move)
		packets /= 2;
	cr_log_info("%s: %lu packets, seed %llu%s%s%s", par->st.prog, packets,
		    (unsigned long long)s,
		    par->direct ? ", direct"
		    : par->move ? ", moved"
				: "",
		    par->max_payload_len ? ", max payload_len" : "", par->whole ? ", whole" : "");
	if (!pair_sees_bytes(&p))
		cr_skip_test(
			"%s: a test run shows cgroup_skb programs no packet pointers in this kernel",
			par->st.prog);
	for (n = 0; n < packets; n++) {
		bool is_jumbo = rng_below(&r, 2);

		err = pair_run(&p, &r, is_jumbo, why, sizeof(why));
		cr_assert_eq(err, 0, "%s: seed %llu packet %lu: %s (%s)", par->st.prog,
			     (unsigned long long)s, n, err < 0 ? strerror(-err) : why,
			     packet_text());
		jumbo += is_jumbo;
		if (n % maps_every == 0)
			check_maps(&p, s, n);
	}
	check_maps(&p, s, n);
	cr_assert_gt(jumbo, packets / 10);
	cr_assert(!par->st.loses || p.lost, "%s: no packet was lost", par->st.prog);
	pair_close(&p);
}
