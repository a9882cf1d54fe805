// SPDX-License-Identifier: GPL-2.0
#include "daemon/events.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"

/* 1,000 containers that start together. */
#define RCVBUF (4 << 20)

struct bt_nlevents {
	struct mnl_socket *nl;
	char buf[16384];
};

static void set_rcvbuf(int fd, int size)
{
	/* The first goes above the system's limit and takes CAP_NET_ADMIN. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int subscribe(struct mnl_socket *nl)
{
	static const int groups[] = { RTNLGRP_LINK, RTNLGRP_TC, RTNLGRP_NSID };

	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		int group = groups[i];

		if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
			return -errno;
	}
	return 0;
}

int bt_nlevents_new(unsigned int rcvbuf, struct bt_nlevents **out)
{
	struct bt_nlevents *e __cleanup(bt_nlevents_free) = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	err = e->nl ? 0 : -errno;
	if (!err) {
		set_rcvbuf(mnl_socket_get_fd(e->nl), rcvbuf ? (int)rcvbuf : RCVBUF);
		err = subscribe(e->nl);
	}
	if (err)
		return bt_err(err, "cannot listen to changes of devices: %s", strerror(-err));
	*out = TAKE_PTR(e);
	return 0;
}

void bt_nlevents_free(struct bt_nlevents **e)
{
	if (!*e)
		return;
	if ((*e)->nl)
		mnl_socket_close((*e)->nl);
	free(*e);
	*e = NULL;
}

int bt_nlevents_fd(const struct bt_nlevents *e)
{
	return mnl_socket_get_fd(e->nl);
}

int bt_nlevents_read(struct bt_nlevents *e)
{
	int seen = BT_EVENT_NONE;

	for (;;) {
		ssize_t n = mnl_socket_recvfrom(e->nl, e->buf, sizeof(e->buf));

		if (n > 0) {
			seen = seen == BT_EVENT_LOST ? seen : BT_EVENT_CHANGED;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		/* Once for each time that the buffer was full; ENOSPC: a message longer than ours. */
		if (n < 0 && (errno == ENOBUFS || errno == ENOSPC)) {
			seen = BT_EVENT_LOST;
			continue;
		}
		return n < 0 && errno != EAGAIN ? -errno : seen;
	}
}
