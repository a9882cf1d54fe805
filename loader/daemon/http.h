/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GET /metrics and GET /healthz, over a UNIX socket and over loopback TCP, inside the daemon's own event loop: one fd to
 * wait for, no threads. Clients that are slow or many cost a bounded number of fds, and never the loop's time.
 */
#ifndef DAEMON_HTTP_H
#define DAEMON_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct bt_http_opts {
	const char *socket; /* path, made with mode 0660; NULL: none */
	/* "127.0.0.1:9464", "[::1]:9464", "localhost:9464"; port 0: one that is free. NULL: none */
	const char *listen;
	/* Writes the text of /metrics. 0, or -errno (the client gets 500). */
	int (*metrics)(void *arg, FILE *to);
	/* /healthz: true is 200, false 503. @why: one sentence, which the client gets either way. */
	bool (*healthy)(void *arg, char *why, size_t len);
	void *arg;
};

struct bt_http;

/*
 * Listens. 0, or -errno with a sentence and nothing left: an address that is not of this host alone (-EINVAL), a
 * socket at which somebody listens (-EADDRINUSE), a file that is no socket (-EEXIST). The socket of a daemon
 * that was killed is replaced.
 */
int bt_http_new(const struct bt_http_opts *opts, struct bt_http **out);

/* Can this be listened at? For checking a configuration. 0, or -EINVAL with a sentence. */
int bt_http_check_listen(const char *listen);

/* Wait for EPOLLIN (level-triggered) at this fd, at most bt_http_timeout() milliseconds (-1: any time), then call
 * bt_http_run(). It may be called at any other time too.
 */
int bt_http_fd(const struct bt_http *h);
int bt_http_timeout(const struct bt_http *h);
void bt_http_run(struct bt_http *h);

/* The port of the TCP socket, host byte order; 0: there is none. */
unsigned int bt_http_port(const struct bt_http *h);

/* Closes everything and removes the UNIX socket. *h may be NULL. */
void bt_http_free(struct bt_http **h);

#endif
