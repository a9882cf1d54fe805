/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What BTF answers about a program being loaded: names of kfuncs, ids of kfuncs, source lines.
 */
#ifndef CORE_KBTF_H
#define CORE_KBTF_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct btf;

/* BTF of the running kernel, read once and kept until bt_kbtf_forget(); NULL if it has none. */
const struct btf *bt_kbtf(void);
/* Frees its megabytes, for a process that runs on: nobody may be using it. The next bt_kbtf() reads it again. */
void bt_kbtf_forget(void);

/* BTF behind @fd, for which CAP_SYS_ADMIN is not needed (it is for a look-up by id). @base: the
 * BTF it builds on, or NULL. The caller frees it with btf__free(). NULL: no BTF there, errno tells.
 */
struct btf *bt_btf_from_fd(int fd, const struct btf *base);

/* Name of the kfunc that a call instruction with (@imm, @off) calls: off 0 is the kernel's own
 * BTF, others are an index into @fd_array, which holds fds of module BTF (NULL: none).
 * Returns 0, or -ENOENT when the BTF has no such function, -ENODATA without BTF.
 */
int bt_kfunc_name(__s32 imm, __s16 off, const int *fd_array, char *buf, size_t len);

/* BTF id of function @name of the kernel's own BTF; > 0, or -ENOENT. */
__s32 bt_kfunc_id(const char *name);

/*
 * "file.c:12: the source line" of instruction @insn, from the BTF behind @btf_fd and bpf_line_info
 * records of @rec_size bytes each. Returns 0, or -ENOENT with "" in @buf.
 */
int bt_insn_source(int btf_fd, const void *line_info, __u32 cnt, __u32 rec_size, __u32 insn,
		   char *buf, size_t len);

#endif
