// SPDX-License-Identifier: GPL-2.0
/* What preflight reads: options of qdiscs, systemd's .link files, versions of kernels; and rows about live looks. */
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernels.h"
#include "core/linkfile.h"
#include "core/preflight_int.h"
#include "core/qdisc.h"

/* --- qdiscs --------------------------------------------------------------------------------------- */

static char buf[4096];
static struct bt_qdisc_limit limits[BT_QDISC_LIMITS];

static struct nlmsghdr *start(void)
{
	memset(buf, 0, sizeof(buf));
	return mnl_nlmsg_put_header(buf);
}

static unsigned int look(const char *kind, bool is_class, const struct nlattr *opts)
{
	memset(limits, 0xff, sizeof(limits));
	return bt_qdisc_limits(kind, is_class, opts, limits);
}

static void is(unsigned int i, enum bt_qdisc_effect effect, __u64 bytes, const char *what)
{
	cr_expect_eq(limits[i].effect, effect, "limit %u", i);
	cr_expect_eq(limits[i].bytes, bytes, "limit %u is %llu", i, limits[i].bytes);
	cr_expect_str_eq(limits[i].what, what);
}

static struct nlattr *tbf(const struct tc_tbf_qopt *q, __u64 rate64)
{
	struct nlmsghdr *nlh = start();
	struct nlattr *opts = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_TBF_PARMS, sizeof(*q), q);
	if (rate64)
		mnl_attr_put_u64(nlh, TCA_TBF_RATE64, rate64);
	mnl_attr_nest_end(nlh, opts);
	return opts;
}

Test(qdisc, a_token_bucket_cuts_then_drops)
{
	/* 1 Gbit/s for 8 us: a million bytes; a tick is 64 ns */
	struct tc_tbf_qopt q = { .rate = { .rate = 125000000 }, .buffer = 125000, .limit = 70000 };

	cr_assert_eq(look("tbf", false, tbf(&q, 0)), 2);
	is(0, BT_QDISC_CUTS, 1000000, "burst");
	is(1, BT_QDISC_DROPS, 70000, "limit");
	cr_assert_eq(look("tbf", true, tbf(&q, 0)), 0, "a class of it has no options");
	cr_assert_eq(look("tbf", false, NULL), 0);
}

Test(qdisc, a_token_bucket_with_peak_or_a_rate_of_64_bits)
{
	struct tc_tbf_qopt q = { .rate = { .rate = 1000 },
				 .peakrate = { .rate = 250000000 },
				 .buffer = 125000,
				 .mtu = 1000 };

	cr_assert_eq(look("tbf", false, tbf(&q, 125000000)), 1, "no limit: another qdisc is in it");
	is(0, BT_QDISC_CUTS, 16000, "mtu");
	q.peakrate.rate = ~0U;
	q.rate.rate = ~0U;
	cr_assert_eq(look("tbf", false, tbf(&q, 1000000000)), 1);
	is(0, BT_QDISC_CUTS, 274877, "mtu");
}

Test(qdisc, options_that_are_too_short_say_nothing)
{
	struct nlmsghdr *nlh = start();
	struct nlattr *opts = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_TBF_PARMS, 1);
	mnl_attr_nest_end(nlh, opts);
	cr_assert_eq(look("tbf", false, opts), 0);
	nlh = start();
	mnl_attr_put_u16(nlh, TCA_OPTIONS, 7);
	cr_assert_eq(look("bfifo", false, mnl_nlmsg_get_payload(nlh)), 0);
}

Test(qdisc, fifos)
{
	const struct tc_fifo_qopt q = { .limit = 3000 };
	struct nlmsghdr *nlh = start();

	mnl_attr_put(nlh, TCA_OPTIONS, sizeof(q), &q);
	cr_assert_eq(look("bfifo", false, mnl_nlmsg_get_payload(nlh)), 1);
	is(0, BT_QDISC_DROPS, 3000, "limit");
	cr_assert_eq(look("pfifo", false, mnl_nlmsg_get_payload(nlh)), 0,
		     "its limit is in packets");
}

Test(qdisc, classes_of_htb)
{
	const struct tc_htb_opt c = { .rate = { .rate = 1000000 },
				      .ceil = { .rate = 2000000 },
				      .buffer = 156250,
				      .cbuffer = 15625 };
	struct nlmsghdr *nlh = start();
	struct nlattr *opts = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof(c), &c);
	mnl_attr_nest_end(nlh, opts);
	cr_assert_eq(look("htb", false, opts), 0);
	cr_assert_eq(look("htb", true, opts), 1);
	is(0, BT_QDISC_OVERDRAWS, 2000, "cburst");
}

Test(qdisc, cake_and_fq_codel)
{
	struct nlmsghdr *nlh = start();
	struct nlattr *opts = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_CAKE_MEMORY, 100000);
	mnl_attr_put_u32(nlh, TCA_CAKE_SPLIT_GSO, 1);
	mnl_attr_nest_end(nlh, opts);
	cr_assert_eq(look("cake", false, opts), 2);
	is(0, BT_QDISC_CUTS, 0, "split-gso");
	is(1, BT_QDISC_DROPS, 100000, "memlimit");

	nlh = start();
	opts = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_MEMORY_LIMIT, 1 << 25);
	mnl_attr_nest_end(nlh, opts);
	cr_assert_eq(look("fq_codel", false, opts), 1);
	is(0, BT_QDISC_DROPS, 1 << 25, "memory_limit");
	cr_assert_eq(look("nobody's", false, opts), 0);
}

/* A matchall filter with an action of @kind that polices. */
static struct nlattr *filter(const char *kind, const struct tc_police *p)
{
	struct nlmsghdr *nlh = start();
	struct nlattr *opts = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	struct nlattr *acts = mnl_attr_nest_start(nlh, TCA_MATCHALL_ACT);
	struct nlattr *one = mnl_attr_nest_start(nlh, 1), *inner;

	mnl_attr_put_strz(nlh, TCA_ACT_KIND, kind);
	inner = mnl_attr_nest_start(nlh, TCA_ACT_OPTIONS);
	mnl_attr_put(nlh, TCA_POLICE_TBF, sizeof(*p), p);
	mnl_attr_nest_end(nlh, inner);
	mnl_attr_nest_end(nlh, one);
	mnl_attr_nest_end(nlh, acts);
	mnl_attr_nest_end(nlh, opts);
	return opts;
}

Test(qdisc, policers_in_filters)
{
	struct tc_police p = { .rate = { .rate = 1000000 }, .burst = 156250 };
	const struct nlattr *opts = bt_qdisc_police("matchall", filter("police", &p));

	cr_assert_not_null(opts);
	cr_assert_eq(look("police", false, opts), 1);
	is(0, BT_QDISC_DROPS, 10000, "burst");
	cr_assert_null(bt_qdisc_police("matchall", filter("skbedit", &p)));
	cr_assert_null(bt_qdisc_police("flower", filter("police", &p)), "it has them elsewhere");
	p.rate.rate = 0;
	cr_assert_eq(look("police", false, bt_qdisc_police("matchall", filter("police", &p))), 0);
}

/* --- .link files ---------------------------------------------------------------------------------- */

static struct bt_linkdev eth = {
	.name = "eth0",
	.driver = "mlx5_core",
	.kind = "",
	.mac = "52:54:00:12:34:56",
	.ethernet = true,
};

static struct bt_linkfile read_link(const char *text)
{
	struct bt_linkfile f = { .match = BT_MATCH_YES };
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	cr_assert_eq(bt_linkfile_read(file, &eth, &f), 0, "%s", text);
	fclose(file);
	return f;
}

static enum bt_match matched(const char *conditions)
{
	char text[512];

	snprintf(text, sizeof(text), "[Match]\n%s\n[Link]\nMTUBytes=9000\n", conditions);
	return read_link(text).match;
}

Test(linkfile, conditions)
{
	static const struct {
		const char *text;
		enum bt_match want;
	} all[] = {
		{ "", BT_MATCH_YES },
		{ "OriginalName=*", BT_MATCH_YES },
		{ "OriginalName=eth[0-9]", BT_MATCH_YES },
		{ "OriginalName=wlan* eth0", BT_MATCH_YES },
		{ "OriginalName=eth1 wlan*", BT_MATCH_NO },
		{ "OriginalName=!lo wlan*", BT_MATCH_YES },
		{ "OriginalName=!eth*", BT_MATCH_NO },
		{ "Driver=mlx?_core", BT_MATCH_YES },
		{ "Driver=ice", BT_MATCH_NO },
		{ "MACAddress=00:00:00:00:00:01 52:54:00:12:34:56", BT_MATCH_YES },
		{ "MACAddress=52:54:00:AB:34:56", BT_MATCH_NO },
		{ "MACAddress=52-54-00-12-34-56", BT_MATCH_MAYBE },
		{ "PermanentMACAddress=52:54:00:12:34:56", BT_MATCH_MAYBE },
		{ "Type=ether", BT_MATCH_YES },
		{ "Type=wlan", BT_MATCH_NO },
		{ "Path=pci-0000:02:00.0-*", BT_MATCH_MAYBE },
		{ "Path=pci-*\nDriver=ice", BT_MATCH_NO },
		{ "Path=pci-*\nDriver=mlx5_core", BT_MATCH_MAYBE },
		{ "OriginalName=", BT_MATCH_YES },
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cr_expect_eq(matched(all[i].text), all[i].want, "%s", all[i].text);
}

Test(linkfile, what_can_not_be_told)
{
	eth.renamed = true;
	cr_expect_eq(matched("OriginalName=enp1s0"), BT_MATCH_MAYBE, "it may have been that");
	cr_expect_eq(matched("OriginalName=eth0"), BT_MATCH_YES);
	eth.driver = "";
	cr_expect_eq(matched("Driver=ice"), BT_MATCH_MAYBE);
	eth.kind = "bond";
	cr_expect_eq(matched("Type=bond"), BT_MATCH_YES);
	cr_expect_eq(matched("Type=ether"), BT_MATCH_MAYBE);
	eth.ethernet = false;
	cr_expect_eq(matched("Type=ether"), BT_MATCH_MAYBE);
}

Test(linkfile, settings)
{
	static const struct {
		const char *text;
		__u64 size;
		const char *off;
	} all[] = {
		{ "MTUBytes=9000", 0, NULL },
		{ "GenericSegmentOffloadMaxBytes=65536", 65536, NULL },
		{ "GenericSegmentOffloadMaxBytes=64K", 65536, NULL },
		{ "GenericSegmentOffloadMaxBytes = 1M ; a remark", 1 << 20, NULL },
		{ "GenericSegmentOffloadMaxBytes=65536\nGenericSegmentOffloadMaxBytes=", 0, NULL },
		{ "GenericReceiveOffload=yes", 0, NULL },
		{ "GenericReceiveOffload=No", 0, "GenericReceiveOffload" },
		{ "TCP6SegmentationOffload=0", 0, "TCP6SegmentationOffload" },
		{ "LargeReceiveOffload=no", 0, NULL },
		{ "# GenericReceiveOffload=no", 0, NULL },
	};
	struct bt_linkfile f;
	char text[256];

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(text, sizeof(text), "[Match]\nOriginalName=*\n\n[Link]\n%s\n",
			 all[i].text);
		f = read_link(text);
		cr_expect_eq(f.gso_max, all[i].size, "%s", text);
		cr_expect((!f.off && !all[i].off) ||
				  (f.off && all[i].off && !strcmp(f.off, all[i].off)),
			  "%s", text);
		snprintf(text, sizeof(text), "[Network]\n%s\n", all[i].text);
		f = read_link(text);
		cr_expect(!f.gso_max && !f.off, "another section: %s", text);
	}
}

Test(linkfile, a_line_that_is_none)
{
	struct bt_linkfile f = { .match = BT_MATCH_YES };
	const char text[] = "[Match]\nOriginalName=*\nnothing\n";
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	cr_assert_eq(bt_linkfile_read(file, &eth, &f), 3);
	fclose(file);
}

/* --- kernels -------------------------------------------------------------------------------------- */

Test(kernels, versions)
{
	static const struct {
		const char *release, *version, *signature;
		__u32 want;
	} all[] = {
		{ "6.18.44", "#1 SMP", "", BT_VERSION(6, 18, 44) },
		{ "7.0.0-rc3+", "#1 SMP", "", BT_VERSION(7, 0, 0) },
		{ "6.6-vendor", "#1 SMP", "", BT_VERSION(6, 6, 0) },
		{ "6.1.0-40-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.153-1 (2025-09-20)",
		  "", BT_VERSION(6, 1, 153) },
		{ "6.8.0-45-generic", "#45-Ubuntu SMP", "Ubuntu 6.8.0-45.45-generic 6.8.12",
		  BT_VERSION(6, 8, 12) },
		{ "6.8.0-45-generic", "#45-Ubuntu SMP", "nonsense", BT_VERSION(6, 8, 0) },
		{ "5.4.254", "", "", BT_VERSION(5, 4, 254) },
		{ "custom", "", "", 0 },
		{ "6", "", "", 0 },
		{ "6.4000000", "", "", 0 },
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cr_expect_eq(bt_kernel_version(all[i].release, all[i].version, all[i].signature),
			     all[i].want, "%s", all[i].release);
}

static unsigned int faults(struct bt_kernel_facts f, __u32 version)
{
	const struct bt_kernel_fault *fault = NULL;
	unsigned int n = 0;

	f.version = version;
	while ((fault = bt_kernel_fault(&f, fault)))
		n++;
	return n;
}

Test(kernels, faults_by_version_and_by_what_is_there)
{
	static const struct {
		struct bt_kernel_facts facts;
		__u32 before, first, last, fixed;
	} all[] = {
		{ { .hbh = true, .ipv6_csum = true },
		  BT_VERSION(6, 6, 59),
		  BT_VERSION(6, 6, 60),
		  BT_VERSION(6, 6, 69),
		  BT_VERSION(6, 6, 70) },
		{ { .hbh = true, .ipv6_csum = true },
		  BT_VERSION(6, 11, 6),
		  BT_VERSION(6, 12, 0),
		  BT_VERSION(6, 12, 8),
		  BT_VERSION(6, 12, 9) },
		{ { .ipv4 = true },
		  BT_VERSION(6, 6, 8),
		  BT_VERSION(6, 6, 9),
		  BT_VERSION(6, 11, 2),
		  BT_VERSION(6, 11, 3) },
		{ { .hbh = true, .bridge_filter = true },
		  BT_VERSION(5, 18, 0),
		  BT_VERSION(6, 1, 192),
		  BT_VERSION(6, 3, 13),
		  BT_VERSION(6, 4, 0) },
		{ { .hbh = true, .ice = true },
		  BT_VERSION(6, 12, 90),
		  BT_VERSION(6, 12, 91),
		  BT_VERSION(6, 12, 91),
		  BT_VERSION(6, 12, 92) },
	};
	struct bt_kernel_facts none = { .hbh = true, .ipv6 = true, .ipv4 = true };

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(faults(all[i].facts, all[i].before), 0, "%u before", i);
		cr_expect_eq(faults(all[i].facts, all[i].first), 1, "%u first", i);
		cr_expect_eq(faults(all[i].facts, all[i].last), 1, "%u last", i);
		cr_expect_eq(faults(all[i].facts, all[i].fixed), 0, "%u fixed", i);
		cr_expect_eq(faults(none, all[i].first), 0, "%u does not concern it", i);
		cr_expect_eq(faults(all[i].facts, 0), 0, "%u an unknown version", i);
	}
}

/* --- rows ----------------------------------------------------------------------------------------- */

static struct bt_pf pf;
static struct bt_live live;

static unsigned int rows_of(void (*check)(struct bt_pf *pf), enum bt_form send, enum bt_form recv)
{
	live.looks[BT_LIVE_SEND].form = send;
	live.looks[BT_LIVE_RECV].form = recv;
	live.looks[BT_LIVE_SEND4].form = live.looks[BT_LIVE_RECV4].form = BT_FORM_NO_BIG_TCP;
	free(pf.rows);
	pf = (struct bt_pf){
		.live = &live, .size = 100000, .hbh = send == BT_FORM_HBH, .code = "x", .root = ""
	};
	check(&pf);
	return pf.n;
}

Test(preflight, rows_of_live_looks)
{
	cr_assert_eq(rows_of(bt_pf_hbh, BT_FORM_HBH, BT_FORM_HBH), 1);
	cr_expect_eq(pf.rows[0].level, BT_LEVEL_NOTE);
	cr_assert_eq(rows_of(bt_pf_hbh, BT_FORM_NO_HEADER, BT_FORM_NO_HEADER), 1);
	cr_expect_eq(pf.rows[0].level, BT_LEVEL_NOTE);
	cr_assert_eq(rows_of(bt_pf_hbh, BT_FORM_NO_BIG_TCP, BT_FORM_NO_BIG_TCP), 1);
	cr_expect_eq(pf.rows[0].level, BT_LEVEL_REFUSE);
	cr_assert_eq(rows_of(bt_pf_hbh, BT_FORM_HBH, BT_FORM_UNKNOWN), 2);
	cr_expect_eq(pf.rows[0].level, BT_LEVEL_NOTE);
	cr_expect_eq(pf.rows[1].level, BT_LEVEL_WARNING);
}

Test(preflight, a_kernel_with_half_of_a_change)
{
	cr_assert_geq(rows_of(bt_pf_kernel, BT_FORM_HBH, BT_FORM_NO_HEADER), 1);
	cr_expect_eq(pf.rows[0].level, BT_LEVEL_WARNING);
	cr_expect(strstr(pf.rows[0].found, "different forms"), "%s", pf.rows[0].found);
	rows_of(bt_pf_kernel, BT_FORM_HBH, BT_FORM_HBH);
	cr_expect_not(strstr(pf.rows[0].found, "different forms"));
}

Test(preflight, the_largest_size)
{
	struct bt_link l = { .sizes.tso_max = 65536 };

	cr_expect_eq(bt_size_max(&l), 0);
	l.sizes.tso_max = 65537;
	cr_expect_eq(bt_size_max(&l), 65537);
	l.sizes.tso_max = ~0U;
	cr_expect_eq(bt_size_max(&l), 524280, "the kernel takes no more");
	l.sizes.tso_max = 0;
	cr_expect_eq(bt_size_max(&l), 0);
}

Test(preflight, checks_have_codes_of_their_own)
{
	unsigned int n = 0;

	for (; bt_check_kinds[n].code; n++) {
		cr_expect(bt_check_kinds[n].looks_at[0]);
		for (unsigned int i = 0; i < n; i++)
			cr_expect_str_neq(bt_check_kinds[i].code, bt_check_kinds[n].code);
	}
	cr_assert_geq(n, 11);
}
