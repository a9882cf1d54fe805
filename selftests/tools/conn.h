/* SPDX-License-Identifier: GPL-2.0 */
/* What the traffic tools have in common: one process with both ends of a TCP connection across two network namespaces. */
#ifndef TOOLS_CONN_H
#define TOOLS_CONN_H

#include "base/cleanup.h"
#include "base/netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define CONNECT_MS 5000

struct conn_args {
	const char *client_ns, *server_ns, *addr; /* addr: the server's */
	unsigned int port;
	unsigned int listen_port; /* differs from port where a program on the way changes it */
};

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* CPU time of this process, both ends and what the kernel does in their context, seconds. */
static inline double cpu_secs(void)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Says what failed, and why (errno). Returns -1. */
static inline int conn_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	return -1;
}

/* The address of @args with @port. IPv4 goes to an IPv4 socket. */
static inline socklen_t make_addr(const struct conn_args *args, unsigned int port,
				  struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *a6 = (void *)ss;
	struct sockaddr_in *a4 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET6, args->addr, &a6->sin6_addr) == 1) {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
		return sizeof(*a6);
	}
	if (inet_pton(AF_INET, args->addr, &a4->sin_addr) != 1) {
		errno = EINVAL;
		return 0;
	}
	a4->sin_family = AF_INET;
	a4->sin_port = htons(port);
	return sizeof(*a4);
}

static inline void block_at_most(int fd, unsigned int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static inline int listen_at(const struct conn_args *args)
{
	struct sockaddr_storage ss;
	socklen_t len = make_addr(args, args->listen_port, &ss);
	int fd __close = -1, one = 1;

	if (!len)
		return conn_die(args->addr);
	/* Any address: a program on the way may change where packets go. */
	if (ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&ss)->sin6_addr = in6addr_any;
	else
		((struct sockaddr_in *)&ss)->sin_addr.s_addr = htonl(INADDR_ANY);
	fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return conn_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&ss, len) || listen(fd, 1))
		return conn_die("listen");
	block_at_most(fd, CONNECT_MS);
	return TAKE_FD(fd);
}

static inline int connect_to(const struct conn_args *args)
{
	struct sockaddr_storage ss;
	socklen_t len = make_addr(args, args->port, &ss);
	int fd __close = -1;

	if (!len)
		return conn_die(args->addr);
	fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return conn_die("socket");
	block_at_most(fd, CONNECT_MS);
	if (connect(fd, (void *)&ss, len))
		return conn_die("connect");
	return TAKE_FD(fd);
}

static inline int enter(const char *ns)
{
	if (!bt_netns_enter(ns))
		return 0;
	errno = ENOENT;
	return conn_die(ns);
}

/*
 * A connection across the two namespaces; fds[0] is the client's end. Calls on it block for @step_ms at most.
 */
static inline int make_connection(const struct conn_args *args, unsigned int step_ms, int fds[2])
{
	int lfd __close = -1, fd __close = -1, peer;

	if (enter(args->server_ns))
		return -1;
	lfd = listen_at(args);
	if (lfd < 0 || enter(args->client_ns))
		return -1;
	fd = connect_to(args);
	if (fd < 0)
		return -1;
	peer = accept(lfd, NULL, NULL);
	if (peer < 0)
		return conn_die("accept");
	block_at_most(fd, step_ms);
	block_at_most(peer, step_ms);
	fds[0] = TAKE_FD(fd);
	fds[1] = peer;
	return 0;
}

#endif
