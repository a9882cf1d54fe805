/* SPDX-License-Identifier: GPL-2.0 */
/* Which types of programs get twins, and why the others need none. */
#ifndef CORE_TWINTYPE_H
#define CORE_TWINTYPE_H

#include <linux/bpf.h>
#include <stdbool.h>

struct bt_twin_type {
	const char *name; /* for sentences: "a NAME program" */
	/* What a program of this type sees instead of packets with a jumbo header, as half a sentence; NULL: it
	 * sees them, so it gets a twin or (types the engine has none for) a refusal.
	 */
	const char *unaffected;
	/* The same hooks, as those who attach programs see them: programs of one group can be meant by one
	 * another's name (tc: classifiers and actions). 0: bigtcp attaches none of this type.
	 */
	int group;
};

/* Never NULL: for a type that is not known it is one that sees packets. */
const struct bt_twin_type *bt_twin_type(enum bpf_prog_type type);

/* Do programs of @type get twins? */
bool bt_twin_type_has(enum bpf_prog_type type);

/*
 * The type that decides what a program sees: of freplace programs (EXT) that of the program they go into,
 * @attach_prog_fd, where that is one that gets twins; else @type itself.
 */
enum bpf_prog_type bt_twin_type_of(enum bpf_prog_type type, int attach_prog_fd);

/* Is the program behind @prog_fd a twin? By its map; false also where this process may not look (that takes
 * CAP_SYS_ADMIN).
 */
bool bt_is_twin(int prog_fd);

#endif
