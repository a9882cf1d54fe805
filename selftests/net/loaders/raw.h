/* SPDX-License-Identifier: GPL-2.0 */
/* Programs built by hand and loaded by the bare system call, with maps nobody else knows of. */
#ifndef RAW_H
#define RAW_H

#include <linux/bpf.h>

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })

/* bpf(2) itself; -errno. */
int raw_bpf(int cmd, union bpf_attr *attr, unsigned int size);
int raw_array(void); /* a map of one __u64 */
__u64 raw_value(int map);

/*
 * Loads a tc program that adds 1 to the value of map @map. @by_index: the map is named by its
 * place in fd_array, as light skeletons do. Returns the program's fd or -errno.
 */
int raw_counter(int map, int by_index);
int raw_load(enum bpf_prog_type type, const struct bpf_insn *insns, unsigned int cnt,
	     const char *name);
int raw_run(int prog); /* once, on a packet of zeros: what it returns */

int more_main(int argc, char **argv); /* raw_more.c */

#endif
