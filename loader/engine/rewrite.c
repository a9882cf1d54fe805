// SPDX-License-Identifier: GPL-2.0
#include "engine/insn.h"
#include "engine/rewrite.h"

static __u32 callee_label(struct rewrite *w, __u32 at)
{
	__u32 t = insn_target(w->p, at);

	return w->pl->clone[w->p->sub_of[t]] ? label_twin(w, t) : label_plain(t);
}

void write_plain_sub(struct rewrite *w, const struct subprog *s)
{
	__u32 n;

	for (n = s->start; n < s->end; n++) {
		const struct bpf_insn *i = &w->p->insns[n];

		buf_bind(&w->b, label_plain(n));
		if (!w->p->second[n] && (insn_is_subcall(i) || insn_is_func_ref(i)))
			buf_rel(&w->b, *i, label_plain(insn_target(w->p, n)));
		else
			buf_put(&w->b, *i);
	}
}

void write_self(struct rewrite *w, __u32 at)
{
	w->twin_at[at] = w->b.cnt;
	buf_put(&w->b, w->p->insns[at]);
}

static void write_twin_sub(struct rewrite *w, const struct subprog *s)
{
	__u32 n;

	for (n = s->start; n < s->end; n++) {
		const struct bpf_insn *i = &w->p->insns[n];

		buf_bind(&w->b, label_twin(w, n));
		if (w->p->second[n]) {
			buf_put(&w->b, *i);
		} else if (w->pl->act[n]) {
			write_act(w, n);
		} else {
			w->twin_at[n] = w->b.cnt;
			if (insn_is_subcall(i) || insn_is_func_ref(i))
				buf_rel(&w->b, *i, callee_label(w, n));
			else if (insn_is_gotol(i))
				buf_rel(&w->b, *i, label_twin(w, insn_target(w->p, n)));
			else if (insn_is_jump(i))
				buf_jump(&w->b, *i, label_twin(w, insn_target(w->p, n)));
			else
				buf_put(&w->b, *i);
		}
	}
}

void rewrite_use(struct rewrite *w, __u32 variant)
{
	w->cur = variant;
	w->form = w->by_address ? &w->v[variant].form : NULL;
	w->f = &w->v[variant].f;
	w->pl = &w->v[variant].pl;
	w->twin_at = w->v[variant].twin_at;
}

int rewrite_all(struct rewrite *w)
{
	__u32 n, k;

	w->out = LABEL_NONE;
	rewrite_use(w, 0);
	if (w->by_address)
		write_entry_addr(w);
	else
		write_entry(w);
	for (k = 0; k < w->nv; k++) {
		rewrite_use(w, k);
		if (w->by_address)
			write_start_addr(w);
		write_twin_sub(w, &w->p->subs[0]);
	}
	for (n = 1; n < w->p->nsubs; n++)
		write_plain_sub(w, &w->p->subs[n]);
	for (k = 0; k < w->nv; k++) {
		rewrite_use(w, k);
		for (n = 1; n < w->p->nsubs; n++)
			if (w->pl->clone[n])
				write_twin_sub(w, &w->p->subs[n]);
	}
	return buf_link(&w->b);
}
