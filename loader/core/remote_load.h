/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A BPF_PROG_LOAD call of another process, brought over whole: attributes, what they point to, and
 * the descriptors they and the instructions name.
 */
#ifndef CORE_REMOTE_LOAD_H
#define CORE_REMOTE_LOAD_H

#include <linux/bpf.h>
#include <stddef.h>

#include "core/remote.h"

/*
 * The attributes of BPF_PROG_LOAD up to kernel 6.18; the system's <linux/bpf.h> may be older. Fields past
 * what a kernel knows must be zero, which it checks itself. Layout: include/uapi/linux/bpf.h.
 */
struct bt_prog_load_attr {
	__u32 prog_type;
	__u32 insn_cnt;
	__aligned_u64 insns;
	__aligned_u64 license;
	__u32 log_level;
	__u32 log_size;
	__aligned_u64 log_buf;
	__u32 kern_version;
	__u32 prog_flags;
	char prog_name[BPF_OBJ_NAME_LEN];
	__u32 prog_ifindex;
	__u32 expected_attach_type;
	__u32 prog_btf_fd;
	__u32 func_info_rec_size;
	__aligned_u64 func_info;
	__u32 func_info_cnt;
	__u32 line_info_rec_size;
	__aligned_u64 line_info;
	__u32 line_info_cnt;
	__u32 attach_btf_id;
	__u32 attach_prog_fd; /* or attach_btf_obj_fd */
	__u32 core_relo_cnt;
	__aligned_u64 fd_array;
	__aligned_u64 core_relos;
	__u32 core_relo_rec_size;
	__u32 log_true_size; /* 6.4; the kernel writes it */
	__s32 prog_token_fd; /* 6.9 */
	__u32 fd_array_cnt; /* 6.14 */
	__aligned_u64 signature; /* 6.18 */
	__u32 signature_size;
	__s32 keyring_id;
};

/* One of the caller's descriptors and our duplicate of it (-1: it had none by that number). */
struct bt_remote_fd {
	int theirs, ours;
};

struct bt_remote_load {
	/* The copy: pointers into this process, descriptors of this process. */
	union {
		struct bt_prog_load_attr attr;
		union bpf_attr bpf; /* what bt_twin_prog_load() takes */
	};
	__u32 size; /* bytes of it that are the caller's */
	__u64 addr; /* of the caller's attributes */
	__u32 caller_size; /* as it was passed to bpf() */
	char *log; /* ours, attr.log_size bytes; NULL: none asked for */
	__u64 log_addr; /* of the caller's log buffer */
	__u32 log_size;
	struct bt_remote_fd *fds;
	unsigned int fd_cnt;
	void *bufs[8]; /* what attr points to, but for the log */
	unsigned int buf_cnt;
};

/*
 * Copies the call bpf(BPF_PROG_LOAD, @addr, @size) of @r. Returns 0 or the -errno that the kernel
 * gives for such a call (-EFAULT, -E2BIG, -EINVAL), with nothing held. Ends with bt_remote_load_free().
 */
int bt_remote_load_copy(const struct bt_remote *r, __u64 addr, __u32 size,
			struct bt_remote_load *l);
void bt_remote_load_free(struct bt_remote_load *l);

/*
 * Gives the caller the verifier's log and, where its attributes have the field, the log's @true_size
 * (0: the kernel gave none). @ret is the result of the load: when the log of a failed load does not fit, the answer
 * is -ENOSPC, so that the caller comes back with more room; a load that worked is not failed for
 * its log. Returns the result to answer with; -EFAULT when the caller's buffer is not there.
 */
int bt_remote_load_log(const struct bt_remote *r, const struct bt_remote_load *l, __u32 true_size,
		       int ret);

#endif
