// SPDX-License-Identifier: GPL-2.0
/* What is done about a device, and what the log says about it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "core/preflight.h"
#include "daemon/reconcile_int.h"

bool bt_dev_failed(struct bt_dev *dev, enum bt_topic topic, const char *name, const char *what,
		   int err)
{
	const char *why = bt_err_text() ? bt_err_text() : strerror(-err);

	if (err == -ENODEV)
		bt_log(BT_LOG_DEBUG, "%s: %s: %s", name, what, why);
	else
		bt_log_once(&dev->said[topic], BT_LOG_ERR, name, "%s: %s", what, why);
	bt_err_clear();
	return err != -ENODEV;
}

void bt_end_failed(struct bt_reconciler *r, struct bt_end *e, enum bt_topic topic, const char *what,
		   int err)
{
	r->round->failed += bt_dev_failed(e->dev, topic, e->link.name, what, err);
}

/* --- deciding ----------------------------------------------------------------------------- */

static struct bt_decision decide(struct bt_end *e, const struct bt_rule *rule,
				 enum bt_programs programs, bool adopt)
{
	struct bt_case c = {
		.policy = rule->policy,
		.allow_unknown = rule->allow_unknown,
		.programs = programs,
		.now = e->link.sizes,
		.state = e->state,
		.setter = e->setter,
		.adopt = adopt,
	};
	__u32 max = bt_size_max(&e->link);

	if (max)
		c.want = bt_sizes_wanted(rule->size, rule->ipv6, rule->ipv4, max, &e->link.sizes);
	e->want = c.want;
	return bt_decide(&c);
}

static unsigned int unsafe_of(const struct bt_end *e)
{
	return e->dev ? e->dev->unsafe : 0;
}

void bt_unit_decide(struct bt_unit *u)
{
	enum bt_programs worst = u->near->programs;

	if (u->far && u->far->programs > worst)
		worst = u->far->programs;
	u->programs = worst;
	u->near->todo = decide(u->near, u->rule, worst, false);
	if (u->far_too && u->far->link.ifindex) {
		switch (u->near->todo.why) {
		case BT_WHY_COMMAND:
		case BT_WHY_BY_HAND:
		case BT_WHY_FOREIGN:
		case BT_WHY_NOTHING_WANTED:
			break; /* nor the other end */
		default:
			u->far->todo = decide(u->far, u->rule, worst, u->far->nsid != BT_NSID_SELF);
		}
	}
	u->near->dev->named = true;
	memcpy(u->near->dev->name, u->near->link.name, sizeof(u->near->dev->name));
	u->near->dev->all_unsafe = unsafe_of(u->near) + (u->far ? unsafe_of(u->far) : 0);
}

/* --- saying -------------------------------------------------------------------------------- */

static const char *culprit_of(const struct bt_end *e)
{
	return e->culprit ? e->culprit : e->dev ? e->dev->culprit : NULL;
}

static const char *culprit(const struct bt_unit *u)
{
	const char *text = NULL;

	if (u->near->programs == u->programs)
		text = culprit_of(u->near);
	if (!text && u->far)
		text = culprit_of(u->far);
	return text ? text : "its programs could not be looked at";
}

static const char *families(const struct bt_sizes *s)
{
	return !s->gso && !s->gro ? "IPv4" : s->gso_ipv4 || s->gro_ipv4 ? "IPv6 and IPv4" : "IPv6";
}

static __u32 largest(const struct bt_sizes *s)
{
	__u32 max = s->gso;

	max = s->gro > max ? s->gro : max;
	max = s->gso_ipv4 > max ? s->gso_ipv4 : max;
	return s->gro_ipv4 > max ? s->gro_ipv4 : max;
}

/* Sizes above 64 KiB that are not ours, over programs that do not take them. */
static void say_unsafe_anyway(const struct bt_unit *u, const struct bt_end *e, const char *who)
{
	struct bt_said *said = &e->dev->said[BT_TOPIC_PROGRAMS];

	if (u->programs == BT_PROGRAMS_SAFE || largest(&e->link.sizes) <= BT_SIZE_LEGACY)
		said->hash = 0;
	else
		bt_log_once(said, BT_LOG_WARNING, who,
			    "its sizes (up to %u) are the administrator's and stay, but %s",
			    largest(&e->link.sizes), culprit(u));
}

static void say(const struct bt_unit *u, const struct bt_end *e)
{
	struct bt_said *said = &e->dev->said[BT_TOPIC_SIZES];
	const struct bt_sizes *now = &e->link.sizes;
	bool set = e->todo.action == BT_ACT_SET || e->todo.action == BT_ACT_ADOPT;
	char who[2 * IFNAMSIZ + 16];

	if (e == u->near)
		snprintf(who, sizeof(who), "%s", e->link.name);
	else
		snprintf(who, sizeof(who), "%s (other end of %s)", e->link.name,
			 u->near->link.name);
	switch (e->todo.why) {
	case BT_WHY_FITS:
		break;
	case BT_WHY_SAFE:
	case BT_WHY_FORCED:
		if (set)
			bt_log_once(said, BT_LOG_NOTICE, who, "sizes set to %u (%s)%s",
				    largest(&e->want), families(&e->want),
				    e->todo.why == BT_WHY_FORCED ? ", whatever its programs are"
								 : "");
		break;
	case BT_WHY_WARNED:
		bt_log_once(said, BT_LOG_WARNING, who,
			    "sizes %s %u (%s), as policy=warn says, but %s", set ? "set to" : "are",
			    largest(&e->want), families(&e->want), culprit(u));
		break;
	case BT_WHY_UNSAFE:
	case BT_WHY_UNKNOWN:
		bt_log_once(said, BT_LOG_WARNING, who, "sizes are held at 64 KiB: %s", culprit(u));
		break;
	case BT_WHY_NOTHING_WANTED:
		if (u->rule->ipv6 || u->rule->ipv4)
			bt_log_once(
				said, BT_LOG_NOTICE, who,
				"takes no packets above 64 KiB (tso_max_size %u)%s", now->tso_max,
				now->gso_ipv4 || u->rule->ipv6 ? ""
							       : ", or the kernel none of IPv4");
		break;
	case BT_WHY_COMMAND:
	case BT_WHY_BY_HAND:
		bt_log_once(
			said, BT_LOG_NOTICE, who,
			"its sizes are the administrator's, set by hand or with 'bigtcp enable' or "
			"'disable': left as they are");
		say_unsafe_anyway(u, e, who);
		break;
	case BT_WHY_FOREIGN:
		bt_log_once(
			said, BT_LOG_NOTICE, who,
			"had sizes of its own before bigtcp came (gso %u, gro %u): left as they are",
			now->gso, now->gro);
		say_unsafe_anyway(u, e, who);
		break;
	}
}

/* --- doing --------------------------------------------------------------------------------- */

static int set(struct bt_end *e)
{
	struct bt_sizes_change c = { .ifindex = e->ifindex, .want = e->want };

	return bt_sizes_apply(&c, 1, BT_SET_BY_DAEMON);
}

/* Without a word to the map: nothing is kept of this device. */
static int legacy(struct bt_end *e)
{
	const struct bt_sizes *now = &e->link.sizes;
	struct bt_sizes s = {
		.gso = BT_SIZE_LEGACY,
		.gro = BT_SIZE_LEGACY,
		.gso_ipv4 = now->gso_ipv4 ? BT_SIZE_LEGACY : 0,
		.gro_ipv4 = now->gro_ipv4 ? BT_SIZE_LEGACY : 0,
	};

	return bt_link_set_sizes(e->ifindex, &s);
}

static int act(struct bt_end *e)
{
	int err;

	switch (e->todo.action) {
	case BT_ACT_NONE:
		return 0;
	case BT_ACT_SET:
		return set(e);
	case BT_ACT_RESET:
		return bt_sizes_restore(&e->ifindex, 1, BT_SET_BY_DAEMON, false);
	case BT_ACT_LEGACY:
		return legacy(e);
	case BT_ACT_ADOPT:
		err = legacy(e);
		return err ? err : set(e);
	case BT_ACT_HANDS_OFF:
		return bt_sizes_hands_off(e->ifindex);
	}
	return 0;
}

void bt_end_act(struct bt_reconciler *r, const struct bt_unit *u, struct bt_end *e)
{
	struct bt_round *round = r->round;
	int err = act(e);

	if (err) {
		bt_end_failed(r, e, BT_TOPIC_ERROR, "cannot change its sizes", err);
		return;
	}
	if (e->todo.action == BT_ACT_NONE)
		e->dev->said[BT_TOPIC_ERROR].hash = 0;
	else
		round->changes++;
	round->size_resets += e->todo.action == BT_ACT_HANDS_OFF;
	say(u, e);
	if (e != u->near)
		return;
	switch (e->todo.why) {
	case BT_WHY_UNSAFE:
	case BT_WHY_UNKNOWN:
		round->held_back++;
		break;
	case BT_WHY_COMMAND:
	case BT_WHY_BY_HAND:
	case BT_WHY_FOREIGN:
		round->left_alone++;
		break;
	case BT_WHY_NOTHING_WANTED:
		break;
	default:
		round->fit++;
	}
}
