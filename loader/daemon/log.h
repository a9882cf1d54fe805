/* SPDX-License-Identifier: GPL-2.0 */
/* The daemon's log: stderr, a line each, with the priority in front where the journal reads it. */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include <linux/types.h>

/* As syslog(3) numbers them. */
enum bt_prio { BT_LOG_ERR = 3, BT_LOG_WARNING, BT_LOG_NOTICE, BT_LOG_INFO, BT_LOG_DEBUG };

/* BT_LOG_DEBUG is for -v. */
void bt_log(enum bt_prio prio, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What was last said about one thing. Zeroed: nothing. */
struct bt_said {
	__u64 hash;
};

/* "WHO: SENTENCE", if the sentence is not the one that was said last. */
void bt_log_once(struct bt_said *said, enum bt_prio prio, const char *who, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
