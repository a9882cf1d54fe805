// SPDX-License-Identifier: GPL-2.0
/* The library's entry: check, follow the context, plan, write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/info.h"
#include "engine/insn.h"
#include "engine/reason.h"
#include "engine/rewrite.h"
#include "base/cleanup.h"

/* A tc program of more instructions is not tried by address first. */
#define ADDRESS_FIRST_INSNS 1000

static int check_input(const struct bigtcp_twin_prog *in, const struct bigtcp_twin_opts *opts,
		       struct bigtcp_twin_reason *why)
{
	if (opts->sz != sizeof(*opts))
		return reason_set(why, BIGTCP_TWIN_BAD_INPUT, 0, 0, "",
				  "the options are of another version of libbigtcp");
	if (!hook_of(in->type))
		return reason_set(why, BIGTCP_TWIN_PROG_TYPE, 0, in->type, "",
				  "a twin is made of tc, XDP and cgroup_skb programs and of socket "
				  "filters, and this program has type %d",
				  in->type);
	return 0;
}

/* A light skeleton patches loads as well; the twin's own must not be touched. */
static int check_relos(const struct bigtcp_twin_prog *in, const struct rewrite *w,
		       struct bigtcp_twin_reason *why)
{
	const struct plan *pl = &w->v[w->nv - 1].pl;
	__u32 n, off;

	for (n = 0; n < in->core_relo_cnt; n++) {
		memcpy(&off, (const char *)in->core_relos + (size_t)n * in->core_relo_rec_size,
		       sizeof(off));
		off /= sizeof(struct bpf_insn);
		if (off >= w->p->cnt || !pl->act[off])
			continue;
		if (w->by_address || pl->act[off] == ACT_DATA || pl->act[off] == ACT_LEN)
			return reason_set(
				why, BIGTCP_TWIN_AMBIGUOUS, off, 0, "",
				"the kernel itself is to relocate instruction %u, a load of "
				"the %s; load the program with a libbpf skeleton "
				"that is not a light one",
				off, w->by_address ? "packet" : "context");
	}
	return 0;
}

/* Follows the context and plans, for moved packets or for each form. */
static int plan_variants(struct rewrite *w, struct prog *p, const struct bigtcp_twin_prog *in,
			 struct bigtcp_twin_reason *why)
{
	struct form forms[FORMS_MAX] = {};
	__u32 n = w->by_address ? forms_of(p->hook, w->opts, forms) : 1, k;
	int err = 0;

	for (k = 0; k < n && !err; k++) {
		struct variant *v = &w->v[k];

		w->nv = k + 1;
		v->form = forms[k];
		v->twin_at = calloc(p->cnt, sizeof(*v->twin_at));
		if (!v->twin_at)
			return -ENOMEM;
		err = flow_run(p, w->opts, w->by_address ? &v->form : NULL, &v->f, why);
		if (err)
			break;
		err = w->by_address ? addr_plan_make(p, &v->f, w->opts, &v->form, &v->pl, why)
				    : plan_make(p, &v->f, w->opts, &v->pl, why);
		if (!err)
			err = check_relos(in, w, why);
	}
	return err;
}

static void rewrite_free(struct rewrite *w)
{
	__u32 k;

	buf_free(&w->b);
	for (k = 0; k < w->nv; k++) {
		free(w->v[k].twin_at);
		plan_free(&w->v[k].pl);
		flow_free(&w->v[k].f);
	}
	free(w);
}

static int write_twin(struct rewrite *w, const struct bigtcp_twin_prog *in, struct bigtcp_twin *out,
		      struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin t = {};
	__u32 n, k;
	int err;

	err = rewrite_all(w);
	if (err == -E2BIG)
		return reason_set(why, BIGTCP_TWIN_TOO_LARGE, 0, 0, "",
				  "a jump would have to go further than 16 bits: the program's %u "
				  "instructions are too many for two paths",
				  in->insn_cnt);
	if (!err && w->b.cnt > PROG_MAX_INSNS)
		return reason_set(why, BIGTCP_TWIN_TOO_LARGE, 0, 0, "",
				  "the twin has %u instructions, more than the kernel loads",
				  w->b.cnt);
	if (!err)
		err = info_make(w, in, &t, why);
	if (err)
		return err;
	t.insns = TAKE_PTR(w->b.insn);
	t.insn_cnt = w->b.cnt;
	t.by_address = w->by_address;
	for (k = 0; k < w->nv; k++) {
		const struct plan *pl = &w->v[k].pl;

		t.moved_sites += pl->sites;
		t.clamped_sites += pl->clamped;
		t.direct |= pl->direct;
		for (n = 1; n < w->p->nsubs; n++)
			t.cloned_subprogs += pl->clone[n];
	}
	*out = t;
	return 0;
}

static int make_one(struct prog *p, const struct bigtcp_twin_prog *in,
		    const struct bigtcp_twin_opts *opts, bool by_address, struct bigtcp_twin *out,
		    struct bigtcp_twin_reason *why)
{
	struct rewrite *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->p = p;
	w->opts = opts;
	w->by_address = by_address;
	err = plan_variants(w, p, in, why);
	if (!err)
		err = buf_init(&w->b, label_count(w));
	if (!err)
		err = write_twin(w, in, out, why);
	rewrite_free(w);
	return err;
}

/*
 * Both ways will do for most tc programs. By address a jumbo packet costs less (some 10 ns against 100), but
 * there is a copy of the program for every kind of link header, and the verifier walks all of them.
 */
static bool address_first(const struct prog *p, const struct bigtcp_twin_opts *opts)
{
	return !p->hook->xdp && p->cnt <= ADDRESS_FIRST_INSNS && !opts->move && !opts->direct &&
	       !opts->clamp;
}

int bigtcp_twin_make(const struct bigtcp_twin_prog *in, const struct bigtcp_twin_opts *opts,
		     struct bigtcp_twin *out, struct bigtcp_twin_reason *why)
{
	struct prog *p = NULL;
	int err;

	err = check_input(in, opts, why);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	err = prog_init(p, in, why);
	if (!err) {
		bool only = opts->by_address || opts->length || !p->hook->moves;

		if (only || address_first(p, opts))
			err = make_one(p, in, opts, true, out, why);
		if (!only && (err == -ENOTSUP || !address_first(p, opts)))
			err = make_one(p, in, opts, false, out, why);
		prog_free(p);
	}
	free(p);
	return err;
}

void bigtcp_twin_free(struct bigtcp_twin *twin)
{
	if (!twin)
		return;
	free(twin->insns);
	free(twin->func_info);
	free(twin->line_info);
	free(twin->core_relos);
	memset(twin, 0, sizeof(*twin));
}
