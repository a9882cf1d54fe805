// SPDX-License-Identifier: GPL-2.0
/* The commands, and how their lines are read. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/cmd.h"

#define MAX_OPTS 64

enum { OPT_DRY_RUN = 0x10000 }; /* above what the commands use */

struct bt_global bt_global;

static const char exec_notes[] =
	"The command takes bigtcp's place: same process id, signals and exit status. Its children are "
	"followed. A supervisor, bigtcp-exec, stays until the last of them is gone; if it is killed, "
	"their program loads fail with ENOSYS. It needs CAP_SYS_PTRACE, or the same user where the "
	"kernel lets users trace their own processes. Loads have the loader's rights, not bigtcp's. "
	"There is no exec inside exec. A program for a device of another network namespace gets "
	"EOPNOTSUPP, a BPF token of another user namespace EPERM. What a light skeleton loads from "
	"inside the kernel is not seen; the report says so.";

static const char hook_notes[] =
	"HOOK is ingress, egress (tc) or xdp of a device, or cgroup-ingress or cgroup-egress of a cgroup "
	"(the path of its directory in a cgroup2 file system). An xdp hook takes one program, and none "
	"of others' is taken off: for a chain of libxdp run 'bigtcp exec -- xdp-loader load ...'.";

static const char xdp_notes[] =
	"sandwich puts two programs into the chain of DEV: one takes the jumbo header off before the "
	"programs that are there, one puts it back behind them. A program that can return XDP_TX or "
	"XDP_REDIRECT would send such a packet without its header, and is refused; a twin (bigtcp exec) "
	"needs no sandwich. On Linux 6.13 and newer, and stable kernels with 81f6d0530ba0, xdp-tools before 1.5.5 "
	"can't change a chain that has a sandwich: take it off first.";

const struct bt_cmd bt_cmds[] = {
	{ "probe", "",
	  "what this kernel does with jumbo packets, seen live, and what bigtcp can use",
	  probe_opts, false, cmd_probe },
	{ "audit", "[DEV]", "find the programs that misread jumbo packets, with the evidence",
	  audit_opts, false, cmd_audit },
	{ "preflight", "DEV", "what to know before DEV is enabled, and what is in the way",
	  preflight_opts, false, cmd_preflight, preflight_notes },
	{ "load", "FILE.o --pin PATH", "load a program as its twin and pin it", load_opts, false,
	  cmd_load },
	{ "attach", "DEV|CGROUP HOOK [FILE.o]", "load a program as its twin and attach it",
	  attach_opts, false, cmd_attach, hook_notes },
	{ "detach", "DEV|CGROUP HOOK", "take off what attach put there", detach_opts, false,
	  cmd_detach, hook_notes },
	{ "guard", "[DEV]", "count and drop jumbo headers that came from the wire", guard_opts,
	  false, cmd_guard, guard_notes },
	{ "observe", "[DEV]", "count jumbo packets at a device, before other programs see them",
	  observe_opts, false, cmd_observe, observe_notes },
	{ "metrics", "", "the counters and sizes as Prometheus reads them", metrics_opts, false,
	  cmd_metrics, metrics_notes },
	{ "exec", "-- COMMAND ...", "run a loader; the programs it loads become twins", exec_opts,
	  true, cmd_exec, exec_notes },
	{ "xdp", "sandwich DEV | status [DEV]",
	  "jumbo packets for the XDP programs of a libxdp chain, without rewriting them", xdp_opts,
	  false, cmd_xdp, xdp_notes },
	{ "enable", "DEV...", "set the sizes that make BIG TCP, at all of the devices or none",
	  enable_opts, false, cmd_enable, enable_notes },
	{ "disable", "DEV...", "put the sizes back as they were", disable_opts, false, cmd_disable,
	  disable_notes },
	{ "status", "[DEV...]", "the sizes of devices, whose they are, and what is attached",
	  status_opts, false, cmd_status, status_notes },
	{ "version", "", "version, libbpf's version, features", NULL, false, cmd_version },
	{ "help", "[COMMAND]", "this help, or a command's", NULL, false, cmd_help },
	{ NULL },
};

const struct bt_opt bt_global_opts[] = {
	{ "json", 'j', NULL, "results and errors as JSON on stdout" },
	{ "pretty", 'p', NULL, "JSON, indented" },
	{ "netns", 'n', "NAME", "work in this network namespace (name or path)" },
	{ "dry-run", OPT_DRY_RUN, NULL, "say what would be done, change nothing" },
	{ "verbose", 'v', NULL, "show libbpf's log; twice: all of it" },
	{ "version", 'V', NULL, "show the version" },
	{ "help", 'h', NULL, "show this help" },
	{ NULL },
};

const struct bt_cmd *bt_cmd_find(const char *name)
{
	for (const struct bt_cmd *c = bt_cmds; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

/* What getopt_long wants to know, made from our tables. */
struct getopt_args {
	char shorts[2 + 2 * MAX_OPTS + 1];
	struct option longs[MAX_OPTS + 1];
	unsigned int n;
};

static void add_opts(struct getopt_args *a, const struct bt_opt *opts)
{
	for (; opts && opts->name && a->n < MAX_OPTS; opts++) {
		size_t len = strlen(a->shorts);

		if (opts->val < 256)
			sprintf(a->shorts + len, "%c%s", opts->val, opts->arg ? ":" : "");
		a->longs[a->n++] = (struct option){
			.name = opts->name,
			.has_arg = opts->arg ? required_argument : no_argument,
			.val = opts->val,
		};
	}
}

static const char *opt_name(const struct getopt_args *a, int val)
{
	for (unsigned int i = 0; i < a->n; i++) {
		if (a->longs[i].val == val)
			return a->longs[i].name;
	}
	return NULL;
}

/* The sentence for a '?' or ':' of getopt_long. word: the argument it was looking at. */
static void explain(const struct getopt_args *a, int c, const char *cmd, const char *word)
{
	const char *name = optopt ? opt_name(a, optopt) : NULL;
	const char *sep = cmd ? " " : "";
	char letter[3] = { '-', (char)optopt, '\0' };

	cmd = cmd ? cmd : "";
	if (c == ':')
		bt_err(-1, "option '--%s' wants an argument: see 'bigtcp%s%s --help'", name, sep,
		       cmd);
	else if (name)
		bt_err(-1, "option '--%s' takes no argument: see 'bigtcp%s%s --help'", name, sep,
		       cmd);
	else
		bt_err(-1, "no option '%s': see 'bigtcp%s%s --help'", optopt ? letter : word, sep,
		       cmd);
}

int bt_getopt(int argc, char **argv, const struct bt_cmd *cmd)
{
	struct getopt_args a = { .shorts = "+:" };
	int c, at = optind ? optind : 1;

	if (!cmd->command_follows)
		strcpy(a.shorts, ":");
	add_opts(&a, cmd->opts);
	opterr = 0;
	c = getopt_long(argc, argv, a.shorts, a.longs, NULL);
	if (c != '?' && c != ':')
		return c;
	/* getopt may have moved words about; the option it did not know is the last one read. */
	explain(&a, c, cmd->name, argv[optind > at ? optind - 1 : at]);
	return '?';
}

int bt_usage(const struct bt_cmd *cmd, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	bt_err(-1, "%s: bigtcp %s%s%s%s; see 'bigtcp %s --help'", what, cmd->name,
	       cmd->opts && cmd->opts->name ? " [OPTIONS]" : "", cmd->args[0] ? " " : "", cmd->args,
	       cmd->name);
	return BT_EXIT_USAGE;
}

/* An option every command takes; false: it is the command's own. */
static bool take_global(struct bt_line *line, int c)
{
	switch (c) {
	case 'j':
		line->json = true;
		return true;
	case 'p':
		line->json = line->pretty = true;
		return true;
	case 'v':
		line->verbose++;
		return true;
	case 'V':
		line->version = true;
		return true;
	case 'h':
		line->help = true;
		return true;
	case 'n':
		bt_global.netns = optarg;
		return true;
	case OPT_DRY_RUN:
		bt_global.dry_run = true;
		return true;
	default:
		return false;
	}
}

/* "-x" for every x, so that letters taken out of "-jx" can be handed on. */
static char *letter_word(int c)
{
	static char words[256][3];

	words[c][0] = '-';
	words[c][1] = (char)c;
	return words[c];
}

static void hand_on_rest(struct bt_line *line, int argc, char **argv)
{
	while (optind < argc)
		line->argv[line->argc++] = argv[optind++];
}

/* A word that is no option: the command, or one for it. */
static int take_word(struct bt_line *line, struct getopt_args *a, char *word)
{
	line->argv[line->argc++] = word;
	if (line->cmd)
		return 0;
	line->cmd = bt_cmd_find(word);
	if (!line->cmd)
		return bt_err(BT_EXIT_USAGE, "no command '%s': 'bigtcp help' lists them", word);
	add_opts(a, line->cmd->opts);
	return 0;
}

/* Words this line can become at most: every letter of a cluster a word, and its argument one. */
static size_t words_at_most(int argc, char **argv)
{
	size_t n = 2;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]) + 2;
	return n;
}

int bt_parse_line(int argc, char **argv, struct bt_line *line)
{
	/* "-": getopt reports every word in its place, so that ours can be told from others. */
	struct getopt_args a = { .shorts = "-:" };
	int c, err = 0, at;

	*line = (struct bt_line){ .argv = calloc(words_at_most(argc, argv), sizeof(char *)) };
	bt_global = (struct bt_global){ NULL };
	if (!line->argv)
		return bt_err(BT_EXIT_REFUSED, "out of memory");
	add_opts(&a, bt_global_opts);
	opterr = 0;
	for (optind = 0;;) {
		at = optind ? optind : 1;
		c = getopt_long(argc, argv, a.shorts, a.longs, NULL);
		if (c == -1) {
			if (at < argc && !strcmp(argv[at], "--"))
				line->argv[line->argc++] = argv[at];
			hand_on_rest(line, argc, argv);
			break;
		} else if (c == 1) {
			if (line->cmd && line->cmd->command_follows) {
				optind = at;
				hand_on_rest(line, argc, argv);
				break;
			}
			if (take_word(line, &a, optarg)) {
				err = BT_EXIT_USAGE;
				/* Read on: a -j that follows decides how to say so. */
				line->cmd = NULL;
			}
		} else if (c == '?' || c == ':') {
			explain(&a, c, line->cmd ? line->cmd->name : NULL, argv[at]);
			err = BT_EXIT_USAGE;
		} else if (take_global(line, c)) {
			continue;
		} else if (c < 256) {
			line->argv[line->argc++] = letter_word(c);
			if (optarg)
				line->argv[line->argc++] = optarg;
		} else {
			for (; at < optind; at++)
				line->argv[line->argc++] = argv[at];
		}
	}
	optind = 0;
	return err;
}
