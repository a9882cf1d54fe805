// SPDX-License-Identifier: GPL-2.0
/* Sizes of several devices set together, or put back as they were: see sizes_int.h. */
#include "core/sizes_int.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* LOOK changes nothing. */
enum phase { LOOK, REMEMBER, SET, DONE };

/* A device on its way from what it was to what is wanted. */
struct step {
	int ifindex;
	struct bt_link was;
	bool had; /* something was kept */
	struct bt_kept old;
	struct bt_sizes target; /* every size that the kernel has */
	struct bt_kept next; /* what is kept when it is done */
	bool forget; /* nothing is */
	bool touched; /* what is kept, or the device, may be another than before */
};

bool bt_sizes_equal(const struct bt_sizes *a, const struct bt_sizes *b)
{
	return a->gso == b->gso && a->gro == b->gro && a->gso_ipv4 == b->gso_ipv4 &&
	       a->gro_ipv4 == b->gro_ipv4;
}

enum bt_sizes_state bt_sizes_compare(const struct bt_link *link, const struct bt_kept *kept)
{
	if (!kept)
		return BT_SIZES_UNTOUCHED;
	if (kept->hands_off)
		return BT_SIZES_HANDS_OFF;
	return kept->busy || bt_sizes_equal(&link->sizes, &kept->set) ? BT_SIZES_OURS
								      : BT_SIZES_CHANGED;
}

/* --- what is said when it goes wrong -------------------------------------------------- */

/* Takes the sentence that an inner function left, so that a better one can be made of it. */
static void take_words(int err, char *buf, size_t len)
{
	snprintf(buf, len, "%s", bt_err_text() ? bt_err_text() : strerror(-err));
	bt_err_clear();
}

/* What to know about an error of the kernel, one phrase. */
static void explain(const struct step *s, int err, char *buf, size_t len)
{
	const struct bt_sizes *t = &s->target;
	__u32 gso = t->gso > t->gso_ipv4 ? t->gso : t->gso_ipv4;
	__u32 gro = t->gro > t->gro_ipv4 ? t->gro : t->gro_ipv4;

	*buf = 0;
	if (err == -EPERM)
		snprintf(buf, len,
			 "; it takes CAP_NET_ADMIN in the user namespace that owns this network "
			 "namespace");
	else if (err == -ENODEV)
		snprintf(buf, len, "; it was deleted, or moved to another namespace, meanwhile");
	else if ((err == -EINVAL || err == -ERANGE) && gso > s->was.sizes.tso_max)
		snprintf(buf, len, "; the device sends at most %u (its tso_max_size)",
			 s->was.sizes.tso_max);
	else if ((err == -EINVAL || err == -ERANGE) && gro > BT_SIZE_LIMIT)
		snprintf(buf, len, "; the kernel takes at most %u", BT_SIZE_LIMIT);
}

static const char *name_of(const struct step *s, char *buf, size_t len)
{
	if (s->was.name[0])
		snprintf(buf, len, "%s", s->was.name);
	else
		snprintf(buf, len, "device %d", s->ifindex);
	return buf;
}

/* --- what is to be done ------------------------------------------------------------------- */

static __u32 smaller(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

/* What the device had, as far as it still takes it. */
static void target_before(struct step *s)
{
	__u32 max = s->was.sizes.tso_max ? s->was.sizes.tso_max : BT_SIZE_LEGACY;

	s->target = s->old.before;
	s->target.gso = smaller(s->target.gso, max);
	s->target.gso_ipv4 = smaller(s->target.gso_ipv4, max);
}

static void target_legacy(struct step *s)
{
	s->target = s->was.sizes;
	s->target.gso = smaller(s->target.gso, BT_SIZE_LEGACY);
	s->target.gro = smaller(s->target.gro, BT_SIZE_LEGACY);
	s->target.gso_ipv4 = smaller(s->target.gso_ipv4, BT_SIZE_LEGACY);
	s->target.gro_ipv4 = smaller(s->target.gro_ipv4, BT_SIZE_LEGACY);
}

static int target_want(struct step *s, const struct bt_sizes *want)
{
	const struct bt_sizes *w = &s->was.sizes;

	if ((want->gso_ipv4 && !w->gso_ipv4) || (want->gro_ipv4 && !w->gro_ipv4))
		return bt_err(
			-EOPNOTSUPP,
			"%s: this kernel has no sizes for IPv4, which came with Linux 6.3: ask for "
			"IPv6 only (--only-ipv6)",
			s->was.name);
	if ((want->gso > BT_SIZE_LEGACY || want->gro > BT_SIZE_LEGACY) && !w->tso_max)
		return bt_err(-EOPNOTSUPP,
			      "%s: this kernel has no BIG TCP, which came with Linux 5.19",
			      s->was.name);
	s->target.gso = want->gso ? want->gso : w->gso;
	s->target.gro = want->gro ? want->gro : w->gro;
	s->target.gso_ipv4 = want->gso_ipv4 ? want->gso_ipv4 : w->gso_ipv4;
	s->target.gro_ipv4 = want->gro_ipv4 ? want->gro_ipv4 : w->gro_ipv4;
	return 0;
}

/* The daemon changes only what nobody else has a say in. */
static int daemon_may(const struct step *s, const struct bt_sizes_how *how)
{
	enum bt_sizes_state state = bt_sizes_compare(&s->was, s->had ? &s->old : NULL);

	if (how->setter != BT_SET_BY_DAEMON)
		return 0;
	if (state == BT_SIZES_UNTOUCHED && !how->restore)
		return 0;
	if (state == BT_SIZES_OURS && s->old.setter == BT_SET_BY_DAEMON)
		return 0;
	return bt_err(-EEXIST, "%s: its sizes are not the daemon's: %s", s->was.name,
		      state == BT_SIZES_UNTOUCHED ? "it has not set any"
		      : state == BT_SIZES_CHANGED ? "somebody has set other values by hand"
						  : "the administrator has decided about them");
}

/* Which values, and what will be kept. */
static int decide(const struct bt_sizes_io *io, struct step *s, const struct bt_sizes *want,
		  const struct bt_sizes_how *how)
{
	bool kept = s->had && !s->old.hands_off;
	int err = daemon_may(s, how);

	if (err)
		return err;
	if (!how->restore)
		err = target_want(s, want);
	else if (!kept)
		target_legacy(s);
	else if (how->force || bt_sizes_compare(&s->was, &s->old) != BT_SIZES_CHANGED)
		target_before(s);
	else
		return bt_err(
			-EEXIST,
			"%s: somebody has set other sizes since (gso %u, gro %u; bigtcp had set gso "
			"%u, gro %u): 'bigtcp disable --force %s' puts back those from before "
			"bigtcp (gso %u, gro %u). Nothing was changed",
			s->was.name, s->was.sizes.gso, s->was.sizes.gro, s->old.set.gso,
			s->old.set.gro, s->was.name, s->old.before.gso, s->old.before.gro);
	s->target.tso_max = 0;
	s->next = (struct bt_kept){
		.before = kept && !how->restore ? s->old.before : s->was.sizes,
		.setter = how->setter,
		.hands_off = how->restore,
		.since = io->now,
	};
	s->next.before.tso_max = 0;
	s->forget = how->restore && how->setter != BT_SET_BY_COMMAND;
	return err;
}

static int look(const struct bt_sizes_io *io, struct step *s, const struct bt_sizes_change *change,
		const struct bt_sizes_how *how)
{
	int err;

	s->ifindex = change->ifindex;
	err = io->link(io->arg, s->ifindex, &s->was);
	if (!err) {
		err = io->get(io->arg, s->ifindex, &s->old);
		s->had = !err;
		err = err == -ENOENT ? 0 : err;
	}
	return err ? err : decide(io, s, &change->want, how);
}

/* --- doing it --------------------------------------------------------------------------------- */

/*
 * Only what differs: a size that is set is written to all the device's queues and told to its driver. But a gso or gro
 * that gets no larger than 64 KiB takes IPv4's along, in the kernel.
 */
static int set_sizes(const struct bt_sizes_io *io, int ifindex, const struct bt_sizes *from,
		     const struct bt_sizes *to)
{
	bool gso = to->gso != from->gso, gro = to->gro != from->gro;
	struct bt_sizes s = {
		.gso = gso ? to->gso : 0,
		.gro = gro ? to->gro : 0,
	};

	if (to->gso_ipv4 != from->gso_ipv4 || (gso && to->gso <= BT_SIZE_LEGACY))
		s.gso_ipv4 = to->gso_ipv4;
	if (to->gro_ipv4 != from->gro_ipv4 || (gro && to->gro <= BT_SIZE_LEGACY))
		s.gro_ipv4 = to->gro_ipv4;
	return s.gso || s.gro || s.gso_ipv4 || s.gro_ipv4 ? io->set(io->arg, ifindex, &s) : 0;
}

/* Sets one device; *got is what the kernel then shows. */
static int go(const struct bt_sizes_io *io, struct step *s, struct bt_sizes *got)
{
	struct bt_link now;
	int err = set_sizes(io, s->ifindex, &s->was.sizes, &s->target);

	if (!err)
		err = io->link(io->arg, s->ifindex, &now);
	if (err)
		return err;
	*got = now.sizes;
	if (bt_sizes_equal(&now.sizes, &s->target))
		return 0;
	return bt_err(
		-EIO,
		"the kernel took the sizes and shows others: gso %u, gro %u, IPv4 gso %u, gro %u, "
		"where %u, %u, %u, %u were set",
		now.sizes.gso, now.sizes.gro, now.sizes.gso_ipv4, now.sizes.gro_ipv4, s->target.gso,
		s->target.gro, s->target.gso_ipv4, s->target.gro_ipv4);
}

/* A device that is gone has nothing to put back. */
static int undo(const struct bt_sizes_io *io, const struct step *s)
{
	static const struct bt_sizes none;
	struct bt_sizes was = s->was.sizes;
	struct bt_link now;
	bool gone;
	int err, err2;

	was.tso_max = 0;
	err = io->link(io->arg, s->ifindex, &now);
	if (!err && bt_sizes_equal(&now.sizes, &was))
		return io->put(io->arg, s->ifindex, s->had ? &s->old : NULL);
	/* All of them, whatever is there. */
	if (err != -ENODEV)
		err = set_sizes(io, s->ifindex, &none, &was);
	gone = err == -ENODEV;
	err2 = io->put(io->arg, s->ifindex, s->had && !gone ? &s->old : NULL);
	err = gone ? 0 : err;
	return err ? err : err2;
}

/* Puts everything back; then makes the sentence, in which the first error's words are. */
static int fail(const struct bt_sizes_io *io, const struct step *steps, unsigned int n,
		const struct step *at, int err)
{
	char words[1024], name[32], left[512] = "", why[160], advice[160];
	int err2;

	take_words(err, words, sizeof(words));
	for (unsigned int i = n; i-- > 0;) {
		err2 = steps[i].touched ? undo(io, &steps[i]) : 0;
		if (!err2)
			continue;
		take_words(err2, why, sizeof(why));
		snprintf(left + strlen(left), sizeof(left) - strlen(left),
			 "; %s could not be put back as it was: %s", steps[i].was.name, why);
	}
	bt_err_clear();
	explain(at, err, advice, sizeof(advice));
	return bt_err(err, "%s: %s%s%s", name_of(at, name, sizeof(name)), words, advice,
		      *left ? left : ". Nothing was changed");
}

static int keep(const struct bt_sizes_io *io, struct step *s, bool done, const struct bt_sizes *got)
{
	struct bt_kept k = s->next;

	s->touched = true;
	if (done && s->forget)
		return io->put(io->arg, s->ifindex, NULL);
	if (done) {
		k.set = *got;
		k.set.tso_max = 0;
		if (k.hands_off)
			k.before = k.set;
	} else {
		/* If it ends here the next run must know what to put back. */
		if (s->had && !s->old.hands_off)
			k.before = s->old.before;
		k.set = s->target;
		k.hands_off = 0;
		k.busy = 1;
	}
	return io->put(io->arg, s->ifindex, &k);
}

/* All devices take a step before any takes the next. */
static int take_step(const struct bt_sizes_io *io, enum phase phase, struct step *s,
		     struct bt_sizes_change *change, const struct bt_sizes_how *how)
{
	int err;

	switch (phase) {
	case LOOK:
		err = look(io, s, change, how);
		if (err)
			return err;
		change->was = s->was.sizes;
		change->got = s->target;
		change->got.tso_max = s->was.sizes.tso_max;
		return 0;
	case REMEMBER:
		return keep(io, s, false, NULL);
	case SET:
		return go(io, s, &change->got);
	default:
		return keep(io, s, true, &change->got);
	}
}

int bt_sizes_do(const struct bt_sizes_io *io, struct bt_sizes_change *changes, unsigned int n,
		const struct bt_sizes_how *how)
{
	struct step *steps __free = calloc(n + 1, sizeof(*steps));
	int err;

	if (!steps)
		return bt_err(-ENOMEM, "out of memory");
	for (enum phase phase = LOOK; phase <= (how->dry_run ? LOOK : DONE); phase++) {
		for (unsigned int i = 0; i < n; i++) {
			bt_progress(phase == LOOK ? "devices looked at" : "devices set", i, n,
				    NULL);
			err = take_step(io, phase, &steps[i], &changes[i], how);
			/* What our own rules refuse is said in full already. */
			if (err == -EEXIST || err == -EOPNOTSUPP)
				return err;
			if (err)
				return fail(io, steps, n, &steps[i], err);
		}
	}
	return 0;
}
