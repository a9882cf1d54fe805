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
	__u64 ns; /* spent making and loading the twin */
	int err; /* -errno of the load when nothing was loaded */
};

const char *bt_twin_status_name(enum bt_twin_status s); /* "twin", "not-needed", ... */

/*
 * BPF_PROG_LOAD with rewriting. @attr is complete, with pointers into this process and this
 * process's fds (insns, license, BTF, fd_array, func_info ...); it is not modified. Log buffer
 * fields are honoured: on a refusal by the verifier the caller sees the log of the last
 * attempt. Returns the new program fd, or -errno; @rep is always filled.
 */
int bt_twin_prog_load(const union bpf_attr *attr, __u32 attr_size, enum bt_refused_policy policy,
		      const struct bigtcp_twin_opts *opts, struct bt_twin_report *rep);

struct bpf_object;

/*
 * Arranges that the tc programs of @obj (opened, not loaded, by bt_object_open()) are loaded as
 * twins. @only: just this program (NULL: all). After bpf_object__load() bt_twin_reports() gives what became of
 * each. plain: rewrite nothing.
 */
struct bt_object_opts {
	const char *only;
	bool plain;
	enum bt_refused_policy policy;
	struct bigtcp_twin_opts twin; /* any_len, max_payload_len, direct: others are filled in */
};

struct bt_object; /* an opened and loaded object, owns the bpf_object */

/* Opens and loads FILE; sentences for truncated, non-BPF, no such program, not a tc program, EPERM, no BTF,
 * verifier refusals. Sections without a known name are taken as SCHED_CLS when named by @only.
 */
int bt_object_load(const char *path, const struct bt_object_opts *opts, struct bt_object **out);
void bt_object_free(struct bt_object *o);
struct bpf_object *bt_object_bpf(struct bt_object *o);
unsigned int bt_object_reports(const struct bt_object *o, const struct bt_twin_report **reps);

#endif
