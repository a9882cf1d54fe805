/* SPDX-License-Identifier: GPL-2.0 */
/* What the dataflow knows of numbers: constants, ranges, known bits. */
#ifndef ENGINE_SCALAR_H
#define ENGINE_SCALAR_H

#include "engine/flow.h"

/* Any number of @size bytes. */
struct val scalar_any(__u32 size);
/* @mask bits of @value are known; the number has no more than 32 bits if not all are. */
struct val scalar_known(__u64 value, __u64 mask);
bool scalar_is(struct val v);
/* Lowest and highest value, both below 2^40; false: not known. */
bool scalar_range(struct val v, __u64 *lo, __u64 *hi);
/* For two that differ and of which none is V_NONE. Joining on and on ends. */
struct val scalar_join(struct val a, struct val b);
/* @a op @b, of an instruction that is no move. @wide: 64 bits. */
struct val scalar_alu(__u8 op, bool wide, struct val a, struct val b);
/* BPF_END with @code and @bits. */
struct val scalar_swap(__u8 code, __u32 bits, struct val v);
/* The lower 32 bits. */
struct val scalar_low32(struct val v);

#endif
