// SPDX-License-Identifier: GPL-2.0
/* The print layer: always JSON, readable tables. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/print.h"

static FILE *real_stdout;
static char *got;
static size_t got_len;

static void start(enum bt_print_mode mode)
{
	setenv("COLUMNS", "80", 1);
	real_stdout = stdout;
	stdout = open_memstream(&got, &got_len);
	bt_print_start(mode);
}

static const char *finish(void)
{
	cr_assert_eq(bt_print_end(), 0);
	fclose(stdout);
	stdout = real_stdout;
	return got;
}

/* A JSON text as RFC 8259 has it, UTF-8 included; returns the end of the value or NULL. */
static const char *value(const char *s);

static const char *blanks(const char *s)
{
	return s + strspn(s, " \t\n\r");
}

static const char *utf8(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned int n = u[0] >= 0xf0 ? 3 : u[0] >= 0xe0 ? 2 : 1;
	unsigned long cp = u[0] & (0x3f >> n);
	static const unsigned long least[] = { 0, 0x80, 0x800, 0x10000 };

	if (u[0] < 0xc0 || u[0] > 0xf7)
		return NULL;
	for (unsigned int i = 1; i <= n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return NULL;
		cp = cp << 6 | (u[i] & 0x3f);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return NULL;
	return s + n + 1;
}

static const char *string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	while (s && *s != '"') {
		if ((unsigned char)*s < 0x20)
			return NULL;
		if (*s == '\\' && s[1] == 'u')
			s = strspn(s + 2, "0123456789abcdefABCDEF") >= 4 ? s + 6 : NULL;
		else if (*s == '\\')
			s = s[1] && strchr("\"\\/bfnrt", s[1]) ? s + 2 : NULL;
		else if ((unsigned char)*s >= 0x80)
			s = utf8(s);
		else
			s++;
	}
	return s ? s + 1 : NULL;
}

static const char *members(const char *s, char end, int keys)
{
	s = blanks(s);
	if (*s == end)
		return s + 1;
	for (;;) {
		if (keys) {
			s = string(blanks(s));
			if (!s || *(s = blanks(s)) != ':')
				return NULL;
			s++;
		}
		s = value(s);
		if (!s)
			return NULL;
		s = blanks(s);
		if (*s == end)
			return s + 1;
		if (*s++ != ',')
			return NULL;
	}
}

static const char *value(const char *s)
{
	char *end;

	s = blanks(s);
	if (*s == '{')
		return members(s + 1, '}', 1);
	if (*s == '[')
		return members(s + 1, ']', 0);
	if (*s == '"')
		return string(s);
	for (const char *const *w = (const char *const[]){ "true", "false", "null", NULL }; *w; w++)
		if (!strncmp(s, *w, strlen(*w)))
			return s + strlen(*w);
	if (*s != '-' && (*s < '0' || *s > '9'))
		return NULL;
	strtod(s, &end);
	return end;
}

static int is_json(const char *s)
{
	s = value(s);
	return s && !*blanks(s);
}

Test(print, json_document)
{
	start(BT_PRINT_JSON);
	bt_obj_open(NULL);
	bt_print_str("s", "%s", "a");
	bt_print_str("none", NULL, NULL);
	bt_print_uint("u", "%u", UINT64_MAX);
	bt_print_int("i", "%d", -7);
	bt_print_bool("b", "%s", true);
	bt_print_double("d", "%.1f", 0.5);
	bt_print_double("nan", NULL, 0.0 / 0.0);
	bt_print_hex("h", "\x06\x00\xc2", 3);
	bt_arr_open("a");
	bt_print_uint(NULL, NULL, 1);
	bt_print_null(NULL);
	bt_arr_close();
	bt_text("never in JSON");
	bt_obj_close();
	cr_assert_str_eq(finish(), "{\"s\":\"a\",\"none\":null,\"u\":18446744073709551615,\"i\":-7,"
				   "\"b\":true,\"d\":0.5,\"nan\":null,\"h\":\"0600c2\","
				   "\"a\":[1,null]}\n");
}

Test(print, json_text_formats)
{
	start(BT_PRINT_TEXT);
	bt_obj_open(NULL);
	bt_print_str("s", "%s|", "a");
	bt_print_str("none", "%s|", NULL);
	bt_print_str("json_only", NULL, "x");
	bt_print_uint("u", "%u|", UINT64_MAX);
	bt_print_uint("p", "100%% %5u|", 7);
	bt_print_uint("x", "%#x|", 0x1234567890);
	bt_print_int("i", "%d|", -7);
	bt_print_bool("b", "%s|", false);
	bt_print_double("d", "%.1f|", 0.5);
	bt_obj_close();
	cr_assert_str_eq(finish(), "a|-|18446744073709551615|100%     7|0x1234567890|-7|no|0.5|");
}

Test(print, json_escapes)
{
	static const char odd[] =
		"\"\\\n\t\x01\x7f\0é|\xff\xc3|\xed\xa0\x80|\xc0\xaf|\xf4\x90\x80\x80";

	start(BT_PRINT_JSON);
	bt_print_strn(NULL, odd, sizeof(odd) - 1);
	cr_assert_str_eq(finish(), "\"\\\"\\\\\\n\\t\\u0001\\u007f\\u0000é|\\ufffd\\ufffd|"
				   "\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd|"
				   "\\ufffd\\ufffd\\ufffd\\ufffd\"\n");
}

Test(print, json_of_random_bytes_is_json)
{
	unsigned int seed = 1;

	for (int round = 0; round < 2000; round++) {
		char key[8], val[24];

		for (size_t i = 0; i < sizeof(val); i++)
			val[i] = (char)rand_r(&seed);
		for (size_t i = 0; i + 1 < sizeof(key); i++)
			key[i] = (char)(rand_r(&seed) | 1);
		key[sizeof(key) - 1] = '\0';
		start(round & 1 ? BT_PRINT_JSON : BT_PRINT_PRETTY);
		bt_obj_open(NULL);
		bt_print_strn(key, val, sizeof(val));
		bt_arr_open(key);
		bt_print_str(NULL, NULL, key);
		if (round % 3 == 0)
			bt_print_error(key);
		cr_assert(is_json(finish()), "not JSON: %s", got);
		free(got);
	}
}

Test(print, an_open_document_is_closed)
{
	start(BT_PRINT_JSON);
	bt_arr_open(NULL);
	bt_obj_open(NULL);
	bt_arr_open("deep");
	cr_assert_str_eq(finish(), "[{\"deep\":[]}]\n");
}

Test(print, nothing_said_is_an_empty_object)
{
	start(BT_PRINT_JSON);
	cr_assert_str_eq(finish(), "{}\n");
}

Test(print, stdout_of_another)
{
	start(BT_PRINT_JSON);
	bt_print_off();
	bt_obj_open(NULL);
	bt_print_uint("a", "%u", 1);
	cr_assert_eq(bt_print_end(), 0);
	fflush(stdout);
	cr_assert_eq(got_len, 0);
	stdout = real_stdout;
}

Test(print, error_alone)
{
	start(BT_PRINT_JSON);
	bt_print_error("no device \"x\"");
	cr_assert_str_eq(finish(), "{\"error\":\"no device \\\"x\\\"\"}\n");
}

Test(print, error_in_an_object)
{
	start(BT_PRINT_JSON);
	bt_obj_open(NULL);
	bt_arr_open("rows");
	bt_obj_open(NULL);
	bt_print_error("late");
	cr_assert_str_eq(finish(), "{\"rows\":[{}],\"error\":\"late\"}\n");
}

Test(print, error_in_an_array)
{
	start(BT_PRINT_JSON);
	bt_arr_open(NULL);
	bt_print_uint(NULL, NULL, 1);
	bt_print_error("late");
	cr_assert_str_eq(finish(), "[1,{\"error\":\"late\"}]\n");
}

Test(print, stream_of_documents)
{
	start(BT_PRINT_JSON);
	bt_print_stream();
	cr_assert_str_eq(finish(), "");
	free(got);
	start(BT_PRINT_JSON);
	bt_print_stream();
	for (int i = 0; i < 2; i++) {
		bt_obj_open(NULL);
		bt_print_int("n", NULL, i);
		bt_obj_close();
	}
	bt_print_error("gone");
	cr_assert_str_eq(finish(), "{\"n\":0}\n{\"n\":1}\n{\"error\":\"gone\"}\n");
	free(got);
}

Test(print, a_second_document_is_not_begun)
{
	start(BT_PRINT_JSON);
	bt_obj_open(NULL);
	bt_obj_close();
	bt_obj_open(NULL);
	bt_print_uint("x", NULL, 1);
	bt_obj_close();
	cr_assert_str_eq(finish(), "{}\n");
}

static const struct bt_column cols[] = {
	{ "dev", "DEV" },
	{ "id", "ID" },
	{ "why", "WHY" },
	{ "hidden", NULL },
};

static void fill(void)
{
	struct bt_table *t = bt_table_new(cols, 4);

	bt_row(t);
	bt_cell_str(t, "dev", "eth0");
	bt_cell_uint(t, "id", 7);
	bt_cell_str(t, "why", "short");
	bt_row(t);
	bt_cell_uint(t, "id", 1234);
	bt_cellf(t, "why", "%s %d", "made", 3);
	bt_cell_bool(t, "hidden", true);
	bt_cell_str(t, "dev", "twice");
	bt_cell_str(t, "dev", NULL);
	bt_table_end(t);
}

Test(print, table_as_text)
{
	start(BT_PRINT_TEXT);
	fill();
	cr_assert_str_eq(finish(), "DEV     ID  WHY\n"
				   "eth0     7  short\n"
				   "-     1234  made 3\n");
}

Test(print, table_as_json)
{
	start(BT_PRINT_JSON);
	bt_arr_open(NULL);
	fill();
	bt_arr_close();
	cr_assert_str_eq(finish(),
			 "[{\"dev\":\"eth0\",\"id\":7,\"why\":\"short\",\"hidden\":null},"
			 "{\"dev\":null,\"id\":1234,\"why\":\"made 3\",\"hidden\":true}]\n");
}

Test(print, table_fits_80_columns)
{
	struct bt_table *t;
	char *line;

	start(BT_PRINT_TEXT);
	t = bt_table_new(cols, 4);
	for (int i = 0; i < 3; i++) {
		bt_row(t);
		bt_cell_str(t, "dev", "a device of which there is a lot to say, even in its name");
		bt_cell_str(
			t, "why",
			"a reason that goes on for so long that it needs several lines; "
			"an-unbreakable-word-of-more-than-eighty-columns-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxx and\na line break of its own, and \033[31m no colours");
	}
	bt_table_end(t);
	finish();
	cr_assert(strstr(got, "needs several") || strstr(got, "several lines"));
	cr_assert_null(strchr(got, '\033'));
	for (line = strtok(got, "\n"); line; line = strtok(NULL, "\n")) {
		cr_assert_leq(strlen(line), 80, "%zu: %s", strlen(line), line);
		cr_assert_neq(line[strlen(line) - 1], ' ', "blank at the end: '%s'", line);
	}
}

Test(print, table_without_rows)
{
	start(BT_PRINT_TEXT);
	bt_table_end(bt_table_new(cols, 4));
	bt_table_end(NULL);
	cr_assert_str_eq(finish(), "");
}

Test(err, innermost_sentence_wins)
{
	cr_assert_null(bt_err_text());
	cr_assert_eq(bt_err(-2, "no %s", "file"), -2);
	cr_assert_eq(bt_err(-5, "outer"), -5);
	cr_assert_str_eq(bt_err_text(), "no file");
	bt_err_clear();
	cr_assert_null(bt_err_text());
	cr_assert_eq(bt_err(-5, "next"), -5);
	cr_assert_str_eq(bt_err_text(), "next");
}
