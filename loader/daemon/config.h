/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The daemon's configuration: an INI file (libinih) with one [daemon] section and [device PATTERN] sections.
 * It is taken as a whole or not at all.
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "daemon/policy.h"

/* A [device PATTERN] section. */
struct bt_rule {
	char pattern[64]; /* glob, of the device's name */
	unsigned int line;
	__u32 size; /* bytes; 0: as large as the device takes */
	bool ipv6, ipv4;
	enum bt_policy policy;
	bool allow_unknown; /* programs that could not be judged count as safe */
	bool observe, guard;
	bool peer; /* of a veth: the other end too, wherever it is */
};

#define BT_NETNS_DIRS 8

struct bt_config {
	unsigned int interval, audit_interval; /* seconds */
	/* "": none. The socket's default is in the run directory. */
	char metrics_socket[108], metrics_listen[64], textfile[192];
	char netns_dirs[BT_NETNS_DIRS][192]; /* "": no more */
	struct bt_rule *rules;
	unsigned int n_rules;
};

/* Called for each error, with its line (0: the file as a whole) and a sentence. */
typedef void (*bt_config_error_fn)(void *arg, unsigned int line, const char *text);

/*
 * Reads a configuration and checks it. @run_dir: where the metrics socket is, unless it says. *out is
 * for bt_config_free(). 0; -EINVAL after fn was called for each error; -errno when the file can't be read, with a
 * sentence in bt_err(). *out is untouched on failure.
 */
int bt_config_read(const char *path, const char *run_dir, bt_config_error_fn fn, void *arg,
		   struct bt_config **out);
void bt_config_free(struct bt_config **cfg);

/* The section that a device of this name is in, or NULL. The first that matches. */
const struct bt_rule *bt_config_rule(const struct bt_config *cfg, const char *dev);

/* All keys with their defaults, as a commented configuration. For help, man page and tests. */
void bt_config_describe(FILE *to);

#endif
