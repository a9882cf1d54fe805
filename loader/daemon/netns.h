/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other network namespaces, which the kernel names by numbers (IFLA_LINK_NETNSID) and the host by files. Nothing is held
 * open: an fd would keep the namespace of a container alive that is gone.
 */
#ifndef DAEMON_NETNS_H
#define DAEMON_NETNS_H

#include "daemon/config.h"

struct bt_places; /* which file is which number, now */

/* Looks through the directories. 0 or -errno. Those that are not there are passed over. */
int bt_places_new(const char dirs[][192], unsigned int n_dirs, struct bt_places **out);
void bt_places_free(struct bt_places **p);

/*
 * Enters the namespace that this one knows as @nsid; bt_netns_set(home) is the way back. 0; -ENOENT: no file in the
 * directories is it; -EPERM: it takes CAP_SYS_ADMIN; or another -errno. No sentence.
 */
int bt_places_enter(const struct bt_places *p, int nsid);

#endif
