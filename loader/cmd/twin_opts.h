/* SPDX-License-Identifier: GPL-2.0 */
/* Options about how twins are made: the same words for load, attach and exec. */
#ifndef CMD_TWIN_OPTS_H
#define CMD_TWIN_OPTS_H

#include <bigtcp/twin.h>

enum { OPT_MAX_PAYLOAD_LEN = 0x300, OPT_RESIZE_FAILS };

/* clang-format off */
#define TWIN_OPTS \
	{ "max-payload-len", OPT_MAX_PAYLOAD_LEN, NULL, \
	  "jumbo packets show payload_len 65535 instead of 0" }, \
	{ "resize-fails", OPT_RESIZE_FAILS, NULL, \
	  "a twin also of a program that resizes packets (bpf_skb_adjust_room, change_proto, " \
	  "change_head): these calls fail with ENOTSUPP for jumbo packets, and are counted" }
/* clang-format on */

/* Takes a value of bt_getopt(); false: it is none of these. */
static inline bool twin_opt(struct bigtcp_twin_opts *o, int c)
{
	switch (c) {
	case OPT_MAX_PAYLOAD_LEN:
		o->max_payload_len = true;
		return true;
	case OPT_RESIZE_FAILS:
		o->resize_fails = true;
		return true;
	default:
		return false;
	}
}

#endif
