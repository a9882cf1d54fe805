/* SPDX-License-Identifier: GPL-2.0 */
/* What load and attach have in common: options, loading, and what they print about it. */
#ifndef CMD_LOADING_H
#define CMD_LOADING_H

#include "cmd/twin_opts.h"
#include "core/twinload.h"

struct bpf_program;

enum { OPT_PROG = 0x100, OPT_PLAIN, OPT_REFUSED, OPT_OWN };

/* clang-format off */
#define LOADING_OPTS \
	{ "prog", OPT_PROG, "NAME", "the program (its function's name)" }, \
	{ "plain", OPT_PLAIN, NULL, "do not rewrite it" }, \
	{ "refused", OPT_REFUSED, "fail|plain", \
	  "when there is no twin: fail (default), or load it unchanged" }, \
	TWIN_OPTS
/* clang-format on */

struct loading {
	struct bt_object_opts opts;
	struct bt_object *obj;
	struct bpf_program *prog; /* of obj */
};

/* Takes a value of bt_getopt(). Returns 0, or BT_EXIT_USAGE with a sentence. */
int loading_opt(struct loading *l, int c);

/*
 * Loads FILE and prints what became of its programs, into the object that the caller has opened in the
 * output. Returns an enum bt_exit, with a sentence unless it is BT_EXIT_OK. End with loading_free().
 */
int loading_run(struct loading *l, const char *file);
void loading_free(struct loading *l);

#endif
