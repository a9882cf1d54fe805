/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PROG_GUARD_FRAMES_H
#define PROG_GUARD_FRAMES_H

#include "guard_model.h"

#define GUARD_FRAME 1400u
#define GUARD_BIG   66000u

struct frame {
	__u8 data[GUARD_PACKET_MAX];
	__u32 len;
};
extern struct frame f; /* of the test that runs; each test is a process */

/* What is to be found at tc, in a GSO packet at tc, at XDP. */
struct guard_row {
	const char *what;
	void (*make)(void); /* fills f */
	__u32 tc, gso, xdp;
};
extern const struct guard_row guard_rows[];
extern const unsigned int guard_nrows;

void kernel_small(void); /* the kernel's form, on a packet of GUARD_FRAME bytes */
void mld(void);
void plain_tcp(void);

#endif
