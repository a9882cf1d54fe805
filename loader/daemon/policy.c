// SPDX-License-Identifier: GPL-2.0
#include "daemon/policy.h"

const char *bt_policy_name(enum bt_policy policy)
{
	static const char *const names[] = { "refuse", "warn", "force" };

	return names[policy];
}

bool bt_sizes_fit(const struct bt_sizes *want, const struct bt_sizes *now)
{
	return (!want->gso || want->gso == now->gso) && (!want->gro || want->gro == now->gro) &&
	       (!want->gso_ipv4 || want->gso_ipv4 == now->gso_ipv4) &&
	       (!want->gro_ipv4 || want->gro_ipv4 == now->gro_ipv4);
}

struct bt_sizes bt_sizes_wanted(__u32 size, bool ipv6, bool ipv4, __u32 max,
				const struct bt_sizes *now)
{
	struct bt_sizes want = {};

	if (!size || size > max)
		size = max;
	if (ipv6)
		want.gso = want.gro = size;
	/* 0: the kernel has no sizes of IPv4's own */
	if (ipv4 && now->gso_ipv4)
		want.gso_ipv4 = size;
	if (ipv4 && now->gro_ipv4)
		want.gro_ipv4 = size;
	return want;
}

static bool anything(const struct bt_sizes *want)
{
	return want->gso || want->gro || want->gso_ipv4 || want->gro_ipv4;
}

/* As the kernel makes devices. */
static bool legacy(const struct bt_sizes *now)
{
	return now->gso == BT_SIZE_LEGACY && now->gro == BT_SIZE_LEGACY &&
	       (!now->gso_ipv4 || now->gso_ipv4 == BT_SIZE_LEGACY) &&
	       (!now->gro_ipv4 || now->gro_ipv4 == BT_SIZE_LEGACY);
}

static struct bt_decision decision(enum bt_action action, enum bt_reason why)
{
	return (struct bt_decision){ .action = action, .why = why };
}

/* A driver, or a device below, that takes less than before has its sizes lowered by the kernel. */
static bool lowered(const struct bt_case *c)
{
	return c->want.gso && c->now.gso == c->want.gso && c->now.gso == c->now.tso_max;
}

/* The device is at our disposal: what do the programs say? */
static struct bt_decision by_programs(const struct bt_case *c, bool ours)
{
	bool fits = bt_sizes_fit(&c->want, &c->now);
	bool unknown = c->programs == BT_PROGRAMS_UNKNOWN && !c->allow_unknown;
	bool bad = c->programs == BT_PROGRAMS_UNSAFE || unknown;
	enum bt_action set = fits ? BT_ACT_NONE : BT_ACT_SET;

	if (c->policy == BT_POLICY_FORCE)
		return decision(set, BT_WHY_FORCED);
	if (!bad)
		return decision(set, fits ? BT_WHY_FITS : BT_WHY_SAFE);
	if (c->policy == BT_POLICY_WARN)
		return decision(set, BT_WHY_WARNED);
	return decision(ours ? BT_ACT_RESET : BT_ACT_NONE,
			unknown ? BT_WHY_UNKNOWN : BT_WHY_UNSAFE);
}

struct bt_decision bt_decide(const struct bt_case *c)
{
	if (c->state == BT_SIZES_HANDS_OFF ||
	    (c->state != BT_SIZES_UNTOUCHED && c->setter == BT_SET_BY_COMMAND))
		return decision(BT_ACT_NONE,
				c->setter == BT_SET_BY_COMMAND ? BT_WHY_COMMAND : BT_WHY_BY_HAND);
	if (c->state == BT_SIZES_CHANGED) {
		if (lowered(c))
			return decision(BT_ACT_NONE, BT_WHY_FITS);
		return decision(BT_ACT_HANDS_OFF, BT_WHY_BY_HAND);
	}
	if (!anything(&c->want))
		return decision(BT_ACT_NONE, BT_WHY_NOTHING_WANTED);
	if (c->state != BT_SIZES_UNTOUCHED)
		return by_programs(c, true);
	if (!legacy(&c->now)) {
		struct bt_decision d = by_programs(c, false);

		if (!c->adopt || !bt_sizes_fit(&c->want, &c->now))
			return decision(BT_ACT_NONE, BT_WHY_FOREIGN);
		if (d.why == BT_WHY_UNSAFE || d.why == BT_WHY_UNKNOWN)
			return decision(BT_ACT_LEGACY, d.why);
		return decision(BT_ACT_ADOPT, d.why);
	}
	return by_programs(c, false);
}
