/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Forward dataflow over registers and stack slots: which instructions reach the context, and
 * what the arguments of each call are. It walks call chains as the verifier does, so that a context
 * handed on in a caller's stack frame is found.
 *
 * It leans on the verifier: a program that the kernel accepts never dereferences a scalar, so a
 * register that is "the context or a scalar" is the context wherever it is dereferenced.
 */
#ifndef ENGINE_FLOW_H
#define ENGINE_FLOW_H

#include "engine/form.h"
#include "engine/prog.h"

enum val_type {
	V_NONE = 0, /* never written, or clobbered by a call */
	V_SCALAR,
	V_CONST, /* .c */
	V_RANGE, /* .off to .c, see scalar.c; .frame: enum at12 */
	V_BITS, /* .off of the bits of .c are known */
	/* A stack slot, byte by byte: bit n of .frame, byte n is that of .c, the lowest first; bit n of .var, it is the
	 * view's at .off + n.
	 */
	V_COPY,
	V_CTX, /* the context; .may: a scalar on some path */
	V_CTX_MOVED, /* the context plus something: no kernel lets it be dereferenced */
	V_STK, /* frame .frame, byte .off (negative) */
	V_STK_VAR, /* some stack slot, offset computed at run time: holds scalars only */
	V_STK_ANY, /* one of several known slots */
	V_PKT, /* ctx->data + .off; .var: enum pkt_var */
	V_META, /* from ctx->data_meta */
	V_END, /* ctx->data_end */
	V_MAP, /* map pointer, LD_IMM64 at instruction .c */
	V_MAP_VALUE, /* byte .off of the value of map fd .c, by LD_IMM64 */
	V_FUNC, /* address of subprogram .c */
	V_OTHER, /* some other pointer, or a scalar */
	V_MIX, /* the context or another pointer: cannot tell */
};

/*
 * A packet without a link header, and the two bytes at 12 of it, which only a program that takes it for one with an
 * Ethernet header compares with a type of IPv4. What it then does with it is wrong with the original
 * too; it is taken for not equal, since the place of a header behind an IPv4 header is not known.
 */
enum at12 {
	AT12_NOT = 0,
	AT12_MEMORY, /* both, in memory order */
	AT12_HOST, /* both, as a number */
	AT12_FIRST, /* the first, the second, the second times 256: compilers put them together */
	AT12_SECOND,
	AT12_SECOND_UP,
};

/* How far the offset of a packet pointer is known. */
enum pkt_var {
	PKT_EXACT = 0, /* .off */
	PKT_FROM, /* .off or more */
	/* The same, but since the sum of what was added may not be negative: the verifier refuses an access
	 * to such a packet pointer. What is added further on does not raise .off.
	 */
	PKT_FROM_SUM,
	PKT_ANY,
};

struct val {
	__u8 t; /* enum val_type */
	__u8 frame;
	__u8 may;
	__u8 var; /* V_PKT: enum pkt_var; others: may be a packet pointer or the packet's end on some path */
	__s32 off;
	__u64 c;
};

#define STACK_SLOTS 64 /* MAX_BPF_STACK / 8 */

/* What an instruction was seen to dereference; OR over all paths. */
#define BASE_CTX   1
#define BASE_OTHER 2
#define BASE_NONE  4
/* The same for an addition: a packet pointer plus something computed, the two the other way round,
 * anything else.
 */
#define BASE_PKT_PLUS  8
#define BASE_PLUS_PKT  16
#define BASE_OTHER_SUM 32
/* The same for a difference of the metadata and a packet pointer. */
#define BASE_META_DIFF 64
/* The same for a jump: the metadata against a packet pointer, or the other way round; something that may be
 * either; anything else.
 */
#define BASE_META_PKT	1
#define BASE_PKT_META	2
#define BASE_META_MIX	4
#define BASE_OTHER_JUMP 8

/* What an instruction was seen to do to the packet, for one form (form.h); OR over all paths. */
#define ACC_OTHER   1 /* to something else */
#define ACC_LOW	    2 /* at an offset that is the same in the packet */
#define ACC_HIGH    4 /* at one that is form->shift further on */
#define ACC_PATCH   8 /* at .off, a load of bytes that the view has otherwise */
#define ACC_BAD	    16 /* cannot tell, or a part of it is further on, or a store to known bytes */
#define ACC_PKT_END 32 /* a packet pointer against the packet's end, or minus that */
#define ACC_END_PKT 64 /* the other way round */

struct acc {
	__u8 bits;
	__s32 off;
};

/* A call or an exit: values joined over all paths and call chains. */
struct site {
	__u32 insn;
	bool seen;
	struct val reg[BPF_REG_10];
	__u64 ctx_slots; /* bit n: own stack slot at -8 * (n + 1) surely holds the context */
	int frame; /* of its function, if the same in all chains; else -1 */
};

struct flow {
	__u8 *base; /* by instruction: BASE_* */
	__s32 *site_of; /* by instruction: index into sites, or -1 */
	struct site *sites;
	__u32 nsites;
	bool pkt_write; /* writes packets directly */
	struct acc *acc; /* by instruction; NULL without a form */
};

/* Runs to the fixed point and fills p->subs[].depth too. -ENOTSUP, -EINVAL with a reason, -ENOMEM. */
/* @form: what packets are assumed to be; what they then can't reach is not followed. NULL: any. */
int flow_run(struct prog *p, const struct bigtcp_twin_opts *opts, const struct form *form,
	     struct flow *f, struct bigtcp_twin_reason *why);
void flow_free(struct flow *f);
const struct site *flow_site(const struct flow *f, __u32 insn);

/* Internal to the dataflow: flow.c drives, step.c knows each instruction. */
struct state {
	struct val reg[BPF_REG_10 + 1];
	__u32 depth; /* frames above this one */
	struct val slot[][STACK_SLOTS]; /* depth + 1 frames */
};

struct val val_join(struct val a, struct val b);
bool val_eq(const struct val *a, const struct val *b);

struct step {
	struct prog *p;
	const struct bigtcp_twin_opts *opts;
	__u16 frame_sub[8]; /* subprogram of each frame of the chain */
	__u8 *base; /* NULL: do not record */
	struct acc *acc; /* the same */
	const struct form *form; /* or NULL */
	bool *pkt_write;
};

/* Applies one instruction that is no jump, call or exit. */
void step_insn(struct step *s, struct state *st, __u32 at);
/* Which ways a jump can go: JUMP_FALL, JUMP_TAKE, or both if it is not decided by constants. */
#define JUMP_FALL 1
#define JUMP_TAKE 2
unsigned int step_jump(struct step *s, const struct state *st, __u32 at);
/* Pointer + amount, or - amount. */
struct val ptr_add(struct val p, const struct val *amount, bool sub);
/* Clobbers what a call clobbers. */
void step_clobber(struct state *st);
/* What a helper may write through the arguments it gets: numbers on the stack. */
void step_helper_writes(struct state *st);
/* The same for @size bytes at @b, a known place on the stack. */
void step_clear(struct state *st, struct val b, __u32 size);

#endif
