/* SPDX-License-Identifier: GPL-2.0 */
/* For those who list programs and have a struct bt_attached of their own (core/hooks.h). */
#ifndef CORE_GUARD_ID_H
#define CORE_GUARD_ID_H

#include <linux/types.h>
#include <stdbool.h>

/* Is a program that of a guard at @dev, or (NULL) at any device of this network namespace? */
bool bt_guard_is(__u32 prog_id, const char *dev);

#endif
