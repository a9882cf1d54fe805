/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads a program as its twin: the engine between a BPF_PROG_LOAD call and the kernel. The one
 * place that knows what to do when there is no twin, for load, attach and exec alike.
 */
#ifndef CORE_TWINLOAD_H
#define CORE_TWINLOAD_H

#include <bigtcp/twin.h>

enum bt_refused_policy {
	BT_REFUSED_FAIL, /* no twin: the load fails */
	BT_REFUSED_PLAIN, /* no twin: the original is loaded and the reason reported */
};

enum bt_twin_status {
	BT_TWIN_MADE, /* loaded as a twin */
	BT_TWIN_NOT_NEEDED, /* a program type no jumbo packet reaches: loaded as it is */
	BT_TWIN_REFUSED, /* the engine has no twin for it: see reason */
	BT_TWIN_VERIFIER, /* the verifier refused the twin and accepts the original */
	BT_TWIN_BAD_PROG, /* the verifier refuses the original too */
	BT_TWIN_SYSTEM, /* no permission, memory or file handles for a twin: see text */
	BT_TWIN_PLAIN, /* not rewritten, as asked */
};

/* What became of one program. */
struct bt_twin_report {
	enum bt_twin_status status;
	enum bpf_prog_type prog_type;
	char prog_name[BPF_OBJ_NAME_LEN];
	struct bigtcp_twin_reason reason; /* BT_TWIN_REFUSED */
	char source[256]; /* "file.c:123: the line", of reason.insn, where BTF has it; or "" */
	char text[768]; /* one sentence for the user, whatever the status but MADE */
	char log[2048]; /* the last lines of the verifier's log, refusals only */
	__u32 insns_before, insns_after;
	bool by_address; /* BT_TWIN_MADE: it changes offsets and moves nothing */
	__u64 ns; /* spent making and loading the twin */
	int err; /* -errno of the load when nothing was loaded */
	/* What the kernel put into attr.log_true_size (6.4+) in the last attempt that used the
	 * caller's log; 0: nothing. For who hands the result on to another process.
	 */
	__u32 log_true_size;
};

const char *bt_twin_status_name(enum bt_twin_status s); /* "twin", "not-needed", ... */
/* "moves headers", "by addressing"; NULL: no twin. */
const char *bt_twin_form_name(const struct bt_twin_report *rep);

/*
 * BPF_PROG_LOAD with rewriting. @attr is complete, with pointers into this process and this
 * process's fds (insns, license, BTF, fd_array, func_info ...); it is not modified. Log buffer
 * fields are honoured: on a refusal by the verifier the caller sees the log of the last
 * attempt. Returns the new program fd, or -errno; @rep is always filled.
 */
int bt_twin_prog_load(const union bpf_attr *attr, __u32 attr_size, enum bt_refused_policy policy,
		      const struct bigtcp_twin_opts *opts, struct bt_twin_report *rep);

/* BPF_PROG_LOAD without rewriting, with the same report of a failure; BT_TWIN_PLAIN. */
int bt_plain_prog_load(const union bpf_attr *attr, __u32 attr_size, struct bt_twin_report *rep);

/*
 * bt_twin_prog_load() for a loader that makes the load call again itself (libbpf): what the twin is made
 * of. The map fds are in the instructions, so they must stay open until that call is done.
 */
struct bt_twin_kept {
	bool made; /* the rest is valid: rep->status is BT_TWIN_MADE */
	struct bigtcp_twin twin;
	int state_fd, buf_fd;
};

int bt_twin_prog_load_keep(const union bpf_attr *attr, __u32 attr_size,
			   enum bt_refused_policy policy, const struct bigtcp_twin_opts *opts,
			   struct bt_twin_report *rep, struct bt_twin_kept *keep);
void bt_twin_kept_free(struct bt_twin_kept *keep);

struct bpf_object;
struct bpf_program;

struct bt_object_opts {
	/* Load this program and those that the object's program arrays name (a tail call into an
	 * empty slot would be a silent change); NULL: all that have a known section name.
	 */
	const char *only;
	/* The type of the program that is meant (SCHED_CLS: SCHED_ACT too), and what a program in a section
	 * without a known name is taken for; 0: any that gets twins, and SCHED_CLS.
	 */
	enum bpf_prog_type type;
	/* @only NULL: the object's one program of that type that no program array names; -ENOTUNIQ */
	bool sole;
	bool any_type; /* @only may be of any program type at all */
	bool plain; /* rewrite nothing */
	/* Called between open and load, e.g. to set constants; an error ends the load. May be NULL. */
	int (*prepare)(struct bpf_object *obj, void *arg);
	void *prepare_arg;
	bool no_pins; /* a dry run: maps that ask to be pinned by name are not */
	enum bt_refused_policy policy;
	struct bigtcp_twin_opts twin; /* fds and callbacks are filled in */
};

struct bt_object; /* an opened and loaded object, owns the bpf_object */

/*
 * Opens and loads FILE, its programs as twins. Returns 0, or -errno with a sentence (truncated,
 * non-BPF, no such program, not of the type, EPERM, no BTF, verifier refusals). Sections without
 * a known name have a type only when named by @only. On failure *out holds the reports alone if there are any
 * (bt_object_bpf() is NULL then), else NULL; free it either way. Not for use by two threads at
 * once: libbpf's section handlers are global.
 */
int bt_object_load(const char *path, const struct bt_object_opts *opts, struct bt_object **out);
void bt_object_free(struct bt_object *o);
/* Removes the pins of maps that this load has made (LIBBPF_PIN_BY_NAME), not those it found. */
void bt_object_undo_pins(struct bt_object *o);
struct bpf_object *bt_object_bpf(struct bt_object *o);
struct bpf_program *
bt_object_prog(struct bt_object *o); /* the one that only or sole meant; or NULL */
unsigned int bt_object_reports(const struct bt_object *o, const struct bt_twin_report **reps);

#endif
