/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The daemon's main loop: epoll over file descriptors, timers and signals, in one thread. Calls that a signal or a
 * suspend interrupts are made again.
 */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <signal.h>
#include <stdbool.h>

struct bt_loop;
typedef void (*bt_loop_fn)(void *arg);

/* 0 or -errno. */
int bt_loop_new(struct bt_loop **out);
void bt_loop_free(struct bt_loop **l);

/* Calls fn whenever @fd can be read. The fd stays the caller's. 0 or -errno. */
int bt_loop_add(struct bt_loop *l, int fd, bt_loop_fn fn, void *arg);
void bt_loop_del(struct bt_loop *l, int fd);

/* A timer that is not set; returns its number, for bt_loop_set(), or -errno. @suspend: time in which the host is
 * suspended counts too.
 */
int bt_loop_timer(struct bt_loop *l, bool suspend, bt_loop_fn fn, void *arg);
/* Once, in @ms milliseconds (0: as soon as the loop is back); negative: not at all. */
void bt_loop_set(struct bt_loop *l, int timer, long ms);

/* Blocks the signals of @set in this thread and calls fn with each that arrives. 0 or -errno. */
int bt_loop_signals(struct bt_loop *l, const sigset_t *set, void (*fn)(void *arg, int sig),
		    void *arg);

/* Until bt_loop_stop(). 0 or -errno. */
int bt_loop_run(struct bt_loop *l);
void bt_loop_stop(struct bt_loop *l);

#endif
