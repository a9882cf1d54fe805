/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is to be done to each instruction of the twin, where each function keeps the context, and
 * which functions need a copy. Every refusal is found here, before anything is written.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "engine/effects.h"
#include "engine/flow.h"

enum act {
	ACT_COPY = 0,
	ACT_DATA, /* load of ctx->data: + SHIFT */
	ACT_LEN, /* load of ctx->len or wire_len, maybe a part of it: - SHIFT */
	ACT_LD_ABS, /* LD_ABS, LD_IND */
	ACT_OFFSET, /* call: offset argument + SHIFT */
	ACT_AROUND, /* call: packet moved back for it */
	ACT_DYNPTR, /* call: dynptr adjusted behind it */
	ACT_REJOIN, /* subprogram call that may have made a tail call */
	ACT_EXIT, /* exit of main */
	ACT_UNRESIZED, /* call that fails */
	ACT_META, /* jump that compares the metadata with the packet's start */
	ACT_LENGTH, /* call: result - SHIFT */
	ACT_RESIZE, /* XDP: call that moves the start or the end of the packet */
	/* By address: */
	ACT_HIGH, /* load or store + form->shift */
	ACT_PATCH, /* load of bytes that the view has otherwise */
	ACT_END, /* jump that compares a packet pointer with the packet's end */
	ACT_DIFF, /* their difference */
	ACT_ARGS, /* call: arguments of plan.args + form->shift */
	ACT_BYTES, /* call that copies bytes out of the packet: they are patched */
	ACT_SPLIT, /* the same, in two parts */
	ACT_ABS, /* LD_ABS, LD_IND */
	ACT_KEEP, /* exit of a socket filter's main: bytes to keep */
	ACT_CLAMP, /* packet pointer plus a computed offset: the offset is bounded */
};

enum home_kind { HOME_NONE = 0, HOME_REG, HOME_STACK };

/* Where a function finds the context. */
struct home {
	enum home_kind kind;
	__u8 reg;
	__s16 off; /* from R10 */
};

struct plan {
	__u8 *act; /* by instruction: enum act */
	__u8 *args; /* by address, by instruction: bit n is register n; NULL otherwise */
	bool clone[PROG_MAX_SUBS]; /* the twin has its own copy of the subprogram */
	struct home home[PROG_MAX_SUBS];
	bool direct;
	bool cuts; /* may make the packet shorter: bpf_skb_change_tail(), bpf_xdp_adjust_tail() */
	bool heads; /* may change the link header: bpf_xdp_adjust_head() */
	bool rejoins; /* ACT_REJOIN occurs: main may end with a packet that is not moved */
	__u32 sites; /* instructions with an act, but for ACT_EXIT */
	__u32 clamped; /* ACT_CLAMP among them */
	__s32 dynptr_size, dynptr_adjust; /* kfunc ids, if ACT_DYNPTR occurs */
};

int plan_make(struct prog *p, const struct flow *f, const struct bigtcp_twin_opts *opts,
	      struct plan *pl, struct bigtcp_twin_reason *why);
void plan_free(struct plan *pl);
/* Fills pl->clone from pl->act. */
void plan_clones(struct prog *p, struct plan *pl);

/* Where the context surely is at a call or exit: a register that survives calls, an own stack
 * slot, else the function's home. HOME_NONE: nowhere.
 */
struct home plan_ctx_at(const struct prog *p, const struct plan *pl, const struct flow *f,
			__u32 at);
/* The highest argument register up to @last whose value can be made again after it was used as scratch,
 * or 0.
 */
__u8 plan_remat(const struct site *s, __u8 last);
/* Two scratch registers for moving the packet back at a call with @nargs arguments (the second is for
 * XDP only): false if there are none.
 */
bool plan_scratch(const struct prog *p, const struct site *s, __u8 nargs, __u8 reg[2]);

/* A register that survives the call and has the same value as argument @arg, or 0. */
__u8 plan_same(const struct site *s, __u8 arg);

/* Picks a home for function @sub (room.c). false: there is no room. */
bool room_for_ctx(const struct prog *p, __u32 sub, struct home *out);

/* By address (addr_plan.c, addr_call.c). */
int addr_plan_make(struct prog *p, const struct flow *f, const struct bigtcp_twin_opts *opts,
		   const struct form *form, struct plan *pl, struct bigtcp_twin_reason *why);
/* What a call that copies bytes out of the packet is about: helpers with an offset argument. */
struct bytes {
	struct val at; /* V_PKT: offset in the view */
	__u32 len; /* the most it can be */
	bool exact_len;
	bool write;
};
/* false: not such a call. */
bool addr_bytes(const struct prog *p, const struct flow *f, const struct form *form, __u32 at,
		struct bytes *out);
/* The same for an instruction with the values of registers @reg; @form NULL: the offset is not known. */
bool addr_bytes_of(const struct bpf_insn *i, const struct form *form, const struct val *reg,
		   struct bytes *out);

#endif
