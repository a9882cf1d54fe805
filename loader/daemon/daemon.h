/* SPDX-License-Identifier: GPL-2.0 */
/* The daemon: configuration, rounds, events, signals and metrics put together. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <stdbool.h>

#include "daemon/config.h"

#define BT_CONFIG  "/etc/bigtcp/bigtcp.conf"
#define BT_RUN_DIR "/run/bigtcp"

struct bt_daemon_opts {
	const char *config, *run_dir;
	bool once;
};

/* Runs until SIGTERM or SIGINT (@once: for one round). 0; -EINVAL: the configuration is wrong, which is told; or
 * -errno with a sentence.
 */
int bt_daemon(const struct bt_daemon_opts *opts);

#endif
