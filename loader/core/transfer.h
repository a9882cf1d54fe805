/* SPDX-License-Identifier: GPL-2.0 */
/* A short TCP transfer between two network namespaces, by one thread. */
#ifndef CORE_TRANSFER_H
#define CORE_TRANSFER_H

#include <sys/socket.h>

struct bt_route {
	int tx_ns, rx_ns; /* fds of the sender's and the receiver's namespace */
	const struct sockaddr *addr; /* address and port the receiver listens at */
	socklen_t addr_len;
};

/*
 * Sends up to @bytes. Stops early, with 0, when enough() says so. Connecting may take 3 s, the
 * transfer @timeout_ms. Returns 0, -ETIMEDOUT or another -errno. The thread is in one of the
 * two namespaces afterwards.
 */
int bt_transfer(const struct bt_route *r, unsigned long bytes, int timeout_ms,
		int (*enough)(void *arg), void *arg);

#endif
