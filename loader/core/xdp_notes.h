/* SPDX-License-Identifier: GPL-2.0 */
/* What XDP does to BIG TCP on a device, and on the other end of a veth, whatever the program does. */
#ifndef CORE_XDP_NOTES_H
#define CORE_XDP_NOTES_H

#include <net/if.h>

/* One thing to know. The phrases fit together as "FOUND: WHY; ADVICE". */
struct bt_xdp_note {
	int ifindex; /* the device whose packets are concerned */
	char dev[IFNAMSIZ];
	const char
		*code; /* "xdp-native-veth", "xdp-native-peer", "xdp-generic": stable, for JSON */
	char found[192];
	const char *why, *advice;
};

/* Of device @dev, or of all (NULL) in this namespace. free() *notes. 0, or -errno with a sentence. */
int bt_xdp_notes(const char *dev, struct bt_xdp_note **notes, unsigned int *n);

#endif
