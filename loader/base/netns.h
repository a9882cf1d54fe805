/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Network namespaces: those that have a name, and private ones that vanish with the process that
 * made them.
 */
#ifndef BASE_NETNS_H
#define BASE_NETNS_H

#include <linux/types.h>
#include <stddef.h>

/* Opens a namespace by its name under /run/netns or, when there is a slash in it, by its path.
 * Returns an fd (close-on-exec), -ENOENT, or -EINVAL for a file that is no network namespace.
 */
int bt_netns_open(const char *name);

int bt_netns_self(void); /* fd of the one this thread is in */
int bt_netns_set(int fd); /* enter; 0 or -errno */
int bt_netns_enter(const char *name); /* open, then enter */
int bt_netns_new(void); /* enter a new empty one, without a name; -EPERM without CAP_SYS_ADMIN */
int bt_netns_inode(int fd, __u64 *inode); /* as `ip netns` and bpftool identify it */
/* Of the namespace this thread is in: a number that is never given to another one (Linux 5.14). 0 or -errno. */
int bt_netns_cookie(__u64 *cookie);

/*
 * Runs @fn(arg, res) in a child process, in a new private namespace with lo up, and waits for it.
 * Whatever fn made in the namespace is gone when it returns, also when it was killed. Returns what
 * fn returned; -ETIMEDOUT after @timeout_ms (the child is killed), -ECHILD when it crashed, -EPERM.
 * @res (res_len bytes, at most 64 KiB) is filled only when fn returned >= 0. An error sentence of
 * the child becomes the caller's. The child dies when the caller's thread dies. fn must not start
 * processes that outlive it.
 */
int bt_netns_run(int (*fn)(void *arg, void *res), void *arg, void *res, size_t res_len,
		 int timeout_ms);

#endif
