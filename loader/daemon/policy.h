/* SPDX-License-Identifier: GPL-2.0 */
/* What is to be done about a device. Decides only: looks at nothing and changes nothing. */
#ifndef DAEMON_POLICY_H
#define DAEMON_POLICY_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/rtnl.h"
#include "core/sizes.h"

/* While a program is attached that does not understand jumbo packets: */
enum bt_policy {
	BT_POLICY_REFUSE, /* sizes stay at, or go back to, 64 KiB */
	BT_POLICY_WARN, /* sizes are set, and the log says so */
	BT_POLICY_FORCE, /* sizes are set, whatever the programs are */
};

enum bt_programs {
	BT_PROGRAMS_SAFE, /* none, or none that is known to be unsafe */
	BT_PROGRAMS_UNKNOWN, /* some could not be judged */
	BT_PROGRAMS_UNSAFE,
};

/* What is known of a device, and what its section of the configuration wants. */
struct bt_case {
	enum bt_policy policy;
	bool allow_unknown;
	enum bt_programs programs; /* the worst, of both ends */
	struct bt_sizes
		want; /* 0: leave; all 0: the device takes no jumbo packets, or none are wanted */
	struct bt_sizes now;
	enum bt_sizes_state state;
	enum bt_setter setter; /* of what is kept */
	/* Sizes that are as wanted already are taken over: of peers, which lose what was kept of them when
	 * they move to another namespace.
	 */
	bool adopt;
};

enum bt_action {
	BT_ACT_NONE,
	BT_ACT_SET, /* to want */
	BT_ACT_RESET, /* to what was kept as the time before */
	BT_ACT_LEGACY, /* to 64 KiB, where nothing is kept */
	BT_ACT_ADOPT, /* to 64 KiB, then to want: what is kept as the time before is then 64 KiB */
	BT_ACT_HANDS_OFF, /* remember that somebody else set other values */
};

enum bt_reason {
	BT_WHY_FITS, /* as wanted */
	BT_WHY_SAFE,
	BT_WHY_NOTHING_WANTED,
	BT_WHY_COMMAND, /* enable or disable has spoken */
	BT_WHY_BY_HAND, /* other values than bigtcp set */
	BT_WHY_FOREIGN, /* sizes that are not the kernel's, set by somebody before bigtcp came */
	BT_WHY_UNSAFE,
	BT_WHY_UNKNOWN,
	BT_WHY_WARNED, /* set in spite of unsafe or unknown programs */
	BT_WHY_FORCED,
};

struct bt_decision {
	enum bt_action action;
	enum bt_reason why;
};

struct bt_decision bt_decide(const struct bt_case *c);

/* "refuse", "warn", "force" */
const char *bt_policy_name(enum bt_policy policy);

/* Are the sizes that are wanted (not 0) those of @now? */
bool bt_sizes_fit(const struct bt_sizes *want, const struct bt_sizes *now);
/* What a device with these sizes, which takes @max, is to get: 0 in what is to be left as it is. */
struct bt_sizes bt_sizes_wanted(__u32 size, bool ipv6, bool ipv4, __u32 max,
				const struct bt_sizes *now);

#endif
