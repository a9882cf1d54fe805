// SPDX-License-Identifier: GPL-2.0
/* What systemd hears from the daemon, at a socket of our own; and one daemon a run directory. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "daemon/lock.h"
#include "daemon/notify.h"

static char dir[] = "/tmp/bigtcp-notify.XXXXXX";
static int sock;

static void open_socket(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 10 };

	cr_assert_not_null(mkdtemp(dir));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(sock, 0);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	cr_assert_eq(bind(sock, (void *)&a, sizeof(a)), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
}

static void close_socket(void)
{
	char path[64];

	close(sock);
	snprintf(path, sizeof(path), "%s/sock", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/bigtcpd.pid", dir);
	unlink(path);
	rmdir(dir);
}

static const char *heard(void)
{
	static char buf[512];
	ssize_t n = recv(sock, buf, sizeof(buf) - 1, 0);

	cr_assert_geq(n, 0, "nothing came: %s", strerror(errno));
	buf[n] = 0;
	return buf;
}

Test(daemon_notify, says_what_it_does, .init = open_socket, .fini = close_socket)
{
	bt_notify_ready("3 devices");
	cr_assert_str_eq(heard(), "READY=1\nSTATUS=3 devices");
	bt_notify_reloading();
	cr_assert_eq(strncmp(heard(), "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
	bt_notify_status("one\rtwo");
	cr_assert_eq(strncmp(heard(), "STATUS=one", 10), 0);
	bt_notify_alive();
	cr_assert_str_eq(heard(), "WATCHDOG=1");
	bt_notify_stopping();
	cr_assert_str_eq(heard(), "STOPPING=1");
}

Test(daemon_notify, twice_in_the_time_of_the_watchdog)
{
	char pid[24];

	cr_assert_eq(bt_notify_interval(), 0, "no watchdog");
	setenv("WATCHDOG_USEC", "30000000", 1);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	cr_assert_eq(bt_notify_interval(), 15000);
	setenv("WATCHDOG_PID", "1", 1);
	cr_assert_eq(bt_notify_interval(), 0, "that of another process");
}

Test(daemon_notify, silent_without_systemd)
{
	unsetenv("NOTIFY_SOCKET");
	bt_notify_ready("x");
	bt_notify_alive();
}

Test(daemon_lock, one_at_a_time, .init = open_socket, .fini = close_socket)
{
	char want[64];
	int a = bt_daemon_lock(dir), b;

	cr_assert_geq(a, 0, "%s", bt_err_text());
	bt_err_clear();
	b = bt_daemon_lock(dir);
	cr_assert_eq(b, -EBUSY);
	snprintf(want, sizeof(want), "bigtcpd runs already (pid %d,", getpid());
	cr_assert_eq(strncmp(bt_err_text(), want, strlen(want)), 0, "%s", bt_err_text());
	close(a);
	bt_err_clear();
	b = bt_daemon_lock(dir);
	cr_assert_geq(b, 0, "%s", bt_err_text());
	close(b);
}

Test(daemon_lock, a_place_that_cannot_be)
{
	cr_assert_lt(bt_daemon_lock("/proc/nowhere/run"), 0);
	cr_assert_not_null(strstr(bt_err_text(), "/proc/nowhere/run"));
}
