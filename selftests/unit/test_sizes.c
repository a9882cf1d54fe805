// SPDX-License-Identifier: GPL-2.0
/* Sizes set together or not at all, on devices that are made up, where each step can fail in turn. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "core/enable.h"
#include "core/sizes_int.h"

#define DEVS 4 /* by ifindex, from 1 */

struct dev {
	bool gone;
	struct bt_link link;
	bool has;
	struct bt_kept kept;
};

static struct fake {
	struct dev dev[DEVS + 1];
	int calls; /* so far */
	int fail_at, err; /* the call that fails, from 1; 0: none */
	int gone_at, gone; /* the call before which a device is deleted */
	int dead_at; /* from this call on nothing happens any more: the process was killed */
	bool liar; /* the kernel takes what is set, and shows something else */
} fake;

static bool dead(void)
{
	return fake.dead_at && fake.calls >= fake.dead_at;
}

/* Every call comes through here. Returns the error it shall have. */
static int called(int ifindex)
{
	struct dev *d = &fake.dev[ifindex];

	fake.calls++;
	if (dead())
		return -EINTR;
	if (fake.calls == fake.gone_at)
		fake.dev[fake.gone].gone = true;
	if (fake.calls == fake.fail_at)
		return bt_err(fake.err, "cannot do it: %s", strerror(-fake.err));
	return d->gone ? bt_err(-ENODEV, "cannot do it: no such device") : 0;
}

static int fake_link(void *arg, int ifindex, struct bt_link *link)
{
	int err = called(ifindex);

	(void)arg;
	if (!err)
		*link = fake.dev[ifindex].link;
	return err;
}

/* As the kernel does it: IPv4's follow those that get small, and nothing is above tso_max. */
static int fake_set(void *arg, int ifindex, const struct bt_sizes *s)
{
	struct bt_sizes *d = &fake.dev[ifindex].link.sizes;
	int err = called(ifindex);

	(void)arg;
	if (err)
		return err;
	if (s->gso > d->tso_max)
		return bt_err(-EINVAL, "cannot set gso_max_size: too big");
	if (s->gso && s->gso != d->gso) {
		d->gso = s->gso;
		if (s->gso <= BT_SIZE_LEGACY && d->gso_ipv4)
			d->gso_ipv4 = s->gso;
	}
	/* What was set before a failure stays. */
	if (s->gro > BT_SIZE_LIMIT)
		return bt_err(-EINVAL, "cannot set gro_max_size: too big");
	if (s->gro && s->gro != d->gro) {
		d->gro = s->gro;
		if (s->gro <= BT_SIZE_LEGACY && d->gro_ipv4)
			d->gro_ipv4 = s->gro;
	}
	if (s->gso_ipv4 > d->tso_max)
		return bt_err(-EINVAL, "cannot set gso_ipv4_max_size: too big");
	d->gso_ipv4 = s->gso_ipv4 ? s->gso_ipv4 : d->gso_ipv4;
	d->gro_ipv4 = s->gro_ipv4 ? s->gro_ipv4 : d->gro_ipv4;
	if (fake.liar)
		d->gro++;
	return 0;
}

static int fake_get(void *arg, int ifindex, struct bt_kept *kept)
{
	int err;

	(void)arg;
	fake.calls++;
	err = fake.calls == fake.fail_at ? bt_err(fake.err, "cannot read it") : 0;
	if (err || !fake.dev[ifindex].has)
		return err ? err : -ENOENT;
	*kept = fake.dev[ifindex].kept;
	return 0;
}

static int fake_put(void *arg, int ifindex, const struct bt_kept *kept)
{
	(void)arg;
	fake.calls++;
	if (dead())
		return -EINTR;
	if (fake.calls == fake.gone_at)
		fake.dev[fake.gone].gone = true;
	if (fake.calls == fake.fail_at)
		return bt_err(fake.err, "cannot remember it");
	fake.dev[ifindex].has = kept;
	if (kept)
		fake.dev[ifindex].kept = *kept;
	return 0;
}

static const struct bt_sizes_io io = { fake_link, fake_set, fake_get, fake_put, NULL, 1000 };
static const struct bt_sizes legacy = { 65536, 65536, 65536, 65536, 0 };
static const struct bt_sizes big = { 196608, 196608, 196608, 196608, 0 };

static void fresh(void)
{
	memset(&fake, 0, sizeof(fake));
	for (int i = 1; i <= DEVS; i++) {
		fake.dev[i].link.ifindex = i;
		fake.dev[i].link.sizes = legacy;
		fake.dev[i].link.sizes.tso_max = BT_SIZE_LIMIT;
		sprintf(fake.dev[i].link.name, "dev%d", i);
	}
	/* Odd sizes from before, that must come back as they were. */
	fake.dev[2].link.sizes.gso = 30000;
	fake.dev[2].link.sizes.gso_ipv4 = 90000;
	fake.dev[2].link.sizes.gro_ipv4 = 20000;
	bt_err_clear();
}

static int doing(bool restore, enum bt_setter setter, bool force, unsigned int n,
		 const struct bt_sizes *want)
{
	struct bt_sizes_how how = { .setter = setter, .restore = restore, .force = force };
	struct bt_sizes_change c[DEVS] = { 0 };
	int err;

	for (unsigned int i = 0; i < n; i++) {
		c[i].ifindex = (int)i + 1;
		if (want)
			c[i].want = *want;
	}
	bt_err_clear();
	err = bt_sizes_do(&io, c, n, &how);
	for (unsigned int i = 0; i < n && !err; i++)
		cr_assert(bt_sizes_equal(&c[i].got, &fake.dev[i + 1].link.sizes));
	return err;
}

static int apply(unsigned int n)
{
	return doing(false, BT_SET_BY_COMMAND, false, n, &big);
}

static int restore(unsigned int n, bool force)
{
	return doing(true, BT_SET_BY_COMMAND, force, n, NULL);
}

static enum bt_sizes_state state(int i)
{
	return bt_sizes_compare(&fake.dev[i].link, fake.dev[i].has ? &fake.dev[i].kept : NULL);
}

/* Devices that are still there, and what is kept of them, are as in @was. */
static void same(const struct fake *was, const char *when, int call)
{
	for (int i = 1; i <= DEVS; i++) {
		const struct dev *a = &was->dev[i], *b = &fake.dev[i];

		cr_assert(b->gone || !memcmp(&a->link, &b->link, sizeof(a->link)),
			  "%s: device %d is not as before, call %d", when, i, call);
		if (b->gone)
			continue;
		cr_assert_eq(a->has, b->has, "%s: device %d, call %d", when, i, call);
		cr_assert(!a->has || !memcmp(&a->kept, &b->kept, sizeof(a->kept)),
			  "%s: kept of device %d is not as before, call %d", when, i, call);
	}
}

Test(sizes, apply_then_restore_is_as_before)
{
	struct fake was;

	fresh();
	was = fake;
	cr_assert_eq(apply(DEVS), 0);
	for (int i = 1; i <= DEVS; i++) {
		cr_assert(bt_sizes_equal(&fake.dev[i].link.sizes, &big));
		cr_assert_eq(state(i), BT_SIZES_OURS);
		cr_assert_eq(fake.dev[i].kept.since, 1000);
		cr_assert_not(fake.dev[i].kept.busy);
	}
	cr_assert_eq(restore(DEVS, false), 0);
	for (int i = 1; i <= DEVS; i++) {
		cr_assert(!memcmp(&fake.dev[i].link, &was.dev[i].link, sizeof(struct bt_link)));
		cr_assert_eq(state(i), BT_SIZES_HANDS_OFF);
		cr_assert(bt_sizes_equal(&fake.dev[i].kept.before, &fake.dev[i].kept.set));
	}
}

/* Each call of a change fails in turn: all is as it was. */
static void each_step_fails(bool restoring, const char *when)
{
	struct fake was = fake;
	int calls, err;

	err = restoring ? restore(DEVS, false) : apply(DEVS);
	cr_assert_eq(err, 0, "%s", bt_err_text());
	calls = fake.calls - was.calls;
	cr_assert_gt(calls, 4 * DEVS);
	for (int at = 1; at <= calls; at++) {
		fake = was;
		fake.calls = 0;
		fake.fail_at = at;
		fake.err = -EINVAL;
		err = restoring ? restore(DEVS, false) : apply(DEVS);
		cr_assert_eq(err, -EINVAL, "%s: call %d failed, and it was %d", when, at, err);
		cr_assert_not_null(strstr(bt_err_text(), "Nothing was changed"), "%s",
				   bt_err_text());
		cr_assert_not_null(strstr(bt_err_text(), "dev"), "%s", bt_err_text());
		same(&was, when, at);
	}
	fake = was;
}

Test(sizes, a_step_that_fails_leaves_nothing)
{
	fresh();
	each_step_fails(false, "apply");
	each_step_fails(true, "restore of nothing");
	cr_assert_eq(apply(2), 0);
	each_step_fails(false, "apply, two of them again");
	each_step_fails(true, "restore");
	cr_assert_eq(restore(2, false), 0);
	each_step_fails(false, "apply after restore");
}

/* A device is deleted before each call in turn: an error, and the others as before; or it was done already. */
Test(sizes, a_device_that_disappears)
{
	struct fake was;
	int calls;

	fresh();
	was = fake;
	cr_assert_eq(apply(3), 0);
	calls = fake.calls;
	for (int at = 1; at <= calls; at++) {
		for (int gone = 1; gone <= 3; gone++) {
			int err;

			fake = was;
			fake.gone_at = at;
			fake.gone = gone;
			err = apply(3);
			cr_assert(err == 0 || err == -ENODEV);
			if (!err)
				continue;
			same(&was, "deleted", at);
			cr_assert_not(fake.dev[gone].has, "it is remembered, call %d", at);
			cr_assert_not_null(strstr(bt_err_text(), "it was deleted"), "%s",
					   bt_err_text());
		}
	}
	cr_assert_gt(calls, 15);
}

Test(sizes, what_cannot_be_put_back_is_said)
{
	fresh();
	fake.dev[3].link.sizes.tso_max = 100000; /* it refuses */
	cr_assert_eq(apply(3), -EINVAL);
	cr_assert_not_null(strstr(bt_err_text(), "dev3: cannot set gso_max_size"), "%s",
			   bt_err_text());
	cr_assert_not_null(strstr(bt_err_text(), "at most 100000"), "%s", bt_err_text());
	cr_assert_not_null(strstr(bt_err_text(), "Nothing was changed"), "%s", bt_err_text());
	fresh();
	fake.dev[3].link.sizes.tso_max = 100000;
	fake.fail_at = 16; /* 6 to look, 3 to remember, 5 to set, then puts back 3 and 2 */
	fake.err = -EPERM;
	cr_assert_eq(apply(3), -EINVAL);
	cr_assert_not_null(strstr(bt_err_text(), "could not be put back"), "%s", bt_err_text());
	cr_assert_null(strstr(bt_err_text(), "Nothing was changed"), "%s", bt_err_text());
}

Test(sizes, what_the_kernel_shows_counts)
{
	struct fake was;

	fresh();
	was = fake;
	fake.liar = true;
	cr_assert_eq(apply(1), -EIO);
	cr_assert_not_null(strstr(bt_err_text(), "shows others"), "%s", bt_err_text());
	cr_assert_eq(fake.dev[1].has, was.dev[1].has);
}

/* The first values are those that come back, also after a second enable; by hand they are protected. */
Test(sizes, values_set_by_hand)
{
	static const struct bt_sizes more = { .gso = 300000, .gro = 300000 };
	struct fake was;

	fresh();
	cr_assert_eq(apply(2), 0);
	cr_assert_eq(doing(false, BT_SET_BY_COMMAND, false, 1, &more), 0);
	cr_assert_eq(fake.dev[1].link.sizes.gso, 300000);
	cr_assert_eq(fake.dev[1].link.sizes.gso_ipv4, 196608, "what is not asked for stays");
	fake.dev[2].link.sizes.gro = 70000;
	cr_assert_eq(state(2), BT_SIZES_CHANGED);
	was = fake;
	cr_assert_eq(restore(2, false), -EEXIST);
	cr_assert_not_null(strstr(bt_err_text(), "--force dev2"), "%s", bt_err_text());
	same(&was, "by hand", 0);
	cr_assert_eq(restore(2, true), 0);
	cr_assert(bt_sizes_equal(&fake.dev[1].link.sizes, &legacy));
	cr_assert_eq(fake.dev[2].link.sizes.gso, 30000);
	cr_assert_eq(fake.dev[2].link.sizes.gso_ipv4, 90000);
	/* By hand while it is off: that is what comes back after the next time. */
	fake.dev[1].link.sizes.gso = 80000;
	cr_assert_eq(state(1), BT_SIZES_HANDS_OFF);
	cr_assert_eq(apply(1), 0);
	cr_assert_eq(restore(1, false), 0);
	cr_assert_eq(fake.dev[1].link.sizes.gso, 80000);
}

Test(sizes, nothing_kept_gives_64k)
{
	fresh();
	fake.dev[1].link.sizes = big;
	fake.dev[1].link.sizes.tso_max = BT_SIZE_LIMIT;
	fake.dev[1].link.sizes.gro = 30000;
	cr_assert_eq(restore(1, false), 0);
	cr_assert_eq(fake.dev[1].link.sizes.gso, 65536);
	cr_assert_eq(fake.dev[1].link.sizes.gso_ipv4, 65536);
	cr_assert_eq(fake.dev[1].link.sizes.gro_ipv4, 65536);
	cr_assert_eq(fake.dev[1].link.sizes.gro, 30000, "what is below stays");
}

/* IPv4's sizes follow IPv6's down in the kernel: those that were asked to stay do. */
Test(sizes, ipv4_survives_ipv6_at_64k)
{
	static const struct bt_sizes small = { .gso = 65536, .gro = 65536 };

	fresh();
	cr_assert_eq(apply(1), 0);
	cr_assert_eq(doing(false, BT_SET_BY_COMMAND, false, 1, &small), 0);
	cr_assert_eq(fake.dev[1].link.sizes.gso, 65536);
	cr_assert_eq(fake.dev[1].link.sizes.gso_ipv4, 196608);
	cr_assert_eq(fake.dev[1].link.sizes.gro_ipv4, 196608);
}

Test(sizes, the_daemon_keeps_off_what_is_not_its_own)
{
	const enum bt_setter d = BT_SET_BY_DAEMON;
	struct fake was;

	fresh();
	cr_assert_eq(doing(true, d, false, 1, NULL), -EEXIST, "nothing set, nothing taken back");
	cr_assert_eq(doing(false, d, false, 1, &big), 0);
	cr_assert_eq(fake.dev[1].kept.setter, d);
	cr_assert_eq(doing(true, d, false, 1, NULL), 0);
	cr_assert_not(fake.dev[1].has);
	cr_assert_eq(doing(false, d, false, 1, &big), 0);
	fake.dev[1].link.sizes.gso = 100000; /* by hand */
	was = fake;
	cr_assert_eq(doing(false, d, false, 1, &big), -EEXIST);
	cr_assert_eq(doing(true, d, true, 1, NULL), -EEXIST, "--force is the administrator's");
	same(&was, "by hand", 0);
	cr_assert_eq(apply(1), 0);
	cr_assert_eq(doing(false, d, false, 1, &legacy), -EEXIST, "enable has set it");
	cr_assert_eq(restore(1, false), 0);
	cr_assert_eq(doing(false, d, false, 1, &big), -EEXIST, "disable means it");
}

/* Killed in the middle: the next run knows what to put back, and that it is not by hand. */
Test(sizes, cut_off_in_the_middle)
{
	fresh();
	cr_assert_eq(apply(1), 0);
	fake.dev[1].kept.busy = 1;
	fake.dev[1].link.sizes.gro = 65536; /* as if gro had not been set yet */
	cr_assert_eq(state(1), BT_SIZES_OURS);
	cr_assert_eq(restore(1, false), 0);
	cr_assert(bt_sizes_equal(&fake.dev[1].link.sizes, &legacy));
}

/* A change, or a restore, is killed before each of its calls in turn; then everything is put back. */
static void killed(bool restoring)
{
	static const struct bt_sizes more = { 300000, 300000, 300000, 300000, 0 };
	struct fake was;
	int calls = 0;

	fresh();
	cr_assert_eq(apply(3), 0);
	was = fake;
	was.calls = 0;
	for (int at = 0; at <= calls; at++) {
		fake = was;
		fake.dead_at = at;
		doing(restoring, BT_SET_BY_COMMAND, false, 3, restoring ? NULL : &more);
		calls = at ? calls : fake.calls;
		fake.dead_at = 0;
		for (int i = 1; i <= 3; i++)
			cr_assert_neq(state(i), BT_SIZES_CHANGED, "device %d, call %d", i, at);
		cr_assert_eq(restore(3, false), 0);
		cr_assert(bt_sizes_equal(&fake.dev[1].link.sizes, &legacy), "call %d", at);
		cr_assert_eq(fake.dev[2].link.sizes.gso, 30000, "call %d", at);
		cr_assert_eq(fake.dev[2].link.sizes.gro_ipv4, 20000, "call %d", at);
	}
	cr_assert_gt(calls, 15);
}

Test(sizes, killed_before_any_step)
{
	killed(false);
	killed(true);
}

Test(sizes, old_kernels)
{
	static const struct bt_sizes ipv6 = { .gso = 196608, .gro = 196608 };

	fresh();
	fake.dev[1].link.sizes.gso_ipv4 = fake.dev[1].link.sizes.gro_ipv4 = 0;
	cr_assert_eq(apply(1), -EOPNOTSUPP);
	cr_assert_not_null(strstr(bt_err_text(), "6.3"), "%s", bt_err_text());
	cr_assert_eq(doing(false, BT_SET_BY_COMMAND, false, 1, &ipv6), 0);
	cr_assert_eq(restore(1, false), 0);
	fake.dev[1].link.sizes.tso_max = 0;
	cr_assert_eq(doing(false, BT_SET_BY_COMMAND, false, 1, &ipv6), -EOPNOTSUPP);
	cr_assert_not_null(strstr(bt_err_text(), "5.19"), "%s", bt_err_text());
}

/* --- what enable asks for ------------------------------------------------------------------ */

static int want(struct bt_enable_opts o, const struct bt_kept *kept, struct bt_sizes *w)
{
	bt_err_clear();
	return bt_enable_want(&fake.dev[1].link, kept, &o, w);
}

Test(sizes, what_enable_asks_for)
{
	struct bt_kept kept = { .before = { 65536, 65536, 30000, 40000, 0 } };
	struct bt_sizes w;

	fresh();
	cr_assert_eq(want((struct bt_enable_opts){ 0 }, NULL, &w), 0);
	cr_assert(bt_sizes_equal(&w, &big), "IPv4 where the kernel has it");
	cr_assert_eq(want((struct bt_enable_opts){ .size = BT_SIZE_MAX }, NULL, &w), 0);
	cr_assert_eq(w.gso, BT_SIZE_LIMIT);
	cr_assert_eq(want((struct bt_enable_opts){ .only_ipv6 = true }, NULL, &w), 0);
	cr_assert(w.gso == 196608 && w.gro == 196608 && !w.gso_ipv4 && !w.gro_ipv4);
	cr_assert_eq(want((struct bt_enable_opts){ .only_ipv6 = true }, &kept, &w), 0);
	cr_assert(w.gso_ipv4 == 30000 && w.gro_ipv4 == 40000, "back to what it was");
	kept.hands_off = 1;
	cr_assert_eq(want((struct bt_enable_opts){ .only_ipv6 = true }, &kept, &w), 0);
	cr_assert(!w.gso_ipv4);

	fake.dev[1].link.sizes.tso_max = 100000;
	cr_assert_eq(want((struct bt_enable_opts){ 0 }, NULL, &w), 0);
	cr_assert(w.gso == 100000 && w.gro == 100000 && w.gso_ipv4 == 100000);
	cr_assert_eq(want((struct bt_enable_opts){ .size = 100001 }, NULL, &w), -ERANGE);
	cr_assert_not_null(strstr(bt_err_text(), "at most 100000"), "%s", bt_err_text());
	fake.dev[1].link.sizes.tso_max = 65536;
	cr_assert_eq(want((struct bt_enable_opts){ 0 }, NULL, &w), -ERANGE);
	fake.dev[1].link.sizes.tso_max = 0;
	cr_assert_eq(want((struct bt_enable_opts){ 0 }, NULL, &w), -EOPNOTSUPP);

	fresh();
	fake.dev[1].link.sizes.gso_ipv4 = fake.dev[1].link.sizes.gro_ipv4 = 0;
	cr_assert_eq(want((struct bt_enable_opts){ 0 }, NULL, &w), 0);
	cr_assert(w.gso == 196608 && !w.gso_ipv4, "IPv6 alone where the kernel has no more");
	cr_assert_eq(want((struct bt_enable_opts){ .ipv4 = true }, NULL, &w), -EOPNOTSUPP);
}
