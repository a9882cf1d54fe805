/* SPDX-License-Identifier: GPL-2.0 */
/* Writes the twin: entry, original, jumbo path, subprograms and their copies. */
#ifndef ENGINE_REWRITE_H
#define ENGINE_REWRITE_H

#include "engine/buf.h"
#include "engine/plan.h"

struct rewrite {
	const struct prog *p;
	const struct flow *f;
	const struct plan *pl;
	const struct bigtcp_twin_opts *opts;
	struct buf b;
	__u32 *twin_at; /* by original instruction: where its own copy stands in the twin */
	__u32 out; /* label of the nearest way out of main, LABEL_NONE before the first */
	__u32 out_at; /* where that stands */
};

/* Labels 0 .. cnt - 1 are the original's instructions, cnt .. 2 * cnt - 1 the twin's. */
static inline __u32 label_plain(__u32 insn)
{
	return insn;
}

static inline __u32 label_twin(const struct rewrite *w, __u32 insn)
{
	return w->p->cnt + insn;
}

int rewrite_all(struct rewrite *w);
void write_plain_sub(struct rewrite *w, const struct subprog *s);

static inline __u32 min_len(const struct bigtcp_twin_opts *opts)
{
	return opts->min_len ? opts->min_len : BIGTCP_TWIN_MIN_LEN;
}

/* Parts (entry.c, entry_xdp.c, sites.c). */
void write_entry(struct rewrite *w);
void write_out(struct rewrite *w);
void write_entry_xdp(struct rewrite *w);
void write_out_xdp(struct rewrite *w);
void write_lost_xdp(struct rewrite *w);
void write_home_load(struct rewrite *w, struct home h, __u8 reg);
void write_home_save(struct rewrite *w, struct home h, __u8 reg);
void write_act(struct rewrite *w, __u32 at);
void write_lost(struct rewrite *w);
void write_count(struct rewrite *w, __s32 field); /* offset in bigtcp_twin_state; R1, R2 */

#endif
