/* SPDX-License-Identifier: GPL-2.0 */
/* What the engine asks about the kernel and the program's maps while it makes one twin. */
#ifndef CORE_ANSWERS_H
#define CORE_ANSWERS_H

#include <bigtcp/twin.h>

#include "core/romap.h"

struct bt_answers {
	const int *fd_array; /* of the load call; may be NULL */
	struct bt_romaps ro;
};

/* Fills the callbacks of @o; @a must live as long as they are used, and ends with bt_answers_free(). */
void bt_answers_give(struct bt_answers *a, struct bigtcp_twin_opts *o);
void bt_answers_free(struct bt_answers *a);

#endif
