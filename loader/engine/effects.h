/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a helper or kfunc does to, or reads from, a packet: one table over everything that tc, XDP and
 * cgroup_skb programs and socket filters can call on 6.1 to 6.18. An id or a name that has no row is
 * refused.
 */
#ifndef ENGINE_EFFECTS_H
#define ENGINE_EFFECTS_H

#include <linux/types.h>
#include <stdbool.h>

enum effect {
	EFF_UNKNOWN = 0, /* no row */
	EFF_NONE, /* sees no packet byte by offset and changes no geometry */
	EFF_OFFSET, /* argument `arg` is an offset or a length from skb->data: + d */
	EFF_OFFSET_NZ, /* the same, but 0 has a meaning of its own */
	EFF_AROUND, /* must see the packet as the kernel built it: moved back for the call */
	EFF_HASH, /* as EFF_AROUND; the flow hash of the packet without its jumbo header */
	EFF_CAPTURE, /* as EFF_AROUND if the upper half of argument `arg` asks for packet bytes */
	EFF_TAIL_CALL, /* as EFF_AROUND; does not return when it succeeds */
	EFF_SEGS, /* refused if argument `arg` may have the BPF_MTU_CHK_SEGS bit */
	EFF_NO_CTX, /* reads kernel memory: refused if given the context */
	EFF_DYNPTR, /* makes a dynptr of the packet in argument `arg`: adjusted by d */
	EFF_CALLBACK, /* calls the function in argument `arg` */
	EFF_REFUSE, /* cannot be right on a moved packet; `why` says so */
	EFF_LENGTH, /* gives the length of the packet: - d */
	EFF_HEAD, /* XDP: moves the start of the packet */
	EFF_TAIL, /* XDP: moves the end of the packet */
	EFF_OTHER, /* no program of which a twin is made can call it */
};

struct effect_row {
	const char *name;
	__u8 effect; /* enum effect */
	__u8 arg; /* register of the argument the effect speaks of */
	__u8 nargs; /* EFF_AROUND, _HASH, _CAPTURE, _TAIL_CALL: argument registers in use */
	/* EFF_CALLBACK: register that is handed on, and the callback's register it arrives in; 0:
	 * none (the callback runs later, without a packet).
	 */
	__u8 cb_from;
	__u8 cb_to;
	bool cuts; /* may make the packet shorter, and then no GSO packet */
	bool resizes; /* EFF_REFUSE: may fail instead, see bigtcp_twin_opts.resize_fails */
	const char *why; /* EFF_REFUSE: what would go wrong, and what to do */
};

/* The row of a helper id; a row with EFF_UNKNOWN if there is none. Never NULL. */
const struct effect_row *effect_of_helper(__s32 id);
/* The same for a kfunc by name. */
const struct effect_row *effect_of_kfunc(const char *name);

/* For the table's own tests. */
unsigned int effect_helper_count(void);
unsigned int effect_kfunc_count(void);
const struct effect_row *effect_kfunc_row(unsigned int i);

#endif
