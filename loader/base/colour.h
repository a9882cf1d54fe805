/* SPDX-License-Identifier: GPL-2.0 */
/* Colours of words that are answers ("safe", "drops", "refuse"), so that a bad one is found at a glance. */
#ifndef BASE_COLOUR_H
#define BASE_COLOUR_H

#include <stdbool.h>

/* Does @fd take colours: a terminal, TERM set and not "dumb", NO_COLOR (no-color.org) unset or empty? */
bool bt_colour_wanted(int fd);

/* The escape sequence for the first word of @text, or NULL: that word has no colour. BT_COLOUR_END ends it.
 */
const char *bt_colour_of(const char *text);
#define BT_COLOUR_END "\033[0m"

#endif
