/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the program types that a twin is made of. */
#ifndef ENGINE_HOOK_H
#define ENGINE_HOOK_H

#include <linux/bpf.h>
#include <stdbool.h>

/* Offsets of 32-bit context fields; FIELD_NONE where the type has no such field or may not read it. */
#define FIELD_NONE (-1)

struct hook {
	enum bpf_prog_type type;
	const char *name; /* for sentences: "a NAME program" */
	bool xdp; /* the context is struct xdp_md, not struct __sk_buff */
	bool moves; /* may write packets, so that the headers can be moved */
	bool l2; /* packets may start with a link-layer header */
	__s16 data, data_end, data_meta, len, protocol;
};

/* NULL: no twin is made of programs of this type. */
const struct hook *hook_of(enum bpf_prog_type type);

#endif
