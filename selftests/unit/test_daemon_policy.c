// SPDX-License-Identifier: GPL-2.0
/* What the daemon decides, as a table. */
#include <criterion/criterion.h>

#include "daemon/policy.h"

#define BIG    524280U
#define LEGACY BT_SIZE_LEGACY
/* all four sizes, and what the driver takes */
#define SIZES(n)                                                                         \
	{                                                                                \
		.gso = (n), .gro = (n), .gso_ipv4 = (n), .gro_ipv4 = (n), .tso_max = BIG \
	}

enum { OLD, FIT, OTHER }; /* sizes now: 64 KiB, as wanted, neither */

#define REFUSE	  BT_POLICY_REFUSE
#define WARN	  BT_POLICY_WARN
#define FORCE	  BT_POLICY_FORCE
#define SAFE	  BT_PROGRAMS_SAFE
#define UNKNOWN	  BT_PROGRAMS_UNKNOWN
#define UNSAFE	  BT_PROGRAMS_UNSAFE
#define UNTOUCHED BT_SIZES_UNTOUCHED, BT_SET_BY_NOBODY
#define OURS	  BT_SIZES_OURS, BT_SET_BY_DAEMON
#define CHANGED	  BT_SIZES_CHANGED, BT_SET_BY_DAEMON

static const struct {
	int line;
	enum bt_sizes_state state;
	enum bt_setter setter;
	int now;
	enum bt_policy policy;
	bool allow_unknown, adopt;
	enum bt_programs programs;
	enum bt_action action;
	enum bt_reason why;
} rows[] = {
#define ROW(...)                      \
	{                             \
		__LINE__, __VA_ARGS__ \
	}
	/* state, setter | now | policy, allow-unknown, adopt | programs || action, why */
	/* nobody was here */
	ROW(UNTOUCHED, OLD, REFUSE, 0, 0, SAFE, BT_ACT_SET, BT_WHY_SAFE),
	ROW(UNTOUCHED, OLD, REFUSE, 0, 0, UNKNOWN, BT_ACT_NONE, BT_WHY_UNKNOWN),
	ROW(UNTOUCHED, OLD, REFUSE, 1, 0, UNKNOWN, BT_ACT_SET, BT_WHY_SAFE),
	ROW(UNTOUCHED, OLD, REFUSE, 0, 0, UNSAFE, BT_ACT_NONE, BT_WHY_UNSAFE),
	ROW(UNTOUCHED, OLD, REFUSE, 1, 0, UNSAFE, BT_ACT_NONE, BT_WHY_UNSAFE),
	ROW(UNTOUCHED, OLD, WARN, 0, 0, SAFE, BT_ACT_SET, BT_WHY_SAFE),
	ROW(UNTOUCHED, OLD, WARN, 0, 0, UNSAFE, BT_ACT_SET, BT_WHY_WARNED),
	ROW(UNTOUCHED, OLD, WARN, 0, 0, UNKNOWN, BT_ACT_SET, BT_WHY_WARNED),
	ROW(UNTOUCHED, OLD, WARN, 1, 0, UNKNOWN, BT_ACT_SET, BT_WHY_SAFE),
	ROW(UNTOUCHED, OLD, FORCE, 0, 0, UNSAFE, BT_ACT_SET, BT_WHY_FORCED),
	/* the daemon was here */
	ROW(OURS, FIT, REFUSE, 0, 0, SAFE, BT_ACT_NONE, BT_WHY_FITS),
	ROW(OURS, OTHER, REFUSE, 0, 0, SAFE, BT_ACT_SET, BT_WHY_SAFE),
	ROW(OURS, FIT, REFUSE, 0, 0, UNSAFE, BT_ACT_RESET, BT_WHY_UNSAFE),
	ROW(OURS, OTHER, REFUSE, 0, 0, UNSAFE, BT_ACT_RESET, BT_WHY_UNSAFE),
	ROW(OURS, FIT, REFUSE, 0, 0, UNKNOWN, BT_ACT_RESET, BT_WHY_UNKNOWN),
	ROW(OURS, FIT, REFUSE, 1, 0, UNKNOWN, BT_ACT_NONE, BT_WHY_FITS),
	ROW(OURS, FIT, WARN, 0, 0, UNSAFE, BT_ACT_NONE, BT_WHY_WARNED),
	ROW(OURS, FIT, FORCE, 0, 0, UNSAFE, BT_ACT_NONE, BT_WHY_FORCED),
	/* somebody set other values by hand: whatever the programs are */
	ROW(CHANGED, OTHER, REFUSE, 0, 0, SAFE, BT_ACT_HANDS_OFF, BT_WHY_BY_HAND),
	ROW(CHANGED, OLD, REFUSE, 0, 0, UNSAFE, BT_ACT_HANDS_OFF, BT_WHY_BY_HAND),
	ROW(CHANGED, OTHER, FORCE, 0, 0, SAFE, BT_ACT_HANDS_OFF, BT_WHY_BY_HAND),
	ROW(CHANGED, OTHER, FORCE, 0, 1, SAFE, BT_ACT_HANDS_OFF, BT_WHY_BY_HAND),
	/* ... and that was noticed */
	ROW(BT_SIZES_HANDS_OFF, BT_SET_BY_DAEMON, OTHER, FORCE, 0, 0, SAFE, BT_ACT_NONE,
	    BT_WHY_BY_HAND),
	ROW(BT_SIZES_HANDS_OFF, BT_SET_BY_COMMAND, OLD, FORCE, 0, 0, SAFE, BT_ACT_NONE,
	    BT_WHY_COMMAND),
	ROW(BT_SIZES_HANDS_OFF, BT_SET_BY_COMMAND, OLD, REFUSE, 0, 1, SAFE, BT_ACT_NONE,
	    BT_WHY_COMMAND),
	/* enable: never ours, also with unsafe programs, also when it has been changed since */
	ROW(BT_SIZES_OURS, BT_SET_BY_COMMAND, FIT, REFUSE, 0, 0, UNSAFE, BT_ACT_NONE,
	    BT_WHY_COMMAND),
	ROW(BT_SIZES_OURS, BT_SET_BY_COMMAND, OTHER, FORCE, 0, 0, SAFE, BT_ACT_NONE,
	    BT_WHY_COMMAND),
	ROW(BT_SIZES_CHANGED, BT_SET_BY_COMMAND, OTHER, FORCE, 0, 0, SAFE, BT_ACT_NONE,
	    BT_WHY_COMMAND),
	/* sizes of its own before bigtcp came */
	ROW(UNTOUCHED, OTHER, FORCE, 0, 0, SAFE, BT_ACT_NONE, BT_WHY_FOREIGN),
	ROW(UNTOUCHED, FIT, FORCE, 0, 0, SAFE, BT_ACT_NONE, BT_WHY_FOREIGN),
	ROW(UNTOUCHED, FIT, REFUSE, 0, 0, UNSAFE, BT_ACT_NONE, BT_WHY_FOREIGN),
	/* the other end, which moved and is not remembered any more */
	ROW(UNTOUCHED, FIT, REFUSE, 0, 1, SAFE, BT_ACT_ADOPT, BT_WHY_FITS),
	ROW(UNTOUCHED, FIT, REFUSE, 0, 1, UNSAFE, BT_ACT_LEGACY, BT_WHY_UNSAFE),
	ROW(UNTOUCHED, FIT, WARN, 0, 1, UNSAFE, BT_ACT_ADOPT, BT_WHY_WARNED),
	ROW(UNTOUCHED, OTHER, REFUSE, 0, 1, SAFE, BT_ACT_NONE, BT_WHY_FOREIGN),
	ROW(UNTOUCHED, OLD, REFUSE, 0, 1, SAFE, BT_ACT_SET, BT_WHY_SAFE),
};

Test(daemon_policy, decides_as_the_table_says)
{
	static const struct bt_sizes now[] = { SIZES(LEGACY), SIZES(BIG), SIZES(100000) };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bt_case c = {
			.policy = rows[i].policy,
			.allow_unknown = rows[i].allow_unknown,
			.programs = rows[i].programs,
			.want = SIZES(BIG),
			.now = now[rows[i].now],
			.state = rows[i].state,
			.setter = rows[i].setter,
			.adopt = rows[i].adopt,
		};
		struct bt_decision d = bt_decide(&c);

		cr_expect_eq(d.action, rows[i].action, "line %d: action %d, not %d", rows[i].line,
			     d.action, rows[i].action);
		cr_expect_eq(d.why, rows[i].why, "line %d: why %d, not %d", rows[i].line, d.why,
			     rows[i].why);
	}
}

Test(daemon_policy, where_nothing_is_wanted_nothing_is_done)
{
	struct bt_case c = {
		.policy = BT_POLICY_FORCE,
		.now = SIZES(LEGACY),
	};

	cr_assert_eq(bt_decide(&c).action, BT_ACT_NONE);
	cr_assert_eq(bt_decide(&c).why, BT_WHY_NOTHING_WANTED);
	/* but what somebody set by hand is noticed */
	c.state = BT_SIZES_CHANGED;
	c.setter = BT_SET_BY_DAEMON;
	cr_assert_eq(bt_decide(&c).action, BT_ACT_HANDS_OFF);
}

/* A driver that takes less than before: the kernel has lowered the size, nobody else. */
Test(daemon_policy, sizes_that_the_kernel_lowered_are_nobodys)
{
	struct bt_case c = {
		.policy = BT_POLICY_REFUSE,
		.state = BT_SIZES_CHANGED,
		.setter = BT_SET_BY_DAEMON,
		.want = SIZES(180000),
		.now = SIZES(180000),
	};

	c.now.tso_max = 180000;
	cr_assert_eq(bt_decide(&c).action, BT_ACT_NONE);
	c.now.tso_max = BIG;
	cr_assert_eq(bt_decide(&c).action, BT_ACT_HANDS_OFF);
}

Test(daemon_policy, wanted_sizes)
{
	struct bt_sizes now = SIZES(LEGACY), old = { .gso = LEGACY, .gro = LEGACY }, w;

	w = bt_sizes_wanted(0, true, true, BIG, &now);
	cr_assert(w.gso == BIG && w.gro == BIG && w.gso_ipv4 == BIG && w.gro_ipv4 == BIG);
	w = bt_sizes_wanted(196608, true, false, BIG, &now);
	cr_assert(w.gso == 196608 && w.gro == 196608 && !w.gso_ipv4 && !w.gro_ipv4);
	w = bt_sizes_wanted(196608, false, true, 100000, &now);
	cr_assert(!w.gso && !w.gro && w.gso_ipv4 == 100000 && w.gro_ipv4 == 100000);
	w = bt_sizes_wanted(0, true, true, BIG, &old);
	cr_assert(w.gso == BIG && !w.gso_ipv4 && !w.gro_ipv4, "a kernel without IPv4's sizes");
	w = bt_sizes_wanted(0, false, true, BIG, &old);
	cr_assert(!w.gso && !w.gro && !w.gso_ipv4 && !w.gro_ipv4);
}
