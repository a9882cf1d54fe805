/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaching a loaded program to a device or a cgroup so that it stays when this process ends: a pinned link
 * (tcx, XDP, cgroup) or, for tc before 6.6, a cls_bpf filter with the program pinned beside it.
 * Only what was attached here is ever taken off; clsact is never removed.
 */
#ifndef CORE_ATTACH_H
#define CORE_ATTACH_H

#include <linux/bpf.h>
#include <stdbool.h>

#include "base/bpf.h"
#include "core/pins.h"

struct bpf_object;

enum bt_xdp_mode {
	BT_XDP_ANY, /* native if the driver has it, as the kernel chooses */
	BT_XDP_NATIVE,
	BT_XDP_SKB, /* generic */
};

struct bt_attach_opts {
	enum bt_hook_id hook;
	/* Name of a device, in the network namespace the caller is in; of a cgroup hook: path of a
	 * directory in a cgroup2 file system.
	 */
	const char *target;
	/* tc: the place among the programs of the hook. flags 0: BT_F_BEFORE, that is, first: a program that
	 * ends the chain before ours would make ours a silent nothing. cls_bpf knows first and last alone.
	 * (All programs of a cgroup run, and an XDP hook has one.)
	 */
	struct bt_place place;
	enum bt_xdp_mode mode; /* XDP */
	struct bpf_object
		*obj; /* the program's, for its program arrays; NULL: they are pinned already */
	bool legacy; /* tc: cls_bpf, also where there is tcx */
	/* One of many: the caller calls bt_attach_sweep() himself now and then. */
	bool swept;
	bool dry_run; /* check all that can be checked, make nothing */
};

/* What was attached, or under dry_run would be. */
struct bt_attached {
	struct bt_pin pin;
	char path[sizeof(BT_PIN_LINKS) + 1 + NAME_MAX]; /* of the pin */
	__u32 prog_id;
	__u32 link_id; /* 0: cls_bpf, or dry_run */
	__u8 xdp_mode; /* XDP_ATTACHED_DRV or _SKB (linux/if_link.h); 0: none */
};

/* The type of the programs that a hook takes. */
enum bpf_prog_type bt_hook_prog_type(enum bt_hook_id hook);

/* All that can be checked before a program is loaded: device or cgroup, BPF file system, hook. 0 or -errno
 * with a sentence (XDP: -EBUSY when somebody's program is there, -EEXIST when one of ours is).
 */
int bt_attach_check(const struct bt_attach_opts *opts);

/*
 * Attaches program @prog_fd, of the type of the hook, called @name (letters, digits, '_'). Returns 0 and fills *out, or
 * -errno with a sentence and nothing attached: -EEXIST when a program of that name is attached
 * there by us already. What an XDP program does to BIG TCP on its device is said as a note.
 */
int bt_attach(int prog_fd, const char *name, const struct bt_attach_opts *opts,
	      struct bt_attached *out);

/*
 * Takes off what bt_attach() put at a hook of @target: the program called @name, or (NULL) all but those of bt_pin_own(). fn is called for
 * each before it goes; dry_run: only that. Returns how many, or -errno with a sentence (-ENOENT: there is none).
 */
int bt_detach(const char *target, enum bt_hook_id hook, const char *name, bool dry_run,
	      void (*fn)(const struct bt_attached *what, void *arg), void *arg);

/* Removes the pins of what is gone: devices, cgroups, filters. 0, or -errno with a sentence. */
int bt_attach_sweep(void);

/*
 * Calls fn for each program called @name, or (NULL) each, that bigtcp has attached to @dev, or (NULL) to the devices of
 * this network namespace, until it returns non-zero, which is then returned. @dev of fn is the name of today. -ENODEV, or another -errno,
 * with a sentence; none is no error.
 */
int bt_attached_each(const char *dev, const char *name,
		     int (*fn)(const struct bt_attached *at, const char *dev, void *arg),
		     void *arg);

/* The program called @name at a tc hook of a device of this namespace, found without a look at other pins where there is tcx. */
bool bt_attached_find(int ifindex, enum bt_hook_id hook, const char *name, struct bt_attached *out);

/* Puts @prog_fd in the place of the program that is attached; no packet misses both. 0, or -errno with a sentence. */
int bt_attached_replace(struct bt_attached *at, int prog_fd);

/* tc: does nothing run before it at its hook? */
bool bt_attached_first(const struct bt_attached *at);

/* Fills *out with what a pin stands for. false: the attachment is gone, only the pin is left. */
bool bt_attached_read(const struct bt_pin *pin, const char *path, struct bt_attached *out);

#endif
