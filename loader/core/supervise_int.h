/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the supervisor share. */
#ifndef CORE_SUPERVISE_INT_H
#define CORE_SUPERVISE_INT_H

#include <pthread.h>

#include "core/remote.h"
#include "core/supervise.h"

struct bt_report {
	int fd; /* -1: sentences on stderr instead */
	pthread_mutex_t lock;
	bool broken; /* a write failed and was told */
	char last[1024]; /* the last sentence, and whom it was about */
	pid_t last_pid;
};

/* One load call, told when its outcome is known and before the loader knows it. */
struct bt_load_event {
	const struct bt_remote *who;
	const struct bt_twin_report *rep;
	int ret; /* a descriptor (loaded), or -errno */
	__u64 total_ns; /* from the moment we saw the call */
};

/* Opens the file, or sets up for stderr when @path is NULL. 0 or -errno with bt_err(). */
int bt_report_open(struct bt_report *r, const char *path);
/* Thread-safe. */
void bt_report_load(struct bt_report *r, const struct bt_load_event *ev);

struct bt_supervisor {
	struct bt_supervise_opts opts;
	struct bt_report report;
	int procfs; /* /proc */
	int listener;
	int cmd; /* pidfd of the process that was started in our caller's place */
};

/* Answers calls until no process has the filter any more; then the process should exit, with
 * what threads it has. -errno if it cannot begin.
 */
int bt_supervise_loop(struct bt_supervisor *s);

#endif
