/* SPDX-License-Identifier: GPL-2.0 */
/* What of an object file libbpf does not tell: whether it is whole, its licence, tail call targets. */
#ifndef CORE_OBJELF_H
#define CORE_OBJELF_H

#include <stdbool.h>
#include <stddef.h>

struct bt_objelf {
	char license[128]; /* "" if the object has none */
	bool old_maps; /* has a "maps" section: struct bpf_elf_map or bpf_map_def */
	char **targets; /* programs that initialised program arrays name */
	size_t target_cnt;
};

/* Reads FILE. Returns 0, or -errno with a sentence when it is no whole BPF object for this machine. */
int bt_objelf_read(const char *path, struct bt_objelf *out);
bool bt_objelf_is_target(const struct bt_objelf *e, const char *prog);
void bt_objelf_free(struct bt_objelf *e);

#endif
