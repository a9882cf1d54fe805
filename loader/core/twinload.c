// SPDX-License-Identifier: GPL-2.0
#include "core/twinload_int.h"
#include "core/answers.h"
#include "core/kbtf.h"
#include "core/twintype.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The most instructions the kernel takes with CAP_BPF (BPF_COMPLEXITY_LIMIT_INSNS). */
#define INSNS_MAX 1000000

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

const char *bt_twin_form_name(const struct bt_twin_report *rep)
{
	if (rep->status != BT_TWIN_MADE)
		return NULL;
	return rep->by_address ? "by addressing" : "moves headers";
}

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Nothing is loaded and the verifier has written nothing: what the loader prints as the verifier's
 * log is the only way to tell its user why.
 */
static void tell_caller(const struct bt_load *l)
{
	char *buf = (char *)(unsigned long)l->attr.log_buf;

	if (l->attr.log_level && buf && l->attr.log_size)
		snprintf(buf, l->attr.log_size, "bigtcp: %s\n", l->rep->text);
}

static int original_refused(struct bt_load *l, int err)
{
	if (bt_load_system_error(err)) {
		l->rep->status = BT_TWIN_SYSTEM;
		bt_say_system(l->rep, "", err);
	} else {
		l->rep->status = BT_TWIN_BAD_PROG;
		bt_load_fetch_log(l, NULL, err);
		bt_say_bad_prog(l->rep, err);
	}
	return l->log_full ? -ENOSPC : err;
}

/* The original, as the caller wanted it. On failure that is what the report is about. */
static int load_original(struct bt_load *l)
{
	int fd = bt_load_try(l, NULL, BT_LOG_CALLER);

	if (fd < 0)
		return original_refused(l, fd);
	l->rep->insns_after = l->attr.insn_cnt;
	return fd;
}

/* For when it is not known whether the original loads: fd, or what the caller gets as the error.
 * Verifying can take seconds, so a failure is repeated only for a caller who wants its log.
 */
static int try_original(struct bt_load *l, bool *failed)
{
	int fd = bt_load_try(l, NULL, BT_LOG_NONE);

	*failed = fd < 0;
	if (fd >= 0)
		return fd;
	return l->attr.log_level ? load_original(l) : original_refused(l, fd);
}

/* No twin, for a reason that rep->text gives. */
static int without_twin(struct bt_load *l, int err)
{
	if (l->policy == BT_REFUSED_PLAIN)
		return load_original(l);
	tell_caller(l);
	return err;
}

/* The verifier refused the twin with @err: is it the twin's fault? */
static int after_verifier(struct bt_load *l, int err)
{
	bool caller_log_full = l->log_full, failed;
	int fd;

	fd = try_original(l, &failed);
	if (failed)
		return fd;
	l->rep->status = BT_TWIN_VERIFIER;
	bt_load_fetch_log(l, &l->twin.twin, err);
	bt_say_verifier(l->rep, err);
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

static void fill_prog(const struct bt_load *l, struct bigtcp_twin_prog *prog)
{
	const union bpf_attr *a = &l->attr;

	*prog = (struct bigtcp_twin_prog){
		.type = l->sees,
		/* A freplace program has the packets of the program it goes into. */
		.frags = a->prog_type == BPF_PROG_TYPE_EXT || a->prog_flags & BPF_F_XDP_HAS_FRAGS,
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
}

/* The forms of a twin, in the order in which they are tried; the caller's options come on top. */
static const struct form {
	bool direct; /* packet pointers stay good across the call that moves */
	bool clamp; /* computed offsets have a bound */
	bool by_address;
	bool move;
} forms[] = {
	{ .by_address = false }, /* what the engine thinks best */
	{ .move = true },
	{ .move = true, .direct = true },
	{ .move = true, .clamp = true },
	{ .move = true, .direct = true, .clamp = true },
	{ .by_address = true },
};
#define FORM_CNT (sizeof(forms) / sizeof(forms[0]))

static int make_twin(struct bt_load *l, const struct form *f, struct bigtcp_twin_reason *why)
{
	struct bt_answers ans = { .fd_array = (const int *)(unsigned long)l->attr.fd_array };
	struct bigtcp_twin_opts o = l->opts;
	struct bigtcp_twin_prog prog;
	struct bigtcp_twin t;
	int err;

	fill_prog(l, &prog);
	o.sz = sizeof(o);
	o.state_fd = l->twin.state_fd;
	o.buf_fd = l->twin.buf_fd;
	o.direct |= f->direct;
	o.clamp |= f->clamp;
	o.by_address |= f->by_address;
	o.move |= f->move;
	bt_answers_give(&ans, &o);
	err = bigtcp_twin_make(&prog, &o, &t, why);
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

static int refused(struct bt_load *l, int err)
{
	l->rep->status = BT_TWIN_REFUSED;
	bt_say_refused(l->rep);
	return without_twin(l, err);
}

static int refused_by_engine(struct bt_load *l, int err)
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

static bool is_signed(const struct bt_load *l)
{
	__u64 sig = 0;

	if (l->size >= ATTR_SIGNATURE + sizeof(sig))
		memcpy(&sig, l->raw + ATTR_SIGNATURE, sizeof(sig));
	return sig;
}

/* Why there is no twin, as far as that lies in the load call and not in the instructions; NULL: nothing. */
static const char *unfit(const struct bt_load *l)
{
	if (is_signed(l))
		return "it is signed, and any change of its instructions breaks the signature";
	if (l->attr.prog_type == BPF_PROG_TYPE_EXT && bt_is_twin((int)l->attr.attach_prog_fd))
		return "it goes into a function of a twin, where jumbo packets do not get, or only with "
		       "their headers moved. Load the program it goes into as it is (--plain, or "
		       "not under bigtcp exec)";
	return NULL;
}

/* Errors that no other form makes good: by addressing the verifier walks more than when headers are moved. */
static bool hopeless(const struct bt_load *l, int err)
{
	return bt_load_system_error(err) ||
	       (err == -E2BIG && (!l->twin.made || !l->twin.twin.by_address));
}

/* What tells the twins of different options from one another. */
static unsigned int outcome(const struct bigtcp_twin *t)
{
	return 1u << (t->direct | (t->clamped_sites != 0) << 1 | t->by_address << 2);
}

static int load_unchanged(struct bt_load *l, const char *why)
{
	int fd = bt_load_call(&l->attr, l->size);

	l->rep->status = BT_TWIN_NOT_NEEDED;
	if (l->size >= ATTR_LOG_TRUE_SIZE + sizeof(__u32))
		memcpy(&l->rep->log_true_size, l->raw + ATTR_LOG_TRUE_SIZE, sizeof(__u32));
	bt_say_not_needed(l->rep, why);
	return fd;
}

/*
 * Loads the first form that the engine makes and the verifier takes; the engine's answer to forms[0] is @first.
 * Else the error of that form: the engine's, or the verifier's with l->twin as it refused it.
 */
static int load_a_form(struct bt_load *l, int first)
{
	bool engine = first;
	struct bigtcp_twin_reason why;
	unsigned int tried = 0, n;
	int err;

	if (!engine) {
		tried = outcome(&l->twin.twin);
		first = bt_load_try(l, &l->twin.twin, BT_LOG_CALLER);
	}
	for (n = 1, err = first; n < FORM_CNT && err < 0 && !hopeless(l, err); n++) {
		/* What the engine refuses it refuses in all forms that move headers. */
		if ((engine && !forms[n].by_address) || make_twin(l, &forms[n], &why) ||
		    tried & outcome(&l->twin.twin))
			continue;
		tried |= outcome(&l->twin.twin);
		err = bt_load_try(l, &l->twin.twin, BT_LOG_CALLER);
	}
	if (err >= 0 || bt_load_system_error(err))
		return err;
	if (!engine && n > 1 && make_twin(l, &forms[0], &why))
		return -ENOMEM;
	return first;
}

/*
 * A twin that changes nothing would only be slower; and a dispatcher (libxdp's, say) must not be one, for the
 * programs that are put into it want the packet as it is. tc: a twin all the same, for its counters.
 */
static bool same_as_original(const struct bt_load *l)
{
	return l->sees != BPF_PROG_TYPE_SCHED_CLS && l->sees != BPF_PROG_TYPE_SCHED_ACT &&
	       !l->twin.twin.moved_sites;
}

static int load_twin(struct bt_load *l)
{
	const char *why = unfit(l);
	int fd, engine = 0;

	if (why) {
		l->rep->reason.why = BIGTCP_TWIN_PROG_TYPE;
		snprintf(l->rep->reason.text, sizeof(l->rep->reason.text), "%s", why);
		return refused(l, -EOPNOTSUPP);
	}
	/* No engine needed to see these fail. */
	if (!l->attr.insns || !l->attr.insn_cnt || l->attr.insn_cnt > INSNS_MAX)
		return load_original(l);
	fd = create_maps(&l->twin);
	if (!fd) {
		engine = make_twin(l, &forms[0], &l->rep->reason);
		if (!engine && same_as_original(l))
			return load_unchanged(l, "nothing in it depends on where headers are");
		fd = load_a_form(l, engine);
	}
	if (fd >= 0) {
		l->rep->status = BT_TWIN_MADE;
		l->rep->by_address = l->twin.twin.by_address;
		l->rep->insns_after = l->twin.twin.insn_cnt;
		return fd;
	}
	if (engine == -ENOTSUP || engine == -EINVAL)
		return refused_by_engine(l, engine);
	if (!bt_load_system_error(fd))
		return after_verifier(l, fd);
	l->rep->status = BT_TWIN_SYSTEM;
	bt_say_system(l->rep, " as a twin", fd);
	return without_twin(l, fd);
}

/* A twin, if jumbo packets can reach the program. */
static int load(struct bt_load *l)
{
	const char *unaffected;

	l->sees = bt_twin_type_of(l->attr.prog_type, (int)l->attr.attach_prog_fd);
	unaffected = bt_twin_type(l->sees)->unaffected;
	/* Offloaded, or bound to the device (BPF_F_XDP_DEV_BOUND_ONLY, 6.3): the kernel attaches it in
	 * the card or the driver alone.
	 */
	if (l->attr.prog_ifindex)
		unaffected = "it is loaded for a network card or its driver, which never see a "
			     "jumbo packet";
	return unaffected ? load_unchanged(l, unaffected) : load_twin(l);
}

void bt_twin_kept_free(struct bt_twin_kept *keep)
{
	if (keep->made)
		bigtcp_twin_free(&keep->twin);
	cleanup_fd(&keep->state_fd);
	cleanup_fd(&keep->buf_fd);
	*keep = (struct bt_twin_kept){ .state_fd = -1, .buf_fd = -1 };
}

static int start(struct bt_load *l, const union bpf_attr *attr)
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
	struct bt_load l = { .size = attr_size, .rep = rep };
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

int bt_twin_prog_load_keep(const union bpf_attr *attr, __u32 attr_size,
			   enum bt_refused_policy policy, const struct bigtcp_twin_opts *opts,
			   struct bt_twin_report *rep, struct bt_twin_kept *keep)
{
	struct bt_load l = { .size = attr_size,
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
		fd = load(&l);
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
