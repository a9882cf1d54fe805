// SPDX-License-Identifier: GPL-2.0
/*
 * load_corpus TABLE KERNEL DIR...: loads every object of the corpus as it is, and each of its programs
 * as a twin, on the kernel this runs on; one TAP line an object and folder. TABLE is made by
 * selftests/corpus/expect.sh; programs that need a newer kernel than KERNEL (X.Y) are left out.
 * `bigtcp load` does the same for one program; under emulation starting it hundreds of times
 * takes minutes, and this takes seconds.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "base/err.h"
#include "core/twinload.h"

#define MAX_ROWS       512
#define OBJECT_SECONDS 120

struct row {
	char file[64], prog[64], twin[64];
	unsigned int kernel;
};

static struct row rows[MAX_ROWS];
static unsigned int row_cnt;

/* What is wrong with the object at hand, as TAP comments. */
static char wrong[8192];

static void complain(const char *fmt, ...)
{
	size_t len = strlen(wrong);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wrong + len, sizeof(wrong) - len, fmt, ap);
	va_end(ap);
}

/* Lines of @text as comments. */
static void complain_lines(const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		complain("#   %.*s\n", (int)len, text);
		text += len + !!text[len];
	}
}

/* "6.12" as a number that can be compared; 0: not a version. */
static unsigned int version(const char *s)
{
	unsigned int major, minor;

	return sscanf(s, "%u.%u", &major, &minor) == 2 ? major << 16 | minor : 0;
}

static int read_table(const char *path)
{
	char audit[32], kernel[16];
	FILE *f = fopen(path, "r");
	struct row *r = rows;

	if (!f)
		return -errno;
	while (row_cnt < MAX_ROWS && fscanf(f, "%63s %63s %31s %63s %15s", r->file, r->prog, audit,
					    r->twin, kernel) == 5) {
		r->kernel = version(kernel);
		r++;
		row_cnt++;
	}
	/* Rows that were not read would be tests that are not run. */
	if (!feof(f) || !row_cnt) {
		fclose(f);
		return -EINVAL;
	}
	fclose(f);
	return 0;
}

/* The end of what libbpf has to say, which is where a verifier gives its reason. */
static char said[4096];

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	static char text[1 << 16];
	size_t len, n;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(text);
	len = strlen(said);
	if (n >= sizeof(said) / 2) { /* a verifier's log */
		strcpy(said, text + n - sizeof(said) / 2);
	} else {
		if (len + n >= sizeof(said)) {
			memmove(said, said + n, len - n + 1);
			len -= n;
		}
		strcpy(said + len, text);
	}
	return 0;
}

static void load_plain(const char *path)
{
	struct bpf_object *obj;
	libbpf_print_fn_t old;
	int err;

	said[0] = '\0';
	old = libbpf_set_print(keep);
	obj = bpf_object__open(path);
	err = obj ? bpf_object__load(obj) : -errno;
	libbpf_set_print(old);
	if (err) {
		complain("# %s does not load as it is: %s\n", path, strerror(-err));
		complain_lines(said);
	}
	bpf_object__close(obj);
}

static void complain_report(const struct bt_twin_report *rep)
{
	complain("# %s: %s, %s\n", rep->prog_name, bt_twin_status_name(rep->status), rep->text);
	complain_lines(rep->log);
}

/* The twin, or the refusal, that the statement names. Programs that had to be loaded with it (its
 * program arrays') must have become twins as well.
 */
static void load_twin(const char *path, const struct row *r)
{
	struct bt_object_opts opts = { .only = r->prog, .policy = BT_REFUSED_FAIL };
	const char *why = strncmp(r->twin, "refused:", 8) ? NULL : r->twin + 8;
	const struct bt_twin_report *reps;
	struct bt_object *obj = NULL;
	unsigned int n;
	int err;

	bt_err_clear();
	err = bt_object_load(path, &opts, &obj);
	n = obj ? bt_object_reports(obj, &reps) : 0;
	if (why) {
		const struct bt_twin_report *last = n ? &reps[n - 1] : NULL;

		if (!err || !last || last->status != BT_TWIN_REFUSED ||
		    strcmp(bigtcp_twin_why_name(last->reason.why), why)) {
			complain("# %s should be refused for '%s'\n", r->prog, why);
			if (last)
				complain_report(last);
		}
	} else {
		if (err)
			complain("# no twin of %s: %s\n", r->prog,
				 bt_err_text() ? bt_err_text() : strerror(-err));
		if (!err && !n)
			complain("# %s: no report\n", r->prog);
		for (unsigned int i = 0; i < n; i++) {
			if (reps[i].status != BT_TWIN_MADE)
				complain_report(&reps[i]);
		}
	}
	bt_object_free(obj);
}

/* One object: @from is its first row. Prints its line. */
static void object(unsigned int num, const char *dir, const char *name, unsigned int from,
		   unsigned int kernel)
{
	const char *file = rows[from].file;
	unsigned int done = 0, newest = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", dir, file);
	for (unsigned int i = from; i < row_cnt; i++) {
		if (!strcmp(rows[i].file, file) && rows[i].kernel > newest)
			newest = rows[i].kernel;
	}
	if (newest <= kernel)
		load_plain(path);
	for (unsigned int i = from; i < row_cnt; i++) {
		if (strcmp(rows[i].file, file) || rows[i].kernel > kernel)
			continue;
		load_twin(path, &rows[i]);
		done++;
	}
	if (done || wrong[0])
		printf("%sok %u - %s %s: plain and twin\n%s", wrong[0] ? "not " : "", num, name,
		       file, wrong);
	else
		printf("ok %u - %s %s: plain and twin # SKIP needs kernel %u.%u\n", num, name, file,
		       newest >> 16, newest & 0xffff);
	fflush(stdout);
	_exit(wrong[0] ? 1 : 0);
}

static bool seen_before(unsigned int row)
{
	for (unsigned int i = 0; i < row; i++) {
		if (!strcmp(rows[i].file, rows[row].file))
			return true;
	}
	return false;
}

/* Each object gets a process: one that crashes or never ends is one failed test. */
static bool folder(unsigned int *num, const char *dir, unsigned int kernel)
{
	const char *name = strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir;
	bool good = true;

	for (unsigned int i = 0; i < row_cnt; i++) {
		int status = -1;
		pid_t pid;

		if (seen_before(i))
			continue;
		++*num;
		pid = fork();
		if (!pid) {
			alarm(OBJECT_SECONDS);
			object(*num, dir, name, i, kernel);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
			printf("not ok %u - %s %s: plain and twin\n# ended by signal %d\n", *num,
			       name, rows[i].file, WTERMSIG(status));
			fflush(stdout);
		}
		good &= !status;
	}
	return good;
}

int main(int argc, char **argv)
{
	unsigned int kernel, num = 0;
	bool good = true;
	int err;

	if (argc < 4 || !(kernel = version(argv[2]))) {
		fprintf(stderr, "usage: load_corpus TABLE KERNEL DIR...\n");
		return 1;
	}
	err = read_table(argv[1]);
	if (err) {
		fprintf(stderr, "load_corpus: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	bt_err_init();
	for (int i = 3; i < argc; i++)
		good &= folder(&num, argv[i], kernel);
	printf("1..%u\n", num);
	return !good;
}
