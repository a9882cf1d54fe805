/* SPDX-License-Identifier: GPL-2.0 */
/* What bigtcp's own programs that stay at devices have in common: the guard, the observer. */
#ifndef CORE_OWNPROG_H
#define CORE_OWNPROG_H

#include <linux/types.h>
#include <stdbool.h>

/* Why a program of bigtcp's was not loaded; returns @err. @what: "the guard". */
int bt_own_load_error(int err, const char *what);

/* The map called @name of program @prog_id. Returns its fd, -ENOENT, or -errno (-EPERM: it takes CAP_SYS_ADMIN). */
int bt_own_map(__u32 prog_id, const char *name);

struct btf;
/*
 * Are the values of the map behind @fd made as those of our own map, of whose object @btf is and whose values are of
 * type @type: members of the same names, sizes and places?
 */
bool bt_own_same_values(int fd, const struct btf *btf, __u32 type);

#endif
