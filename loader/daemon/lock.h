/* SPDX-License-Identifier: GPL-2.0 */
/* One daemon a host: a locked file with the process's number in the run directory. */
#ifndef DAEMON_LOCK_H
#define DAEMON_LOCK_H

/* Makes @run_dir if it is missing. Returns an fd that holds the lock until it is closed, or -errno with a sentence:
 * -EBUSY, "runs already (pid N)". The file stays.
 */
int bt_daemon_lock(const char *run_dir);

#endif
