/* SPDX-License-Identifier: GPL-2.0 */
/* What the sandwich's files share. */
#ifndef CORE_SANDWICH_INT_H
#define CORE_SANDWICH_INT_H

/* libxdp's words go to stderr with -v only. The last warning since bt_libxdp_quiet(), or "". */
void bt_libxdp_quiet(void);
const char *bt_libxdp_warning(void);

/* A folder with our dispatcher, where libxdp is made to look for its own. */
struct bt_dispatcher {
	char dir[64], file[96]; /* "": the user has named a folder of his own */
};
/* 0, or -errno with a sentence. */
int bt_dispatcher_put(struct bt_dispatcher *d);
void bt_dispatcher_remove(struct bt_dispatcher *d);

#endif
