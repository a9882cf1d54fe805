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
	bool command_follows; /* the first word that is no option starts another command's line */
	/* argc/argv start at the command's name; options common to all commands are already taken
	 * out. Returns an enum bt_exit; when it is not 0 and bt_err() was called main prints that.
	 */
	int (*run)(int argc, char **argv);
	const char *notes; /* what help says below the options; NULL: nothing */
};

/* Options every command takes (-j, -p, -v, -V, -h, -n, --dry-run), as main parsed them: their
 * letters are not free for a command's own table.
 */
struct bt_global {
	const char *netns; /* name under /run/netns or a path; main has already entered it */
	bool dry_run;
};
extern struct bt_global bt_global;

extern const struct bt_cmd bt_cmds[]; /* ends with name NULL */
extern const struct bt_opt bt_global_opts[]; /* the options of every command */

/* The entry of that name, or NULL. A command finds its own: bt_cmd_find(argv[0]). */
const struct bt_cmd *bt_cmd_find(const char *name);

/* getopt_long over a command's own options: returns val, argument in optarg, -1 at the end with the
 * other words at argv[optind]. Prints nothing itself: on '?' it has called bt_err() and the command
 * returns BT_EXIT_USAGE. To start over set optind = 0 (main has done so).
 */
int bt_getopt(int argc, char **argv, const struct bt_cmd *cmd);
/* "wants ..." plus the synopsis as the error; returns BT_EXIT_USAGE. */
int bt_usage(const struct bt_cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What a command line says, apart from the command's own options. */
struct bt_line {
	const struct bt_cmd *cmd; /* NULL: no command named */
	bool json, pretty, help, version;
	int verbose;
	int argc; /* what the command gets, its name first */
	char **argv; /* free(); the strings are those of the line itself */
};

/* Splits a line into bt_global, *line and what is left for the command. Returns 0, or BT_EXIT_USAGE
 * after bt_err(); *line is filled either way, so that the error is shown as asked for.
 */
int bt_parse_line(int argc, char **argv, struct bt_line *line);

void bt_help(const struct bt_cmd *cmd); /* NULL: of the tool */

/* Each command's file has its options beside its code. */
extern const struct bt_opt probe_opts[], audit_opts[], load_opts[], attach_opts[], detach_opts[],
	exec_opts[], guard_opts[], observe_opts[], metrics_opts[], xdp_opts[], enable_opts[],
	disable_opts[], status_opts[], preflight_opts[];
extern const char guard_notes[], observe_notes[], metrics_notes[], preflight_notes[],
	enable_notes[], disable_notes[], status_notes[];

int cmd_help(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_preflight(int argc, char **argv);
int cmd_guard(int argc, char **argv);
int cmd_observe(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_xdp(int argc, char **argv);
int cmd_enable(int argc, char **argv);
int cmd_disable(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
