// SPDX-License-Identifier: GPL-2.0
/* The JSON writer and its text twin. One document at a time, on stdout. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/progress.h"

#define MAX_DEPTH 32

static struct {
	enum bt_print_mode mode;
	bool off; /* stdout is not ours */
	bool colour;
	bool started;
	bool stream; /* a second one is another document */
	bool done; /* the outermost value is complete: a second one would not be JSON */
	unsigned int depth;
	char kind[MAX_DEPTH]; /* '{' or '[' */
	bool used[MAX_DEPTH]; /* holds a value already: the next one needs a comma */
} out;

void bt_print_start(enum bt_print_mode mode)
{
	memset(&out, 0, sizeof(out));
	out.mode = mode;
	out.started = true;
}

bool bt_print_json(void)
{
	return out.mode != BT_PRINT_TEXT;
}

bool bt_print_text_on(void)
{
	return !bt_print_json() && !out.off;
}

void bt_print_off(void)
{
	out.off = true;
}

void bt_print_colour(bool on)
{
	out.colour = on;
}

bool bt_print_coloured(void)
{
	return out.colour && bt_print_text_on();
}

void bt_print_stream(void)
{
	out.stream = true;
}

static bool json(void)
{
	return bt_print_json() && !out.off && (!out.done || out.stream);
}

static bool text(const char *fmt)
{
	if (!fmt || !bt_print_text_on())
		return false;
	bt_progress_end();
	return true;
}

static void newline(void)
{
	if (out.mode != BT_PRINT_PRETTY)
		return;
	putchar('\n');
	for (unsigned int i = 0; i < out.depth; i++)
		fputs("    ", stdout);
}

/*
 * Length of the valid UTF-8 sequence at s (RFC 3629: shortest form, no surrogates, at most
 * U+10FFFF), 0 when there is none.
 */
size_t bt_utf8_len(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (!n || n > left || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void json_string(const char *val, size_t len)
{
	const unsigned char *s = (const unsigned char *)val;

	putchar('"');
	while (len) {
		size_t n = bt_utf8_len(s, len);

		if (!n) {
			fputs("\\ufffd", stdout);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			printf("\\%c", *s);
		} else if (*s == '\n') {
			fputs("\\n", stdout);
		} else if (*s == '\t') {
			fputs("\\t", stdout);
		} else if (*s < 0x20 || *s == 0x7f) {
			printf("\\u%04x", *s);
		} else {
			fwrite(s, 1, n, stdout);
		}
		s += n;
		len -= n;
	}
	putchar('"');
}

/* What comes before a value: comma, line break, key. */
static void json_lead(const char *key)
{
	char kind;

	if (!out.depth)
		return;
	kind = out.kind[out.depth - 1];
	if (out.used[out.depth - 1])
		putchar(',');
	out.used[out.depth - 1] = true;
	newline();
	if (kind != '{')
		return;
	if (!key)
		key = "value";
	json_string(key, strlen(key));
	putchar(':');
	if (out.mode == BT_PRINT_PRETTY)
		putchar(' ');
}

/* Past a value: at top level the document is complete with it. */
static void json_tail(void)
{
	if (!out.depth) {
		putchar('\n');
		out.done = true;
	}
}

static void json_open(const char *key, char kind)
{
	if (!json())
		return;
	if (out.depth == MAX_DEPTH)
		abort();
	json_lead(key);
	putchar(kind);
	out.kind[out.depth] = kind;
	out.used[out.depth] = false;
	out.depth++;
}

static void json_close(void)
{
	char kind;
	bool used;

	if (!json() || !out.depth)
		return;
	out.depth--;
	kind = out.kind[out.depth];
	used = out.used[out.depth];
	if (used)
		newline();
	putchar(kind == '{' ? '}' : ']');
	json_tail();
}

void bt_obj_open(const char *key)
{
	json_open(key, '{');
}

void bt_obj_close(void)
{
	json_close();
}

void bt_arr_open(const char *key)
{
	json_open(key, '[');
}

void bt_arr_close(void)
{
	json_close();
}

int bt_print_end(void)
{
	int err = 0;

	if (!out.started)
		return 0;
	if (json() && !out.depth && !out.stream)
		json_open(NULL, '{');
	while (json() && out.depth)
		json_close();
	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		err = errno ? -errno : -EIO;
	out.started = false;
	return err;
}

void bt_print_error(const char *msg)
{
	if (!json()) {
		fflush(stdout);
		fprintf(stderr, "Error: %s\n", msg);
		return;
	}
	while (out.depth > 1)
		json_close();
	if (out.depth == 1 && out.kind[0] == '{') {
		bt_print_str("error", NULL, msg);
		return;
	}
	bt_obj_open(NULL);
	bt_print_str("error", NULL, msg);
	bt_obj_close();
}

void bt_print_strn(const char *key, const char *val, size_t len)
{
	if (!json())
		return;
	json_lead(key);
	json_string(val, len);
	json_tail();
}

/* A literal that needs no escaping: number, true, null. */
static void json_word(const char *key, const char *word)
{
	if (!json())
		return;
	json_lead(key);
	fputs(word, stdout);
	json_tail();
}

void bt_print_null(const char *key)
{
	json_word(key, "null");
}

void bt_print_str(const char *key, const char *fmt, const char *val)
{
	if (text(fmt))
		printf(fmt, val ? val : "-");
	else if (val)
		bt_print_strn(key, val, strlen(val));
	else
		bt_print_null(key);
}

/*
 * Text formats are written for plain %u, %d and so on; the length modifier that 64 bits need is put
 * in here, so that no command has to know PRIu64. A format with a modifier of its own is taken as
 * it is.
 */
static void print_wide(const char *fmt, unsigned long long val)
{
	const char *pct = fmt;
	char wide[256];
	size_t at;

	while ((pct = strchr(pct, '%')) && pct[1] == '%')
		pct += 2;
	at = pct ? 1 + strcspn(pct + 1, "diouxXcsfgehljzt") + (size_t)(pct - fmt) : 0;
	if (!pct || !fmt[at] || strchr("hljzt", fmt[at]) || strlen(fmt) + 3 > sizeof(wide)) {
		printf(fmt, val);
		return;
	}
	snprintf(wide, sizeof(wide), "%.*sll%s", (int)at, fmt, fmt + at);
	printf(wide, val);
}

void bt_print_uint(const char *key, const char *fmt, uint64_t val)
{
	char num[32];

	if (text(fmt)) {
		print_wide(fmt, val);
		return;
	}
	snprintf(num, sizeof(num), "%llu", (unsigned long long)val);
	json_word(key, num);
}

void bt_print_int(const char *key, const char *fmt, int64_t val)
{
	char num[32];

	if (text(fmt)) {
		print_wide(fmt, (unsigned long long)val);
		return;
	}
	snprintf(num, sizeof(num), "%lld", (long long)val);
	json_word(key, num);
}

void bt_print_bool(const char *key, const char *fmt, bool val)
{
	if (text(fmt))
		printf(fmt, val ? "yes" : "no");
	else
		json_word(key, val ? "true" : "false");
}

void bt_print_double(const char *key, const char *fmt, double val)
{
	char num[64];

	if (text(fmt)) {
		printf(fmt, val);
		return;
	}
	/* JSON has no infinities and no NaN. */
	if (isfinite(val))
		snprintf(num, sizeof(num), "%.12g", val);
	else
		strcpy(num, "null");
	json_word(key, num);
}

void bt_print_hex(const char *key, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (!json())
		return;
	json_lead(key);
	putchar('"');
	for (size_t i = 0; i < len; i++)
		printf("%02x", p[i]);
	putchar('"');
	json_tail();
}

void bt_text(const char *fmt, ...)
{
	va_list ap;

	if (!text(fmt))
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}
