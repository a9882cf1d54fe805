// SPDX-License-Identifier: GPL-2.0
#include "daemon/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

static int runs_already(int fd, const char *run_dir)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	if (n > 0)
		pid[strcspn(pid, "\n")] = 0;
	return bt_err(-EBUSY, "bigtcpd runs already (pid %s, run directory %s)", n > 0 ? pid : "?",
		      run_dir);
}

int bt_daemon_lock(const char *run_dir)
{
	char path[PATH_MAX], pid[24];
	int fd __close = -1;
	int n;

	if (mkdir(run_dir, 0755) && errno != EEXIST)
		return bt_err(-errno, "cannot make the run directory %s: %s", run_dir,
			      strerror(errno));
	if (snprintf(path, sizeof(path), "%s/bigtcpd.pid", run_dir) >= (int)sizeof(path))
		return bt_err(-ENAMETOOLONG, "the run directory's name is too long");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return bt_err(-errno, "cannot open %s: %s", path, strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			return runs_already(fd, run_dir);
		if (errno != EINTR)
			return bt_err(-errno, "cannot lock %s: %s", path, strerror(errno));
	}
	n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)n, 0) != n)
		return bt_err(-errno, "cannot write %s: %s", path, strerror(errno));
	return TAKE_FD(fd);
}
