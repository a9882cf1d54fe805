/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a loader with its BPF_PROG_LOAD calls taken over: a seccomp filter hands them to a
 * supervisor, which makes twins, loads them and hands the descriptors back.
 */
#ifndef CORE_SUPERVISE_H
#define CORE_SUPERVISE_H

#include "core/twinload.h"

struct bt_supervise_opts {
	enum bt_refused_policy policy;
	struct bigtcp_twin_opts twin; /* any_len, max_payload_len, direct */
	/* A file of one JSON object a line; each is there before its load returns to the loader.
	 * Replaced if it exists. NULL: a sentence on stderr for each program without a twin.
	 */
	const char *report;
};

/*
 * From here on every bpf(BPF_PROG_LOAD) of this process, its future threads, its children and what any of
 * them executes goes to a supervisor, a process of its own session that is nobody's child. It ends with
 * the last process that has the filter, so the caller need not wait for it and may execute
 * the loader in its own place: pid, terminal, signals and exit status are then the loader's own.
 *
 * Call it with one thread. No bit of it can be undone; on failure (-errno, bt_err() says why) the caller
 * should exit. Without CAP_SYS_ADMIN it sets no_new_privs.
 */
int bt_supervise_start(const struct bt_supervise_opts *opts);

#endif
