// SPDX-License-Identifier: GPL-2.0
/* Entering namespaces, and work in a private one in a child process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/rtnl.h"

int bt_netns_open(const char *name)
{
	char path[PATH_MAX];
	int fd __close = -1;
	int type;

	if (!*name || snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "/run/netns/",
			       name) >= (int)sizeof(path))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	type = ioctl(fd, NS_GET_NSTYPE);
	if (type != CLONE_NEWNET)
		return -EINVAL;
	return TAKE_FD(fd);
}

int bt_netns_self(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int bt_netns_set(int fd)
{
	return setns(fd, CLONE_NEWNET) ? -errno : 0;
}

int bt_netns_enter(const char *name)
{
	int fd __close = bt_netns_open(name);

	return fd < 0 ? fd : bt_netns_set(fd);
}

int bt_netns_new(void)
{
	return unshare(CLONE_NEWNET) ? -errno : 0;
}

int bt_netns_inode(int fd, __u64 *inode)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*inode = st.st_ino;
	return 0;
}

int bt_netns_cookie(__u64 *cookie)
{
	int fd __close = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*cookie);
	__u64 got;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &got, &len))
		return -errno;
	*cookie = got;
	return 0;
}

/* --- work in a child -------------------------------------------------------- */

/* What the child says first; its result follows. */
struct answer {
	int ret;
	char sentence[2048];
};

static int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static __attribute__((noreturn)) void child(int (*fn)(void *arg, void *res), void *arg,
					    size_t res_len, int fd)
{
	void *res = calloc(1, res_len ? res_len : 1);
	struct answer a = {};
	int err;

	a.ret = res ? bt_netns_new() : -ENOMEM;
	if (!a.ret) {
		err = bt_link_set_up(1);
		a.ret = err ? err : fn(arg, res);
	} else if (a.ret == -EPERM) {
		bt_err(-EPERM, "a private network namespace takes CAP_SYS_ADMIN: run this as root");
	}
	if (bt_err_text())
		snprintf(a.sentence, sizeof(a.sentence), "%s", bt_err_text());
	if (!write_all(fd, &a, sizeof(a)) && a.ret >= 0)
		write_all(fd, res, res_len);
	/* _exit: what the parent has not yet flushed to stdout is not to be written twice. */
	_exit(0);
}

static long ms_left(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
}

/* 0, -ETIMEDOUT, or -ECHILD when the pipe ends early. */
static int read_all(int fd, void *buf, size_t len, const struct timespec *end)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t got = 0;

	while (got < len) {
		long left = ms_left(end);
		ssize_t n;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(fd, (char *)buf + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECHILD;
		got += (size_t)n;
	}
	return 0;
}

static int collect(int fd, void *res, size_t res_len, const struct timespec *end)
{
	void *copy __free = malloc(res_len ? res_len : 1);
	struct answer a;
	int err;

	if (!copy)
		return -ENOMEM;
	err = read_all(fd, &a, sizeof(a), end);
	if (err)
		return err;
	if (a.sentence[0])
		bt_err(a.ret, "%s", a.sentence);
	if (a.ret < 0)
		return a.ret;
	err = read_all(fd, copy, res_len, end);
	if (err)
		return err;
	if (res_len)
		memcpy(res, copy, res_len);
	return a.ret;
}

int bt_netns_run(int (*fn)(void *arg, void *res), void *arg, void *res, size_t res_len,
		 int timeout_ms)
{
	int rd __close = -1, wr __close = -1;
	struct timespec end;
	int fds[2], ret;
	pid_t pid, parent = getpid();

	if (res_len > 65536)
		return -EINVAL;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	rd = fds[0];
	wr = fds[1];
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	end.tv_nsec += timeout_ms % 1000 * 1000000L;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		/* The parent may have gone before prctl(): then nobody would ever kill us. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		bt_err_clear();
		close(rd);
		child(fn, arg, res_len, wr);
	}
	close(TAKE_FD(wr));
	ret = collect(rd, res, res_len, &end);
	/* After its answer the child has nothing left to do, and a crashed one is dead anyway. */
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}
