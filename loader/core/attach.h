/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaching a loaded program to a device so that it stays when this process ends: a pinned tcx link
 * or, before 6.6, a cls_bpf filter with the program pinned beside it. Only what was attached
 * here is ever taken off; clsact is never removed.
 */
#ifndef CORE_ATTACH_H
#define CORE_ATTACH_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/bpf.h"
#include "core/pins.h"

struct bpf_object;

struct bt_attach_opts {
	const char *dev; /* name, in the network namespace the caller is in */
	bool egress;
	/* The place among the programs of the hook. flags 0: BT_F_BEFORE, that is, first: a program that
	 * ends the chain before ours would make ours a silent nothing. cls_bpf knows first and last alone.
	 */
	struct bt_place place;
	struct bpf_object
		*obj; /* the program's, for its program arrays; NULL: they are pinned already */
	bool legacy; /* cls_bpf, also where there is tcx */
	bool dry_run; /* check all that can be checked, make nothing */
};

/* What was attached, or under dry_run would be. */
struct bt_attached {
	struct bt_pin pin;
	char path[sizeof(BT_PIN_LINKS) + 1 + NAME_MAX]; /* of the pin */
	__u32 prog_id;
	__u32 link_id; /* tcx; 0 under dry_run */
};

/* All that can be checked before a program is loaded: device, BPF file system, hook. 0 or -errno
 * with a sentence.
 */
int bt_attach_check(const struct bt_attach_opts *opts);

/*
 * Attaches SCHED_CLS program @prog_fd, called @name. Returns 0 and fills *out, or -errno with a
 * sentence and nothing attached: -EEXIST when a program of that name is attached there by us already.
 */
int bt_attach(int prog_fd, const char *name, const struct bt_attach_opts *opts,
	      struct bt_attached *out);

/*
 * Takes off what bt_attach() put at a hook of @dev: the program called @name, or (NULL) all. fn is called for
 * each before it goes; dry_run: only that. Returns how many, or -errno with a sentence (-ENOENT: there is none).
 */
int bt_detach(const char *dev, bool egress, const char *name, bool dry_run,
	      void (*fn)(const struct bt_attached *what, void *arg), void *arg);

#endif
