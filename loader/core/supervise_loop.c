// SPDX-License-Identifier: GPL-2.0
/* The supervisor at work: threads that take load calls from the filter's listener. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/remote_load.h"
#include "core/supervise_int.h"

/* Loads at a time. More wait in the kernel; no load waits for another, so nothing can hang on it. */
#define WORKERS 8

/* Newer than linux-libc-dev 6.1: the caller's wake-up of us, and ours of it, hand over the CPU (6.6). */
#define NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

struct job {
	struct bt_supervisor *s;
	__u64 id;
	pid_t tid;
	__u64 addr;
	__u32 size;
	__u64 start_ns;
};

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000 + (__u64)ts.tv_nsec;
}

/* Is the call still waiting for us? If so, what we opened by its pid was its own. */
static bool waiting(const struct job *j)
{
	__u64 id = j->id;

	return !ioctl(j->s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
}

static void answer_error(const struct job *j, int err)
{
	/* flags stay 0, always: a call whose arguments were read here is never let through to the
	 * kernel, since the caller's other threads can have changed them.
	 */
	struct seccomp_notif_resp resp = { .id = j->id, .error = err };

	ioctl(j->s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* The kernel puts @fd into the caller and ends the call with its number, in one step. */
static void answer_fd(const struct job *j, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = j->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (__u32)fd,
		.newfd_flags = O_CLOEXEC,
	};

	if (ioctl(j->s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno != ENOENT)
		answer_error(j, -errno); /* e.g. -EMFILE, which is what bpf() itself would say */
}

static int said(struct bt_twin_report *rep, int err, const char *text)
{
	rep->status = BT_TWIN_SYSTEM;
	rep->err = err;
	if (!rep->text[0])
		snprintf(rep->text, sizeof(rep->text), "%s", text ? text : strerror(-err));
	return err;
}

/* The load itself, with no more capabilities than the caller has. */
static int load_as(const struct job *j, const struct bt_remote *r, const struct bt_remote_load *l,
		   struct bt_twin_report *rep)
{
	__u64 caps;
	int err, fd;

	err = bt_remote_caps_drop(r, &caps);
	if (err)
		return said(rep, err, "the supervisor cannot take on the caller's capabilities");
	fd = bt_twin_prog_load(&l->bpf, l->size, j->s->opts.policy, &j->s->opts.twin, rep);
	if (bt_remote_caps_restore(caps))
		abort(); /* it may always raise what it is permitted */
	return fd;
}

static int load(const struct job *j, const struct bt_remote *r, struct bt_twin_report *rep)
{
	struct bt_remote_load l;
	int err, ret;

	err = bt_remote_load_copy(r, j->addr, j->size, &l);
	if (err)
		return said(rep, err, NULL);
	rep->prog_type = l.attr.prog_type;
	snprintf(rep->prog_name, sizeof(rep->prog_name), "%.*s", BPF_OBJ_NAME_LEN - 1,
		 l.attr.prog_name);
	if (!waiting(j))
		ret = -ESRCH;
	else if (l.attr.prog_ifindex && !r->same_netns)
		ret = said(rep, -EOPNOTSUPP,
			   "a program bound to a device of another network namespace than the one "
			   "bigtcp exec was started in cannot be loaded from here");
	else
		ret = load_as(j, r, &l, rep);
	if (ret != -ESRCH) {
		err = bt_remote_load_log(r, &l, rep->log_true_size, ret);
		if (err < 0 && ret >= 0)
			close(ret);
		ret = err;
	}
	bt_remote_load_free(&l);
	return ret;
}

static void handle(const struct job *j)
{
	struct bt_twin_report rep = { 0 };
	struct bt_load_event ev = { .rep = &rep };
	struct bt_remote r;
	int fd __close = -1;
	int err;

	err = bt_remote_open(j->s->procfs, j->tid, &r);
	ev.ret = err ? said(&rep, err, r.why) : load(j, &r, &rep);
	fd = ev.ret;
	if (waiting(j)) {
		ev.who = &r;
		ev.total_ns = now_ns() - j->start_ns;
		bt_report_load(&j->s->report, &ev);
		if (fd >= 0)
			answer_fd(j, fd);
		else
			answer_error(j, fd);
	}
	bt_remote_close(&r);
}

/* A kernel newer than our headers may have longer structures. */
static size_t notif_size(void)
{
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) ||
	    sizes.seccomp_notif < sizeof(struct seccomp_notif))
		return sizeof(struct seccomp_notif);
	return sizes.seccomp_notif;
}

/*
 * Each worker waits in NOTIF_RECV for a call of its own. There the kernel, in some versions, leaves it for ever
 * when the last process with the filter is gone; the main thread sees that and ends us all.
 */
static void *work(void *arg)
{
	struct bt_supervisor *s = arg;
	size_t size = notif_size();
	struct seccomp_notif *n = malloc(size);

	while (n) {
		memset(n, 0, size); /* the kernel wants it so */
		if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, n)) {
			/* The caller was killed, or a signal took it out of the call, before we came. */
			if (errno == ENOENT || errno == EINTR)
				continue;
			break;
		}
		handle(&(struct job){
			.s = s,
			.id = n->id,
			.tid = (pid_t)n->pid,
			.addr = n->data.args[1],
			.size = (__u32)n->data.args[2],
			.start_ns = now_ns(),
		});
	}
	/* Rather than have loaders wait for us for ever: with us goes the listener, and bpf() fails. */
	_exit(1);
}

/* The command is gone: who reads its stderr must not wait for what it left running. */
static void leave_stderr(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
}

static int start_workers(struct bt_supervisor *s)
{
	int started = 0, err = 0;

	for (int i = 0; i < WORKERS; i++) {
		pthread_t thread;

		err = pthread_create(&thread, NULL, work, s);
		started += !err;
	}
	return started ? 0 : -err;
}

int bt_supervise_loop(struct bt_supervisor *s)
{
	struct pollfd fds[] = { { s->listener, 0, 0 }, { s->cmd, POLLIN, 0 } };
	int err;

	ioctl(s->listener, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
	err = start_workers(s);
	if (err)
		return err;
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents) {
			leave_stderr();
			fds[1].fd = -1;
		}
		if (fds[0].revents)
			break; /* POLLHUP: the last process with the filter is gone */
	}
	/* A load in progress is for nobody any more; a line of the report is still written whole. */
	pthread_mutex_lock(&s->report.lock);
	return 0;
}
