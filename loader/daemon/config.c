// SPDX-License-Identifier: GPL-2.0
#include "daemon/config.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "daemon/http.h"

#define SIZE_LIMIT 524280U /* GSO_MAX_SIZE and GRO_MAX_SIZE of the kernel: 8 * 65535 */
#define RULES_MAX  256

struct parser {
	struct bt_config *cfg;
	bt_config_error_fn fn;
	void *arg;
	FILE *file;
	char *line; /* as it is in the file; getline's */
	size_t cap;
	unsigned int nr, errors;
	bool open; /* a line that is neither empty, a comment nor a section, and of which inih told nothing */
	bool daemon_seen;
	struct bt_rule *rule; /* the section we are in; NULL: [daemon], or one that is wrong */
	bool in_daemon, in_wrong;
	__u64 keys; /* of this section that were there, bits */
};

__attribute__((format(printf, 2, 3))) static void bad(struct parser *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->errors++;
	p->fn(p->arg, p->nr, text);
}

/* --- values ----------------------------------------------------------------------------- */

/* What a key takes. set() puts it at @to; false: it has called bad(). */
struct kind {
	const char *takes;
	bool (*set)(struct parser *p, const char *key, const char *val, void *to);
};

static bool set_bool(struct parser *p, const char *key, const char *val, void *to)
{
	bool yes = !strcmp(val, "yes");

	if (!yes && strcmp(val, "no")) {
		bad(p, "%s is yes or no, not '%s'", key, val);
		return false;
	}
	*(bool *)to = yes;
	return true;
}

static bool set_seconds(struct parser *p, const char *key, const char *val, void *to)
{
	__u64 n;

	if (!bt_number(val, 86400, &n) || !n) {
		bad(p, "%s is a number of seconds from 1 to 86400, not '%s'", key, val);
		return false;
	}
	*(unsigned int *)to = (unsigned int)n;
	return true;
}

static bool set_size(struct parser *p, const char *key, const char *val, void *to)
{
	__u64 n = 0;

	if (strcmp(val, "max") && (!bt_number(val, SIZE_LIMIT, &n) || n <= BT_SIZE_LEGACY)) {
		bad(p, "%s is max, or a number of bytes from %u to %u, not '%s'", key,
		    BT_SIZE_LEGACY + 1, SIZE_LIMIT, val);
		return false;
	}
	*(__u32 *)to = (__u32)n;
	return true;
}

static bool set_policy(struct parser *p, const char *key, const char *val, void *to)
{
	for (enum bt_policy i = BT_POLICY_REFUSE; i <= BT_POLICY_FORCE; i++) {
		if (!strcmp(val, bt_policy_name(i))) {
			*(enum bt_policy *)to = i;
			return true;
		}
	}
	bad(p, "%s is refuse, warn or force, not '%s'", key, val);
	return false;
}

static bool set_path(struct parser *p, const char *key, const char *val, char *to, size_t len)
{
	if (*val && *val != '/') {
		bad(p, "%s is a path that starts with '/', not '%s'", key, val);
		return false;
	}
	if (strlen(val) >= len) {
		bad(p, "%s takes a path of at most %zu characters", key, len - 1);
		return false;
	}
	strcpy(to, val);
	return true;
}

static bool set_socket(struct parser *p, const char *key, const char *val, void *to)
{
	return set_path(p, key, val, to, sizeof(((struct bt_config *)NULL)->metrics_socket));
}

static bool set_file(struct parser *p, const char *key, const char *val, void *to)
{
	return set_path(p, key, val, to, sizeof(((struct bt_config *)NULL)->textfile));
}

static bool set_listen(struct parser *p, const char *key, const char *val, void *to)
{
	const size_t len = sizeof(((struct bt_config *)NULL)->metrics_listen);

	bt_err_clear();
	if (*val && (strlen(val) >= len || bt_http_check_listen(val))) {
		bad(p, "%s: %s", key, bt_err_text() ? bt_err_text() : "the address is too long");
		bt_err_clear();
		return false;
	}
	strcpy(to, val);
	return true;
}

static bool set_dirs(struct parser *p, const char *key, const char *val, void *to)
{
	char(*dirs)[sizeof(((struct bt_config *)NULL)->netns_dirs[0])] = to;
	char copy[512], *save = NULL, *word;
	unsigned int n = 0;

	if (strlen(val) >= sizeof(copy)) {
		bad(p, "%s is longer than %zu characters", key, sizeof(copy) - 1);
		return false;
	}
	strcpy(copy, val);
	memset(to, 0, sizeof(((struct bt_config *)NULL)->netns_dirs));
	for (word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (n == BT_NETNS_DIRS) {
			bad(p, "%s takes at most %d directories", key, BT_NETNS_DIRS);
			return false;
		}
		if (!set_path(p, key, word, dirs[n++], sizeof(dirs[0])))
			return false;
	}
	return true;
}

static const struct kind of_bool = { "yes|no", set_bool };
static const struct kind of_seconds = { "SECONDS", set_seconds };
static const struct kind of_size = { "max|BYTES", set_size };
static const struct kind of_policy = { "refuse|warn|force", set_policy };
static const struct kind of_socket = { "PATH", set_socket };
static const struct kind of_file = { "PATH", set_file };
static const struct kind of_listen = { "ADDRESS:PORT", set_listen };
static const struct kind of_dirs = { "DIR...", set_dirs };

/* --- keys ------------------------------------------------------------------------------- */

struct key {
	const char *name;
	const struct kind *kind;
	size_t at; /* in struct bt_config or struct bt_rule */
	const char *def; /* "": none */
	const char *help;
};

#define AT(field) offsetof(struct bt_config, field)
static const struct key daemon_keys[] = {
	{ "interval", &of_seconds, AT(interval), "10",
	  "how often devices are looked at; most changes make no event" },
	{ "audit-interval", &of_seconds, AT(audit_interval), "3600",
	  "how often programs that were judged before are judged again" },
	{ "metrics-socket", &of_socket, AT(metrics_socket), NULL,
	  "UNIX socket of the metrics, by default metrics.sock in the run directory; empty: none" },
	{ "metrics-listen", &of_listen, AT(metrics_listen), "",
	  "loopback address and port of the metrics; empty: none" },
	{ "textfile", &of_file, AT(textfile), "",
	  "file for node_exporter's textfile collector; empty: none" },
	{ "netns-dirs", &of_dirs, AT(netns_dirs), "/run/netns /run/docker/netns",
	  "where the network namespaces of containers have names" },
	{ NULL },
};
#undef AT

#define AT(field) offsetof(struct bt_rule, field)
static const struct key device_keys[] = {
	{ "size", &of_size, AT(size), "max", "largest packet; max: what the device takes" },
	{ "ipv6", &of_bool, AT(ipv6), "yes", "BIG TCP for IPv6" },
	{ "ipv4", &of_bool, AT(ipv4), "yes", "BIG TCP for IPv4, where the kernel has it (6.3)" },
	{ "policy", &of_policy, AT(policy), "refuse",
	  "while an unsafe program is attached: refuse (64 KiB), warn (set and say so), or force (set)" },
	{ "allow-unknown", &of_bool, AT(allow_unknown), "no",
	  "programs that cannot be judged count as safe" },
	{ "observe", &of_bool, AT(observe), "yes", "count jumbo packets at tc" },
	{ "guard", &of_bool, AT(guard), "no", "drop forged jumbo headers at tc ingress" },
	{ "peer", &of_bool, AT(peer), "yes",
	  "of a veth: the other end too, also in another network namespace" },
	{ NULL },
};
#undef AT

/* Values of the tables can't be wrong: a unit test reads them all. */
static void defaults(struct parser *p, const struct key *keys, void *to)
{
	for (const struct key *k = keys; k->name; k++) {
		if (k->def)
			k->kind->set(p, k->name, k->def, (char *)to + k->at);
	}
}

static void set_key(struct parser *p, const struct key *keys, void *to, const char *name,
		    const char *val)
{
	for (unsigned int i = 0; keys[i].name; i++) {
		if (strcmp(keys[i].name, name))
			continue;
		if (p->keys & 1ULL << i)
			bad(p, "%s is set a second time in this section", name);
		p->keys |= 1ULL << i;
		keys[i].kind->set(p, name, val, (char *)to + keys[i].at);
		return;
	}
	bad(p, "there is no key '%s' in a [%s] section", name, p->in_daemon ? "daemon" : "device");
}

/* --- lines ------------------------------------------------------------------------------ */

static void new_device(struct parser *p, const char *pattern)
{
	struct bt_config *cfg = p->cfg;
	struct bt_rule *rules;

	for (unsigned int i = 0; i < cfg->n_rules; i++) {
		if (!strcmp(cfg->rules[i].pattern, pattern)) {
			bad(p, "[device %s] is in line %u already", pattern, cfg->rules[i].line);
			return;
		}
	}
	if (strlen(pattern) >= sizeof(cfg->rules->pattern)) {
		bad(p, "a pattern has at most %zu characters", sizeof(cfg->rules->pattern) - 1);
		return;
	}
	if (cfg->n_rules == RULES_MAX) {
		bad(p, "more than %d [device] sections", RULES_MAX);
		return;
	}
	rules = reallocarray(cfg->rules, cfg->n_rules + 1, sizeof(*rules));
	if (!rules) {
		bad(p, "out of memory");
		return;
	}
	cfg->rules = rules;
	p->rule = &rules[cfg->n_rules++];
	memset(p->rule, 0, sizeof(*p->rule));
	strcpy(p->rule->pattern, pattern);
	p->rule->line = p->nr;
	defaults(p, device_keys, p->rule);
	p->in_wrong = false;
}

/* @s: "[...". Sections are taken apart here, since inih tells nothing of empty ones, cuts their names, and ends them
 * at the first ']', which a pattern may have.
 */
static void section(struct parser *p, char *s)
{
	char *end = strrchr(s, ']');

	p->rule = NULL;
	p->in_daemon = false;
	p->in_wrong = true; /* what follows is not told a second time */
	p->keys = 0;
	if (!end || strspn(end + 1, " \t") != strlen(end + 1)) {
		bad(p,
		    "a section is a line of its own that ends with ']': [daemon] or [device PATTERN]");
		return;
	}
	*end = 0;
	s += 1 + strspn(s + 1, " \t");
	while (end > s && isblank((unsigned char)end[-1]))
		*--end = 0;
	if (!strcmp(s, "daemon")) {
		if (p->daemon_seen)
			bad(p, "a second [daemon] section");
		p->daemon_seen = p->in_daemon = true;
		p->in_wrong = false;
		return;
	}
	if (!strncmp(s, "device", 6) && isblank((unsigned char)s[6])) {
		const char *pattern = s + 6 + strspn(s + 6, " \t");

		if (!strpbrk(pattern, " \t")) {
			new_device(p, pattern);
			return;
		}
	}
	bad(p, "'[%s]' is no section: there are [daemon] and [device PATTERN]", s);
}

static void syntax(struct parser *p)
{
	if (p->open)
		bad(p, "this line is neither a section in brackets nor NAME = VALUE");
	p->open = false;
}

/*
 * Hands lines to inih: without what is before the first word, so that no line continues the one before it, and an empty
 * one for what is no NAME = VALUE.
 */
static char *next_line(char *buf, int len, void *arg)
{
	struct parser *p = arg;
	ssize_t n;
	char *s;

	syntax(p);
	n = getline(&p->line, &p->cap, p->file);
	if (n < 0)
		return NULL;
	p->nr++;
	s = p->line;
	if (strlen(s) != (size_t)n) {
		bad(p, "there is a byte 0 in this line: this is no text");
		s = p->line + n;
	}
	if (p->nr == 1 && !strncmp(s, "\xef\xbb\xbf", 3))
		s += 3;
	while (n > 0 && isspace((unsigned char)p->line[n - 1]))
		p->line[--n] = 0;
	if (s > p->line + n)
		s = p->line + n;
	s += strspn(s, " \t\r\f\v");
	if (*s == '[')
		section(p, s);
	else if (strlen(s) + 2 > (size_t)len)
		bad(p, "this line is longer than %d characters", len - 2);
	else if (*s && *s != '#' && *s != ';')
		p->open = true;
	snprintf(buf, (size_t)len, "%s\n", p->open ? s : "");
	return buf;
}

static int on_key(void *arg, const char *none, const char *name, const char *val)
{
	struct parser *p = arg;

	(void)none;
	p->open = false;
	if (p->in_daemon)
		set_key(p, daemon_keys, p->cfg, name, val);
	else if (p->rule)
		set_key(p, device_keys, p->rule, name, val);
	else if (!p->in_wrong)
		bad(p, "'%s' stands before the first section", name);
	return 1;
}

/* --- the whole -------------------------------------------------------------------------- */

int bt_config_read(const char *path, const char *run_dir, bt_config_error_fn fn, void *arg,
		   struct bt_config **out)
{
	struct bt_config *cfg __cleanup(bt_config_free) = calloc(1, sizeof(*cfg));
	struct parser p = { .cfg = cfg, .fn = fn, .arg = arg };
	FILE *file __fclose = NULL;

	if (!cfg)
		return -ENOMEM;
	file = fopen(path, "re");
	if (!file)
		return bt_err(-errno, "cannot read the configuration %s: %s", path,
			      strerror(errno));
	p.file = file;
	defaults(&p, daemon_keys, cfg);
	snprintf(cfg->metrics_socket, sizeof(cfg->metrics_socket), "%s/metrics.sock", run_dir);
	ini_parse_stream(next_line, &p, on_key, &p);
	free(p.line);
	if (ferror(file))
		return bt_err(-EIO, "cannot read the configuration %s", path);
	if (p.errors)
		return -EINVAL;
	*out = TAKE_PTR(cfg);
	return 0;
}

void bt_config_free(struct bt_config **cfg)
{
	if (!*cfg)
		return;
	free((*cfg)->rules);
	free(*cfg);
	*cfg = NULL;
}

const struct bt_rule *bt_config_rule(const struct bt_config *cfg, const char *dev)
{
	for (unsigned int i = 0; i < cfg->n_rules; i++) {
		if (!fnmatch(cfg->rules[i].pattern, dev, 0))
			return &cfg->rules[i];
	}
	return NULL;
}

static void describe(FILE *to, const char *section, const struct key *keys)
{
	fprintf(to, "[%s]\n", section);
	for (const struct key *k = keys; k->name; k++)
		fprintf(to, "# %s\n#%s = %s\n", k->help, k->name, k->def ? k->def : k->kind->takes);
}

void bt_config_describe(FILE *to)
{
	describe(to, "daemon", daemon_keys);
	fputs("\n", to);
	describe(to, "device PATTERN", device_keys);
}
