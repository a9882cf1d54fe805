// SPDX-License-Identifier: GPL-2.0
/* A socket belongs to the namespace it was made in, so one thread and a poll loop are enough. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/netns.h"
#include "core/transfer.h"

#define CHUNK	   (256 * 1024) /* above the largest packet the probe asks for */
#define TRY_MS	   100
#define CONNECT_MS 3000

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int tcp_socket(int ns, int family)
{
	int fd, err = bt_netns_set(ns);

	if (err)
		return err;
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	return fd < 0 ? -errno : fd;
}

/* *lst: a listener; *tx: a socket on its way to it. */
static int open_pair(const struct bt_route *r, int *lst, int *tx)
{
	int one = 1;

	*lst = tcp_socket(r->rx_ns, r->addr->sa_family);
	if (*lst < 0)
		return *lst;
	setsockopt(*lst, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(*lst, r->addr, r->addr_len) || listen(*lst, 1))
		return -errno;
	*tx = tcp_socket(r->tx_ns, r->addr->sa_family);
	if (*tx < 0)
		return *tx;
	if (connect(*tx, r->addr, r->addr_len) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

static int wait_accept(int lst, int timeout_ms)
{
	struct pollfd p = { .fd = lst, .events = POLLIN };
	int fd;

	if (timeout_ms <= 0 || poll(&p, 1, timeout_ms) <= 0)
		return -ETIMEDOUT;
	fd = accept4(lst, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/*
 * Connects, trying anew often: a device that was just set up drops the first SYN (its carrier is
 * noticed up to a second late), and TCP itself would repeat it only a second later.
 */
static int establish(const struct bt_route *r, long long end, int *tx, int *rx)
{
	int err;

	do {
		int lst __close = -1, out __close = -1, in __close = -1;

		err = open_pair(r, &lst, &out);
		if (!err)
			in = wait_accept(lst, TRY_MS);
		if (!err && in >= 0) {
			*tx = TAKE_FD(out);
			*rx = TAKE_FD(in);
			return 0;
		}
		err = err ? err : in;
		/* No route yet is of the same kind. */
		if (err != -ETIMEDOUT && err != -ENETUNREACH && err != -EADDRNOTAVAIL)
			return err;
		if (err != -ETIMEDOUT)
			poll(NULL, 0, TRY_MS);
	} while (now_ms() < end);
	return err;
}

/* Reads what is there. Bytes read, or -errno. */
static long drain(int rx, char *buf)
{
	long got = 0;
	ssize_t n;

	while ((n = recv(rx, buf, CHUNK, 0)) > 0)
		got += n;
	return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : got;
}

static int pump(int tx, int rx, unsigned long bytes, long long end, int (*enough)(void *arg),
		void *arg)
{
	struct pollfd p[2] = { { .fd = tx }, { .fd = rx, .events = POLLIN } };
	char *buf __free = calloc(2, CHUNK);
	unsigned long sent = 0, got = 0;

	if (!buf)
		return -ENOMEM;
	while (got < bytes) {
		long long left = end - now_ms();
		ssize_t n = 0;

		if (enough && enough(arg))
			return 0;
		p[0].events = sent < bytes ? POLLOUT : 0;
		if (left <= 0 || poll(p, 2, (int)left) < 0)
			return -ETIMEDOUT;
		if (sent < bytes)
			n = send(tx, buf, CHUNK, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		sent += n > 0 ? (unsigned long)n : 0;
		n = drain(rx, buf + CHUNK);
		if (n < 0)
			return (int)n;
		got += (unsigned long)n;
	}
	return 0;
}

int bt_transfer(const struct bt_route *r, unsigned long bytes, int timeout_ms,
		int (*enough)(void *arg), void *arg)
{
	int tx __close = -1, rx __close = -1;
	int err = establish(r, now_ms() + CONNECT_MS, &tx, &rx);

	return err ? err : pump(tx, rx, bytes, now_ms() + timeout_ms, enough, arg);
}
