/* SPDX-License-Identifier: GPL-2.0 */
/* Writes the twin: entry, original, jumbo path, subprograms and their copies. */
#ifndef ENGINE_REWRITE_H
#define ENGINE_REWRITE_H

#include "engine/buf.h"
#include "engine/plan.h"

/* One way through the twin beside the plain one: for moved packets, or for packets of one form. */
struct variant {
	struct form form; /* by address only */
	struct flow f;
	struct plan pl;
	__u32 *twin_at; /* by original instruction: where its own copy stands */
};

struct rewrite {
	const struct prog *p;
	const struct bigtcp_twin_opts *opts;
	bool by_address;
	struct variant v[FORMS_MAX];
	__u32 nv;
	struct buf b;
	/* The variant being written: rewrite_use(). */
	__u32 cur;
	const struct form *form;
	const struct flow *f;
	const struct plan *pl;
	__u32 *twin_at;
	__u32 out; /* label of the nearest way out of main, LABEL_NONE before the first */
	__u32 out_at; /* where that stands */
};

/* Labels 0 .. cnt - 1 are the original's instructions, then come those of each variant, then each variant's
 * start.
 */
static inline __u32 label_plain(__u32 insn)
{
	return insn;
}

static inline __u32 label_twin(const struct rewrite *w, __u32 insn)
{
	return w->p->cnt * (1 + w->cur) + insn;
}

static inline __u32 label_start(const struct rewrite *w, __u32 variant)
{
	return w->p->cnt * (1 + w->nv) + variant;
}

static inline __u32 label_count(const struct rewrite *w)
{
	return w->p->cnt * (1 + w->nv) + w->nv;
}

void rewrite_use(struct rewrite *w, __u32 variant);

int rewrite_all(struct rewrite *w);
void write_plain_sub(struct rewrite *w, const struct subprog *s);

static inline __u32 min_len(const struct bigtcp_twin_opts *opts)
{
	if (opts->min_len)
		return opts->min_len;
	/* A length of 65536 does not fit, but is too short for a jumbo header. */
	return opts->length ? BIGTCP_TWIN_MIN_LEN - 1 : BIGTCP_TWIN_MIN_LEN;
}

/* Parts (entry.c, entry_xdp.c, sites.c, addr_entry.c, addr_sites.c). */
void write_entry(struct rewrite *w);
void write_out(struct rewrite *w);
void write_entry_xdp(struct rewrite *w);
void write_out_xdp(struct rewrite *w);
void write_lost_xdp(struct rewrite *w);
void write_if_long_xdp(struct rewrite *w, __u32 jumbo);
void write_pull_headers(struct rewrite *w); /* R6 = ctx; R1 to R5 */
void write_val(struct rewrite *w, __u8 reg, const struct val *v); /* constant, map, own stack */
void write_entry_addr(struct rewrite *w);
void write_start_addr(struct rewrite *w);
void write_act_addr(struct rewrite *w, __u32 at);
void write_home_load(struct rewrite *w, struct home h, __u8 reg);
void write_home_save(struct rewrite *w, struct home h, __u8 reg);
void write_act(struct rewrite *w, __u32 at);
void write_self(struct rewrite *w, __u32 at); /* the instruction as it is */
void write_lost(struct rewrite *w);
void write_count(struct rewrite *w, __s32 field); /* offset in bigtcp_twin_state; R1, R2 */

#endif
