// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "engine/insn.h"
#include "engine/kfunc.h"
#include "engine/reason.h"

bool call_is_poison(const struct bpf_insn *i)
{
	if (i->src_reg == INSN_PSEUDO_KFUNC_CALL)
		return !i->imm && !i->off;
	return !i->src_reg &&
	       (i->imm == 0xbad2310 || (i->imm >= 2001000000 && i->imm < 2003000000));
}

static int helper_effect(const struct bigtcp_twin_opts *opts, const struct bpf_insn *i, __u32 at,
			 const struct effect_row **out, struct bigtcp_twin_reason *why)
{
	const struct effect_row *row = effect_of_helper(i->imm);

	if (row->effect == EFF_UNKNOWN)
		return reason_set(
			why, BIGTCP_TWIN_HELPER_UNKNOWN, at, i->imm, "",
			"instruction %u calls helper %d, which this version of bigtcp does "
			"not know; use a newer bigtcp",
			at, i->imm);
	if (row->effect == EFF_OTHER)
		return reason_set(why, BIGTCP_TWIN_HELPER, at, i->imm, row->name,
				  "instruction %u calls bpf_%s, which no network program may call",
				  at, row->name);
	if (row->effect == EFF_REFUSE && !(row->resizes && opts->resize_fails))
		return reason_set(why, BIGTCP_TWIN_HELPER, at, i->imm, row->name,
				  "instruction %u calls bpf_%s: %s", at, row->name, row->why);
	*out = row;
	return 0;
}

static int kfunc_effect(const struct bigtcp_twin_opts *opts, const struct bpf_insn *i, __u32 at,
			const struct effect_row **out, struct bigtcp_twin_reason *why)
{
	const struct effect_row *row;
	char name[64] = "";

	if (!opts->kfunc_name || opts->kfunc_name(opts->arg, i->imm, i->off, name, sizeof(name)))
		return reason_set(
			why, BIGTCP_TWIN_KFUNC_UNKNOWN, at, i->imm, "",
			"instruction %u calls the kfunc with BTF id %d, whose name cannot be "
			"found in the kernel's BTF",
			at, i->imm);
	row = effect_of_kfunc(name);
	if (row->effect == EFF_UNKNOWN)
		return reason_set(why, BIGTCP_TWIN_KFUNC_UNKNOWN, at, i->imm, name,
				  "instruction %u calls the kfunc %s, which this version of bigtcp "
				  "does not know; use a newer bigtcp",
				  at, name);
	if (row->effect == EFF_OTHER)
		return reason_set(why, BIGTCP_TWIN_KFUNC, at, i->imm, row->name,
				  "instruction %u calls %s, which no network program may call", at,
				  row->name);
	if (row->effect == EFF_REFUSE)
		return reason_set(why, BIGTCP_TWIN_KFUNC, at, i->imm, row->name,
				  "instruction %u calls %s: %s", at, row->name, row->why);
	*out = row;
	return 0;
}

int call_effect(const struct bigtcp_twin_opts *opts, const struct bpf_insn *i, __u32 at,
		const struct effect_row **row, struct bigtcp_twin_reason *why)
{
	if (i->src_reg == INSN_PSEUDO_KFUNC_CALL)
		return kfunc_effect(opts, i, at, row, why);
	return helper_effect(opts, i, at, row, why);
}
