/* SPDX-License-Identifier: GPL-2.0 */
/* Options about how twins are made: the same words for load, attach and exec. */
#ifndef CMD_TWIN_OPTS_H
#define CMD_TWIN_OPTS_H

#include <bigtcp/twin.h>

#include "base/err.h"
#include "base/number.h"

enum { OPT_MAX_PAYLOAD_LEN = 0x300, OPT_RESIZE_FAILS, OPT_BY_ADDRESS, OPT_LENGTH };

/* clang-format off */
#define TWIN_OPTS \
	{ "by-address", OPT_BY_ADDRESS, NULL, \
	  "change the offsets of packet accesses instead of moving headers, also for XDP and large " \
	  "tc programs (cgroup_skb programs and socket filters: always so)" }, \
	{ "max-payload-len", OPT_MAX_PAYLOAD_LEN, NULL, \
	  "jumbo packets show payload_len 65535 instead of 0" }, \
	{ "length", OPT_LENGTH, "N", \
	  "what payload_len (IPv6) and tot_len (IPv4) read as in TCP packets above 64 KiB where the " \
	  "kernel leaves 0, with and without the jumbo header (1 to 65535); implies --by-address" }, \
	{ "resize-fails", OPT_RESIZE_FAILS, NULL, \
	  "a twin also of a program that resizes packets (bpf_skb_adjust_room, change_proto, " \
	  "change_head): these calls fail with ENOTSUPP for jumbo packets, and are counted" }
/* clang-format on */

/* Takes a value of bt_getopt(). Returns 0, or BT_EXIT_USAGE: with a sentence if it is a bad value, without if it
 * is none of these options.
 */
static inline int twin_opt(struct bigtcp_twin_opts *o, int c, const char *arg)
{
	__u64 val;

	switch (c) {
	case OPT_BY_ADDRESS:
		o->by_address = true;
		break;
	case OPT_MAX_PAYLOAD_LEN:
		o->max_payload_len = true;
		break;
	case OPT_LENGTH:
		if (!bt_number(arg, 65535, &val) || !val)
			return bt_err(BT_EXIT_USAGE, "--length is 1 to 65535, not '%s'", arg);
		o->length = val;
		o->by_address = true;
		break;
	case OPT_RESIZE_FAILS:
		o->resize_fails = true;
		break;
	default:
		return BT_EXIT_USAGE;
	}
	if (o->length && o->max_payload_len)
		return bt_err(BT_EXIT_USAGE,
			      "--length says what --max-payload-len would (that is "
			      "65535, of packets with the jumbo header): give one of them");
	return 0;
}

#endif
