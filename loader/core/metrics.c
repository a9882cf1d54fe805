// SPDX-License-Identifier: GPL-2.0
#include "core/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/print.h"

#define LABELS_MAX 4

const struct bt_metric bt_metrics[__BT_METRIC_MAX] = {
#define METRIC(sym, name, type, labels, help) { name, type, labels, help },
#include "core/metrics.tab.h"
#undef METRIC
};

/* Thousands of devices have dozens of samples each: their labels are offsets of strings, of which neighbours are the
 * same as a rule.
 */
struct sample {
	double value;
	__u32 label[LABELS_MAX];
	enum bt_metric_id id;
};

struct bt_samples {
	struct sample *v;
	size_t n, cap;
	char *words; /* label values, each with its NUL */
	size_t words_len, words_cap;
	int err;
};

struct bt_samples *bt_samples_new(void)
{
	return calloc(1, sizeof(struct bt_samples));
}

void bt_samples_free(struct bt_samples **s)
{
	if (!*s)
		return;
	free((*s)->v);
	free((*s)->words);
	free(*s);
	*s = NULL;
}

/* Room for @more elements behind the @n that are used. */
static int grow(void *array, size_t size, size_t n, size_t more, size_t *cap)
{
	void **p = array, *bigger;
	size_t want = *cap ? *cap : 64;

	if (n + more <= *cap)
		return 0;
	while (want < n + more)
		want *= 2;
	bigger = realloc(*p, want * size);
	if (!bigger)
		return -ENOMEM;
	*p = bigger;
	*cap = want;
	return 0;
}

static int put_word(struct bt_samples *s, const char *word, __u32 *at)
{
	size_t len = strlen(word) + 1;

	if (grow(&s->words, 1, s->words_len, len, &s->words_cap))
		return -ENOMEM;
	memcpy(s->words + s->words_len, word, len);
	*at = (__u32)s->words_len;
	s->words_len += len;
	return 0;
}

static unsigned int label_count(enum bt_metric_id id)
{
	const char *l = bt_metrics[id].labels;
	unsigned int n = *l != 0;

	while ((l = strchr(l, ','))) {
		l++;
		n++;
	}
	return n;
}

void bt_sample(struct bt_samples *s, enum bt_metric_id id, double value, const char *const *labels)
{
	struct sample new = { .id = id, .value = value }, *last = s->n ? &s->v[s->n - 1] : NULL;
	unsigned int n = label_count(id);

	if (s->err)
		return;
	for (unsigned int i = 0; i < n; i++) {
		/* Compared where the one before has a label at all: 0 is a string too. */
		if (last && i < label_count(last->id) &&
		    !strcmp(s->words + last->label[i], labels[i])) {
			new.label[i] = last->label[i];
			continue;
		}
		s->err = put_word(s, labels[i], &new.label[i]);
		if (s->err)
			return;
	}
	s->err = grow(&s->v, sizeof(*s->v), s->n, 1, &s->cap);
	if (!s->err)
		s->v[s->n++] = new;
}

/* --- the text ------------------------------------------------------------------------------------- */

static void put_help(FILE *to, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\')
			fputs("\\\\", to);
		else if (*s == '\n')
			fputs("\\n", to);
		else
			putc(*s, to);
	}
}

/* UTF-8 with three characters escaped: names of devices and programs may be any bytes. */
static void put_label(FILE *to, const char *val)
{
	const unsigned char *s = (const unsigned char *)val;
	size_t left = strlen(val);

	while (left) {
		size_t n = bt_utf8_len(s, left);

		if (!n) {
			fputs("\xef\xbf\xbd", to);
			n = 1;
		} else if (*s == '\n') {
			fputs("\\n", to);
		} else {
			if (*s == '"' || *s == '\\')
				putc('\\', to);
			fwrite(s, 1, n, to);
		}
		s += n;
		left -= n;
	}
}

static void put_value(FILE *to, double v)
{
	if (isnan(v))
		fputs("NaN", to);
	else if (isinf(v))
		fputs(v < 0 ? "-Inf" : "+Inf", to);
	else if (fabs(v) < 1e15 && v == (double)(long long)v)
		fprintf(to, "%.0f", v);
	else
		fprintf(to, "%.17g", v);
}

static void put_sample(FILE *to, const struct bt_samples *s, const struct sample *x)
{
	const char *name = bt_metrics[x->id].labels;
	unsigned int n = label_count(x->id);

	fputs(bt_metrics[x->id].name, to);
	for (unsigned int i = 0; i < n; i++) {
		int len = (int)strcspn(name, ",");

		fprintf(to, "%c%.*s=\"", i ? ',' : '{', len, name);
		put_label(to, s->words + x->label[i]);
		putc('"', to);
		name += len + 1;
	}
	fputs(n ? "} " : " ", to);
	put_value(to, x->value);
	putc('\n', to);
}

int bt_samples_write(const struct bt_samples *s, FILE *to)
{
	if (s->err)
		return s->err;
	errno = 0;
	for (int id = 0; id < __BT_METRIC_MAX; id++) {
		bool first = true;

		for (size_t i = 0; i < s->n; i++) {
			if ((int)s->v[i].id != id)
				continue;
			if (first) {
				fprintf(to, "# HELP %s ", bt_metrics[id].name);
				put_help(to, bt_metrics[id].help);
				fprintf(to, "\n# TYPE %s %s\n", bt_metrics[id].name,
					bt_metrics[id].type);
			}
			first = false;
			put_sample(to, s, &s->v[i]);
		}
	}
	if (!fflush(to) && !ferror(to))
		return 0;
	return errno ? -errno : -EIO;
}

int bt_samples_text(const struct bt_samples *s, char **text, size_t *len)
{
	char *t = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&t, &n);
	int err = f ? bt_samples_write(s, f) : -ENOMEM;

	if (f && fclose(f) && !err)
		err = -ENOMEM;
	if (err) {
		free(t);
		return err;
	}
	*text = t;
	*len = n;
	return 0;
}

/* --- the textfile collector ------------------------------------------------------------------------ */

int bt_samples_textfile(const struct bt_samples *s, const char *path)
{
	char *beside __free = NULL;
	FILE *f = NULL;
	int fd, err;

	/* node_exporter reads what ends with ".prom": this name does not. */
	if (asprintf(&beside, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return bt_err(-errno, "cannot write beside %s: %s", path, strerror(errno));
	/* It is read by a user of its own. */
	if (fchmod(fd, 0644) || !(f = fdopen(fd, "w"))) {
		err = -errno;
		close(fd);
	} else {
		err = bt_samples_write(s, f);
		if (fclose(f) && !err)
			err = -errno;
	}
	if (!err && rename(beside, path))
		err = -errno;
	if (!err)
		return 0;
	unlink(beside);
	return bt_err(err, "cannot write %s: %s", path, strerror(-err));
}
