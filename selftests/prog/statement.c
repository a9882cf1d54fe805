// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <linux/types.h>
#include <linux/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "statement.h"

static bool parse_flow(const char *line, struct flow_stmt *f)
{
	char src[64], dst[64];
	unsigned int sp, dp;

	if (sscanf(line, "/* flow: src=%63s dst=%63s sport=%u dport=%u", src, dst, &sp, &dp) != 4)
		return false;
	memset(f, 0, sizeof(*f));
	f->v6 = strchr(src, ':');
	f->sport = sp;
	f->dport = dp;
	return inet_pton(f->v6 ? AF_INET6 : AF_INET, src, &f->src) == 1 &&
	       inet_pton(f->v6 ? AF_INET6 : AF_INET, dst, &f->dst) == 1;
}

/* What only one program of the file, which has been stated already, is. */
static void read_one(const char *line, const char *section, struct statement *st, unsigned int n)
{
	char prog[32], key[8] = "";

	if (sscanf(line, "/* %7[a-z]: %31[^ ]", key, prog) != 2 &&
	    sscanf(line, "int %31[^(](", prog) != 1)
		return;
	for (; n--; st++) {
		if (strcmp(st->prog, prog))
			continue;
		st->loses |= !strcmp(key, "loses");
		st->cuts |= !strcmp(key, "cuts");
		st->frags |= !*key && !strncmp(section, "xdp.frags", 9);
	}
}

/* What a file says of all its programs (flows, fills) goes into each of them. */
static int read_file(const char *path, struct statement **all, unsigned int *n)
{
	__fclose FILE *f = fopen(path, "re");
	struct statement common = {}, *s;
	const char *base = strrchr(path, '/');
	unsigned int first = *n, major, minor, k;
	char line[512], section[32] = "";

	if (!f)
		return -errno;
	base = base ? base + 1 : path;
	snprintf(common.file, sizeof(common.file), "%.*s", (int)strcspn(base, "."), base);
	while (fgets(line, sizeof(line), f)) {
		struct fill_stmt *fill = &common.fill[common.nfills];

		if (common.nflows < 16 && parse_flow(line, &common.flow[common.nflows]))
			common.nflows++;
		if (common.nfills < 32 && sscanf(line, "/* fill: %31[^[][%u]=%31s", fill->map,
						 &fill->index, fill->prog) == 3)
			common.nfills++;
		if (sscanf(line, "SEC(\"%31[^\"]\")", section) != 1)
			read_one(line, section, *all + first, *n - first);
		if (strncmp(line, "/* expect:", 10))
			continue;
		s = realloc(*all, (*n + 1) * sizeof(*s));
		if (!s)
			return -ENOMEM;
		*all = s;
		s += (*n)++;
		memset(s, 0, sizeof(*s));
		if (sscanf(line, "/* expect: %31s audit=%15s twin=%31s kernel=%u.%u", s->prog,
			   s->audit, s->twin, &major, &minor) != 5)
			return -EINVAL;
		s->kernel = KERNEL_VERSION(major, minor, 0);
	}
	for (k = first; k < *n; k++) {
		s = &(*all)[k];
		memcpy(s->file, common.file, sizeof(s->file));
		memcpy(s->flow, common.flow, sizeof(s->flow));
		memcpy(s->fill, common.fill, sizeof(s->fill));
		s->nflows = common.nflows;
		s->nfills = common.nfills;
	}
	return 0;
}

int statements_read(struct statement **out)
{
	const char *dir = getenv("BT_CORPUS_SRC");
	struct statement *all = NULL;
	unsigned int n = 0;
	char pattern[256];
	glob_t g = {};
	size_t k;
	int err;

	snprintf(pattern, sizeof(pattern), "%s/*.bpf.c", dir ? dir : "selftests/corpus");
	err = glob(pattern, 0, NULL, &g) ? -ENOENT : 0;
	for (k = 0; !err && k < g.gl_pathc; k++)
		err = read_file(g.gl_pathv[k], &all, &n);
	globfree(&g);
	if (err) {
		free(all);
		return err;
	}
	*out = all;
	return n;
}

void statement_object(const struct statement *st, const char *version, char *path, size_t len)
{
	const char *out = getenv("BT_OUT");

	snprintf(path, len, "%s/corpus/clang-%s/%s.bpf.o", out ? out : ".output", version,
		 st->file);
}

bool statement_runs_here(const struct statement *st)
{
	unsigned int major, minor;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return true;
	return KERNEL_VERSION(major, minor, 0) >= st->kernel;
}
