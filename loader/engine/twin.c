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

/* A light skeleton patches loads of the context as well; the twin's own must not be touched. */
static int check_relos(const struct bigtcp_twin_prog *in, const struct prog *p,
		       const struct plan *pl, struct bigtcp_twin_reason *why)
{
	__u32 n, off;

	for (n = 0; n < in->core_relo_cnt; n++) {
		memcpy(&off, (const char *)in->core_relos + (size_t)n * in->core_relo_rec_size,
		       sizeof(off));
		off /= sizeof(struct bpf_insn);
		if (off < p->cnt && (pl->act[off] == ACT_DATA || pl->act[off] == ACT_LEN))
			return reason_set(
				why, BIGTCP_TWIN_AMBIGUOUS, off, 0, "",
				"the kernel itself is to relocate instruction %u, a load of "
				"the context; load the program with a libbpf skeleton "
				"that is not a light one",
				off);
	}
	return 0;
}

static int write_twin(struct rewrite *w, const struct bigtcp_twin_prog *in, struct bigtcp_twin *out,
		      struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin t = {};
	__u32 n;
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
	t.moved_sites = w->pl->sites;
	t.clamped_sites = w->pl->clamped;
	t.direct = w->pl->direct;
	for (n = 1; n < w->p->nsubs; n++)
		t.cloned_subprogs += w->pl->clone[n];
	*out = t;
	return 0;
}

int bigtcp_twin_make(const struct bigtcp_twin_prog *in, const struct bigtcp_twin_opts *opts,
		     struct bigtcp_twin *out, struct bigtcp_twin_reason *why)
{
	struct prog *p = NULL;
	struct flow f = {};
	struct plan pl = {};
	struct rewrite w = {};
	int err;

	err = check_input(in, opts, why);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	err = prog_init(p, in, why);
	if (!err)
		err = flow_run(p, opts, NULL, &f, why);
	if (!err)
		err = plan_make(p, &f, opts, &pl, why);
	if (!err)
		err = check_relos(in, p, &pl, why);
	if (!err) {
		w = (struct rewrite){ .p = p, .f = &f, .pl = &pl, .opts = opts };
		w.twin_at = calloc(p->cnt, sizeof(*w.twin_at));
		err = w.twin_at ? buf_init(&w.b, 2 * p->cnt) : -ENOMEM;
	}
	if (!err)
		err = write_twin(&w, in, out, why);
	buf_free(&w.b);
	free(w.twin_at);
	plan_free(&pl);
	flow_free(&f);
	prog_free(p);
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
