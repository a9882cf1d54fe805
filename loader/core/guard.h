/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard at devices: bpf/guard_tc.bpf.c at tc ingress, bpf/guard_xdp.bpf.c at XDP. Everything about one
 * is in the kernel: its pin, which says where it is, and the maps of its program (bpf/guard.h).
 */
#ifndef CORE_GUARD_H
#define CORE_GUARD_H

#include <net/if.h>
#include <signal.h>
#include <stdbool.h>

#include "../../bpf/guard.h"
#include "core/attach.h"
#include "core/guard_id.h"

struct bt_guard_class {
	const char *name; /* for the command line and JSON */
	int kind; /* GUARD_OWN, GUARD_KNOWN, GUARD_WRONG */
	const char *rule; /* "RFC 2675 3" */
	const char *help;
};
extern const struct bt_guard_class bt_guard_classes[GUARD_NR];

/* The class's number by its name, or -ENOENT. */
int bt_guard_class(const char *name, size_t len);

struct bt_guard_opts {
	const char *dev;
	enum bt_hook_id hook; /* BT_HOOK_INGRESS or BT_HOOK_XDP */
	enum bt_xdp_mode mode; /* BT_XDP_ANY: generic on a veth, where native XDP ends BIG TCP */
	bool legacy; /* tc: cls_bpf */
	struct guard_conf conf;
	bool dry_run;
};

/* A guard that is attached. */
struct bt_guard {
	char dev[IFNAMSIZ];
	struct bt_attached at;
	struct guard_conf conf;
	int conf_fd, counts_fd, events_fd; /* maps; -1 under dry_run */
};

/*
 * Attaches a guard, or gives the one that is there already another configuration (*changed). Fills *g, for
 * bt_guard_close(). 0, or -errno with a sentence.
 */
int bt_guard_set(const struct bt_guard_opts *opts, struct bt_guard *g, bool *changed);

/* The guards of @dev, or (NULL) of this network namespace. 0, or -errno with a sentence; none is no error. */
int bt_guard_list(const char *dev, struct bt_guard **list, unsigned int *n);
/* Calls fn for each, until it returns non-zero, which is then returned. Its maps are open during the call only: a list of
 * many takes more file descriptors than a process has.
 */
int bt_guard_each(const char *dev, int (*fn)(const struct bt_guard *g, void *arg), void *arg);
void bt_guard_list_free(struct bt_guard *list, unsigned int n);
void bt_guard_close(struct bt_guard *g);

/* Sum over the CPUs. 0 or -errno. */
int bt_guard_counts(const struct bt_guard *g, struct guard_counts *sum);

/*
 * Calls fn for each event of the guards from now on, and tick some times a second, until *stop is set or the
 * guards are gone. Each event is given to one reader only. 0, or -errno with a sentence.
 */
int bt_guard_watch(struct bt_guard *list, unsigned int n, volatile sig_atomic_t *stop,
		   void (*fn)(const struct bt_guard *g, const struct guard_event *e),
		   void (*tick)(struct bt_guard *list, unsigned int n));

#endif
