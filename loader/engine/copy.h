/* SPDX-License-Identifier: GPL-2.0 */
/* Stack slots byte by byte (V_COPY), and what helpers write to the stack, above all the packet's bytes. */
#ifndef ENGINE_COPY_H
#define ENGINE_COPY_H

#include "engine/flow.h"

/* The helper call at @at: what of the stack it may write is unknown, or bytes of the view. */
void copy_call(const struct prog *p, const struct form *form, struct state *st, __u32 at);
/* A load of @size bytes at byte @off of the slot @v. */
struct val copy_load(const struct form *form, const struct val *v, __u32 off, __u32 size);
/* What becomes of slot @v when the number @num of @size bytes is stored at its byte @off, which may lie
 * outside, as may its end.
 */
struct val copy_store(const struct val *v, __s64 off, __u32 size, const struct val *num);
/* The same bytes in both. One is a V_COPY, the other that or a V_CONST. */
struct val copy_join(struct val a, struct val b);

#endif
