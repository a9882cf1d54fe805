/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rtnetlink tells of devices, of tc, and of the numbers of other network namespaces, in the namespace it was opened
 * in. Only that something has changed is taken from it: what there is now is read by a dump.
 */
#ifndef DAEMON_EVENTS_H
#define DAEMON_EVENTS_H

struct bt_nlevents;

enum bt_event {
	BT_EVENT_NONE,
	BT_EVENT_CHANGED,
	BT_EVENT_LOST, /* more came than the buffer held: anything may have changed */
};

/* @rcvbuf: bytes; 0: a large one. 0, or -errno with a sentence. */
int bt_nlevents_new(unsigned int rcvbuf, struct bt_nlevents **out);
void bt_nlevents_free(struct bt_nlevents **e);

/* To wait at. */
int bt_nlevents_fd(const struct bt_nlevents *e);
/* Takes all that has come, without waiting. -errno: the socket is of no use any more. */
int bt_nlevents_read(struct bt_nlevents *e);

#endif
