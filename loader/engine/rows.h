/* SPDX-License-Identifier: GPL-2.0 */
/* Shorthands for the rows of helpers.c and kfuncs.c. */
#ifndef ENGINE_ROWS_H
#define ENGINE_ROWS_H

#include "engine/effects.h"

/* clang-format off */
#define NONE(n)			{ .name = n, .effect = EFF_NONE }
#define OTHER(n)		{ .name = n, .effect = EFF_OTHER }
#define OFFSET(n, a)		{ .name = n, .effect = EFF_OFFSET, .arg = a }
#define CUT(n, a)		{ .name = n, .effect = EFF_OFFSET, .arg = a, .cuts = true }
#define OFFSET_NZ(n, a)		{ .name = n, .effect = EFF_OFFSET_NZ, .arg = a }
#define AROUND(n, args)		{ .name = n, .effect = EFF_AROUND, .nargs = args }
#define HASH(n, args)		{ .name = n, .effect = EFF_HASH, .nargs = args }
#define CAPTURE(n, a, args)	{ .name = n, .effect = EFF_CAPTURE, .arg = a, .nargs = args }
#define TAIL_CALL(n, args)	{ .name = n, .effect = EFF_TAIL_CALL, .nargs = args }
#define SEGS(n, a)		{ .name = n, .effect = EFF_SEGS, .arg = a }
#define NO_CTX(n)		{ .name = n, .effect = EFF_NO_CTX }
#define DYNPTR(n, a)		{ .name = n, .effect = EFF_DYNPTR, .arg = a }
/* Runs later, or sees no packet. */
#define LATER(n, a)		{ .name = n, .effect = EFF_CALLBACK, .arg = a }
#define CALLBACK(n, a, from, to) \
	{ .name = n, .effect = EFF_CALLBACK, .arg = a, .cb_from = from, .cb_to = to }
#define LENGTH(n)		{ .name = n, .effect = EFF_LENGTH }
#define HEAD(n)			{ .name = n, .effect = EFF_HEAD }
#define TAIL(n)			{ .name = n, .effect = EFF_TAIL, .cuts = true }
#define REFUSE(n, w)		{ .name = n, .effect = EFF_REFUSE, .why = w }
#define RESIZE(n, w)		{ .name = n, .effect = EFF_REFUSE, .why = w, .resizes = true }
/* clang-format on */

static const struct effect_row unknown = { .name = "", .effect = EFF_UNKNOWN };

#endif
