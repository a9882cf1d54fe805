/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another process, stopped inside a system call that a seccomp filter has handed to us: its
 * memory, its file descriptors and what it is allowed to do.
 */
#ifndef CORE_REMOTE_H
#define CORE_REMOTE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * One stopped thread. Everything is reached through descriptors that stay with the process they
 * were opened for, so that nothing is read from or written to a stranger that inherited its pid. They are opened
 * by pid, though: the caller must ask SECCOMP_IOCTL_NOTIF_ID_VALID before it trusts what it read.
 */
struct bt_remote {
	pid_t tid; /* as this process's pid namespace numbers it */
	pid_t pid; /* its thread group */
	int proc; /* /proc/TID */
	int mem; /* /proc/TID/mem */
	int pidfd; /* of the thread, or of its group before kernel 6.9 */
	char comm[16];
	__u64 caps; /* effective capabilities; 0 when they are of another user namespace */
	bool same_netns; /* interface indices mean the same to it and to us */
	char why[256]; /* what bt_remote_open() failed on, as a sentence */
};

/*
 * Opens thread @tid. @procfs: an open /proc. Returns 0, or -errno with a sentence in r->why
 * (-EPERM when this process may not look into it: CAP_SYS_PTRACE, yama). bt_remote_close() ends it, after
 * a failure too. Thread-safe, like all of these.
 */
int bt_remote_open(int procfs, pid_t tid, struct bt_remote *r);
void bt_remote_close(struct bt_remote *r);

/* Copy memory; 0, or -EFAULT when any byte of it is not there (as the kernel answers). */
int bt_remote_read(const struct bt_remote *r, __u64 addr, void *buf, size_t len);
int bt_remote_write(const struct bt_remote *r, __u64 addr, const void *buf, size_t len);

/* Copies a string of at most @size - 1 bytes, cut there, always ended. 0 or -EFAULT. */
int bt_remote_read_str(const struct bt_remote *r, __u64 addr, char *buf, size_t size);

/* Duplicates its descriptor @fd into this process (close-on-exec); >= 0, or -errno. */
int bt_remote_getfd(const struct bt_remote *r, int fd);

/*
 * Makes the calling thread as weak as @r: effective capabilities become the common part of both.
 * A system call made on behalf of @r then gets the kernel's own answer to what @r may do.
 * bt_remote_caps_restore() takes back what bt_remote_caps_drop() gave up. 0 or -errno.
 */
int bt_remote_caps_drop(const struct bt_remote *r, __u64 *old);
int bt_remote_caps_restore(__u64 old);

#endif
