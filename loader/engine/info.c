// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/info.h"
#include "engine/reason.h"

/* The instruction offset is the first word of all three kinds of record. */
static __u32 rec_off(const void *recs, __u32 n, __u32 size)
{
	__u32 off;

	memcpy(&off, (const char *)recs + (size_t)n * size, sizeof(off));
	return off;
}

static void rec_put(void *out, __u32 *k, const void *recs, __u32 n, __u32 size, __u32 off)
{
	char *to = (char *)out + (size_t)*k * size;

	memcpy(to, (const char *)recs + (size_t)n * size, size);
	memcpy(to, &off, sizeof(off));
	(*k)++;
}

static __u32 place_plain(struct rewrite *w, __u32 insn)
{
	/* Main starts at the entry, which has no line of its own. */
	return insn ? w->b.label[label_plain(insn)] : 0;
}

static __u32 place_twin(struct rewrite *w, __u32 insn)
{
	return w->b.label[label_twin(w, insn)];
}

static bool in_clone(struct rewrite *w, __u32 insn)
{
	return w->pl->clone[w->p->sub_of[insn]];
}

static int bad_info(struct bigtcp_twin_reason *why, __u32 at, const char *what)
{
	return reason_set(why, BIGTCP_TWIN_BAD_INPUT, at, 0, "",
			  "%s record for instruction %u does not fit the program", what, at);
}

static int make_func_info(struct rewrite *w, const struct bigtcp_twin_prog *in,
			  struct bigtcp_twin *out, struct bigtcp_twin_reason *why)
{
	__u32 size = in->func_info_rec_size, n, k = 0, v, off;

	if (!in->func_info_cnt)
		return 0;
	if (size < sizeof(struct bpf_func_info))
		return bad_info(why, 0, "func_info");
	out->func_info = calloc((size_t)in->func_info_cnt * (1 + w->nv), size);
	if (!out->func_info)
		return -ENOMEM;
	for (n = 0; n < in->func_info_cnt; n++) {
		off = rec_off(in->func_info, n, size);
		if (prog_sub_at(w->p, off) < 0 || (n && off <= rec_off(in->func_info, n - 1, size)))
			return bad_info(why, off, "func_info");
		rec_put(out->func_info, &k, in->func_info, n, size, place_plain(w, off));
	}
	for (v = 0; v < w->nv; v++) {
		rewrite_use(w, v);
		for (n = 0; n < in->func_info_cnt; n++) {
			off = rec_off(in->func_info, n, size);
			if (off && in_clone(w, off))
				rec_put(out->func_info, &k, in->func_info, n, size,
					place_twin(w, off));
		}
	}
	out->func_info_cnt = k;
	return 0;
}

/* Lines of @in whose instruction lies in [start, end), at the plain or the twin's place. */
static void put_lines(struct rewrite *w, const struct bigtcp_twin_prog *in, struct bigtcp_twin *out,
		      const struct subprog *s, bool twin)
{
	__u32 size = in->line_info_rec_size, n;

	for (n = 0; n < in->line_info_cnt; n++) {
		__u32 off = rec_off(in->line_info, n, size);

		if (off >= s->start && off < s->end)
			rec_put(out->line_info, &out->line_info_cnt, in->line_info, n, size,
				twin ? place_twin(w, off) : place_plain(w, off));
	}
}

/* In the order of the twin's code: main, its variants, subprograms, their copies. */
static int make_line_info(struct rewrite *w, const struct bigtcp_twin_prog *in,
			  struct bigtcp_twin *out, struct bigtcp_twin_reason *why)
{
	__u32 size = in->line_info_rec_size, n, v, off;

	if (!in->line_info_cnt)
		return 0;
	if (size < sizeof(struct bpf_line_info))
		return bad_info(why, 0, "line_info");
	for (n = 0; n < in->line_info_cnt; n++) {
		off = rec_off(in->line_info, n, size);
		if (off >= w->p->cnt || w->p->second[off] ||
		    (n && off <= rec_off(in->line_info, n - 1, size)))
			return bad_info(why, off, "line_info");
	}
	out->line_info = calloc((size_t)in->line_info_cnt * (1 + w->nv), size);
	if (!out->line_info)
		return -ENOMEM;
	put_lines(w, in, out, &w->p->subs[0], false);
	for (v = 0; v < w->nv; v++) {
		rewrite_use(w, v);
		put_lines(w, in, out, &w->p->subs[0], true);
	}
	for (n = 1; n < w->p->nsubs; n++)
		put_lines(w, in, out, &w->p->subs[n], false);
	for (v = 0; v < w->nv; v++) {
		rewrite_use(w, v);
		for (n = 1; n < w->p->nsubs; n++)
			if (w->pl->clone[n])
				put_lines(w, in, out, &w->p->subs[n], true);
	}
	return 0;
}

/* These count bytes (struct bpf_core_relo), and must stay at the instruction itself. */
static int make_core_relos(struct rewrite *w, const struct bigtcp_twin_prog *in,
			   struct bigtcp_twin *out, struct bigtcp_twin_reason *why)
{
	const __u32 isz = sizeof(struct bpf_insn);
	__u32 size = in->core_relo_rec_size, n, k = 0, v, off;

	if (!in->core_relo_cnt)
		return 0;
	if (size < 4 * sizeof(__u32))
		return bad_info(why, 0, "CO-RE relocation");
	out->core_relos = calloc((size_t)in->core_relo_cnt * (1 + w->nv), size);
	if (!out->core_relos)
		return -ENOMEM;
	for (n = 0; n < in->core_relo_cnt; n++) {
		off = rec_off(in->core_relos, n, size) / isz;
		if (off >= w->p->cnt || w->p->second[off])
			return bad_info(why, off, "CO-RE relocation");
		rec_put(out->core_relos, &k, in->core_relos, n, size,
			w->b.label[label_plain(off)] * isz);
		for (v = 0; v < w->nv; v++) {
			rewrite_use(w, v);
			if (in_clone(w, off))
				rec_put(out->core_relos, &k, in->core_relos, n, size,
					w->twin_at[off] * isz);
		}
	}
	out->core_relo_cnt = k;
	return 0;
}

int info_make(struct rewrite *w, const struct bigtcp_twin_prog *in, struct bigtcp_twin *out,
	      struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin t = {};
	int err;

	err = make_func_info(w, in, &t, why);
	if (!err)
		err = make_line_info(w, in, &t, why);
	if (!err)
		err = make_core_relos(w, in, &t, why);
	if (err) {
		bigtcp_twin_free(&t);
		return err;
	}
	out->func_info = t.func_info;
	out->func_info_cnt = t.func_info_cnt;
	out->line_info = t.line_info;
	out->line_info_cnt = t.line_info_cnt;
	out->core_relos = t.core_relos;
	out->core_relo_cnt = t.core_relo_cnt;
	return 0;
}
