/* SPDX-License-Identifier: GPL-2.0 */
/* What an XDP program can return, told from its instructions. */
#ifndef CORE_SANDWICH_VERDICTS_H
#define CORE_SANDWICH_VERDICTS_H

#include <linux/bpf.h>
#include <stdbool.h>

/* Bits 1 << XDP_PASS ...; bit 5 for all values that are no verdict (the kernel drops such packets). */
#define BT_VERDICT_OTHER 5
#define BT_VERDICTS_ANY	 0x3f

/*
 * The verdicts that @insns, the program's @n instructions as the kernel dumps them, can return: a
 * set that has all of them, and BT_VERDICTS_ANY where that is not known. Constants are followed through
 * registers, stack, branches and subprograms; what comes from a map, a helper or a packet can be
 * anything, and so can what a tail call returns. @jited: the program is compiled, as info.jited_prog_len
 * says; calls of subprograms are known only then.
 */
unsigned int bt_verdicts_of(const struct bpf_insn *insns, unsigned int n, bool jited);

/* The same of a loaded program. 0, or -errno (-EPERM) with *out untouched. */
int bt_verdicts(int prog_fd, unsigned int *out);

/* "PASS DROP", "any". */
void bt_verdicts_text(unsigned int verdicts, char *buf, unsigned int len);

#endif
