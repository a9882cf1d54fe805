// SPDX-License-Identifier: GPL-2.0
/* Queueing disciplines and policers that can't take packets of the size that is wanted. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "core/preflight_int.h"
#include "core/qdisc.h"

#define HEADERS 86 /* Ethernet, IPv6, TCP with timestamps */
#define QDISCS	32 /* of a device, whose filters are looked at */

/* One device. */
struct look {
	struct bt_pf *pf;
	const struct bt_link *link;
	__u64 longest; /* packet, as qdiscs count it */
	__u32 parents[QDISCS]; /* where filters may be */
	unsigned int n_parents;
	bool sends, receives; /* which of its directions the packets pass */
	unsigned int seen, bad; /* limits */
};

static const struct {
	enum bt_level level;
	const char *why, *advice;
} effects[] = {
	[BT_QDISC_CUTS] = { BT_LEVEL_WARNING,
			    "longer packets are cut to pieces of the MTU there, in software",
			    "raise it to %llu or more" },
	[BT_QDISC_DROPS] = { BT_LEVEL_REFUSE,
			     "longer packets do not fit in there and are dropped, each time they are sent again",
			     "raise it to %llu or more" },
	[BT_QDISC_OVERDRAWS] = { BT_LEVEL_NOTE,
				 "a longer packet goes out in one piece, and what follows waits the "
				 "longer",
				 "if that matters raise it to %llu or more" },
};

static void say(struct look *k, const char *kind, __u32 handle, const struct bt_qdisc_limit *limit)
{
	struct bt_check *c = bt_pf_row(k->pf, effects[limit->effect].level, k->link);
	char at[32] = "", bytes[32] = "";

	if (handle)
		snprintf(at, sizeof(at),
			 TC_H_MIN(handle) ? " %x:%x" : " %x:", TC_H_MAJ(handle) >> 16,
			 TC_H_MIN(handle));
	if (limit->bytes)
		snprintf(bytes, sizeof(bytes), " of %llu bytes", limit->bytes);
	bt_say(&c->found, "%s%s has a %s%s", kind, at, limit->what, bytes);
	bt_say(&c->why, "%s", effects[limit->effect].why);
	if (limit->bytes)
		bt_say(&c->advice, effects[limit->effect].advice, k->longest);
	else
		bt_say(&c->advice, "switch it off: no-%s", limit->what);
	k->bad++;
}

static void judge(struct look *k, const char *kind, bool is_class, __u32 handle,
		  const struct nlattr *opts)
{
	struct bt_qdisc_limit limits[BT_QDISC_LIMITS];
	unsigned int n = bt_qdisc_limits(kind, is_class, opts, limits);

	k->seen += n;
	for (unsigned int i = 0; i < n; i++) {
		if (limits[i].bytes >= k->longest)
			continue;
		say(k, kind, handle, &limits[i]);
		if (limits[i].effect == BT_QDISC_CUTS)
			return;
	}
}

static void attrs(const struct nlmsghdr *nlh, const char **kind, const struct nlattr **opts)
{
	const struct nlattr *a;

	*kind = "";
	*opts = NULL;
	mnl_attr_for_each(a, nlh, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(a) == TCA_KIND &&
		    mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			*kind = mnl_attr_get_str(a);
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			*opts = a;
	}
}

static void add_parent(struct look *k, __u32 parent)
{
	if (k->n_parents < QDISCS)
		k->parents[k->n_parents++] = parent;
}

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *opts;
	struct look *k = arg;
	const char *kind;

	attrs(nlh, &kind, &opts);
	if (!strcmp(kind, "clsact") || !strcmp(kind, "ingress")) {
		if (k->receives)
			add_parent(k, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
		if (k->sends && kind[0] == 'c')
			add_parent(k, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	} else if (k->sends) {
		add_parent(k, tc->tcm_handle);
		judge(k, kind, false, tc->tcm_handle, opts);
	}
	return 0;
}

static int on_class(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *opts;
	const char *kind;

	attrs(nlh, &kind, &opts);
	judge(arg, kind, true, tc->tcm_handle, opts);
	return 0;
}

static int on_filter(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *opts;
	const char *kind;

	attrs(nlh, &kind, &opts);
	judge(arg, "police", false, 0, opts ? bt_qdisc_police(kind, opts) : NULL);
	return 0;
}

static void of_device(struct look *k)
{
	struct bt_check *c;
	int err;

	err = bt_tc_dump(RTM_GETQDISC, k->link->ifindex, 0, on_qdisc, k);
	if (!err && k->sends)
		err = bt_tc_dump(RTM_GETTCLASS, k->link->ifindex, 0, on_class, k);
	for (unsigned int i = 0; i < k->n_parents && !err; i++) {
		err = bt_tc_dump(RTM_GETTFILTER, k->link->ifindex, k->parents[i], on_filter, k);
		/* a qdisc without filters, or without classes to have them */
		if (err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP)
			err = 0;
	}
	if (!err)
		return;
	k->bad++;
	c = bt_pf_row(k->pf, BT_LEVEL_WARNING, k->link);
	bt_say(&c->found, "its qdiscs cannot be read");
	bt_say(&c->why, "%s", strerror(-err));
	bt_say(&c->advice, "see 'tc -d qdisc show dev %s'", k->link->name);
}

static bool passes(enum bt_relation relation, bool ingress)
{
	return relation == BT_LOWER || relation == BT_BESIDE ? !ingress : ingress;
}

void bt_pf_qdisc(struct bt_pf *pf)
{
	const __u32 size = bt_pf_size(pf);
	const __u32 mss = pf->dev.mtu > HEADERS ? pf->dev.mtu - HEADERS : 1;
	/* qdisc_pkt_len_init() counts the headers that each segment will have. */
	struct look k = {
		.pf = pf,
		.link = &pf->dev,
		.longest = size + (__u64)size / mss * HEADERS,
		.sends = true,
		.receives = true,
	};
	struct bt_check *c;

	of_device(&k);
	for (unsigned int i = 0; i < pf->n_stack; i++) {
		if (pf->stack[i].elsewhere)
			continue;
		k.link = &pf->stack[i].link;
		k.n_parents = 0;
		k.sends = passes(pf->stack[i].relation, false);
		k.receives = passes(pf->stack[i].relation, true);
		of_device(&k);
	}
	if (k.bad)
		return;
	c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
	bt_say(&c->found,
	       k.seen ? "limits in bytes of qdiscs and policers are above %u"
		      : "no qdisc and no policer has a limit in bytes that matters (%u)",
	       size);
}
