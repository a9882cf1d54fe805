// SPDX-License-Identifier: GPL-2.0
/* Tables for people and for jq. Rows are held until the end: alignment needs all of them. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/colour.h"
#include "base/print.h"
#include "base/progress.h"

#define GAP	   2 /* blanks between columns */
#define SCREEN	   80 /* columns of what is no terminal */
#define MIN_SCREEN 40 /* a terminal that claims to be narrower is not believed */
#define MIN_WIDTH  8 /* columns of text are not squeezed below this while others can be */
#define MAX_WORD   24 /* longer words do not keep a column from being squeezed */

enum cell_kind { CELL_EMPTY, CELL_STR, CELL_NUM, CELL_YES, CELL_NO };

struct cell {
	enum cell_kind kind;
	char *str; /* owned; what text mode shows */
	uint64_t num;
};

struct bt_table {
	const struct bt_column *cols;
	unsigned int n_cols, n_rows, room;
	struct cell *cells; /* row after row */
};

/* Out of memory ends the process: a table with rows missing would be a lie. */
static void *must(void *p)
{
	if (!p) {
		fputs("bigtcp: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

struct bt_table *bt_table_new(const struct bt_column *cols, unsigned int n)
{
	struct bt_table *t = must(calloc(1, sizeof(*t)));

	t->cols = cols;
	t->n_cols = n;
	return t;
}

void bt_row(struct bt_table *t)
{
	if (t->n_rows == t->room) {
		t->room = t->room ? t->room * 2 : 16;
		t->cells = must(reallocarray(t->cells, t->room, t->n_cols * sizeof(*t->cells)));
	}
	memset(t->cells + t->n_rows * t->n_cols, 0, t->n_cols * sizeof(*t->cells));
	t->n_rows++;
}

/* The cell of the current row; giving one twice replaces it. A key of no column is a bug. */
static struct cell *cell(struct bt_table *t, const char *key, enum cell_kind kind, char *str)
{
	for (unsigned int i = 0; t->n_rows && i < t->n_cols; i++) {
		struct cell *c = &t->cells[(t->n_rows - 1) * t->n_cols + i];

		if (strcmp(t->cols[i].key, key))
			continue;
		free(c->str);
		c->kind = kind;
		c->str = str;
		return c;
	}
	fprintf(stderr, "bigtcp: no table column '%s'\n", key);
	abort();
}

void bt_cell_str(struct bt_table *t, const char *key, const char *val)
{
	if (val)
		cell(t, key, CELL_STR, must(strdup(val)));
	else
		cell(t, key, CELL_EMPTY, NULL);
}

void bt_cell_uint(struct bt_table *t, const char *key, uint64_t val)
{
	char num[32];

	snprintf(num, sizeof(num), "%llu", (unsigned long long)val);
	cell(t, key, CELL_NUM, must(strdup(num)))->num = val;
}

void bt_cell_bool(struct bt_table *t, const char *key, bool val)
{
	cell(t, key, val ? CELL_YES : CELL_NO, must(strdup(val ? "yes" : "no")));
}

void bt_cellf(struct bt_table *t, const char *key, const char *fmt, ...)
{
	char *str = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&str, fmt, ap) < 0)
		str = NULL;
	va_end(ap);
	cell(t, key, CELL_STR, must(str));
}

/* --- text ------------------------------------------------------------------ */

/* Columns on screen: code points, which is right for what this tool prints. */
static unsigned int width_of(const char *s, size_t len)
{
	unsigned int n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

static const char *shown(const struct cell *c)
{
	return c->str && c->str[0] ? c->str : "-";
}

static unsigned int screen_width(void)
{
	const char *env = getenv("COLUMNS");
	unsigned int cols = env && atoi(env) > 0 ? (unsigned int)atoi(env) : 0;
	bool tty = isatty(STDOUT_FILENO);
	struct winsize ws;

	if (!cols && tty && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws))
		cols = ws.ws_col;
	if (cols < MIN_SCREEN || (cols > SCREEN && !tty))
		return SCREEN;
	return cols;
}

/*
 * How many bytes of s go on a line of w columns: all, or up to the last blank, or up to w. *skip:
 * the blanks to leave out after them.
 */
static size_t line_part(const char *s, unsigned int w, size_t *skip)
{
	size_t i = 0, blank = 0;
	unsigned int cols = 0;

	*skip = 0;
	for (; s[i]; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80 && cols++ == w)
			break;
		if (s[i] == '\n') {
			*skip = 1;
			return i;
		}
		if (s[i] == ' ')
			blank = i;
	}
	if (!s[i])
		return i;
	if (s[i] == ' ')
		blank = i;
	if (!blank)
		return i;
	*skip = strspn(s + blank, " ");
	return blank;
}

/* Control characters, those of two bytes in UTF-8 (U+0080 to U+009F) too, would let a file's name drive the
 * terminal.
 */
static void put_clean(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char *u = (const unsigned char *)s + i;

		if (u[0] == 0xc2 && i + 1 < len && u[1] >= 0x80 && u[1] < 0xa0) {
			putchar('?');
			i++;
		} else {
			putchar(iscntrl(u[0]) ? '?' : s[i]);
		}
	}
}

/* Width of the longest part of a cell between any of @stops: lines ("\n"), or words ("\n "). */
static unsigned int longest(const char *s, const char *stops)
{
	unsigned int max = 0;

	while (*s) {
		size_t n = strcspn(s, stops);
		unsigned int w = width_of(s, n);

		max = w > max ? w : max;
		s += n + !!s[n];
	}
	return max;
}

/* How a column of text is shown. */
struct shape {
	unsigned int width;
	unsigned int word; /* its longest word, of those that are not broken lightly */
	bool right; /* numbers */
};

static void shape_of(const struct bt_table *t, unsigned int c, struct shape *sh)
{
	const char *head = t->cols[c].head;
	bool any = false;

	*sh = (struct shape){ 0 };
	if (!head)
		return;
	sh->width = width_of(head, strlen(head));
	sh->word = longest(head, "\n ");
	sh->right = true;
	for (unsigned int r = 0; r < t->n_rows; r++) {
		const struct cell *cell = &t->cells[r * t->n_cols + c];
		unsigned int w = longest(shown(cell), "\n"), word = longest(shown(cell), "\n ");

		sh->width = w > sh->width ? w : sh->width;
		sh->word = word > sh->word && word <= MAX_WORD ? word : sh->word;
		sh->right = sh->right && (cell->kind == CELL_NUM || cell->kind == CELL_EMPTY);
		any = any || cell->kind == CELL_NUM;
	}
	sh->right = sh->right && any;
}

/* In this order: what a table loses by it is more each time. */
enum squeeze { BETWEEN_WORDS, IN_WORDS, TO_PIECES, IN_NUMBERS, N_SQUEEZE };

static unsigned int least(const struct shape *sh, enum squeeze how)
{
	if (how == IN_NUMBERS)
		return 1;
	if (sh->right)
		return sh->width;
	if (how == TO_PIECES)
		return MIN_WIDTH / 2;
	return how == BETWEEN_WORDS && sh->word > MIN_WIDTH ? sh->word : MIN_WIDTH;
}

/* Natural widths, then the widest column that can gives way until the line fits. */
static void fit(const struct bt_table *t, struct shape *sh)
{
	unsigned int total = 0, screen = screen_width();

	for (unsigned int c = 0; c < t->n_cols; c++) {
		shape_of(t, c, &sh[c]);
		total += sh[c].width + (total && sh[c].width ? GAP : 0);
	}
	for (enum squeeze how = 0; how < N_SQUEEZE && total > screen;) {
		struct shape *widest = NULL;

		for (unsigned int c = 0; c < t->n_cols; c++) {
			if (sh[c].width > least(&sh[c], how) &&
			    (!widest || sh[c].width > widest->width))
				widest = &sh[c];
		}
		if (!widest) {
			how++;
			continue;
		}
		widest->width--;
		total--;
	}
}

/* @n bytes of a cell, in @colour (NULL: none). */
static void put_part(const char *s, size_t n, const char *colour)
{
	if (colour && n)
		fputs(colour, stdout);
	put_clean(s, n);
	if (colour && n)
		fputs(BT_COLOUR_END, stdout);
}

/* One row, over as many lines as its longest cell takes; at[] walks through the cells. */
static void put_row(const struct bt_table *t, const struct shape *sh, const char **at,
		    const char *const *colours)
{
	bool more;

	do {
		unsigned int pad = 0;

		more = false;
		for (unsigned int c = 0; c < t->n_cols; c++) {
			size_t skip, n;
			unsigned int spare;

			if (!t->cols[c].head)
				continue;
			n = line_part(at[c], sh[c].width, &skip);
			spare = sh[c].width - width_of(at[c], n);
			/* Blanks are owed, not written: no line ends in one. */
			if (n)
				printf("%*s", (int)(pad + (sh[c].right ? spare : 0)), "");
			put_part(at[c], n, colours[c]);
			if (!n)
				pad += sh[c].width + GAP;
			else
				pad = GAP + (sh[c].right ? 0 : spare);
			at[c] += n + skip;
			more = more || *at[c];
		}
		putchar('\n');
	} while (more);
}

static void put_text(const struct bt_table *t)
{
	const char **at __free = must(calloc(t->n_cols, sizeof(*at)));
	const char **colours __free = must(calloc(t->n_cols, sizeof(*colours)));
	struct shape *sh __free = must(calloc(t->n_cols, sizeof(*sh)));

	bt_progress_end();
	fit(t, sh);
	for (unsigned int c = 0; c < t->n_cols; c++)
		at[c] = t->cols[c].head ? t->cols[c].head : "";
	put_row(t, sh, at, colours);
	for (unsigned int r = 0; r < t->n_rows; r++) {
		for (unsigned int c = 0; c < t->n_cols; c++) {
			at[c] = shown(&t->cells[r * t->n_cols + c]);
			if (t->cols[c].answer && bt_print_coloured())
				colours[c] = bt_colour_of(at[c]);
		}
		put_row(t, sh, at, colours);
	}
}

/* --- JSON ------------------------------------------------------------------ */

static void put_json(const struct bt_table *t)
{
	for (unsigned int r = 0; r < t->n_rows; r++) {
		bt_obj_open(NULL);
		for (unsigned int c = 0; c < t->n_cols; c++) {
			const struct cell *cell = &t->cells[r * t->n_cols + c];
			const char *key = t->cols[c].key;

			if (cell->kind == CELL_NUM)
				bt_print_uint(key, NULL, cell->num);
			else if (cell->kind == CELL_YES || cell->kind == CELL_NO)
				bt_print_bool(key, NULL, cell->kind == CELL_YES);
			else
				bt_print_str(key, NULL, cell->str);
		}
		bt_obj_close();
	}
}

void bt_table_end(struct bt_table *t)
{
	if (!t)
		return;
	if (bt_print_json())
		put_json(t);
	else if (t->n_rows && bt_print_text_on())
		put_text(t);
	for (unsigned int i = 0; i < t->n_rows * t->n_cols; i++)
		free(t->cells[i].str);
	free(t->cells);
	free(t);
}
