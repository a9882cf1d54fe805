// SPDX-License-Identifier: GPL-2.0
/* The programs that the device's packets pass: on it, on other devices, and on none. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/judge.h"
#include "core/preflight_int.h"

/* What was looked at, for the row that says that all is well. */
struct tally {
	unsigned int seen, bad;
	unsigned int
		unplaced; /* unknown, and where they are cannot be told: socket filters and the like */
	unsigned int cgroups; /* unknown, of cgroups */
	char name[64]; /* the last of these */
};

/*
 * Which programs of another device see packets that this one sends or receives. Those in the other
 * direction see jumbo packets when that device is enabled, and are its own preflight's business.
 */
static bool passes(enum bt_relation relation, const struct bt_attached *at)
{
	/* Both ends of a netkit have their programs at the first. */
	if (!strncmp(at->hook, "netkit/", strlen("netkit/")))
		return true;
	switch (relation) {
	case BT_LOWER:
	case BT_BESIDE:
		return !at->ingress;
	case BT_UPPER:
	case BT_PEER:
		return at->ingress;
	case BT_RELATIONS:
		break;
	}
	return true;
}

static void say_advice(struct bt_check *c, const struct bt_judged *p)
{
	if (p->verdict == BT_VERDICT_UNKNOWN)
		bt_say(&c->advice,
		       "see bigtcp audit; or load it as a twin (bigtcp exec -- LOADER), or "
		       "use --force if you know that it is safe");
	else if (p->at.dev[0])
		bt_say(&c->advice,
		       "load it as a twin: bigtcp exec -- LOADER, or bigtcp attach %s HOOK "
		       "FILE.o; bigtcp audit shows the evidence",
		       p->at.dev);
	else
		bt_say(&c->advice,
		       "load it as a twin: bigtcp exec -- LOADER; bigtcp audit shows the "
		       "evidence");
}

static struct bt_check *program_row(struct bt_pf *pf, enum bt_level level,
				    const struct bt_link *about, const struct bt_judged *p)
{
	struct bt_check *c = bt_pf_row(pf, level, about);

	bt_say(&c->found, "%s (program %u, %s%s%.100s): %s", p->name[0] ? p->name : "a program",
	       p->at.prog_id, p->at.hook, p->at.cgroup[0] ? " of " : "", p->at.cgroup,
	       bt_verdict_name(p->verdict));
	bt_say(&c->why, "%s",
	       p->why[0] ? p->why : "what it does with jumbo packets could not be shown");
	say_advice(c, p);
	return c;
}

/* Says that programs could not be looked at: they may be unsafe. */
static void not_looked(struct bt_pf *pf, const struct bt_link *about, enum bt_level level,
		       const char *where)
{
	struct bt_check *c = bt_pf_row(pf, level, about);

	bt_say(&c->found, "programs %s not looked at", where);
	bt_say(&c->why, "%s", bt_err_text() ? bt_err_text() : "it needs CAP_SYS_ADMIN");
	bt_say(&c->advice, "run this as root");
	bt_err_clear();
}

/* In the namespace the caller is in. @other: NULL for the device itself. */
static void of_device(struct bt_pf *pf, const struct bt_link *link, const struct bt_related *other,
		      struct tally *t)
{
	struct bt_judged *list __free = NULL;
	unsigned int n = 0;
	struct bt_check *c;

	if (bt_judge_dev(pf->judge, link->name, &list, &n, NULL))
		return not_looked(pf, link, BT_LEVEL_REFUSE, "of this device were");
	for (unsigned int i = 0; i < n; i++) {
		if (list[i].at.no_jumbo || (other && !passes(other->relation, &list[i].at)))
			continue;
		t->seen++;
		if (!bt_verdict_unsafe(list[i].verdict))
			continue;
		t->bad++;
		c = program_row(pf, BT_LEVEL_REFUSE, link, &list[i]);
		if (other && other->elsewhere)
			c->ifindex = 0; /* it means nothing here */
	}
}

static void of_device_elsewhere(struct bt_pf *pf, const struct bt_related *r, struct tally *t)
{
	int home __close = bt_netns_self(), there __close = -1;
	struct bt_check *c;
	char ns[256];

	if (home >= 0 && r->readable && !bt_netns_find(r->nsid, ns, sizeof(ns)))
		there = bt_netns_open(ns);
	if (there < 0 || bt_netns_set(there)) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, NULL);
		bt_say(&c->found, "programs at %s in another namespace were not looked at",
		       r->link.name[0] ? r->link.name : "the other end");
		bt_say(&c->why, "they see the packets, and the namespace cannot be entered");
		bt_say(&c->advice, "run bigtcp preflight in that namespace too");
		return;
	}
	of_device(pf, &r->link, r, t);
	if (bt_netns_set(home))
		pf->err = bt_err(-EIO, "cannot go back to the network namespace this began in");
}

/* --- programs of no device ------------------------------------------------------------------------ */

static bool in_netns(const char *pid, ino_t netns)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.16s/ns/net", pid);
	return !stat(path, &st) && st.st_ino == netns;
}

static bool lists_ours(const char *path, ino_t netns)
{
	FILE *f __fclose = fopen(path, "re");
	char pid[32];

	while (f && fscanf(f, "%31s", pid) == 1) {
		if (in_netns(pid, netns))
			return true;
	}
	return false;
}

static void close_fts(FTS **f)
{
	if (*f)
		fts_close(*f);
}

/* Has a cgroup, or one below it, a process of this network namespace? What can't be read has. */
static bool cgroup_ours(const char *cgroup)
{
	char *const roots[] = { (char *)cgroup, NULL };
	FTS *f __cleanup(close_fts) =
		fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	struct stat st;
	FTSENT *e;

	if (!f || stat("/proc/thread-self/ns/net", &st))
		return true;
	while ((e = fts_read(f))) {
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
			return true;
		if (e->fts_info != FTS_D && !strcmp(e->fts_name, "cgroup.procs") &&
		    lists_ours(e->fts_path, st.st_ino))
			return true;
	}
	return false;
}

static bool is_action(const struct bt_judged *p)
{
	return !strcmp(p->at.hook, "act_bpf");
}

/*
 * Of a program that is known to be unsafe. One that does not tell where it is, such as a socket filter, is no
 * reason to refuse: it may be anywhere, and sees packets of some sockets only.
 */
static enum bt_level host_level(const struct bt_judged *p)
{
	return p->at.cgroup[0] || is_action(p) ? BT_LEVEL_REFUSE : BT_LEVEL_WARNING;
}

static void of_host(struct bt_pf *pf, struct tally *t)
{
	struct bt_judged *list __free = NULL;
	unsigned int n = 0;

	if (bt_judge_dev(pf->judge, "", &list, &n, NULL))
		return not_looked(pf, NULL, BT_LEVEL_WARNING, "of cgroups and sockets were");
	for (unsigned int i = 0; i < n; i++) {
		if (list[i].at.cgroup[0] && !cgroup_ours(list[i].at.cgroup))
			continue;
		t->seen += host_level(&list[i]) == BT_LEVEL_REFUSE;
		if (!bt_verdict_unsafe(list[i].verdict))
			continue;
		if (list[i].verdict != BT_VERDICT_UNKNOWN || is_action(&list[i])) {
			t->bad += host_level(&list[i]) == BT_LEVEL_REFUSE;
			program_row(pf, host_level(&list[i]), NULL, &list[i]);
		} else if (list[i].at.cgroup[0]) {
			t->cgroups++;
			memcpy(t->name, list[i].name, sizeof(t->name));
		} else {
			t->unplaced++;
		}
	}
}

/* Those of no device, in a row a kind: systemd alone has two at many a service. */
static void say_unknown(struct bt_pf *pf, const struct tally *t)
{
	struct bt_check *c;

	if (t->cgroups) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, NULL);
		bt_say(&c->found, "%u programs of cgroups are unknown, %s among them", t->cgroups,
		       t->name[0] ? t->name : "one without a name");
		bt_say(&c->why,
		       "processes of this namespace are in those cgroups, and what the programs do with "
		       "their jumbo packets could not be shown");
		bt_say(&c->advice, "see bigtcp audit");
	}
	if (t->unplaced) {
		c = bt_pf_row(pf, BT_LEVEL_NOTE, NULL);
		bt_say(&c->found, "%u loaded programs, such as socket filters, are unknown",
		       t->unplaced);
		bt_say(&c->why,
		       "they may see packets of some sockets; where they are attached cannot be "
		       "told");
		bt_say(&c->advice, "see bigtcp audit");
	}
}

void bt_pf_programs(struct bt_pf *pf)
{
	struct tally t = {};
	struct bt_check *c;

	if (!pf->judge)
		return not_looked(pf, &pf->dev, BT_LEVEL_REFUSE, "were");
	of_device(pf, &pf->dev, NULL, &t);
	for (unsigned int i = 0; i < pf->n_stack && !pf->err; i++) {
		if (pf->stack[i].elsewhere)
			of_device_elsewhere(pf, &pf->stack[i], &t);
		else
			of_device(pf, &pf->stack[i].link, &pf->stack[i], &t);
	}
	of_host(pf, &t);
	say_unknown(pf, &t);
	if (t.bad || t.cgroups)
		return;
	c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
	if (t.seen)
		bt_say(&c->found,
		       "%u programs see its packets, none misreads them; they were run on "
		       "packets of 2001:db8::/32 and 192.0.2.0/24, which their maps may count",
		       t.seen);
	else
		bt_say(&c->found, "no program sees its packets");
}
