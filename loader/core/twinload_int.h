/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of loading a twin share: one load call, single tries of it, sentences about it. */
#ifndef CORE_TWINLOAD_INT_H
#define CORE_TWINLOAD_INT_H

#include "core/twinload.h"

/* union bpf_attr grows with the kernel: the caller's can be longer than ours. The kernel takes up
 * to a page (kernel/bpf/syscall.c, bpf_check_uarg_tail_zero); what is past our union is passed on as it is.
 */
#define ATTR_MAX 4096
/* Fields of BPF_PROG_LOAD that Debian 12's headers do not have yet. */
#define ATTR_LOG_TRUE_SIZE 140 /* 6.4 */
#define ATTR_SIGNATURE	   152 /* 6.18 */

struct bt_load {
	union {
		union bpf_attr attr;
		unsigned char raw[ATTR_MAX];
	};
	__u32 size;
	enum bt_refused_policy policy;
	struct bigtcp_twin_opts opts;
	struct bt_twin_report *rep;
	struct bt_twin_kept twin; /* .made: .twin is valid */
	enum bpf_prog_type sees; /* the type that decides what the program sees: core/twintype.h */
	bool log_full; /* the caller's log buffer was too small in the last attempt that used it */
};

/* --- twintry.c: one BPF_PROG_LOAD ------------------------------------------------------------- */

enum bt_log_use { BT_LOG_NONE, BT_LOG_CALLER };

/* The call as it is. An fd above 2, or -errno. */
int bt_load_call(union bpf_attr *attr, __u32 size);

/* The call with twin @t's instructions or (NULL) the original's; without the caller's log where that is too
 * small for it.
 */
int bt_load_try(struct bt_load *l, const struct bigtcp_twin *t, enum bt_log_use log);

/* Fills rep->log with the end of the verifier's log; the load is known to fail with @err. */
void bt_load_fetch_log(struct bt_load *l, const struct bigtcp_twin *t, int err);

/* Errors that say nothing about the program. */
bool bt_load_system_error(int err);

/* --- twinsay.c: rep->text ----------------------------------------------------------------------- */

const char *bt_say_prog(const struct bt_twin_report *rep, char *buf,
			size_t len); /* "program NAME" */
void bt_say_system(struct bt_twin_report *rep, const char *what, int err);
void bt_say_bad_prog(struct bt_twin_report *rep, int err);
void bt_say_verifier(struct bt_twin_report *rep, int err);
void bt_say_refused(struct bt_twin_report *rep);
void bt_say_not_needed(struct bt_twin_report *rep, const char *why);

#endif
