// SPDX-License-Identifier: GPL-2.0
/*
 * core/judge.h on attached programs: what it says of them, and which of them it runs. A program is run once for each
 * kind of place, however many instances of it there are; but what makes two instances differ is seen.
 */
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/netns.h"
#include "base/rtnl.h"
#include "core/judge.h"

static struct bt_judge *judge;

static const char *corpus(const char *name)
{
	static char path[512];
	const char *out = getenv("BT_OUT");

	snprintf(path, sizeof(path), "%s/corpus/clang-16/%s.bpf.o", out ? out : ".output", name);
	return path;
}

static void setup(void)
{
	bt_err_init();
	cr_assert_eq(bt_netns_new(), 0, "no private network namespace");
	cr_assert_eq(bt_veth_add("j0", "j1", -1), 0, "%s", bt_err_text());
	cr_assert_eq(bt_judge_new(&judge), 0, "%s", bt_err_text());
}

static void teardown(void)
{
	bt_judge_free(&judge);
	cr_expect_null(judge);
}

/* Attaches a program of the corpus as tc does. @tenant: a value for its constant of that name, or 0. */
static void attach(const char *dev, bool ingress, const char *object, const char *prog,
		   __u16 tenant)
{
	struct bpf_object *o = bpf_object__open_file(corpus(object), NULL);
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(dev),
		    .attach_point = ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts);
	struct bpf_map *consts;
	size_t len;
	void *val;
	int err;

	cr_assert_not_null(o, "%s", object);
	consts = bpf_object__find_map_by_name(o, ".rodata");
	if (tenant && consts) {
		val = (void *)bpf_map__initial_value(consts, &len);
		cr_assert(val && len >= sizeof(tenant));
		memcpy(val, &tenant, sizeof(tenant));
	}
	cr_assert_eq(bpf_object__load(o), 0, "%s does not load", object);
	err = bpf_tc_hook_create(&hook);
	cr_assert(!err || err == -EEXIST);
	opts.prog_fd = bpf_program__fd(bpf_object__find_program_by_name(o, prog));
	cr_assert_eq(bpf_tc_attach(&hook, &opts), 0, "cannot attach %s", prog);
	bpf_object__close(o); /* it stays attached */
}

/* Judges @dev; its programs have to be @want ("fw_naive drops, correct safe"), @n_new of them run. */
static void judged(const char *dev, const char *want, unsigned int n_new)
{
	struct bt_judged *v = NULL;
	unsigned int n = 0, got_new = 99;
	char got[512] = "";

	cr_assert_eq(bt_judge_dev(judge, dev, &v, &n, &got_new), 0, "%s", bt_err_text());
	for (unsigned int i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s %s", i ? ", " : "",
			 v[i].name, bt_verdict_name(v[i].verdict));
	cr_expect_str_eq(got, want);
	cr_expect_eq(got_new, n_new, "%s: %u were run, not %u", dev, got_new, n_new);
	for (unsigned int i = 0; i < n; i++) {
		cr_expect_not(v[i].ours);
		cr_expect_eq(v[i].why[0] != 0, bt_verdict_unsafe(v[i].verdict), "%s: '%s'",
			     v[i].name, v[i].why);
	}
	free(v);
}

Test(judge, runs_a_program_once, .init = setup, .fini = teardown)
{
	judged("j0", "", 0);
	attach("j0", true, "fw_naive", "fw_naive", 0);
	attach("j0", false, "correct", "correct", 0);
	judged("j0", "fw_naive drops, correct safe", 2);
	judged("j0", "fw_naive drops, correct safe", 0);
	/* another instance, at another device of the same kind */
	attach("j1", true, "fw_naive", "fw_naive", 0);
	judged("j1", "fw_naive drops", 0);
	/* another hook: its packets are others */
	attach("j1", false, "fw_naive", "fw_naive", 0);
	judged("j1", "fw_naive drops, fw_naive drops", 1);
	judged(NULL, "fw_naive drops, fw_naive drops, fw_naive drops, correct safe", 0);
}

Test(judge, forgets, .init = setup, .fini = teardown)
{
	attach("j0", true, "fw_naive", "fw_naive", 0);
	judged("j0", "fw_naive drops", 1);
	bt_judge_expire(judge, 3600);
	judged("j0", "fw_naive drops", 0);
	bt_judge_expire(judge, 0);
	judged("j0", "fw_naive drops", 1);
}

Test(judge, sees_constants, .init = setup, .fini = teardown)
{
	attach("j0", true, "fixed_write", "dscp_mark", 0x2a07);
	attach("j1", true, "fixed_write", "dscp_mark", 0x2a07);
	judged("j0", "dscp_mark misreads", 1);
	judged("j1", "dscp_mark misreads", 0);
	/* the same code with another constant has the same tag */
	attach("j0", true, "fixed_write", "dscp_mark", 0x2a08);
	judged("j0", "dscp_mark misreads, dscp_mark misreads", 1);
}

/* What a program calls by its program array is not in its tag. */
Test(judge, asks_each_instance_that_has_others_behind_it, .init = setup, .fini = teardown)
{
	attach("j0", true, "tail_static", "tail_static", 0);
	attach("j1", true, "tail_static", "tail_static", 0);
	judged("j0", "tail_static unknown", 1);
	judged("j1", "tail_static unknown", 1);
	judged("j0", "tail_static unknown", 0);
	judged("j1", "tail_static unknown", 0);
}

Test(judge, leaves_the_thread_its_cpus, .init = setup, .fini = teardown)
{
	cpu_set_t before, after;

	attach("j0", true, "fw_naive", "fw_naive", 0);
	cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	judged("j0", "fw_naive drops", 1);
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&before, &after));
}

Test(judge, a_device_that_is_not_there, .init = setup, .fini = teardown)
{
	struct bt_judged *v = NULL;
	unsigned int n = 0;

	cr_assert_eq(bt_judge_dev(judge, "nodev0", &v, &n, NULL), -ENODEV);
	cr_assert_null(v);
	cr_assert_not_null(bt_err_text());
}

Test(judge, what_is_unsafe)
{
	static const bool unsafe[] = {
		[BT_VERDICT_SAFE] = false,    [BT_VERDICT_TWIN] = false,
		[BT_VERDICT_UNKNOWN] = true,  [BT_VERDICT_MISREADS] = true,
		[BT_VERDICT_DROPS] = true,    [BT_VERDICT_BYPASSES] = true,
		[BT_VERDICT_CORRUPTS] = true,
	};

	for (unsigned int i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		cr_expect_eq(bt_verdict_unsafe(i), unsafe[i], "%s", bt_verdict_name(i));
}
