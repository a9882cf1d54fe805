// SPDX-License-Identifier: GPL-2.0
/* Copying a BPF_PROG_LOAD call out of another process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "core/remote_load.h"

/* Limits of the kernel (include/linux/bpf_verifier.h, kernel/bpf/{syscall,btf,verifier}.c); what is above
 * them fails there too, so that nothing is lost by refusing it before it is copied.
 */
#define MAX_ATTR_SIZE 4096u /* PAGE_SIZE */
#define MAX_INSNS     1000000u /* BPF_COMPLEXITY_LIMIT_INSNS */
#define MAX_REC_SIZE  252u /* MAX_FUNCINFO_REC_SIZE and its sisters */
#define MAX_FDS	      512u /* 64 maps, 256 BTFs, those of the attributes */
#define MAX_FD_ARRAY  65536u /* slots, used or not */
#define MAX_SIGNATURE (1u << 20)
#define MAX_LOG	      (0xffffffffu >> 2)
#define MAX_LICENSE   128u

/* A twin's log is longer than its original's: enough room for both, touched only as it is written. */
#define OWN_LOG_SIZE ((16u << 20) - 1)

/* Newer than linux-libc-dev 6.1. */
#define PROG_TOKEN_FD (1u << 16) /* BPF_F_TOKEN_FD */
#define LOG_FIXED     8u /* BPF_LOG_FIXED: keep the start of a log that is too long, not its end */

static void *keep(struct bt_remote_load *l, size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (p)
		l->bufs[l->buf_cnt++] = p;
	return p;
}

/* Replaces the pointer *@ptr by one to a copy of @len bytes. */
static int copy_ptr(const struct bt_remote *r, struct bt_remote_load *l, __u64 *ptr, size_t len)
{
	void *p = keep(l, len);
	int err;

	if (!p)
		return -ENOMEM;
	err = bt_remote_read(r, *ptr, p, len);
	if (err)
		return err;
	*ptr = (__u64)(unsigned long)p;
	return 0;
}

/* Records: as copy_ptr(), but a count of 0 means that the pointer is not looked at. */
static int copy_recs(const struct bt_remote *r, struct bt_remote_load *l, __u64 *ptr, __u32 cnt,
		     __u32 rec_size, __u32 max_cnt)
{
	if (!cnt) {
		*ptr = 0;
		return 0;
	}
	if (rec_size > MAX_REC_SIZE || cnt > max_cnt)
		return -EINVAL;
	return copy_ptr(r, l, ptr, (size_t)cnt * rec_size);
}

static int copy_license(const struct bt_remote *r, struct bt_remote_load *l)
{
	char *p = keep(l, MAX_LICENSE);
	int err;

	if (!p)
		return -ENOMEM;
	err = bt_remote_read_str(r, l->attr.license, p, MAX_LICENSE);
	if (err)
		return err;
	l->attr.license = (__u64)(unsigned long)p;
	return 0;
}

/*
 * A buffer of our own in place of the caller's log buffer. Whether level, size and pointer go together is
 * the kernel's to say, so a size of 0 and a pointer of 0 stay what they are.
 */
static int own_log(struct bt_remote_load *l)
{
	struct bt_prog_load_attr *a = &l->attr;
	void *p;

	l->log_addr = a->log_buf;
	l->log_size = a->log_size;
	if (!a->log_level && (a->log_buf || a->log_size))
		return -EINVAL; /* every kernel does; tries without a log would hide it */
	if (!a->log_buf)
		return 0;
	if (a->log_size > MAX_LOG)
		return -EINVAL;
	if (a->log_level && a->log_size >= 128 && a->log_size < OWN_LOG_SIZE)
		a->log_size = OWN_LOG_SIZE;
	/* Not calloc(): it would clear all of a block that it uses again. */
	p = mmap(NULL, a->log_size ? a->log_size : 1, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	l->log = p;
	a->log_buf = (__u64)(unsigned long)p;
	return 0;
}

/*
 * Our duplicate of descriptor *@fd, made at its first use, replaces it. A descriptor that the
 * caller does not have becomes -1: the verifier then says what it would have said, and only if it looks at it.
 */
static int take_fd(const struct bt_remote *r, struct bt_remote_load *l, __s32 *fd)
{
	int got;

	for (unsigned int i = 0; i < l->fd_cnt; i++) {
		if (l->fds[i].theirs == *fd) {
			*fd = l->fds[i].ours;
			return 0;
		}
	}
	if (l->fd_cnt == MAX_FDS)
		return -E2BIG;
	got = bt_remote_getfd(r, *fd);
	if (got < 0 && got != -EBADF)
		return got;
	l->fds[l->fd_cnt++] = (struct bt_remote_fd){ *fd, got < 0 ? -1 : got };
	*fd = got < 0 ? -1 : got;
	return 0;
}

static bool is_ld_imm64(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* The descriptor that instruction @insn names, or NULL. */
static __s32 *insn_fd(struct bpf_insn *insn)
{
	if (!is_ld_imm64(insn))
		return NULL;
	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
		return &insn->imm;
	case BPF_PSEUDO_BTF_ID: /* the second half: BTF of a module, 0 for the kernel's own */
		return insn[1].imm ? &insn[1].imm : NULL;
	default:
		return NULL;
	}
}

static int take_insn_fds(const struct bt_remote *r, struct bt_remote_load *l,
			 struct bpf_insn *insns, __u32 cnt)
{
	for (__u32 i = 0; i < cnt; i++) {
		int err;
		__s32 *fd;

		if (is_ld_imm64(&insns[i]) && i + 1 == cnt)
			break; /* half an instruction: the verifier's to refuse */
		fd = insn_fd(&insns[i]);
		err = fd ? take_fd(r, l, fd) : 0;
		if (err)
			return err;
		i += is_ld_imm64(&insns[i]);
	}
	return 0;
}

/* Slot of fd_array that instruction @insn uses, or -1: a map by index, a kfunc of a module. */
static __s64 insn_slot(const struct bpf_insn *insn)
{
	if (is_ld_imm64(insn) &&
	    (insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE))
		return (__u32)insn->imm;
	if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_KFUNC_CALL &&
	    insn->off > 0)
		return insn->off;
	return -1;
}

/* Duplicates slot @slot of the caller's array at @addr into @array. */
static int take_slot(const struct bt_remote *r, struct bt_remote_load *l, __u64 addr, int *array,
		     __u32 slot)
{
	int err = bt_remote_read(r, addr + slot * sizeof(int), &array[slot], sizeof(int));

	return err ? err : take_fd(r, l, &array[slot]);
}

/* Slots that fd_array must have: those it is said to have (6.14), and those that instructions name. */
static __u64 slots_used(const struct bt_remote_load *l, const struct bpf_insn *insns, __u32 cnt)
{
	__u64 slots = l->attr.fd_array_cnt;

	for (__u32 i = 0; i < cnt; i += 1 + is_ld_imm64(&insns[i])) {
		__s64 slot = insn_slot(&insns[i]);

		if (slot >= 0 && (__u64)slot >= slots)
			slots = (__u64)slot + 1;
	}
	return slots;
}

/*
 * Before 6.14 fd_array has no length: slots that no instruction names may hold anything or lie
 * outside of mapped memory. They become -1.
 */
static int take_fd_array(const struct bt_remote *r, struct bt_remote_load *l,
			 const struct bpf_insn *insns, __u32 cnt)
{
	__u64 slots = slots_used(l, insns, cnt), addr = l->attr.fd_array;
	unsigned char *seen __free = NULL;
	int *array, err = 0;

	l->attr.fd_array = 0;
	if (!slots)
		return 0;
	if (slots > MAX_FD_ARRAY)
		return -EINVAL;
	array = keep(l, slots * sizeof(*array));
	seen = calloc(slots, 1);
	if (!array || !seen)
		return -ENOMEM;
	memset(array, -1, slots * sizeof(*array));
	l->attr.fd_array = (__u64)(unsigned long)array;
	for (__u32 i = 0; i < l->attr.fd_array_cnt && !err; i++) {
		seen[i] = 1;
		err = take_slot(r, l, addr, array, i);
	}
	for (__u32 i = 0; i < cnt && !err; i += 1 + is_ld_imm64(&insns[i])) {
		__s64 slot = insn_slot(&insns[i]);

		if (slot < 0 || seen[slot])
			continue;
		seen[slot] = 1;
		err = take_slot(r, l, addr, array, (__u32)slot);
	}
	return err;
}

/* The attributes' own descriptors. 0 is a descriptor or "none", depending on the field. */
static int take_attr_fds(const struct bt_remote *r, struct bt_remote_load *l)
{
	struct bt_prog_load_attr *a = &l->attr;
	bool has_info = a->func_info_cnt || a->line_info_cnt || a->core_relo_cnt;
	int err = 0;

	if (a->prog_btf_fd || has_info)
		err = take_fd(r, l, (__s32 *)&a->prog_btf_fd);
	if (!err && a->attach_prog_fd)
		err = take_fd(r, l, (__s32 *)&a->attach_prog_fd);
	if (!err && a->prog_flags & PROG_TOKEN_FD)
		err = take_fd(r, l, &a->prog_token_fd);
	return err;
}

static int copy_bufs(const struct bt_remote *r, struct bt_remote_load *l)
{
	struct bt_prog_load_attr *a = &l->attr;
	int err;

	if (!a->insn_cnt || a->insn_cnt > MAX_INSNS)
		return -E2BIG;
	err = copy_ptr(r, l, &a->insns, a->insn_cnt * sizeof(struct bpf_insn));
	if (!err)
		err = copy_license(r, l);
	if (!err)
		err = copy_recs(r, l, &a->func_info, a->func_info_cnt, a->func_info_rec_size,
				a->insn_cnt);
	if (!err)
		err = copy_recs(r, l, &a->line_info, a->line_info_cnt, a->line_info_rec_size,
				a->insn_cnt);
	if (!err)
		err = copy_recs(r, l, &a->core_relos, a->core_relo_cnt, a->core_relo_rec_size,
				a->insn_cnt);
	if (!err && a->signature_size > MAX_SIGNATURE)
		err = -EINVAL;
	if (!err && a->signature)
		err = copy_ptr(r, l, &a->signature, a->signature_size);
	return err ? err : own_log(l);
}

/* The attributes themselves, once and for all: what the caller changes from here on is not seen. */
static int copy_attr(const struct bt_remote *r, struct bt_remote_load *l)
{
	unsigned char buf[MAX_ATTR_SIZE] = { 0 };
	size_t known = sizeof(l->attr);
	int err;

	if (l->caller_size > sizeof(buf))
		return -E2BIG;
	err = bt_remote_read(r, l->addr, buf, l->caller_size);
	if (err)
		return err;
	/*
	 * A field that came after this was written can hold a pointer or a descriptor: answer as a kernel
	 * does that does not know it, and the caller takes the way it has for such kernels.
	 */
	for (size_t i = known; i < sizeof(buf); i++) {
		if (buf[i])
			return -E2BIG;
	}
	memcpy(&l->attr, buf, known);
	l->size = l->caller_size < known ? l->caller_size : (__u32)known;
	return 0;
}

int bt_remote_load_copy(const struct bt_remote *r, __u64 addr, __u32 size, struct bt_remote_load *l)
{
	struct bpf_insn *insns;
	int err;

	memset(l, 0, sizeof(*l));
	l->addr = addr;
	l->caller_size = size;
	l->fds = calloc(MAX_FDS, sizeof(*l->fds));
	err = l->fds ? copy_attr(r, l) : -ENOMEM;
	if (!err)
		err = copy_bufs(r, l);
	if (!err)
		err = take_attr_fds(r, l);
	insns = (struct bpf_insn *)(unsigned long)l->attr.insns;
	if (!err)
		err = take_insn_fds(r, l, insns, l->attr.insn_cnt);
	if (!err && l->attr.fd_array)
		err = take_fd_array(r, l, insns, l->attr.insn_cnt);
	if (err)
		bt_remote_load_free(l);
	return err;
}

void bt_remote_load_free(struct bt_remote_load *l)
{
	for (unsigned int i = 0; i < l->fd_cnt; i++)
		cleanup_fd(&l->fds[i].ours);
	for (unsigned int i = 0; i < l->buf_cnt; i++)
		free(l->bufs[i]);
	if (l->log)
		munmap(l->log, l->attr.log_size ? l->attr.log_size : 1);
	free(l->fds);
	l->fds = NULL;
	l->log = NULL;
	l->fd_cnt = l->buf_cnt = 0;
}

/* As much of our log (@len bytes without the 0) as the caller has room for. */
static int write_log(const struct bt_remote *r, const struct bt_remote_load *l, size_t len)
{
	const char *log = l->log;
	size_t n = len < l->log_size ? len : l->log_size - 1;
	int err;

	if (n < len && !(l->attr.log_level & LOG_FIXED))
		log += len - n; /* as kernels since 6.4 do: the end has the error */
	err = bt_remote_write(r, l->log_addr, log, n);
	return err ? err : bt_remote_write(r, l->log_addr + n, "", 1);
}

int bt_remote_load_log(const struct bt_remote *r, const struct bt_remote_load *l, __u32 true_size,
		       int ret)
{
	size_t off = offsetof(struct bt_prog_load_attr, log_true_size);
	size_t len = l->log ? strnlen(l->log, l->attr.log_size) : 0;
	int err = 0;

	if (len && l->log_size)
		err = write_log(r, l, len);
	if (true_size && true_size <= len)
		true_size = (__u32)len + 1; /* a sentence of bigtcp's was put there since */
	if (!err && true_size && l->caller_size >= off + sizeof(true_size))
		err = bt_remote_write(r, l->addr + off, &true_size, sizeof(true_size));
	if (err)
		return err;
	return ret < 0 && len && len >= l->log_size ? -ENOSPC : ret;
}
