// SPDX-License-Identifier: GPL-2.0
/* A process stopped in a system call: memory, descriptors, capabilities. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/remote.h"

/* linux-libc-dev 6.1 does not have it; the kernel since 6.9. */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* Value of field "Name:" of a /proc/TID/status text, read in @base; -ENOENT when it is not there. */
static int status_field(const char *status, const char *name, int base, __u64 *val)
{
	size_t len = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ':') {
			*val = strtoull(line + len + 1, NULL, base);
			return 0;
		}
	}
	return -ENOENT;
}

static ssize_t read_small(int dir, const char *name, char *buf, size_t size)
{
	int fd __close = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

/* Whether namespace @name ("ns/net") of the process behind @proc is ours. Doubt means no. */
static bool same_ns(int procfs, int proc, const char *name)
{
	struct stat theirs, ours;
	char self[32];

	snprintf(self, sizeof(self), "self/%s", name);
	return !fstatat(proc, name, &theirs, 0) && !fstatat(procfs, self, &ours, 0) &&
	       theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

/*
 * A thread may have descriptors and even a leader of its own fate (the leader can be a zombie),
 * so its own pidfd is the right one; kernels before 6.9 only have that of the group.
 */
static int open_pidfd(pid_t tid, pid_t pid)
{
	int fd = pidfd_open(tid, PIDFD_THREAD);

	if (fd < 0 && errno == EINVAL)
		fd = pidfd_open(pid, 0);
	return fd < 0 ? -errno : fd;
}

static int open_all(int procfs, pid_t tid, struct bt_remote *r)
{
	char name[16], status[4096];
	__u64 pid, caps;
	ssize_t n;

	snprintf(name, sizeof(name), "%d", tid);
	r->proc = openat(procfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read_small(r->proc, "status", status, sizeof(status));
	if (n < 0)
		return (int)n;
	if (status_field(status, "Tgid", 10, &pid) || status_field(status, "CapEff", 16, &caps))
		return -ENODATA;
	r->tid = tid;
	r->pid = (pid_t)pid;
	/* The numbers of another user namespace are about that namespace's own things. */
	r->caps = same_ns(procfs, r->proc, "ns/user") ? caps : 0;
	r->same_netns = same_ns(procfs, r->proc, "ns/net");
	n = read_small(r->proc, "comm", r->comm, sizeof(r->comm));
	if (n > 0 && r->comm[n - 1] == '\n')
		r->comm[n - 1] = '\0';
	r->mem = openat(r->proc, "mem", O_RDWR | O_CLOEXEC);
	if (r->mem < 0)
		return errno == EACCES ? -EPERM : -errno;
	r->pidfd = open_pidfd(tid, r->pid);
	return r->pidfd < 0 ? r->pidfd : 0;
}

int bt_remote_open(int procfs, pid_t tid, struct bt_remote *r)
{
	int err;

	*r = (struct bt_remote){ .proc = -1, .mem = -1, .pidfd = -1 };
	if (tid <= 0) { /* our pid namespace has no number for it */
		snprintf(r->why, sizeof(r->why),
			 "cannot look into a process of an outside pid "
			 "namespace");
		return -EPERM;
	}
	err = open_all(procfs, tid, r);
	if (err)
		snprintf(r->why, sizeof(r->why),
			 "cannot look into process %d (%s): this takes CAP_SYS_PTRACE, or the same "
			 "user and kernel.yama.ptrace_scope=0",
			 tid, strerror(-err));
	return err;
}

void bt_remote_close(struct bt_remote *r)
{
	int *fds[] = { &r->proc, &r->mem, &r->pidfd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		cleanup_fd(fds[i]);
		*fds[i] = -1;
	}
}

int bt_remote_read(const struct bt_remote *r, __u64 addr, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(r->mem, (char *)buf + done, len - done, (off_t)(addr + done));

		if (n <= 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

int bt_remote_write(const struct bt_remote *r, __u64 addr, const void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n =
			pwrite(r->mem, (const char *)buf + done, len - done, (off_t)(addr + done));

		if (n <= 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

int bt_remote_read_str(const struct bt_remote *r, __u64 addr, char *buf, size_t size)
{
	/* Byte by byte: the string may end right before a page that is not there. It is short. */
	for (size_t i = 0; i + 1 < size; i++) {
		int err = bt_remote_read(r, addr + i, buf + i, 1);

		if (err)
			return err;
		if (!buf[i])
			return 0;
	}
	buf[size - 1] = '\0';
	return 0;
}

int bt_remote_getfd(const struct bt_remote *r, int fd)
{
	int got = pidfd_getfd(r->pidfd, fd, 0);

	return got < 0 ? -errno : got;
}

static int caps_get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &hdr, data) ? -errno : 0;
}

static int caps_set_effective(__u64 eff)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int err = caps_get(data);

	if (err)
		return err;
	data[0].effective = (__u32)eff;
	data[1].effective = (__u32)(eff >> 32);
	/* Of the calling thread alone: the C library's set*id broadcast is not in the way here. */
	return syscall(SYS_capset, &hdr, data) ? -errno : 0;
}

int bt_remote_caps_drop(const struct bt_remote *r, __u64 *old)
{
	struct __user_cap_data_struct data[2];
	int err = caps_get(data);

	if (err)
		return err;
	*old = data[0].effective | (__u64)data[1].effective << 32;
	return (*old & r->caps) == *old ? 0 : caps_set_effective(*old & r->caps);
}

int bt_remote_caps_restore(__u64 old)
{
	struct __user_cap_data_struct data[2];
	int err = caps_get(data);

	if (err || (data[0].effective | (__u64)data[1].effective << 32) == old)
		return err;
	return caps_set_effective(old);
}
