// SPDX-License-Identifier: GPL-2.0
/* bigtcp exec: runs a loader, unmodified; the programs it loads become twins. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/twin_opts.h"
#include "core/supervise.h"

enum { OPT_REFUSED = 256, OPT_REPORT };

const struct bt_opt exec_opts[] = {
	{ "refused", OPT_REFUSED, "plain|fail",
	  "a program without a twin: load it as it is (default), or fail its load" },
	{ "report", OPT_REPORT, "FILE",
	  "one JSON object a line for each load, written before the load returns; without it, a "
	  "sentence on stderr for each program that gets no twin" },
	TWIN_OPTS,
	{ NULL },
};

static int parse(int argc, char **argv, const struct bt_cmd *cmd, struct bt_supervise_opts *o)
{
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		switch (c) {
		case OPT_REFUSED:
			if (!strcmp(optarg, "fail"))
				o->policy = BT_REFUSED_FAIL;
			else if (!strcmp(optarg, "plain"))
				o->policy = BT_REFUSED_PLAIN;
			else
				return bt_usage(cmd, "--refused is 'plain' or 'fail', not '%s'",
						optarg);
			break;
		case OPT_REPORT:
			o->report = optarg;
			break;
		default:
			if (twin_opt(&o->twin, c, optarg))
				return BT_EXIT_USAGE;
		}
	}
	return optind < argc ? 0 : bt_usage(cmd, "no command to run");
}

/*
 * The command runs in this process's place. So there is no signal to pass on and no exit status
 * to translate: its pid, process group, terminal and parent are what they would be without us, and a
 * service manager sees the service itself. The supervisor is the other process and
 * lives as long as anything that the command has started.
 */
int cmd_exec(int argc, char **argv)
{
	const struct bt_cmd *cmd = bt_cmd_find(argv[0]);
	struct bt_supervise_opts o = {
		.policy = BT_REFUSED_PLAIN,
		.twin = { .sz = sizeof(struct bigtcp_twin_opts) },
	};
	int err = parse(argc, argv, cmd, &o);

	if (err)
		return err;
	argv += optind;
	if (bt_global.dry_run) {
		bt_note("would run '%s' and make twins of the programs it loads", argv[0]);
		return BT_EXIT_OK;
	}
	err = bt_supervise_start(&o);
	if (err)
		return bt_err(BT_EXIT_REFUSED, "cannot supervise '%s': %s", argv[0],
			      strerror(-err));
	execvp(argv[0], argv);
	/* What a shell answers. */
	err = errno;
	return bt_err(err == ENOENT ? 127 : 126, "cannot run '%s': %s", argv[0], strerror(err));
}
