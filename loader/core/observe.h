/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The observing program (bpf/observe.bpf.c) that stays at a device, first at tc ingress and egress: counts jumbo packets and
 * bytes, and lets everything pass to the next program. All of it is in the kernel: pinned links, whose names say where
 * they are, and the maps of the program, which keep counting when the tool is killed or upgraded.
 * (core/observer.h is the short-lived one of probe.)
 */
#ifndef CORE_OBSERVE_H
#define CORE_OBSERVE_H

#include <net/if.h>
#include <stdbool.h>

#include "../../bpf/observe.h"
#include "core/pins.h"

struct bt_observe {
	int ifindex;
	char dev[IFNAMSIZ];
	enum bt_hook_id hook; /* BT_HOOK_INGRESS or BT_HOOK_EGRESS */
	__u32 prog_id;
	bool first; /* nothing runs before it at this hook */
	bool read; /* false: a program of another build, whose counters this one does not understand */
	struct observe_stats stats; /* sum over the CPUs; max_len: the largest */
};

/* At both hooks of @dev. What is there already stays, with its counters; a program of another build is replaced
 * in its link and keeps its maps if their layout is the same. *changed: something was attached or
 * replaced. 0, or -errno with a sentence and nothing attached that was not.
 */
int bt_observe_on(const char *dev, bool *changed);
/* 0 also if there is none. */
int bt_observe_off(const char *dev);
/* Of @dev, or (NULL) of this network namespace. free() *list. */
int bt_observe_list(const char *dev, struct bt_observe **list, unsigned int *n);

#endif
