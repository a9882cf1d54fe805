// SPDX-License-Identifier: GPL-2.0
/* bigtcpd: keeps devices as the configuration says, and tells what it sees. Killing it changes nothing. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "daemon/daemon.h"
#include "daemon/lock.h"

enum { OPT_RUN_DIR = 0x100, OPT_CHECK, OPT_ONCE };

struct opt {
	const char *name;
	int val; /* short option letter, or a value > 255 */
	const char *arg; /* NULL: takes none */
	const char *help;
};

static const struct opt opts[] = {
	{ "config", 'c', "FILE", "the configuration (default " BT_CONFIG ")" },
	{ "run-dir", OPT_RUN_DIR, "DIR", "lock and metrics socket (default " BT_RUN_DIR ")" },
	{ "check", OPT_CHECK, NULL, "only check the configuration" },
	{ "once", OPT_ONCE, NULL, "look at all devices once, then end" },
	{ "verbose", 'v', NULL, "say more; twice: libbpf's debug lines too" },
	{ "version", 'V', NULL, "show the version" },
	{ "help", 'h', NULL, "show this" },
};
#define N_OPTS (sizeof(opts) / sizeof(opts[0]))

static void help(void)
{
	printf("Usage: bigtcpd [OPTIONS]\n\n"
	       "Keeps BIG TCP on where the configuration says and the eBPF programs allow it.\n\n"
	       "Options:\n");
	for (size_t i = 0; i < N_OPTS; i++) {
		const struct opt *o = &opts[i];
		char left[40];
		int n = o->val < 256 ? snprintf(left, sizeof(left), "-%c, ", o->val)
				     : snprintf(left, sizeof(left), "    ");

		snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		printf("  %-22s  %s\n", left, o->help);
	}
	printf("\nThe configuration, with its defaults:\n\n");
	bt_config_describe(stdout);
	printf("\nSignals: HUP reads the configuration again; TERM ends, and leaves everything as it is.\n"
	       "Exit status: 0 done, 1 wrong usage or configuration, 2 the system refused.\n");
}

struct args {
	struct bt_daemon_opts d;
	bool check;
};

static int usage(const char *fmt, const char *what)
{
	fprintf(stderr, "Error: ");
	fprintf(stderr, fmt, what);
	fprintf(stderr, ": 'bigtcpd --help' lists the options\n");
	return BT_EXIT_USAGE;
}

/* Returns an exit status, or -1: go on. */
static int take(struct args *a, int val)
{
	switch (val) {
	case 'c':
		a->d.config = optarg;
		return -1;
	case OPT_RUN_DIR:
		a->d.run_dir = optarg;
		return -1;
	case OPT_CHECK:
		a->check = true;
		return -1;
	case OPT_ONCE:
		a->d.once = true;
		return -1;
	case 'v':
		bt_verbose++;
		return -1;
	case 'V':
		printf("bigtcpd %s\n", BIGTCP_VERSION);
		return BT_EXIT_OK;
	case 'h':
		help();
		return BT_EXIT_OK;
	case ':':
		return usage("%s wants a value", "the last option");
	default:
		return usage("%s is unknown", "an option");
	}
}

static int parse(int argc, char **argv, struct args *a)
{
	struct option longs[N_OPTS + 1] = {};
	char shorts[2 * N_OPTS + 2] = ":";
	int ret = -1, val;
	size_t n = 1;

	for (size_t i = 0; i < N_OPTS; i++) {
		longs[i].name = opts[i].name;
		longs[i].has_arg = opts[i].arg ? required_argument : no_argument;
		longs[i].val = opts[i].val;
		if (opts[i].val > 255)
			continue;
		shorts[n++] = (char)opts[i].val;
		if (opts[i].arg)
			shorts[n++] = ':';
	}
	opterr = 0;
	while (ret < 0) {
		int word = optind;

		val = getopt_long(argc, argv, shorts, longs, NULL);
		if (val == -1)
			break;
		if (val == '?' || val == ':')
			return usage(val == ':' ? "%s wants a value" : "there is no option %s",
				     argv[optind > word ? optind - 1 : word]);
		ret = take(a, val);
	}
	if (ret < 0 && optind < argc)
		return usage("bigtcpd takes no words, and there is '%s'", argv[optind]);
	return ret;
}

static void say_error(void *arg, unsigned int line, const char *text)
{
	if (line)
		fprintf(stderr, "%s:%u: %s\n", (const char *)arg, line, text);
	else
		fprintf(stderr, "%s: %s\n", (const char *)arg, text);
}

static int check(const struct bt_daemon_opts *d)
{
	struct bt_config *cfg __cleanup(bt_config_free) = NULL;
	int err = bt_config_read(d->config, d->run_dir, say_error, (void *)d->config, &cfg);

	if (err)
		return err;
	printf("%s: good, %u device section%s\n", d->config, cfg->n_rules,
	       cfg->n_rules == 1 ? "" : "s");
	return 0;
}

int main(int argc, char **argv)
{
	struct args a = { .d = { .config = BT_CONFIG, .run_dir = BT_RUN_DIR } };
	int ret, err;

	bt_err_init();
	ret = parse(argc, argv, &a);
	if (ret >= 0)
		return ret;
	err = a.check ? check(&a.d) : bt_daemon(&a.d);
	if (!err)
		return BT_EXIT_OK;
	if (bt_err_text())
		fprintf(stderr, "Error: %s\n", bt_err_text());
	else if (err != -EINVAL)
		fprintf(stderr, "Error: %s\n", strerror(-err));
	return err == -EINVAL ? BT_EXIT_USAGE : BT_EXIT_REFUSED;
}
