/* SPDX-License-Identifier: GPL-2.0 */
/* How the rows of a preflight are written: by preflight and by enable. */
#ifndef CMD_CHECKS_H
#define CMD_CHECKS_H

#include "core/preflight.h"

/* A table; as JSON an array, @key NULL at top level. */
void print_checks(const char *key, const struct bt_check *list, unsigned int n);

#endif
