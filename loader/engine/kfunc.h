/* SPDX-License-Identifier: GPL-2.0 */
/* From a call instruction to its row in the table of effects. */
#ifndef ENGINE_KFUNC_H
#define ENGINE_KFUNC_H

#include <bigtcp/twin.h>

#include "base/cleanup.h"
#include "engine/effects.h"

/* What libbpf writes over an instruction that must not be reached on this kernel (a CO-RE relocation
 * that does not resolve, a weak kfunc or a map that is not there). The verifier sees to it.
 */
bool call_is_poison(const struct bpf_insn *i);

/* Finds the row; -ENOTSUP with a reason for ids and names without one, for what no tc program
 * may call and for what is refused whatever its arguments.
 */
int call_effect(const struct bigtcp_twin_opts *opts, const struct bpf_insn *i, __u32 at,
		const struct effect_row **row, struct bigtcp_twin_reason *why);

#endif
