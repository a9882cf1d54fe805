// SPDX-License-Identifier: GPL-2.0
/* The daemon's configuration: defaults, sections, and each error with its line. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "daemon/config.h"

static char errors[4096];

static void note(void *arg, unsigned int line, const char *text)
{
	size_t n = strlen(errors);

	(void)arg;
	snprintf(errors + n, sizeof(errors) - n, "%u: %s\n", line, text);
}

static int read_text(const char *text, size_t len, struct bt_config **cfg)
{
	char path[] = "/tmp/bigtcp-config.XXXXXX";
	int fd = mkstemp(path), err;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
	errors[0] = 0;
	bt_err_clear();
	err = bt_config_read(path, "/run/x", note, NULL, cfg);
	unlink(path);
	return err;
}

static struct bt_config *good(const char *text)
{
	struct bt_config *cfg = NULL;

	cr_assert_eq(read_text(text, strlen(text), &cfg), 0, "'%s': %s", text, errors);
	return cfg;
}

Test(daemon_config, an_empty_file_has_the_defaults)
{
	struct bt_config *cfg = good("");

	cr_assert_eq(cfg->interval, 10);
	cr_assert_eq(cfg->audit_interval, 3600);
	cr_assert_str_eq(cfg->metrics_socket, "/run/x/metrics.sock");
	cr_assert_str_eq(cfg->metrics_listen, "");
	cr_assert_str_eq(cfg->textfile, "");
	cr_assert_str_eq(cfg->netns_dirs[0], "/run/netns");
	cr_assert_str_eq(cfg->netns_dirs[1], "/run/docker/netns");
	cr_assert_str_eq(cfg->netns_dirs[2], "");
	cr_assert_eq(cfg->n_rules, 0);
	cr_assert_null(bt_config_rule(cfg, "eth0"));
	bt_config_free(&cfg);
	cr_assert_null(cfg);
}

Test(daemon_config, a_section_without_keys_is_a_section)
{
	struct bt_config *cfg = good("[device eth0]\n[device veth*]\n");
	const struct bt_rule *r = bt_config_rule(cfg, "veth12");

	cr_assert_eq(cfg->n_rules, 2);
	cr_assert_not_null(r);
	cr_assert_eq(r->line, 2);
	cr_assert(!r->size && r->ipv6 && r->ipv4 && r->observe && r->peer);
	cr_assert(!r->guard && !r->allow_unknown);
	cr_assert_eq(r->policy, BT_POLICY_REFUSE);
	cr_assert_null(bt_config_rule(cfg, "eth1"));
	bt_config_free(&cfg);
}

Test(daemon_config, takes_every_key)
{
	struct bt_config *cfg = good("\xef\xbb\xbf# a comment\r\n"
				     "[daemon]\r\n"
				     "interval = 5\r\n"
				     "audit-interval=60 ; why not\r\n"
				     "metrics-socket=\r\n"
				     "metrics-listen = 127.0.0.1:9464\r\n"
				     "textfile = /var/lib/x y.prom\r\n"
				     "netns-dirs = /a  /b\t/c\r\n"
				     "\r\n"
				     "  [ device  eth[0-3] ]\r\n"
				     "  size = 196608\r\n"
				     "\tipv6 = no\r\n"
				     "ipv4 = yes\r\n"
				     "policy = warn\r\n"
				     "allow-unknown = yes\r\n"
				     "observe = no\r\n"
				     "guard = yes\r\n"
				     "peer = no");
	const struct bt_rule *r = bt_config_rule(cfg, "eth2");

	cr_assert_eq(cfg->interval, 5);
	cr_assert_eq(cfg->audit_interval, 60);
	cr_assert_str_eq(cfg->metrics_socket, "");
	cr_assert_str_eq(cfg->metrics_listen, "127.0.0.1:9464");
	cr_assert_str_eq(cfg->textfile, "/var/lib/x y.prom");
	cr_assert_str_eq(cfg->netns_dirs[2], "/c");
	cr_assert_str_eq(cfg->netns_dirs[3], "");
	cr_assert_not_null(r);
	cr_assert_str_eq(r->pattern, "eth[0-3]");
	cr_assert_eq(r->size, 196608);
	cr_assert(!r->ipv6 && r->ipv4 && r->allow_unknown && !r->observe && r->guard && !r->peer);
	cr_assert_eq(r->policy, BT_POLICY_WARN);
	cr_assert_null(bt_config_rule(cfg, "eth4"));
	bt_config_free(&cfg);
}

Test(daemon_config, the_first_section_that_matches_is_it)
{
	struct bt_config *cfg = good("[device eth0]\npolicy=force\n[device eth*]\npolicy=warn\n"
				     "[device *]\n");

	cr_assert_eq(bt_config_rule(cfg, "eth0")->policy, BT_POLICY_FORCE);
	cr_assert_eq(bt_config_rule(cfg, "eth1")->policy, BT_POLICY_WARN);
	cr_assert_eq(bt_config_rule(cfg, "lo")->policy, BT_POLICY_REFUSE);
	bt_config_free(&cfg);
}

/* Each text, and what the errors begin with. */
static const struct {
	const char *text, *errors[4];
} wrong[] = {
	{ "x = 1\n", { "1: 'x' stands before the first section" } },
	{ "\n[device]\n", { "2: '[device]' is no section" } },
	{ "[device a b]\nsize=max\n", { "1: '[device a b]' is no section" } },
	{ "[Daemon]\n", { "1: '[Daemon]' is no section" } },
	{ "[daemon\n", { "1: a section is a line of its own" } },
	{ "[daemon] interval=1\n", { "1: a section is a line of its own" } },
	{ "[daemon]\n[device x]\n[daemon]\n", { "3: a second [daemon] section" } },
	{ "[device x]\n#\n[device x]\n", { "3: [device x] is in line 1 already" } },
	{ "[daemon]\ninterval = 0\n", { "2: interval is a number of seconds" } },
	{ "[daemon]\ninterval = 1s\n", { "2: interval is a number of seconds" } },
	{ "[daemon]\ninterval =\n", { "2: interval is a number of seconds" } },
	{ "[daemon]\ninterval\n\n", { "2: this line is neither a section" } },
	{ "[daemon]\nfoo = 1\n", { "2: there is no key 'foo' in a [daemon] section" } },
	{ "[daemon]\nsize = max\n", { "2: there is no key 'size' in a [daemon] section" } },
	{ "[device x]\ninterval = 5\n", { "2: there is no key 'interval' in a [device] section" } },
	{ "[device x]\nsize = 65536\n", { "2: size is max, or a number of bytes from 65537" } },
	{ "[device x]\nsize = 524281\n", { "2: size is max, or a number" } },
	{ "[device x]\nsize = -1\n", { "2: size is max, or a number" } },
	{ "[device x]\nipv4 = true\n", { "2: ipv4 is yes or no, not 'true'" } },
	{ "[device x]\nipv4 = yes # or no\n", { "2: ipv4 is yes or no, not 'yes # or no'" } },
	{ "[device x]\npolicy = Refuse\n", { "2: policy is refuse, warn or force" } },
	{ "[device x]\npeer=no\npeer=no\n", { "3: peer is set a second time" } },
	{ "[daemon]\ntextfile = x.prom\n", { "2: textfile is a path that starts with '/'" } },
	{ "[daemon]\nnetns-dirs = /a b\n", { "2: netns-dirs is a path that starts" } },
	{ "[daemon]\nnetns-dirs = /1 /2 /3 /4 /5 /6 /7 /8 /9\n",
	  { "2: netns-dirs takes at most 8" } },
	{ "[daemon]\nmetrics-listen = 192.0.2.1:80\n", { "2: metrics-listen: " } },
	/* all of them are told, and what is in a wrong section once only */
	{ "[devise x]\nsize=1\nfoo\n[daemon]\ninterval=a\n\nb=1",
	  { "1: '[devise x]' is no section", "3: this line", "5: interval is",
	    "7: there is no key" } },
};

Test(daemon_config, errors_have_lines)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *text = wrong[i].text, *at = errors;
		struct bt_config *cfg = NULL;

		cr_assert_eq(read_text(text, strlen(text), &cfg), -EINVAL, "'%s'", text);
		cr_assert_null(cfg);
		for (int k = 0; k < 4 && wrong[i].errors[k]; k++) {
			const char *want = wrong[i].errors[k];

			cr_assert_eq(strncmp(at, want, strlen(want)), 0, "'%s': want '%s' in:\n%s",
				     text, want, errors);
			at = strchr(at, '\n') + 1;
		}
		cr_assert_eq(*at, 0, "'%s' has more errors:\n%s", text, errors);
	}
}

Test(daemon_config, lines_that_are_no_text)
{
	static const char nul[] = "[daemon]\ninterval\0=3\n";
	struct bt_config *cfg = NULL;
	char longer[1024];

	cr_assert_eq(read_text(nul, sizeof(nul) - 1, &cfg), -EINVAL);
	cr_assert_eq(strncmp(errors, "2: there is a byte 0", 20), 0, "%s", errors);
	memset(longer, 'x', sizeof(longer));
	memcpy(longer, "[daemon]\n", 9);
	cr_assert_eq(read_text(longer, sizeof(longer), &cfg), -EINVAL);
	cr_assert_eq(strncmp(errors, "2: this line is longer than", 27), 0, "%s", errors);
	cr_assert_null(cfg);
}

Test(daemon_config, a_file_that_is_not_there)
{
	struct bt_config *cfg = NULL;

	errors[0] = 0;
	cr_assert_eq(bt_config_read("/nowhere/bigtcp.conf", "/run/x", note, NULL, &cfg), -ENOENT);
	cr_assert_str_eq(errors, "");
	cr_assert_not_null(strstr(bt_err_text(), "/nowhere/bigtcp.conf"));
}

/* What help shows is a configuration, and it is the default one. */
Test(daemon_config, describes_itself)
{
	struct bt_config *cfg;
	char *text = NULL, *p;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	bt_config_describe(f);
	fclose(f);
	cr_assert_not_null(strstr(text, "#policy = refuse"));
	for (p = text; (p = strstr(p, "\n#")); p++) {
		/* "#key = value" counts, "# words" stay a comment */
		if (p[2] != ' ' && strncmp(p + 2, "metrics-socket", 14))
			p[1] = ' ';
	}
	cfg = good(text);
	cr_assert_eq(cfg->interval, 10);
	cr_assert_eq(cfg->n_rules, 1);
	cr_assert_str_eq(cfg->rules[0].pattern, "PATTERN");
	bt_config_free(&cfg);
	free(text);
}
