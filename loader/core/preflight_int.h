/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of preflight: the state of one run, and how checks make rows. */
#ifndef CORE_PREFLIGHT_INT_H
#define CORE_PREFLIGHT_INT_H

#include "core/preflight.h"
#include "core/stack.h"

#define BT_PF_LEGACY 65536U /* above it packets are jumbo */

struct bt_pf {
	struct bt_link dev;
	char driver[32]; /* "": unknown */
	/* Sizes that would be set: what is wanted, but no more than the device takes. 0: not of that IP version. */
	__u32 size, size_ipv4;
	__u32 wanted; /* the larger of what was asked for */
	const struct bt_live *live; /* NULL: it could not be looked */
	char no_live[256]; /* why */
	bool hbh; /* IPv6 packets have the jumbo header, or may have */
	struct bt_related *stack;
	unsigned int n_stack, stack_left_out;
	struct bt_judge *judge;
	const char *root; /* where systemd's files are looked for, "" for / */

	const char *code; /* of the check that runs */
	struct bt_check *rows;
	unsigned int n, cap;
	struct bt_check spare; /* what rows are written to when there is no memory */
	int err;
};

/* A new row, about @about (NULL: the kernel or host). Never NULL; valid until the next one. */
struct bt_check *bt_pf_row(struct bt_pf *pf, enum bt_level level, const struct bt_link *about);

/* Writes one of the three texts of a row. */
void bt_say(char (*text)[256], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define CHECK(code, fn, looks_at) void fn(struct bt_pf *pf);
#include "core/preflight.tab.h"
#undef CHECK

/* The larger of both versions' sizes. */
static inline __u32 bt_pf_size(const struct bt_pf *pf)
{
	return pf->size > pf->size_ipv4 ? pf->size : pf->size_ipv4;
}

#endif
