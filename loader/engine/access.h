/* SPDX-License-Identifier: GPL-2.0 */
/* The dataflow's view of packet accesses, for one form. */
#ifndef ENGINE_ACCESS_H
#define ENGINE_ACCESS_H

#include "engine/flow.h"

/* Where bytes [off, off + size) of the view are: one of ACC_LOW, _HIGH, _PATCH, _BAD. */
__u8 access_where(const struct form *f, struct val pkt, __s64 off, __u32 size, bool write);
/* Notes a load or a store of @size bytes at @b + @off. */
void note_access(struct step *s, __u32 at, struct val b, __s32 off, __u32 size, bool write);
/* Notes a comparison or a difference. */
void note_end(struct step *s, __u32 at, const struct val *d, const struct val *x);
/* What a load from the packet gives. */
struct val access_load(const struct form *f, struct val b, __s32 off, __u32 size);

/* Offset in the view of an LD_ABS or LD_IND whose index register is @index; a V_PKT value. PKT_ANY if it
 * is not known.
 */
struct val ld_abs_offset(const struct form *f, const struct bpf_insn *i, const struct val *index);
/* Notes it, and gives what it loads. */
struct val access_ld_abs(struct step *s, __u32 at, const struct val *index);

/* Does @v differ from @c for all packets that matter, though both are unknown? See enum at12. */
bool access_never(const struct val *v, __u64 c);

#endif
