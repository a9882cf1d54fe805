/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One print layer for text and JSON, after iproute2's idea: a command states each value once.
 * In JSON mode keys and values are written; in text mode the value is written through its printf
 * format (NULL: the value is for JSON alone). Tables are rows of cells in both modes.
 */
#ifndef BASE_PRINT_H
#define BASE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bt_print_mode { BT_PRINT_TEXT, BT_PRINT_JSON, BT_PRINT_PRETTY };

/* Starts output; bt_print_end() closes what is open and flushes (call it on errors too: the JSON
 * stays valid). A JSON document that nothing was put into becomes "{}". main calls both, commands
 * only fill in. bt_print_end() returns -errno when stdout took less than all of it (disk full,
 * reader gone).
 */
void bt_print_start(enum bt_print_mode mode);
int bt_print_end(void);
bool bt_print_json(void);
bool bt_print_text_on(void); /* text mode, and stdout is ours */
/* stdout belongs to somebody else (a command that exec runs): write nothing to it. */
void bt_print_off(void);
/* Text comes with colours (bt_colour_wanted(); JSON never has any). */
void bt_print_colour(bool on);
bool bt_print_coloured(void);
/* From here on any number of JSON documents follow, one a line; none is not "{}". */
void bt_print_stream(void);
/* The error of a command. Text: "Error: ..." on stderr. JSON: {"error": "..."} on stdout; when the
 * document is already begun the error is put into its outermost object or array.
 */
void bt_print_error(const char *text);

void bt_obj_open(const char *key); /* key NULL at top level and in arrays */
void bt_obj_close(void);
void bt_arr_open(const char *key);
void bt_arr_close(void);

/* val NULL: null, in text "-". Strings need not be UTF-8: other bytes become U+FFFD. */
void bt_print_str(const char *key, const char *fmt, const char *val);
void bt_print_uint(const char *key, const char *fmt, uint64_t val);
void bt_print_int(const char *key, const char *fmt, int64_t val);
void bt_print_bool(const char *key, const char *fmt, bool val); /* text: yes/no */
void bt_print_double(const char *key, const char *fmt, double val);
void bt_print_null(const char *key); /* JSON only */
/* A string of which JSON takes exactly len bytes, NULs included. JSON only. */
void bt_print_strn(const char *key, const char *val, size_t len);
/* Bytes as a string of hex digits, "600a1c"; nothing in text mode. */
void bt_print_hex(const char *key, const void *data, size_t len);
/* Text mode only. */
void bt_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Bytes of the valid UTF-8 sequence at @s, of which @left can be read; 0: it is none. */
size_t bt_utf8_len(const unsigned char *s, size_t left);

/* A table: columns are declared once, cells are given by column; text aligns them under a header
 * line ("-" for empty) and breaks long cells over lines to fit the terminal (COLUMNS, if set; at most 80
 * columns when it is no terminal), JSON makes one object a row inside the array that the caller opened; cells not
 * given are null. Columns whose cells are all numbers are aligned right. A table without rows
 * prints nothing.
 */
struct bt_column {
	const char *key; /* JSON key */
	const char *head; /* text header; NULL: JSON only */
	bool answer; /* cells start with a word that may have a colour: base/colour.c has the words */
};
struct bt_table;
struct bt_table *bt_table_new(const struct bt_column *cols, unsigned int n);
void bt_row(struct bt_table *t);
void bt_cell_str(struct bt_table *t, const char *key, const char *val); /* NULL: empty */
void bt_cell_uint(struct bt_table *t, const char *key, uint64_t val);
void bt_cell_bool(struct bt_table *t, const char *key, bool val); /* text: yes/no */
/* A string made by a format. */
void bt_cellf(struct bt_table *t, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints what is held (text: aligned) and frees the table. */
void bt_table_end(struct bt_table *t);

#endif
