// SPDX-License-Identifier: GPL-2.0
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/qdisc.h"

#define NS_PER_TICK 64 /* of times in options: PSCHED_SHIFT of include/net/pkt_sched.h */

struct limits {
	struct bt_qdisc_limit *v;
	unsigned int n;
};

static void add(struct limits *l, enum bt_qdisc_effect effect, __u64 bytes, const char *what)
{
	if (l->n < BT_QDISC_LIMITS)
		l->v[l->n++] = (struct bt_qdisc_limit){ effect, bytes, what };
}

/* The attribute of @type in @nest, at least @len bytes long; or NULL. */
static const struct nlattr *find(const struct nlattr *nest, __u16 type, size_t len)
{
	const struct nlattr *a;

	if (!nest)
		return NULL;
	mnl_attr_for_each_nested(a, nest) {
		if (mnl_attr_get_type(a) == type)
			return mnl_attr_get_payload_len(a) >= len ? a : NULL;
	}
	return NULL;
}

static const void *payload(const struct nlattr *nest, __u16 type, size_t len)
{
	const struct nlattr *a = find(nest, type, len);

	return a ? mnl_attr_get_payload(a) : NULL;
}

static __u32 u32(const struct nlattr *nest, __u16 type)
{
	const struct nlattr *a = find(nest, type, sizeof(__u32));

	return a ? mnl_attr_get_u32(a) : 0;
}

/* Bytes a second: 64 bits where 32 are not enough. */
static __u64 rate_of(const struct nlattr *nest, __u16 type64, const struct tc_ratespec *spec)
{
	const struct nlattr *a = find(nest, type64, sizeof(__u64));

	return a ? mnl_attr_get_u64(a) : spec->rate;
}

static __u64 bytes_of(__u64 rate, __u32 ticks)
{
	return (__u64)((double)rate * ticks * NS_PER_TICK / 1e9);
}

static __u64 smaller(__u64 a, __u64 b)
{
	return !b || (a && a < b) ? a : b;
}

/* tbf_enqueue(): what is longer than the bucket is segmented if it can be; then a bfifo. */
static void of_tbf(const struct nlattr *opts, struct limits *l)
{
	const struct tc_tbf_qopt *q = payload(opts, TCA_TBF_PARMS, sizeof(*q));
	__u64 burst, peak = 0;

	if (!q)
		return;
	burst = bytes_of(rate_of(opts, TCA_TBF_RATE64, &q->rate), q->buffer);
	if (q->peakrate.rate)
		peak = bytes_of(rate_of(opts, TCA_TBF_PRATE64, &q->peakrate), q->mtu);
	add(l, BT_QDISC_CUTS, smaller(burst, peak), peak && peak < burst ? "mtu" : "burst");
	if (q->limit) /* 0: another qdisc is in it */
		add(l, BT_QDISC_DROPS, q->limit, "limit");
}

/* Both of a class. */
static void of_htb(const struct nlattr *opts, struct limits *l)
{
	const struct tc_htb_opt *c = payload(opts, TCA_HTB_PARMS, sizeof(*c));
	__u64 burst, cburst;

	if (!c)
		return;
	burst = bytes_of(rate_of(opts, TCA_HTB_RATE64, &c->rate), c->buffer);
	cburst = bytes_of(rate_of(opts, TCA_HTB_CEIL64, &c->ceil), c->cbuffer);
	add(l, BT_QDISC_OVERDRAWS, smaller(burst, cburst), cburst < burst ? "cburst" : "burst");
}

static void of_bfifo(const struct nlattr *opts, struct limits *l)
{
	const struct tc_fifo_qopt *q;

	if (!opts || mnl_attr_get_payload_len(opts) < sizeof(*q))
		return;
	q = mnl_attr_get_payload(opts);
	add(l, BT_QDISC_DROPS, q->limit, "limit");
}

static void of_red(const struct nlattr *opts, struct limits *l)
{
	const struct tc_red_qopt *q = payload(opts, TCA_RED_PARMS, sizeof(*q));

	if (q)
		add(l, BT_QDISC_DROPS, q->limit, "limit");
}

static void of_fq_codel(const struct nlattr *opts, struct limits *l)
{
	const __u32 memory = u32(opts, TCA_FQ_CODEL_MEMORY_LIMIT);

	if (memory)
		add(l, BT_QDISC_DROPS, memory, "memory_limit");
}

static void of_cake(const struct nlattr *opts, struct limits *l)
{
	const __u32 memory = u32(opts, TCA_CAKE_MEMORY);

	if (u32(opts, TCA_CAKE_SPLIT_GSO))
		add(l, BT_QDISC_CUTS, 0, "split-gso");
	if (memory)
		add(l, BT_QDISC_DROPS, memory, "memlimit");
}

/* tcf_police_act(): what is longer than the bucket never conforms. */
static void of_police(const struct nlattr *opts, struct limits *l)
{
	const struct tc_police *p = payload(opts, TCA_POLICE_TBF, sizeof(*p));
	__u64 rate;

	if (!p)
		return;
	rate = rate_of(opts, TCA_POLICE_RATE64, &p->rate);
	if (rate)
		add(l, BT_QDISC_DROPS, bytes_of(rate, p->burst), "burst");
}

static const struct {
	const char *kind;
	bool of_class;
	void (*look)(const struct nlattr *opts, struct limits *l);
} kinds[] = {
	{ "tbf", false, of_tbf },	    { "htb", true, of_htb },
	{ "bfifo", false, of_bfifo },	    { "red", false, of_red },
	{ "fq_codel", false, of_fq_codel }, { "cake", false, of_cake },
	{ "police", false, of_police },
};

unsigned int bt_qdisc_limits(const char *kind, bool is_class, const struct nlattr *opts,
			     struct bt_qdisc_limit limits[BT_QDISC_LIMITS])
{
	struct limits l = { .v = limits };

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (opts && kinds[i].of_class == is_class && !strcmp(kind, kinds[i].kind))
			kinds[i].look(opts, &l);
	}
	return l.n;
}

/* Where filters keep their actions. */
static const struct {
	const char *kind;
	__u16 type;
} actions[] = {
	{ "matchall", TCA_MATCHALL_ACT }, { "u32", TCA_U32_ACT },     { "flower", TCA_FLOWER_ACT },
	{ "bpf", TCA_BPF_ACT },		  { "basic", TCA_BASIC_ACT }, { "fw", TCA_FW_ACT },
	{ "route", TCA_ROUTE4_ACT },	  { "flow", TCA_FLOW_ACT },   { "cgroup", TCA_CGROUP_ACT },
};

static const struct nlattr *police_in(const struct nlattr *acts)
{
	const struct nlattr *act, *kind;

	mnl_attr_for_each_nested(act, acts) {
		kind = find(act, TCA_ACT_KIND, sizeof("police"));
		if (kind && !strcmp(mnl_attr_get_str(kind), "police"))
			return find(act, TCA_ACT_OPTIONS, 0);
	}
	return NULL;
}

const struct nlattr *bt_qdisc_police(const char *kind, const struct nlattr *opts)
{
	const struct nlattr *acts;

	for (unsigned int i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		acts = strcmp(kind, actions[i].kind) ? NULL : find(opts, actions[i].type, 0);
		if (acts)
			return police_in(acts);
	}
	/* u32 has the old way too, without an action around it. */
	return strcmp(kind, "u32") ? NULL : find(opts, TCA_U32_POLICE, 0);
}
