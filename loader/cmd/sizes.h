/* SPDX-License-Identifier: GPL-2.0 */
/* How enable, disable and status write sizes. */
#ifndef CMD_SIZES_H
#define CMD_SIZES_H

#include <stddef.h>

#include "base/rtnl.h"

#define SIZES_TEXT 32

/* "196608", or "65536/196608" (gso/gro); "-": the kernel has none. Returns buf. */
const char *sizes_text(__u32 gso, __u32 gro, char *buf);
/* An object with the four sizes, nothing in text. */
void print_sizes(const char *key, const struct bt_sizes *s);

#endif
