/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command table. Help, completion, man page synopsis and their tests are made from it.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <getopt.h>
#include <stdbool.h>

struct bt_opt {
	const char *name; /* long option, without dashes */
	int val; /* short option letter, or a value > 255 */
	const char *arg; /* NULL: takes none; "NAME": as shown in help */
	const char *help;
};

struct bt_cmd {
	const char *name;
	const char *args; /* synopsis of what follows the name */
	const char *help; /* one line */
	const struct bt_opt *opts; /* ends with name NULL; may be NULL */
	/* argc/argv start at the command's name; options common to all commands are already taken
	 * out. Returns an enum bt_exit; when it is not 0 and bt_err() was called main prints that.
	 */
	int (*run)(int argc, char **argv);
};

/* Options every command takes (-j, -p, -v, -n, --dry-run), as main parsed them. */
struct bt_global {
	const char *netns; /* name under /run/netns or a path; main has already entered it */
	bool dry_run;
};
extern struct bt_global bt_global;

extern const struct bt_cmd bt_cmds[]; /* ends with name NULL */

/* getopt_long over a command's own options; as getopt_long, prints nothing itself: on '?' it has
 * called bt_err() and the command returns BT_EXIT_USAGE.
 */
int bt_getopt(int argc, char **argv, const struct bt_cmd *cmd);
/* "wants ..." plus the synopsis as the error; returns BT_EXIT_USAGE. */
int bt_usage(const struct bt_cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int cmd_probe(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
