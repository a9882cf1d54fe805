// SPDX-License-Identifier: GPL-2.0
#include "core/twinload.h"
#include "core/answers.h"
#include "core/kbtf.h"
#include "core/vlog.h"
#include "base/bpf.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* union bpf_attr grows with the kernel: the caller's can be longer than ours. The kernel takes up
 * to a page (kernel/bpf/syscall.c, bpf_check_uarg_tail_zero); what is past our union is passed on as it is.
 */
#define ATTR_MAX 4096
/* Fields of BPF_PROG_LOAD that Debian 12's headers do not have yet. */
#define ATTR_LOG_TRUE_SIZE 140 /* 6.4 */
#define ATTR_SIGNATURE	   152 /* 6.18 */
/* The most instructions the kernel takes with CAP_BPF (BPF_COMPLEXITY_LIMIT_INSNS). */
#define INSNS_MAX 1000000
/* The largest log buffer that all kernels take (UINT_MAX >> 8). */
#define LOG_MAX	  16777215u
#define LOG_FIRST (128u << 10)

struct load {
	union {
		union bpf_attr attr;
		unsigned char raw[ATTR_MAX];
	};
	__u32 size;
	enum bt_refused_policy policy;
	struct bigtcp_twin_opts opts;
	struct bt_twin_report *rep;
	struct bt_twin_kept twin; /* .made: .twin is valid */
	bool log_full; /* the caller's log buffer was too small in the last attempt that used it */
};

const char *bt_twin_status_name(enum bt_twin_status s)
{
	static const char *const names[] = {
		[BT_TWIN_MADE] = "twin",	 [BT_TWIN_NOT_NEEDED] = "not-needed",
		[BT_TWIN_REFUSED] = "refused",	 [BT_TWIN_VERIFIER] = "verifier",
		[BT_TWIN_BAD_PROG] = "bad-prog", [BT_TWIN_SYSTEM] = "system",
		[BT_TWIN_PLAIN] = "plain",
	};

	return (unsigned int)s < sizeof(names) / sizeof(names[0]) ? names[s] : "?";
}

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* "program NAME", for sentences. */
static const char *called(const struct bt_twin_report *rep, char *buf, size_t len)
{
	if (rep->prog_name[0])
		snprintf(buf, len, "program %s", rep->prog_name);
	else
		snprintf(buf, len, "the program");
	return buf;
}

static int sys_prog_load(union bpf_attr *attr, __u32 size)
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

enum log_use { LOG_NONE, LOG_CALLER };

/* One BPF_PROG_LOAD, of the twin or (NULL) the original. */
static int attempt(struct load *l, const struct bigtcp_twin *t, enum log_use log)
{
	struct load a = *l;
	int fd;

	if (t)
		put_twin(&a.attr, t);
	if (log == LOG_CALLER && a.attr.log_level) {
		fd = sys_prog_load(&a.attr, a.size);
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
	return sys_prog_load(&a.attr, a.size);
}

/* Levels of the verifier's log: every instruction, and (5.2) the cause and statistics alone. */
#define LOG_INSNS 1
#define LOG_STATS 4

/* Fills rep->log with the end of the verifier's log; the load is known to fail with @err. */
static void fetch_log(struct load *l, const struct bigtcp_twin *t, int err)
{
	__u32 size = LOG_FIRST;
	int fd;

	for (;;) {
		struct load a = *l;
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
		fd = sys_prog_load(&a.attr, a.size);
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

/* Errors that say nothing about the program. */
static bool system_error(int err)
{
	return err == -EPERM || err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	       err == -EAGAIN || err == -EINTR;
}

static void system_text(struct bt_twin_report *rep, const char *what, int err)
{
	char why[512], name[64];

	if (err == -EPERM)
		bt_eperm_text(why, sizeof(why));
	else if (err == -ENOMEM)
		snprintf(why, sizeof(why),
			 "the kernel has no memory for it (or the memory limit of "
			 "this control group or RLIMIT_MEMLOCK is reached)");
	else if (err == -EMFILE || err == -ENFILE)
		snprintf(why, sizeof(why), "no file handle is left (ulimit -n)");
	else
		snprintf(why, sizeof(why), "%s", strerror(-err));
	snprintf(rep->text, sizeof(rep->text), "cannot load %s%s: %s",
		 called(rep, name, sizeof(name)), what, why);
}

/* What the log or, without one, the error number says, and what may be behind it. */
static void verifier_cause(const struct bt_twin_report *rep, int err, char *buf, size_t len)
{
	const char *hint = "";
	char line[256];

	bt_vlog_cause(rep->log, line, sizeof(line));
	if (err == -E2BIG && !*line) {
		snprintf(buf, len,
			 "it is larger than the kernel takes (1,000,000 instructions), or "
			 "the load call has fields that this kernel does not know");
		return;
	}
	if (bt_lacks_perfmon() && (rep->status == BT_TWIN_VERIFIER || strstr(rep->log, "!root")))
		hint = " (this process lacks CAP_PERFMON, without which the verifier is stricter: "
		       "grant CAP_PERFMON)";
	snprintf(buf, len, "%s%s%s", err == -E2BIG ? "it is too complex: " : "",
		 *line ? line : strerror(-err), hint);
}

static void bad_prog_text(struct bt_twin_report *rep, int err)
{
	char cause[450], name[64];

	verifier_cause(rep, err, cause, sizeof(cause));
	snprintf(rep->text, sizeof(rep->text),
		 "the kernel's verifier refuses %s as it is, before any rewriting: %s",
		 called(rep, name, sizeof(name)), cause);
}

static void twin_refused_text(struct bt_twin_report *rep, int err)
{
	char cause[450], name[64];

	verifier_cause(rep, err, cause, sizeof(cause));
	snprintf(rep->text, sizeof(rep->text),
		 "the kernel's verifier accepts %s but not its twin: %s; fix it at source with "
		 "<bigtcp/parse.bpf.h>, or load it unchanged with --refused=plain",
		 called(rep, name, sizeof(name)), cause);
}

/* Nothing is loaded and the verifier has written nothing: what the loader prints as the verifier's
 * log is the only way to tell its user why.
 */
static void tell_caller(const struct load *l)
{
	char *buf = (char *)(unsigned long)l->attr.log_buf;

	if (l->attr.log_level && buf && l->attr.log_size)
		snprintf(buf, l->attr.log_size, "bigtcp: %s\n", l->rep->text);
}

static int original_refused(struct load *l, int err)
{
	if (system_error(err)) {
		l->rep->status = BT_TWIN_SYSTEM;
		system_text(l->rep, "", err);
	} else {
		l->rep->status = BT_TWIN_BAD_PROG;
		fetch_log(l, NULL, err);
		bad_prog_text(l->rep, err);
	}
	return l->log_full ? -ENOSPC : err;
}

/* The original, as the caller wanted it. On failure that is what the report is about. */
static int load_original(struct load *l)
{
	int fd = attempt(l, NULL, LOG_CALLER);

	if (fd < 0)
		return original_refused(l, fd);
	l->rep->insns_after = l->attr.insn_cnt;
	return fd;
}

/* For when it is not known whether the original loads: fd, or what the caller gets as the error.
 * Verifying can take seconds, so a failure is repeated only for a caller who wants its log.
 */
static int try_original(struct load *l, bool *failed)
{
	int fd = attempt(l, NULL, LOG_NONE);

	*failed = fd < 0;
	if (fd >= 0)
		return fd;
	return l->attr.log_level ? load_original(l) : original_refused(l, fd);
}

/* No twin, for a reason that rep->text gives. */
static int without_twin(struct load *l, int err)
{
	if (l->policy == BT_REFUSED_PLAIN)
		return load_original(l);
	tell_caller(l);
	return err;
}

/* The verifier refused the twin with @err: is it the twin's fault? */
static int after_verifier(struct load *l, int err)
{
	bool caller_log_full = l->log_full, failed;
	int fd;

	fd = try_original(l, &failed);
	if (failed)
		return fd;
	l->rep->status = BT_TWIN_VERIFIER;
	fetch_log(l, &l->twin.twin, err);
	twin_refused_text(l->rep, err);
	if (l->policy == BT_REFUSED_PLAIN) {
		/* Again only for a caller who wants to read the log of what got loaded. */
		if (!l->attr.log_level) {
			l->rep->insns_after = l->attr.insn_cnt;
			return fd;
		}
		close(fd);
		return load_original(l);
	}
	close(fd);
	return caller_log_full ? -ENOSPC : err;
}

static int make_twin(struct load *l, bool direct, bool clamp)
{
	const union bpf_attr *a = &l->attr;
	struct bt_answers ans = { .fd_array = (const int *)(unsigned long)a->fd_array };
	struct bigtcp_twin_prog prog = {
		.type = a->prog_type,
		.insns = (const void *)(unsigned long)a->insns,
		.insn_cnt = a->insn_cnt,
		.func_info = (const void *)(unsigned long)a->func_info,
		.func_info_cnt = a->func_info_cnt,
		.func_info_rec_size = a->func_info_rec_size,
		.line_info = (const void *)(unsigned long)a->line_info,
		.line_info_cnt = a->line_info_cnt,
		.line_info_rec_size = a->line_info_rec_size,
		.core_relos = (const void *)(unsigned long)a->core_relos,
		.core_relo_cnt = a->core_relo_cnt,
		.core_relo_rec_size = a->core_relo_rec_size,
	};
	struct bigtcp_twin_opts o = l->opts;
	struct bigtcp_twin t;
	int err;

	o.sz = sizeof(o);
	o.state_fd = l->twin.state_fd;
	o.buf_fd = l->twin.buf_fd;
	o.direct = direct;
	o.clamp = clamp;
	bt_answers_give(&ans, &o);
	err = bigtcp_twin_make(&prog, &o, &t, &l->rep->reason);
	bt_answers_free(&ans);
	if (err)
		return err;
	if (l->twin.made)
		bigtcp_twin_free(&l->twin.twin);
	l->twin.twin = t;
	l->twin.made = true;
	return 0;
}

static int create_maps(struct bt_twin_kept *k)
{
	k->state_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, BIGTCP_TWIN_STATE_NAME, sizeof(__u32),
				     sizeof(struct bigtcp_twin_state), 1, NULL);
	if (k->state_fd < 0)
		return -errno;
	k->buf_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, BIGTCP_TWIN_BUF_NAME, sizeof(__u32),
				   BIGTCP_TWIN_BUF_SIZE, 1, NULL);
	return k->buf_fd < 0 ? -errno : 0;
}

static int refused(struct load *l, int err)
{
	struct bt_twin_report *rep = l->rep;
	char name[64];

	rep->status = BT_TWIN_REFUSED;
	snprintf(rep->text, sizeof(rep->text), "no twin for %s: %s%s%s%s",
		 called(rep, name, sizeof(name)), rep->reason.text, rep->source[0] ? " (" : "",
		 rep->source, rep->source[0] ? ")" : "");
	return without_twin(l, err);
}

static int refused_by_engine(struct load *l, int err)
{
	struct bt_twin_report *rep = l->rep;
	bool failed;
	int fd;

	/* What has no twin may not load at all, and then the verifier says better why. */
	if (l->policy == BT_REFUSED_FAIL) {
		fd = try_original(l, &failed);
		if (failed)
			return fd;
		close(fd);
	}
	bt_insn_source(l->attr.prog_btf_fd, (const void *)(unsigned long)l->attr.line_info,
		       l->attr.line_info_cnt, l->attr.line_info_rec_size, rep->reason.insn,
		       rep->source, sizeof(rep->source));
	return refused(l, err);
}

static void refuse(struct load *l, enum bigtcp_twin_why why, const char *text)
{
	l->rep->reason.why = why;
	snprintf(l->rep->reason.text, sizeof(l->rep->reason.text), "%s", text);
}

static bool is_signed(const struct load *l)
{
	__u64 sig = 0;

	if (l->size >= ATTR_SIGNATURE + sizeof(sig))
		memcpy(&sig, l->raw + ATTR_SIGNATURE, sizeof(sig));
	return sig;
}

/* Reasons that lie in the load call, not in the instructions. */
static bool cannot_rewrite(struct load *l)
{
	if (is_signed(l)) {
		refuse(l, BIGTCP_TWIN_PROG_TYPE,
		       "it is signed, and any change of its instructions breaks the signature");
		return true;
	}
	if (l->attr.prog_ifindex) {
		refuse(l, BIGTCP_TWIN_PROG_TYPE,
		       "it is loaded into a network card, which never sees a jumbo packet");
		return true;
	}
	return false;
}

/*
 * The verifier refused the twin with @err. It may take one that moves packets directly (pointers
 * stay good across a call then), or one whose computed offsets have a bound, or both.
 */
static int other_forms(struct load *l, int err)
{
	static const struct {
		bool direct, clamp;
	} forms[] = { { true, false }, { false, true }, { true, true } };
	bool was_direct = l->twin.twin.direct;
	unsigned int n;

	for (n = 0; n < sizeof(forms) / sizeof(forms[0]); n++) {
		if (err == -E2BIG || system_error(err))
			break;
		if (forms[n].direct == was_direct && !forms[n].clamp)
			continue;
		if (was_direct && !forms[n].direct)
			continue;
		if (make_twin(l, forms[n].direct, forms[n].clamp))
			break;
		if (forms[n].clamp && !l->twin.twin.clamped_sites)
			continue;
		err = attempt(l, &l->twin.twin, LOG_CALLER);
		if (err >= 0)
			break;
	}
	return err;
}

static int load_twin(struct load *l)
{
	int fd, err;

	if (cannot_rewrite(l))
		return refused(l, -EOPNOTSUPP);
	/* No engine needed to see these fail. */
	if (!l->attr.insns || !l->attr.insn_cnt || l->attr.insn_cnt > INSNS_MAX)
		return load_original(l);
	err = create_maps(&l->twin);
	if (!err)
		err = make_twin(l, l->opts.direct, l->opts.clamp);
	if (err == -ENOTSUP || err == -EINVAL)
		return refused_by_engine(l, err);
	if (err) {
		l->rep->status = BT_TWIN_SYSTEM;
		system_text(l->rep, " as a twin", err);
		return without_twin(l, err);
	}
	fd = attempt(l, &l->twin.twin, LOG_CALLER);
	if (fd < 0)
		fd = other_forms(l, fd);
	if (fd >= 0) {
		l->rep->status = BT_TWIN_MADE;
		l->rep->insns_after = l->twin.twin.insn_cnt;
		return fd;
	}
	if (!system_error(fd))
		return after_verifier(l, fd);
	l->rep->status = BT_TWIN_SYSTEM;
	system_text(l->rep, " as a twin", fd);
	return without_twin(l, fd);
}

static int load_unchanged(struct load *l)
{
	int fd = sys_prog_load(&l->attr, l->size);

	l->rep->status = BT_TWIN_NOT_NEEDED;
	if (l->size >= ATTR_LOG_TRUE_SIZE + sizeof(__u32))
		memcpy(&l->rep->log_true_size, l->raw + ATTR_LOG_TRUE_SIZE, sizeof(__u32));
	snprintf(l->rep->text, sizeof(l->rep->text),
		 "not a tc program: no twin is needed or made for this type");
	return fd;
}

void bt_twin_kept_free(struct bt_twin_kept *keep)
{
	if (keep->made)
		bigtcp_twin_free(&keep->twin);
	cleanup_fd(&keep->state_fd);
	cleanup_fd(&keep->buf_fd);
	*keep = (struct bt_twin_kept){ .state_fd = -1, .buf_fd = -1 };
}

static int start(struct load *l, const union bpf_attr *attr)
{
	struct bt_twin_report *rep = l->rep;

	memset(rep, 0, sizeof(*rep));
	if (l->size > ATTR_MAX) {
		rep->status = BT_TWIN_BAD_PROG;
		snprintf(rep->text, sizeof(rep->text), "the load call is larger than a page");
		return -E2BIG;
	}
	memcpy(l->raw, attr, l->size);
	rep->prog_type = l->attr.prog_type;
	memcpy(rep->prog_name, l->attr.prog_name, sizeof(rep->prog_name));
	rep->prog_name[sizeof(rep->prog_name) - 1] = 0;
	rep->insns_before = l->attr.insn_cnt;
	return 0;
}

int bt_plain_prog_load(const union bpf_attr *attr, __u32 attr_size, struct bt_twin_report *rep)
{
	struct load l = { .size = attr_size, .rep = rep };
	__u64 t0 = now_ns();
	int fd;

	fd = start(&l, attr);
	if (!fd) {
		rep->status = BT_TWIN_PLAIN;
		fd = load_original(&l);
	}
	rep->err = fd < 0 ? fd : 0;
	rep->ns = now_ns() - t0;
	return fd;
}

static bool is_tc(const struct load *l)
{
	return l->attr.prog_type == BPF_PROG_TYPE_SCHED_CLS ||
	       l->attr.prog_type == BPF_PROG_TYPE_SCHED_ACT;
}

int bt_twin_prog_load_keep(const union bpf_attr *attr, __u32 attr_size,
			   enum bt_refused_policy policy, const struct bigtcp_twin_opts *opts,
			   struct bt_twin_report *rep, struct bt_twin_kept *keep)
{
	struct load l = { .size = attr_size,
			  .policy = policy,
			  .rep = rep,
			  .twin = { .state_fd = -1, .buf_fd = -1 } };
	__u64 t0 = now_ns();
	int fd;

	if (keep)
		*keep = (struct bt_twin_kept){ .state_fd = -1, .buf_fd = -1 };
	if (opts)
		memcpy(&l.opts, opts,
		       opts->sz && opts->sz < sizeof(l.opts) ? opts->sz : sizeof(l.opts));
	fd = start(&l, attr);
	if (!fd)
		fd = is_tc(&l) ? load_twin(&l) : load_unchanged(&l);

	rep->err = fd < 0 ? fd : 0;
	rep->ns = now_ns() - t0;
	if (fd >= 0 && rep->status == BT_TWIN_MADE && keep)
		*keep = l.twin;
	else
		bt_twin_kept_free(&l.twin);
	return fd;
}

int bt_twin_prog_load(const union bpf_attr *attr, __u32 attr_size, enum bt_refused_policy policy,
		      const struct bigtcp_twin_opts *opts, struct bt_twin_report *rep)
{
	return bt_twin_prog_load_keep(attr, attr_size, policy, opts, rep, NULL);
}
