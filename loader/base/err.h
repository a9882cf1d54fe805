/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Errors. Inside the tool a function returns 0 or -errno and may leave one sentence for the
 * user: what failed, what it means, what to do. The command's edge prints it, as text on stderr
 * or as {"error": "..."} on stdout, and exits with the code below.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* Exit codes, the same for every command. */
enum bt_exit {
	BT_EXIT_OK = 0,
	BT_EXIT_USAGE = 1,
	BT_EXIT_REFUSED = 2, /* the system refused */
	BT_EXIT_UNSAFE = 3, /* checked, and unsafe */
};

/* How often -v was given. 1: libbpf's own log goes to stderr, 2: its debug lines too. */
extern int bt_verbose;

/* Remember the sentence for the user; returns err, so that `return bt_err(-ENOENT, "...")` reads
 * well. The innermost call wins: an outer bt_err() for an error already explained keeps the
 * first sentence. bt_err_clear() forgets it (before a fallback is tried).
 */
int bt_err(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *bt_err_text(void); /* NULL: nothing to say */
void bt_err_clear(void);

/* A note on stderr that is no error; never in the way of JSON on stdout. */
void bt_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Installs bt_verbose as libbpf's print filter. */
void bt_err_init(void);

#endif
