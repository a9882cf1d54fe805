// SPDX-License-Identifier: GPL-2.0
#include "core/twinload_int.h"
#include "core/vlog.h"
#include "base/bpf.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The largest log buffer that all kernels take (UINT_MAX >> 8). */
#define LOG_MAX	  16777215u
#define LOG_FIRST (128u << 10)

int bt_load_call(union bpf_attr *attr, __u32 size)
{
	int fd = bt_bpf(BPF_PROG_LOAD, attr, size);
	int high;

	if (fd < 0 || fd > 2)
		return fd;
	/* 0 means "no program" in several attributes; never hand it out. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	high = high < 0 ? -errno : high;
	close(fd);
	return high;
}

static void put_twin(union bpf_attr *attr, const struct bigtcp_twin *t)
{
	attr->insns = (__u64)(unsigned long)t->insns;
	attr->insn_cnt = t->insn_cnt;
	attr->func_info = (__u64)(unsigned long)t->func_info;
	attr->func_info_cnt = t->func_info_cnt;
	attr->line_info = (__u64)(unsigned long)t->line_info;
	attr->line_info_cnt = t->line_info_cnt;
	attr->core_relos = (__u64)(unsigned long)t->core_relos;
	attr->core_relo_cnt = t->core_relo_cnt;
}

int bt_load_try(struct bt_load *l, const struct bigtcp_twin *t, enum bt_log_use log)
{
	struct bt_load a = *l;
	int fd;

	if (t)
		put_twin(&a.attr, t);
	if (log == BT_LOG_CALLER && a.attr.log_level) {
		fd = bt_load_call(&a.attr, a.size);
		if (a.size >= ATTR_LOG_TRUE_SIZE + sizeof(__u32))
			memcpy(&l->rep->log_true_size, a.raw + ATTR_LOG_TRUE_SIZE, sizeof(__u32));
		l->log_full = fd == -ENOSPC;
		if (!l->log_full)
			return fd;
		/* A twin's log is longer than the original's: a buffer that did for that must not
		 * make the load fail.
		 */
	}
	a.attr.log_level = 0;
	a.attr.log_size = 0;
	a.attr.log_buf = 0;
	return bt_load_call(&a.attr, a.size);
}

/* Levels of the verifier's log: every instruction, and (5.2) the cause and statistics alone. */
#define LOG_INSNS 1
#define LOG_STATS 4

void bt_load_fetch_log(struct bt_load *l, const struct bigtcp_twin *t, int err)
{
	__u32 size = LOG_FIRST;
	int fd;

	for (;;) {
		struct bt_load a = *l;
		char *buf __free = malloc(size);

		if (!buf)
			return;
		buf[0] = 0;
		if (t)
			put_twin(&a.attr, t);
		/* A million instructions, written out, take most of a minute and say nothing. */
		a.attr.log_level = err == -E2BIG ? LOG_STATS : LOG_INSNS;
		a.attr.log_size = size;
		a.attr.log_buf = (__u64)(unsigned long)buf;
		fd = bt_load_call(&a.attr, a.size);
		if (fd >= 0)
			close(fd);
		/* From 6.4 on a full buffer keeps the end of the log, before that its start. */
		if (fd != -ENOSPC || size == LOG_MAX) {
			bt_vlog_tail(buf, size, l->rep->log, sizeof(l->rep->log));
			return;
		}
		size = size < LOG_MAX / 8 ? size * 8 : LOG_MAX;
	}
}

bool bt_load_system_error(int err)
{
	return err == -EPERM || err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	       err == -EAGAIN || err == -EINTR;
}
