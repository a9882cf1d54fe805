/* SPDX-License-Identifier: GPL-2.0 */
/* The original and the twin of one corpus program, each with maps of its own, and runs of both. */
#ifndef PROG_PAIR_H
#define PROG_PAIR_H

#include <bigtcp/twin.h>
#include <bpf/libbpf.h>

#include "core/twinload.h"
#include "packet.h"
#include "statement.h"

struct pair_kind;

struct pair {
	const struct statement *st;
	const struct pair_kind *kind; /* what there is to know of the program's type */
	struct packet_form form;
	struct bt_object *plain, *twin;
	int plain_fd, twin_fd, state_fd;
	__u32 min_len; /* 0: any */
	bool max_payload_len;
	unsigned long lost; /* packets that the twin dropped, rightly */
};

/* Loads both, fills program arrays and device maps, runs bt_setup in both. 0, or -errno with a sentence in
 * @why. opts->min_len is chosen here. @whole: jumbo packets are above 64 KiB.
 */
int pair_open(struct pair *p, const struct statement *st, const char *clang,
	      const struct bigtcp_twin_opts *opts, bool whole, char *why, size_t len);
void pair_close(struct pair *p);

/* One random packet through both. @jumbo: with the header for the twin, without for the original; else the
 * same for both. 0: alike; 1: not, @why says how; -errno.
 */
int pair_run(struct pair *p, struct rng *r, bool jumbo, char *why, size_t len);
/* false: a test run of this kernel gives such programs no packet pointers, and says nothing. */
bool pair_sees_bytes(const struct pair *p);
int pair_state(const struct pair *p, struct bigtcp_twin_state *s);
/* "ab cd ..." of the last packet, for messages. */
const struct packet *pair_last(void);

#endif
