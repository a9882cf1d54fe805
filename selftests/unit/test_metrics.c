// SPDX-License-Identifier: GPL-2.0
/* The text format of metrics, and the table they are made from. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "core/metrics.h"

static struct bt_samples *s;
static char *text;
static size_t len;

static void setup(void)
{
	s = bt_samples_new();
	cr_assert(s);
}

static void teardown(void)
{
	bt_samples_free(&s);
	free(text);
}

TestSuite(metrics, .init = setup, .fini = teardown);

static void put(enum bt_metric_id id, double v, const char *a, const char *b, const char *c)
{
	bt_sample(s, id, v, (const char *const[]){ a, b, c });
}

static void expect(const char *want)
{
	free(text);
	cr_assert_eq(bt_samples_text(s, &text, &len), 0);
	cr_assert_eq(len, strlen(text));
	cr_assert_str_eq(text, want);
}

Test(metrics, nothing)
{
	expect("");
}

/* HELP and TYPE once, samples of a metric together, whatever the order they came in. */
Test(metrics, grouped)
{
	put(BT_METRIC_RECONCILES, 7, NULL, NULL, NULL);
	put(BT_METRIC_UNREAD, 1, "eth0", "receive", NULL);
	put(BT_METRIC_JUMBO, 2, "eth0", "receive", "hbh");
	put(BT_METRIC_UNREAD, 3, "eth0", "transmit", NULL);
	put(BT_METRIC_JUMBO, 4, "eth0", "receive", "ipv4");
	put(BT_METRIC_JUMBO, 5, "eth1", "receive", "ipv4");
	expect("# HELP bigtcp_jumbo_packets_total TCP packets above 64 KiB. form: hbh (IPv6 with the jumbo "
	       "header), len0 (IPv6 without), ipv4\n"
	       "# TYPE bigtcp_jumbo_packets_total counter\n"
	       "bigtcp_jumbo_packets_total{device=\"eth0\",direction=\"receive\",form=\"hbh\"} 2\n"
	       "bigtcp_jumbo_packets_total{device=\"eth0\",direction=\"receive\",form=\"ipv4\"} 4\n"
	       "bigtcp_jumbo_packets_total{device=\"eth1\",direction=\"receive\",form=\"ipv4\"} 5\n"
	       "# HELP bigtcp_observed_unread_packets_total packets that could be jumbo, but whose headers "
	       "the observer could not read\n"
	       "# TYPE bigtcp_observed_unread_packets_total counter\n"
	       "bigtcp_observed_unread_packets_total{device=\"eth0\",direction=\"receive\"} 1\n"
	       "bigtcp_observed_unread_packets_total{device=\"eth0\",direction=\"transmit\"} 3\n"
	       "# HELP bigtcp_reconciles_total reconciles that have ended since the daemon was started\n"
	       "# TYPE bigtcp_reconciles_total counter\n"
	       "bigtcp_reconciles_total 7\n");
}

/* The value of the only sample's line, or its label. */
static const char *line(void)
{
	char *at;

	free(text);
	text = NULL;
	cr_assert_eq(bt_samples_text(s, &text, &len), 0);
	at = strrchr(text, '#');
	at = strchr(at, '\n') + 1;
	at[strlen(at) - 1] = 0;
	return at;
}

Test(metrics, labels_are_escaped)
{
	static const struct {
		const char *label, *want;
	} rows[] = {
		{ "eth0", "eth0" },
		{ "", "" },
		{ "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
		{ "tab\there", "tab\there" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "bad\xff\xc3", "bad\xef\xbf\xbd\xef\xbf\xbd" },
		{ "{}=,", "{}=," },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char want[128];

		bt_samples_free(&s);
		s = bt_samples_new();
		put(BT_METRIC_UNSAFE, 1, rows[i].label, NULL, NULL);
		snprintf(want, sizeof(want), "bigtcp_unsafe_programs{device=\"%s\"} 1",
			 rows[i].want);
		cr_assert_str_eq(line(), want);
	}
}

Test(metrics, values)
{
	static const struct {
		double v;
		const char *want;
	} rows[] = {
		{ 0, "0" },
		{ 524280, "524280" },
		{ 4294967296.0, "4294967296" },
		{ 999999999999999.0, "999999999999999" },
		{ 18446744073709551615.0, "1.8446744073709552e+19" },
		{ -1, "-1" },
		{ 0.5, "0.5" },
		{ 1764522000.25, "1764522000.25" },
		{ INFINITY, "+Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "NaN" },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char want[128];

		bt_samples_free(&s);
		s = bt_samples_new();
		put(BT_METRIC_RECONCILE_WHEN, rows[i].v, NULL, NULL, NULL);
		snprintf(want, sizeof(want), "bigtcp_last_reconcile_timestamp_seconds %s",
			 rows[i].want);
		cr_assert_str_eq(line(), want);
	}
}

/* Labels of neighbours are shared in memory: none may get another's. */
Test(metrics, many)
{
	char dev[32], want[128], *at;
	unsigned int n = 0;

	for (int i = 0; i < 3000; i++) {
		snprintf(dev, sizeof(dev), "veth%d", i / 2);
		put(BT_METRIC_UNSAFE, i, dev, NULL, NULL);
		put(BT_METRIC_FIRST, i, dev, i & 1 ? "transmit" : "receive", NULL);
	}
	cr_assert_eq(bt_samples_text(s, &text, &len), 0);
	for (at = strstr(text, "TYPE bigtcp_observer_first");
	     (at = strchr(at, '\n') + 1) && *at == 'b'; n++) {
		snprintf(want, sizeof(want),
			 "bigtcp_observer_first{device=\"veth%u\",direction=\"%s\"} %u\n", n / 2,
			 n & 1 ? "transmit" : "receive", n);
		cr_assert_eq(strncmp(at, want, strlen(want)), 0, "%.80s", at);
	}
	cr_assert_eq(n, 3000);
}

static bool is_name(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!islower(name[i]) && name[i] != '_' && !(i && isdigit(name[i])))
			return false;
	}
	return n > 0;
}

static bool ends_with(const char *s, const char *end)
{
	return strlen(s) >= strlen(end) && !strcmp(s + strlen(s) - strlen(end), end);
}

/* As Prometheus wants names and types; every row is written. */
Test(metrics, the_table)
{
	for (int i = 0; i < __BT_METRIC_MAX; i++) {
		const struct bt_metric *m = &bt_metrics[i];
		bool counter = !strcmp(m->type, "counter");

		cr_assert(is_name(m->name, strlen(m->name)), "%s", m->name);
		cr_assert_eq(strncmp(m->name, "bigtcp_", 7), 0, "%s", m->name);
		cr_assert(counter || !strcmp(m->type, "gauge"), "%s: %s", m->name, m->type);
		cr_assert_eq(counter, ends_with(m->name, "_total"), "%s", m->name);
		cr_assert(m->help[0] && m->help[strlen(m->help) - 1] != '.', "%s", m->name);
		for (const char *l = m->labels; *l;) {
			size_t n = strcspn(l, ",");

			cr_assert(is_name(l, n), "%s: %s", m->name, m->labels);
			l += n + (l[n] == ',');
		}
		for (int k = 0; k < i; k++)
			cr_assert_str_neq(m->name, bt_metrics[k].name);
		put(i, 1, "a", "b", "c");
	}
	cr_assert_eq(bt_samples_text(s, &text, &len), 0);
	for (int i = 0; i < __BT_METRIC_MAX; i++) {
		char type[128];

		snprintf(type, sizeof(type), "# TYPE %s %s\n%s", bt_metrics[i].name,
			 bt_metrics[i].type, bt_metrics[i].name);
		cr_assert(strstr(text, type), "%s", type);
	}
}

Test(metrics, textfile)
{
	char dir[] = "/tmp/bt-metrics-XXXXXX", path[64], got[256] = "", link_to[64];
	struct dirent *de;
	struct stat st;
	unsigned int n = 0;
	FILE *f;
	DIR *d;

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/bigtcp.prom", dir);
	snprintf(link_to, sizeof(link_to), "%s/before", dir);
	put(BT_METRIC_RECONCILES, 1, NULL, NULL, NULL);
	cr_assert_eq(bt_samples_textfile(s, path), 0);
	/* A reader that has the old file open goes on reading that one. */
	cr_assert_eq(link(path, link_to), 0);
	put(BT_METRIC_RECONCILE_ERRORS, 1, NULL, NULL, NULL);
	cr_assert_eq(bt_samples_textfile(s, path), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0644);
	f = fopen(link_to, "r");
	cr_assert_gt(fread(got, 1, sizeof(got) - 1, f), 0);
	fclose(f);
	cr_assert(!strstr(got, "errors"), "%s", got);
	d = opendir(dir);
	while ((de = readdir(d)))
		n += de->d_name[0] != '.';
	closedir(d);
	cr_assert_eq(n, 2, "something is left beside it");
	unlink(path);
	unlink(link_to);
	rmdir(dir);
	/* Nowhere to put it. */
	cr_assert_eq(bt_samples_textfile(s, path), -ENOENT);
	cr_assert(strstr(bt_err_text(), path));
}

Test(metrics, full_disk)
{
	FILE *f = fopen("/dev/full", "w");

	put(BT_METRIC_RECONCILES, 1, NULL, NULL, NULL);
	cr_assert_eq(bt_samples_write(s, f), -ENOSPC);
	fclose(f);
}
