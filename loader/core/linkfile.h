/* SPDX-License-Identifier: GPL-2.0 */
/* systemd.link(5) files, as udev applies them: the first one, by its file's name, that matches a device. */
#ifndef CORE_LINKFILE_H
#define CORE_LINKFILE_H

#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

/* What can be told of a device. */
struct bt_linkdev {
	const char *name;
	const char *driver; /* "": unknown */
	const char *kind; /* of struct bt_link */
	const char *mac; /* "52:54:00:12:34:56"; "": it has none */
	bool ethernet;
	bool renamed; /* it had another name when udev saw it first, which is not known */
};

enum bt_match { BT_MATCH_NO, BT_MATCH_MAYBE, BT_MATCH_YES };

struct bt_linkfile {
	char path[PATH_MAX];
	enum bt_match match;
	__u64 gso_max; /* GenericSegmentOffloadMaxBytes=; 0: it says nothing */
	const char *
		off; /* name of the first offload that it switches off, of those BIG TCP needs; or NULL */
};

/*
 * Reads one file into *f, on top of what is there (drop-ins): @f->match starts as BT_MATCH_YES, as a file
 * without conditions matches all. 0, or the number of the line that can't be read.
 */
int bt_linkfile_read(FILE *file, const struct bt_linkdev *dev, struct bt_linkfile *f);

/*
 * The files below @root ("" for /) that apply, or may, to @dev: those that may and come before the first that does, and
 * that one. free() *list. 0 or -errno; *unread: files or folders that could not be read.
 */
int bt_linkfile_find(const char *root, const struct bt_linkdev *dev, struct bt_linkfile **list,
		     unsigned int *n, unsigned int *unread);

#endif
