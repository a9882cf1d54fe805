/* SPDX-License-Identifier: GPL-2.0 */
/* What systemd is told (sd_notify(3)); without systemd these do nothing. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

void bt_notify_ready(const char *status);
void bt_notify_reloading(void);
void bt_notify_stopping(void);
void bt_notify_status(const char *status);

/* How often bt_notify_alive() is to be called, in milliseconds: half of what WatchdogSec= allows; 0: never. */
long bt_notify_interval(void);
void bt_notify_alive(void);

#endif
