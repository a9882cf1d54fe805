// SPDX-License-Identifier: GPL-2.0
/* A round: which devices there are, where their other ends are, and in which order all is looked at and done. */
#include "daemon/reconcile_int.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/kbtf.h"
#include "core/pins.h"

/* What there is to look at for the first time, and audits, are left to the next round after this. */
#define ROUND_MS 10000

/* What one round works on. */
struct work {
	struct bt_reconciler *r;
	struct bt_link *links;
	unsigned int n_links;
	struct bt_end *ends; /* [n_links] of this namespace, then those elsewhere */
	unsigned int n_far;
	struct bt_unit *units;
	unsigned int n_units;
	struct bt_end **by_nsid; /* [n_far] the ends elsewhere, those of a namespace together */
	struct bt_places *places;
	struct bt_kept_dev *kept; /* of this namespace */
	unsigned int n_kept;
	__u64 cookie; /* of the namespace that visit() is in; 0: not known */
	bool can_change;
};

static void work_free(struct work *w)
{
	for (unsigned int i = 0; w->ends && i < w->n_links + w->n_far; i++)
		free(w->ends[i].culprit);
	bt_places_free(&w->places);
	bt_marks_free(&w->r->marks);
	free(w->kept);
	free(w->by_nsid);
	free(w->units);
	free(w->ends);
	free(w->links);
}

/* --- which devices --------------------------------------------------------------------- */

static bool is_pair(const struct bt_link *l)
{
	return !strcmp(l->kind, "veth") || !strcmp(l->kind, "netkit");
}

static int by_ifindex(const void *a, const void *b)
{
	const struct bt_link *x = a, *y = b;

	return x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

static struct bt_end *end_here(struct work *w, int ifindex)
{
	const struct bt_link key = { .ifindex = ifindex };
	const struct bt_link *l = bsearch(&key, w->links, w->n_links, sizeof(key), by_ifindex);

	return l ? &w->ends[l - w->links] : NULL;
}

static void pair_up(struct work *w, struct bt_unit *u, const struct bt_link *l)
{
	const struct bt_config *cfg = w->r->cfg;
	struct bt_end *far;

	if (!is_pair(l) || l->peer <= 0)
		return;
	if (!l->peer_elsewhere) {
		u->far = end_here(w, l->peer);
		u->far_too = u->far && u->rule->peer &&
			     !bt_config_rule(cfg, w->links[u->far - w->ends].name);
		return;
	}
	if (!u->rule->peer || l->peer_nsid < 0)
		return;
	far = &w->ends[w->n_links + w->n_far++];
	far->nsid = l->peer_nsid;
	far->ifindex = l->peer;
	far->unit = w->n_units;
	u->far = far;
	u->far_too = true;
}

static int find_units(struct work *w)
{
	unsigned int n = w->n_links + 1;

	w->ends = calloc(2 * n, sizeof(*w->ends));
	w->units = calloc(n, sizeof(*w->units));
	w->by_nsid = calloc(n, sizeof(*w->by_nsid));
	if (!w->ends || !w->units || !w->by_nsid)
		return bt_err(-ENOMEM, "out of memory");
	qsort(w->links, w->n_links, sizeof(*w->links), by_ifindex);
	for (unsigned int i = 0; i < w->n_links; i++) {
		w->ends[i].nsid = BT_NSID_SELF;
		w->ends[i].ifindex = w->links[i].ifindex;
	}
	for (unsigned int i = 0; i < w->n_links; i++) {
		const struct bt_rule *rule = bt_config_rule(w->r->cfg, w->links[i].name);
		struct bt_unit *u = &w->units[w->n_units];

		if (!rule)
			continue;
		u->rule = rule;
		u->near = &w->ends[i];
		pair_up(w, u, &w->links[i]);
		w->n_units++;
	}
	return 0;
}

/* --- other namespaces ------------------------------------------------------------------ */

static int by_nsid(const void *a, const void *b)
{
	const struct bt_end *x = *(struct bt_end *const *)a, *y = *(struct bt_end *const *)b;

	return x->nsid < y->nsid ? -1 : x->nsid > y->nsid;
}

static void no_way(struct bt_end *e, const struct bt_unit *u, int err)
{
	const char *why = err == -EPERM	   ? "takes CAP_SYS_ADMIN to enter"
			  : err == -ENOENT ? "has no file in the netns-dirs of the configuration"
					   : strerror(-err);

	e->programs = BT_PROGRAMS_UNKNOWN;
	if (asprintf(&e->culprit,
		     "programs at its other end: it is in network namespace %d, which %s", e->nsid,
		     why) < 0)
		e->culprit = NULL;
	if (u->near->dev)
		bt_log_once(&u->near->dev->said[BT_TOPIC_NETNS], BT_LOG_NOTICE, u->near->link.name,
			    "its other end stays as it is: it is in network namespace %d, which %s",
			    e->nsid, why);
}

/* Of the namespace we are in; without them everything is looked at in full. */
static void new_marks(struct bt_reconciler *r)
{
	bt_marks_free(&r->marks);
	bt_marks_new(&r->marks);
}

/* Calls fn for each end in other namespaces, there. */
static void visit(struct work *w, bool (*wants)(const struct bt_end *e),
		  void (*fn)(struct work *w, struct bt_end *e, const struct bt_unit *u))
{
	for (unsigned int i = 0, end; i < w->n_far; i = end) {
		const int nsid = w->by_nsid[i]->nsid;
		bool any = false;
		int err;

		for (end = i; end < w->n_far && w->by_nsid[end]->nsid == nsid; end++)
			any = any || !wants || wants(w->by_nsid[end]);
		if (!any)
			continue;
		err = bt_places_enter(w->places, nsid);
		if (!err && !wants)
			new_marks(w->r);
		w->cookie = 0;
		if (!err && bt_netns_cookie(&w->cookie))
			w->cookie = 0;
		for (unsigned int k = i; k < end; k++) {
			const struct bt_unit *u = &w->units[w->by_nsid[k]->unit];

			if (err && !wants)
				no_way(w->by_nsid[k], u, err);
			else if (!err && (!wants || wants(w->by_nsid[k])))
				fn(w, w->by_nsid[k], u);
		}
		/* A daemon in another namespace than it thinks would change the wrong devices. */
		if (!err && bt_netns_set(w->r->home))
			abort();
	}
}

static void look_far(struct work *w, struct bt_end *e, const struct bt_unit *u)
{
	struct bt_kept kept;
	int err;

	if (!u->near->dev)
		return;
	err = bt_link_get(e->ifindex, &e->link);

	/* Gone, or gone on to somewhere else: the next round will know. */
	if (err) {
		e->link.ifindex = 0;
		bt_err_clear();
		return;
	}
	u->near->dev->said[BT_TOPIC_NETNS].hash = 0;
	e->dev = bt_devs_get(w->r->devs, e->nsid, e->ifindex, w->r->nr);
	if (!e->dev) {
		e->link.ifindex = 0;
		return;
	}
	e->dev->cookie = w->cookie;
	e->dev->near = u->near->ifindex;
	err = bt_kept_get(e->ifindex, &kept);
	bt_err_clear(); /* what can't be read can't be changed either, which is told then */
	bt_end_look(w->r, e, err ? NULL : &kept);
}

static bool has_todo(const struct bt_end *e)
{
	return e->link.ifindex && e->todo.action != BT_ACT_NONE;
}

static void act_far(struct work *w, struct bt_end *e, const struct bt_unit *u)
{
	bt_end_act(w->r, u, e);
}

static int find_places(struct work *w)
{
	const struct bt_config *cfg = w->r->cfg;
	int err;

	if (!w->n_far)
		return 0;
	for (unsigned int i = 0; i < w->n_far; i++)
		w->by_nsid[i] = &w->ends[w->n_links + i];
	qsort(w->by_nsid, w->n_far, sizeof(*w->by_nsid), by_nsid);
	err = bt_places_new(cfg->netns_dirs, BT_NETNS_DIRS, &w->places);
	return err ? bt_err(err, "cannot look for network namespaces: %s", strerror(-err)) : 0;
}

/* --- this namespace --------------------------------------------------------------------- */

static void look_here(struct work *w, struct bt_end *e)
{
	if (e->link.ifindex)
		return;
	e->dev = bt_devs_get(w->r->devs, BT_NSID_SELF, e->ifindex, w->r->nr);
	if (!e->dev)
		return;
	e->link = w->links[e - w->ends];
	bt_end_look(w->r, e, bt_kept_find(w->kept, w->n_kept, e->ifindex));
}

static bool too_long(const struct work *w)
{
	return w->r->audited && bt_now_ms() - w->r->now_ms > ROUND_MS;
}

static void look(struct work *w)
{
	new_marks(w->r);
	for (unsigned int i = 0; i < w->n_units; i++) {
		const struct bt_unit *u = &w->units[i];

		if (too_long(w)) {
			w->r->round->postponed++;
			/* It is still there. */
			bt_devs_get(w->r->devs, BT_NSID_SELF, u->near->ifindex, w->r->nr);
			continue;
		}
		look_here(w, u->near);
		if (!u->near->link.ifindex)
			continue;
		bt_unit_dress(w->r, u, w->can_change);
		if (u->far && u->far->nsid == BT_NSID_SELF)
			look_here(w, u->far);
	}
	if (w->places)
		visit(w, NULL, look_far);
}

static void decide_and_act(struct work *w)
{
	for (unsigned int i = 0; i < w->n_units; i++) {
		struct bt_unit *u = &w->units[i];

		if (!u->near->link.ifindex)
			continue;
		bt_unit_decide(u);
		if (!w->can_change)
			continue;
		bt_end_act(w->r, u, u->near);
		if (u->far_too && u->far->nsid == BT_NSID_SELF && u->far->link.ifindex)
			bt_end_act(w->r, u, u->far);
	}
	if (w->places && w->can_change)
		visit(w, has_todo, act_far);
}

/* --- the round ---------------------------------------------------------------------------- */

/* The right to judge may be there later, and bpffs may be mounted later. */
static void check_means(struct work *w)
{
	struct bt_reconciler *r = w->r;
	int err;

	if (!r->judge && bt_judge_new(&r->judge)) {
		bt_log_once(&r->said_judge, BT_LOG_WARNING, "programs",
			    "%s: a device with any but bigtcp's own counts as unknown",
			    bt_err_text() ? bt_err_text() : "cannot be judged");
		bt_err_clear();
	}
	err = bt_bpffs_check();
	w->can_change = !err;
	if (err)
		bt_log_once(&r->said_bpffs, BT_LOG_ERR, "bpffs",
			    "%s; until then nothing is changed", bt_err_text());
	else if (r->said_bpffs.hash)
		bt_log_once(&r->said_bpffs, BT_LOG_NOTICE, "bpffs", "is there now");
	bt_err_clear();
	bt_own_free(&r->own);
	if (!r->judge)
		bt_own_read(&r->own);
}

/* What is kept of devices that are gone. */
static void sweep_kept(const struct work *w)
{
	bool gone = false;

	for (unsigned int i = 0; i < w->n_kept && !gone; i++) {
		const struct bt_link key = { .ifindex = w->kept[i].ifindex };

		gone = !bsearch(&key, w->links, w->n_links, sizeof(key), by_ifindex);
	}
	if (gone && w->can_change && bt_sizes_sweep() < 0)
		bt_err_clear();
}

/*
 * A device that was not seen in this round. One elsewhere is gone if its pair is, or is another device now; then what is
 * kept of its sizes is forgotten here, for nobody can look for it there: most often its namespace is gone too. Until
 * that is known it stays: the pair may have gone after the devices were listed, or there may be no way into its
 * namespace.
 */
static bool is_gone(void *arg, const struct bt_dev *dev)
{
	const struct work *w = arg;
	const struct bt_link key = { .ifindex = dev->near };
	const struct bt_link *near;

	if (dev->nsid == BT_NSID_SELF)
		return true;
	near = bsearch(&key, w->links, w->n_links, sizeof(key), by_ifindex);
	if (near && near->peer_elsewhere && near->peer_nsid == dev->nsid &&
	    near->peer == dev->ifindex)
		return false;
	if (dev->cookie && w->can_change && bt_kept_forget(dev->cookie, dev->ifindex))
		bt_err_clear();
	return true;
}

static int work(struct work *w)
{
	struct bt_reconciler *r = w->r;
	int err;

	check_means(w);
	err = bt_link_list(&w->links, &w->n_links);
	if (!err && bt_kept_list(&w->kept, &w->n_kept))
		bt_err_clear(); /* what can't be read can't be changed either, which is told then */
	if (!err)
		err = find_units(w);
	if (!err)
		err = find_places(w);
	if (err)
		return err;
	if (r->judge)
		bt_judge_expire(r->judge, r->cfg->audit_interval / 2);
	r->n_queue = r->at_queue = 0;
	look(w);
	decide_and_act(w);
	r->round->devices = w->n_units;
	bt_devs_sweep(r->devs, r->nr, is_gone, w);
	sweep_kept(w);
	return 0;
}

long long bt_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __u64 now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (__u64)t.tv_sec * 1000000000 + (__u64)t.tv_nsec;
}

int bt_reconcile(struct bt_reconciler *r, struct bt_round *out)
{
	const __u64 start = now_ns(CLOCK_MONOTONIC);
	struct bt_round round = {};
	struct work w __cleanup(work_free) = { .r = r };
	int err;

	bt_err_clear();
	if (!++r->nr)
		r->nr = 1;
	r->now_ms = bt_now_ms();
	r->round = &round;
	err = work(&w);
	r->round = NULL;
	if (err)
		return err;
	/* An audit takes megabytes, once. */
	if (r->audited) {
		bt_kbtf_forget();
		malloc_trim(0);
	}
	r->audited = 0;
	if (!round.postponed)
		r->fresh = false;
	round.duration_ns = now_ns(CLOCK_MONOTONIC) - start;
	round.when = (double)now_ns(CLOCK_REALTIME) / 1e9;
	*out = round;
	return 0;
}

int bt_reconciler_new(const struct bt_config *cfg, struct bt_reconciler **out)
{
	struct bt_reconciler *r __cleanup(bt_reconciler_free) = calloc(1, sizeof(*r));

	if (!r)
		return bt_err(-ENOMEM, "out of memory");
	r->cfg = cfg;
	r->fresh = true;
	r->devs = bt_devs_new();
	r->home = bt_netns_self();
	if (r->home < 0)
		return bt_err(r->home, "cannot tell the network namespace: %s", strerror(-r->home));
	if (!r->devs)
		return bt_err(-ENOMEM, "out of memory");
	*out = TAKE_PTR(r);
	return 0;
}

void bt_reconciler_free(struct bt_reconciler **rp)
{
	struct bt_reconciler *r = *rp;

	if (!r)
		return;
	bt_judge_free(&r->judge);
	bt_devs_free(&r->devs);
	bt_own_free(&r->own);
	free(r->queue);
	if (r->home >= 0)
		close(r->home);
	free(r);
	*rp = NULL;
}

void bt_reconciler_config(struct bt_reconciler *r, const struct bt_config *cfg)
{
	r->cfg = cfg;
	r->fresh = true;
}

const struct bt_devs *bt_reconciler_devs(const struct bt_reconciler *r)
{
	return r->devs;
}
