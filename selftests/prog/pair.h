/* SPDX-License-Identifier: GPL-2.0 */
/* The original and the twin of one corpus program, each with maps of its own, and runs of both. */
#ifndef PROG_PAIR_H
#define PROG_PAIR_H

#include <bigtcp/twin.h>
#include <bpf/libbpf.h>

#include "core/twinload.h"
#include "packet.h"
#include "statement.h"

struct pair {
	const struct statement *st;
	struct bt_object *plain, *twin;
	int plain_fd, twin_fd, state_fd;
	bool max_payload_len;
};

/* Loads both, fills program arrays, runs bt_setup in both. 0, or -errno with a sentence in @why. */
int pair_open(struct pair *p, const struct statement *st, const char *clang,
	      const struct bigtcp_twin_opts *opts, char *why, size_t len);
void pair_close(struct pair *p);

/* One random packet through both. @jumbo: with the header for the twin, without for the original; else the
 * same for both. 0: alike; 1: not, @why says how; -errno.
 */
int pair_run(struct pair *p, struct rng *r, bool jumbo, char *why, size_t len);
int pair_state(const struct pair *p, struct bigtcp_twin_state *s);
/* "ab cd ..." of the last packet, for messages. */
const struct packet *pair_last(void);

#endif
