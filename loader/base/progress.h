/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far long work is, on the last line of the terminal that is stderr; nothing where that is no terminal. The line is
 * gone before anything else is said: the print layer, bt_note() and main() see to it.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>

/* Off until this says on (the daemon never does): main() does for text without -v, which has its own lines. It stays off
 * on what is no terminal, can't erase a line (TERM), or is not this process's (in the background).
 */
void bt_progress_init(bool on);

/* "WHAT: DONE of TOTAL, NAME". @total 0: not known; @name NULL: none. Cheap: drawn some 20 times a second at most. */
void bt_progress(const char *what, unsigned int done, unsigned int total, const char *name);

/* Takes the line away, if there is one. The next bt_progress() draws it anew. */
void bt_progress_end(void);

#endif
