/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to know before a device gets sizes above 64 KiB: about the kernel, the device, the devices below,
 * above and opposite it, and the programs that see its packets. Each row says what was found, why it
 * matters and what to do.
 */
#ifndef CORE_PREFLIGHT_H
#define CORE_PREFLIGHT_H

#include <net/if.h>
#include <stdbool.h>

#include "base/rtnl.h"
#include "core/probe.h"

enum bt_level {
	BT_LEVEL_OK, /* looked at, nothing to do */
	BT_LEVEL_NOTE, /* to know */
	BT_LEVEL_WARNING, /* works, but not as well as it could */
	BT_LEVEL_REFUSE, /* enable does not go on without --force */
};
const char *bt_level_name(enum bt_level level); /* "ok", "note", "warning", "refuse" */

/* The phrases fit together as "FOUND: WHY; ADVICE". */
struct bt_check {
	int ifindex; /* the device it is about; 0: the kernel or host */
	char dev[IFNAMSIZ];
	const char *
		code; /* "hbh", "tso-max", "unsafe-program" ...: stable, from the table of checks */
	enum bt_level level;
	char found[256];
	char why[256], advice[256];
};

/* The checks there are, for help, man page and tests. Ends with code NULL. */
struct bt_check_kind {
	const char *code;
	const char *looks_at; /* one phrase */
};
extern const struct bt_check_kind bt_check_kinds[];

struct bt_judge; /* core/judge.h */

struct bt_preflight {
	/* sizes that are wanted; 0: not of that IP version */
	__u32 size, size_ipv4;
	const struct bt_live *live; /* from bt_probe_live(); NULL: it is called */
	struct bt_judge *judge; /* of several devices or calls; NULL: one of its own */
	const char *root; /* below which systemd's .link files are looked for; NULL: / */
};

/* Of one device of this namespace. free() *checks. 0 whatever the rows say, or -errno with a sentence. */
int bt_preflight(const char *dev, const struct bt_preflight *want, struct bt_check **checks,
		 unsigned int *n);

/* The largest size the device takes (tso_max and the kernel's limit), or 0: it takes none above 64 KiB. */
__u32 bt_size_max(const struct bt_link *link);

#endif
