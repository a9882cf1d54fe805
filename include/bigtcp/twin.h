/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libbigtcp: makes the twin of an eBPF program, that is, a program that treats an IPv6 packet
 * with a hop-by-hop jumbo header (RFC 2675; Linux BIG TCP, kernels 5.19 to 6.19) just as the
 * original treats the packet without that header.
 *
 * tc and XDP programs get a packet whose headers are moved over the jumbo header; cgroup_skb programs and
 * socket filters, which may not write packets, have the offsets of their accesses changed.
 *
 * Instructions in, instructions out: the library opens no file and makes no system call. It
 * must be given the program as the kernel gets it (maps as fds, CO-RE applied, all subprograms
 * in one array), which is what BPF_PROG_LOAD is called with.
 */
#ifndef BIGTCP_TWIN_H
#define BIGTCP_TWIN_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The twin's own map, an array of one of these. Map name below. */
struct bigtcp_twin_state {
	__u32 zero; /* always 0: the key for lookups that may not borrow stack */
	__u32 pad;
	__u64 jumbo; /* packets that took the jumbo path */
	__u64 lost; /* packets dropped since the header could not be put back */
	__u64 unresized; /* calls that failed as opts.resize_fails wants it */
};
#define BIGTCP_TWIN_STATE_NAME "bigtcp_twin"

/* One value of the per-CPU array map that the twin uses as a buffer. */
#define BIGTCP_TWIN_BUF_SIZE 80
#define BIGTCP_TWIN_BUF_NAME "bigtcp_buf"

/* skb->len above which a packet can be a jumbo packet (include/net/ipv6.h,
 * ipv6_has_hopopt_jumbo: GRO_LEGACY_MAX_SIZE).
 */
#define BIGTCP_TWIN_MIN_LEN 65536

/* Linear bytes of a packet that a twin made with opts.clamp can reach. */
#define BIGTCP_TWIN_CLAMP 0xfe00

/* What the twin's code has in it and no compiler's output has: the first word it leaves in front of a
 * moved packet. `bigtcp audit` looks for it to tell a twin.
 */
#define BIGTCP_TWIN_MAGIC 0xb16c7403u

enum bigtcp_twin_why {
	BIGTCP_TWIN_OK = 0,
	BIGTCP_TWIN_BAD_INPUT, /* not a program the verifier could accept: bad jump, no exit ... */
	BIGTCP_TWIN_PROG_TYPE, /* no twin for this program type */
	BIGTCP_TWIN_HELPER, /* calls a helper that cannot be right on a moved packet */
	BIGTCP_TWIN_HELPER_UNKNOWN, /* a helper id this library does not know */
	BIGTCP_TWIN_KFUNC, /* the same for a kfunc */
	BIGTCP_TWIN_KFUNC_UNKNOWN,
	BIGTCP_TWIN_KFUNC_MISSING, /* needs a kfunc that this kernel does not have */
	BIGTCP_TWIN_FIELD, /* uses a field of the context that cannot be right */
	BIGTCP_TWIN_AMBIGUOUS, /* cannot tell whether a pointer is the context */
	BIGTCP_TWIN_NO_ROOM, /* no register and no stack slot left to keep the context in */
	BIGTCP_TWIN_TOO_LARGE, /* a jump would exceed 16 bits, or more instructions than loadable */
	BIGTCP_TWIN_INSN, /* an instruction this library does not know */
	BIGTCP_TWIN_OFFSET, /* twin by addressing: the offset of a packet access is not known */
	__BIGTCP_TWIN_WHY_MAX,
};

/* Why there is no twin. Strings are owned by the struct. */
struct bigtcp_twin_reason {
	enum bigtcp_twin_why why;
	__u32 insn; /* index into the input instructions */
	__s32 id; /* helper id, kfunc BTF id or context offset; 0 if none */
	char name[64]; /* of the helper, kfunc or field; "" if none */
	char text[400]; /* one sentence: cause, what it means, what to do */
};

/* Stable name of a reason, e.g. "helper-unknown", for JSON. */
const char *bigtcp_twin_why_name(enum bigtcp_twin_why why);

/* The program. Nothing here is written to; records are as in BPF_PROG_LOAD. */
struct bigtcp_twin_prog {
	/* SCHED_CLS, SCHED_ACT, XDP, CGROUP_SKB or SOCKET_FILTER; of a freplace program (EXT), that of
	 * the program it goes into.
	 */
	enum bpf_prog_type type;
	bool frags; /* XDP: packets may be in several buffers (BPF_F_XDP_HAS_FRAGS), or not known */
	const struct bpf_insn *insns;
	__u32 insn_cnt;
	const void *func_info;
	__u32 func_info_cnt;
	__u32 func_info_rec_size;
	const void *line_info;
	__u32 line_info_cnt;
	__u32 line_info_rec_size;
	const void *core_relos; /* struct bpf_core_relo; a light skeleton's */
	__u32 core_relo_cnt;
	__u32 core_relo_rec_size;
};

struct bigtcp_twin_opts {
	size_t sz; /* sizeof(struct bigtcp_twin_opts) of the caller */
	int state_fd; /* map fds to be put into the code */
	int buf_fd;
	__u32 min_len; /* 0: BIGTCP_TWIN_MIN_LEN. Tests lower it: test runs take 3.7 KB */
	bool any_len; /* min_len 0 is meant: every length can be jumbo (tests) */
	bool max_payload_len; /* IPv6 payload_len reads 65535 on the jumbo path instead of 0 */
	bool direct; /* move by direct writes even where the helper would do */
	/* Offsets computed at run time read as at most BIGTCP_TWIN_CLAMP: for programs that use up
	 * the verifier's limit of 65535 bytes behind a packet pointer, which the move is 8 over.
	 */
	bool clamp;
	/* Helpers that resize a packet (skb_adjust_room, change_proto, change_head) fail on the jumbo
	 * path with -ENOTSUPP, as they do for other packets that the kernel can't resize, instead of
	 * there being no twin.
	 */
	bool resize_fails;
	/* XDP: change the offsets of accesses instead of moving the headers. tc: the same also where the
	 * default is to move them. Others: always so.
	 */
	bool by_address;
	/* tc: move the headers also where changing offsets would do, which is the default for programs
	 * that are not large: it costs a jumbo packet less. direct and clamp imply it.
	 */
	bool move;
	/* What payload_len (IPv6) and tot_len (IPv4) read as in TCP packets above 64 KiB where the kernel
	 * leaves 0, with and without the jumbo header; by_address is implied. 0: as the kernel has it.
	 */
	__u16 length;
	void *arg; /* for the callbacks */
	/* Name of the kfunc in a call instruction (imm, off); 0 or -errno. NULL: unknown. */
	int (*kfunc_name)(void *arg, __s32 imm, __s16 off, char *buf, size_t len);
	/* imm for a call of a kfunc of vmlinux by name; > 0, or -ENOENT. NULL: none. */
	__s32 (*kfunc_id)(void *arg, const char *name);
	/* The @size bytes (1, 2, 4 or 8) at @off of the only value of map @fd, in host byte order,
	 * if nobody can change them any more (BPF_F_RDONLY_PROG, and frozen); 0 or -errno. What
	 * such constants switch off is not judged. NULL: none.
	 */
	int (*const_value)(void *arg, int fd, __u32 off, __u32 size, __u64 *val);
	/* Bytes of a key and of a value of map @fd; 0 or -errno. NULL: a helper that is given packet
	 * bytes as a key or a value is refused in a twin by addressing.
	 */
	int (*map_sizes)(void *arg, int fd, __u32 *key, __u32 *value);
};

/* The result; bigtcp_twin_free() releases it. */
struct bigtcp_twin {
	struct bpf_insn *insns;
	__u32 insn_cnt;
	void *func_info; /* rec_size as in the input */
	__u32 func_info_cnt;
	void *line_info;
	__u32 line_info_cnt;
	void *core_relos;
	__u32 core_relo_cnt;
	__u32 cloned_subprogs; /* subprograms of which the twin has its own copy */
	/* Instructions changed, but for exits; 0: the program has nothing to do with the packet's headers, and needs
	 * no twin.
	 */
	__u32 moved_sites;
	__u32 clamped_sites; /* packet pointers whose offset is bounded, see opts.clamp */
	bool direct; /* writes packets directly, so the kernel unclones skbs first */
	bool by_address; /* changes offsets, moves nothing */
};

/*
 * Makes the twin of @prog. Returns 0 and fills @out, or -errno and fills @why with the first
 * reason found (-ENOTSUP: a named refusal; -EINVAL: bad input or options; -ENOMEM). @out is untouched on failure.
 * @why may be NULL.
 */
int bigtcp_twin_make(const struct bigtcp_twin_prog *prog, const struct bigtcp_twin_opts *opts,
		     struct bigtcp_twin *out, struct bigtcp_twin_reason *why);
void bigtcp_twin_free(struct bigtcp_twin *twin);

#ifdef __cplusplus
}
#endif

#endif
