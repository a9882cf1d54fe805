/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers from words of the command line and from file names. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <linux/types.h>
#include <stdbool.h>

/* A decimal number and nothing else, up to @max. false: it is none; *val may be written. */
bool bt_number(const char *s, __u64 max, __u64 *val);

#endif
