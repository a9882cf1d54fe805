/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a value that a run left behind what the runs on plain packets let one expect? Counters go on,
 * byte counters grow with the length of the packet, timestamps differ in every run: none of this is
 * a difference in treatment.
 */
#ifndef CORE_AUDIT_CELLS_H
#define CORE_AUDIT_CELLS_H

#include <linux/types.h>
#include <stdbool.h>

#define BT_CELL_SAMPLES 16

/* A value (of @size bytes) before and after one run. */
struct bt_sample {
	const __u8 *old, *new;
	__u32 len; /* of the packet */
	bool large; /* above 64 KiB */
	unsigned int seq; /* order of the runs in time */
};

/*
 * Compares @size bytes of @h, a run on a jumbo packet, with @n runs on plain packets of the same
 * kind; at least two of them should be of one length, since what differs between these is noise.
 * Returns -1 when it is what they let one expect, or the offset of the first byte that is not.
 */
int bt_cells_check(const struct bt_sample *plain, unsigned int n, const struct bt_sample *h,
		   unsigned int size);

#endif
