// SPDX-License-Identifier: GPL-2.0
/* The table of what helpers and kfuncs do to a packet. */
#include <bpf/btf.h>
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <string.h>

#include "engine/effects.h"

static bool is_around(const struct effect_row *r)
{
	return r->effect == EFF_AROUND || r->effect == EFF_HASH || r->effect == EFF_CAPTURE ||
	       r->effect == EFF_TAIL_CALL;
}

static void check_row(const struct effect_row *r)
{
	cr_assert_neq(r->effect, EFF_UNKNOWN, "%s", r->name);
	if (is_around(r))
		cr_assert(r->nargs >= 1 && r->nargs <= 5, "%s: %u arguments", r->name, r->nargs);
	if (r->effect == EFF_OFFSET || r->effect == EFF_OFFSET_NZ || r->effect == EFF_CAPTURE ||
	    r->effect == EFF_SEGS || r->effect == EFF_DYNPTR || r->effect == EFF_CALLBACK)
		cr_assert(r->arg >= 1 && r->arg <= 5, "%s: argument %u", r->name, r->arg);
	cr_assert_eq(!!r->why, r->effect == EFF_REFUSE, "%s", r->name);
	cr_assert_eq(!r->cb_from, !r->cb_to, "%s", r->name);
}

Test(effects, every_helper_has_a_row)
{
	__s32 id;

	for (id = 1; id < __BPF_FUNC_MAX_ID; id++) {
		cr_assert_not_null(effect_of_helper(id)->name);
		cr_assert_neq(effect_of_helper(id)->effect, EFF_UNKNOWN, "helper %d", id);
		check_row(effect_of_helper(id));
	}
}

Test(effects, unknown_ids_are_unknown)
{
	cr_assert_eq(effect_of_helper(0)->effect, EFF_UNKNOWN);
	cr_assert_eq(effect_of_helper(-1)->effect, EFF_UNKNOWN);
	cr_assert_eq(effect_of_helper(effect_helper_count())->effect, EFF_UNKNOWN);
	cr_assert_eq(effect_of_helper(1 << 30)->effect, EFF_UNKNOWN);
	cr_assert_eq(effect_of_kfunc("bpf_no_such_kfunc")->effect, EFF_UNKNOWN);
	cr_assert_eq(effect_of_kfunc("")->effect, EFF_UNKNOWN);
}

Test(effects, names_of_the_uapi_header)
{
	cr_assert_str_eq(effect_of_helper(BPF_FUNC_skb_load_bytes)->name, "skb_load_bytes");
	cr_assert_str_eq(effect_of_helper(BPF_FUNC_tail_call)->name, "tail_call");
	cr_assert_str_eq(effect_of_helper(BPF_FUNC_user_ringbuf_drain)->name, "user_ringbuf_drain");
	cr_assert_eq(effect_of_helper(BPF_FUNC_skb_adjust_room)->effect, EFF_REFUSE);
	cr_assert_eq(effect_of_helper(BPF_FUNC_get_hash_recalc)->effect, EFF_HASH);
}

Test(effects, kfuncs_are_sorted_and_found)
{
	unsigned int n;

	for (n = 0; n < effect_kfunc_count(); n++) {
		const struct effect_row *r = effect_kfunc_row(n);

		check_row(r);
		cr_assert_eq(effect_of_kfunc(r->name), r, "%s", r->name);
		if (n)
			cr_assert_lt(strcmp(effect_kfunc_row(n - 1)->name, r->name), 0, "%s",
				     r->name);
	}
}

/* A kernel with a kfunc nobody has looked at: its programs are refused, and we want to know. */
Test(effects, every_kfunc_of_this_kernel_has_a_row)
{
	struct btf *btf = btf__load_vmlinux_btf();
	unsigned int found = 0;
	__u32 id;

	if (!btf)
		cr_skip_test("the kernel has no BTF");
	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name;

		if (!btf_is_decl_tag(t) ||
		    strcmp(btf__name_by_offset(btf, t->name_off), "bpf_kfunc"))
			continue;
		name = btf__name_by_offset(btf, btf__type_by_id(btf, t->type)->name_off);
		cr_expect_neq(effect_of_kfunc(name)->effect, EFF_UNKNOWN, "kfunc %s has no row",
			      name);
		found++;
	}
	btf__free(btf);
	if (!found)
		cr_skip_test("the kernel's BTF does not mark kfuncs (pahole before 1.26)");
}
