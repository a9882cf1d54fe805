// SPDX-License-Identifier: GPL-2.0
#include "daemon/loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SOURCES 16

struct source {
	int fd; /* -1: free */
	bool timer; /* read by the loop, and the loop's to close */
	bt_loop_fn fn;
	void *arg;
};

struct bt_loop {
	int ep, sigfd;
	bool stop;
	struct source v[SOURCES];
	void (*on_signal)(void *arg, int sig);
	void *signal_arg;
};

int bt_loop_new(struct bt_loop **out)
{
	struct bt_loop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->sigfd = -1;
	for (int i = 0; i < SOURCES; i++)
		l->v[i].fd = -1;
	l->ep = epoll_create1(EPOLL_CLOEXEC);
	if (l->ep < 0) {
		free(l);
		return -errno;
	}
	*out = l;
	return 0;
}

void bt_loop_free(struct bt_loop **lp)
{
	struct bt_loop *l = *lp;

	if (!l)
		return;
	for (int i = 0; i < SOURCES; i++) {
		if (l->v[i].fd >= 0 && l->v[i].timer)
			close(l->v[i].fd);
	}
	if (l->sigfd >= 0)
		close(l->sigfd);
	close(l->ep);
	free(l);
	*lp = NULL;
}

/* Returns the source's number, or -errno. */
static int add(struct bt_loop *l, const struct source *s)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int i;

	for (i = 0; i < SOURCES && l->v[i].fd >= 0; i++)
		;
	if (i == SOURCES)
		return -ENOSPC;
	ev.data.u32 = (uint32_t)i;
	if (epoll_ctl(l->ep, EPOLL_CTL_ADD, s->fd, &ev))
		return -errno;
	l->v[i] = *s;
	return i;
}

int bt_loop_add(struct bt_loop *l, int fd, bt_loop_fn fn, void *arg)
{
	int i = add(l, &(struct source){ .fd = fd, .fn = fn, .arg = arg });

	return i < 0 ? i : 0;
}

void bt_loop_del(struct bt_loop *l, int fd)
{
	for (int i = 0; i < SOURCES; i++) {
		if (fd < 0 || l->v[i].fd != fd)
			continue;
		epoll_ctl(l->ep, EPOLL_CTL_DEL, fd, NULL);
		l->v[i].fd = -1;
	}
}

int bt_loop_timer(struct bt_loop *l, bool suspend, bt_loop_fn fn, void *arg)
{
	int fd __close = timerfd_create(suspend ? CLOCK_BOOTTIME : CLOCK_MONOTONIC,
					TFD_CLOEXEC | TFD_NONBLOCK);
	int i;

	if (fd < 0)
		return -errno;
	i = add(l, &(struct source){ .fd = fd, .timer = true, .fn = fn, .arg = arg });
	if (i >= 0)
		(void)TAKE_FD(fd);
	return i;
}

void bt_loop_set(struct bt_loop *l, int timer, long ms)
{
	struct itimerspec when = {};

	/* A value of 0 would switch it off. */
	if (ms >= 0) {
		when.it_value.tv_sec = ms / 1000;
		when.it_value.tv_nsec = ms % 1000 * 1000000 + (ms == 0);
	}
	timerfd_settime(l->v[timer].fd, 0, &when, NULL);
}

static void read_signals(void *arg)
{
	struct bt_loop *l = arg;
	struct signalfd_siginfo si;

	while (read(l->sigfd, &si, sizeof(si)) == sizeof(si))
		l->on_signal(l->signal_arg, (int)si.ssi_signo);
}

int bt_loop_signals(struct bt_loop *l, const sigset_t *set, void (*fn)(void *arg, int sig),
		    void *arg)
{
	int fd __close = -1;
	int err;

	if (sigprocmask(SIG_BLOCK, set, NULL))
		return -errno;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = bt_loop_add(l, fd, read_signals, l);
	if (err)
		return err;
	l->on_signal = fn;
	l->signal_arg = arg;
	l->sigfd = TAKE_FD(fd);
	return 0;
}

/* One source: a callback may have taken others away, so each wait is for one event. */
static void dispatch(const struct source *s)
{
	uint64_t expired;

	/* A timer that was set anew meanwhile has nothing to read. */
	if (s->timer && read(s->fd, &expired, sizeof(expired)) < 0)
		return;
	s->fn(s->arg);
}

int bt_loop_run(struct bt_loop *l)
{
	struct epoll_event ev;
	int n;

	l->stop = false;
	while (!l->stop) {
		n = epoll_wait(l->ep, &ev, 1, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 1 && ev.data.u32 < SOURCES && l->v[ev.data.u32].fd >= 0)
			dispatch(&l->v[ev.data.u32]);
	}
	return 0;
}

void bt_loop_stop(struct bt_loop *l)
{
	l->stop = true;
}
