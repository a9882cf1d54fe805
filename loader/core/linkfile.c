// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "core/linkfile.h"

/* A file of an earlier folder hides those of the same name in later ones. */
static const char *const folders[] = {
	"/etc/systemd/network",
	"/run/systemd/network",
	"/usr/local/lib/systemd/network",
	"/usr/lib/systemd/network",
};
#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

/* --- one file ------------------------------------------------------------------------------------- */

struct reading {
	const struct bt_linkdev *dev;
	struct bt_linkfile *f;
};

static enum bt_match both(enum bt_match a, enum bt_match b)
{
	return a < b ? a : b;
}

/* Does @value fit one of the patterns in @words? "!" in front turns all of it round. */
static bool fits(const char *words, const char *value, bool fold)
{
	const bool no = words[0] == '!';
	char *copy __free = strdup(words + no), *save = NULL;

	for (char *w = copy ? strtok_r(copy, " \t\"", &save) : NULL; w;
	     w = strtok_r(NULL, " \t\"", &save)) {
		if (!fnmatch(w, value, fold ? FNM_CASEFOLD : 0))
			return !no;
	}
	return no;
}

static enum bt_match match_name(const struct bt_linkdev *dev, const char *words)
{
	if (fits(words, dev->name, false))
		return BT_MATCH_YES;
	return dev->renamed ? BT_MATCH_MAYBE : BT_MATCH_NO;
}

static enum bt_match match_mac(const struct bt_linkdev *dev, const char *words)
{
	/* It may be written with dashes or dots. */
	if (strpbrk(words, "-."))
		return BT_MATCH_MAYBE;
	return fits(words, dev->mac, true) ? BT_MATCH_YES : BT_MATCH_NO;
}

static enum bt_match match_driver(const struct bt_linkdev *dev, const char *words)
{
	if (!dev->driver[0])
		return BT_MATCH_MAYBE;
	return fits(words, dev->driver, false) ? BT_MATCH_YES : BT_MATCH_NO;
}

/* The kernel's DEVTYPE, which few drivers set, else what kind of link layer it has. */
static enum bt_match match_type(const struct bt_linkdev *dev, const char *words)
{
	if (dev->kind[0] && fits(words, dev->kind, false))
		return BT_MATCH_YES;
	if (dev->ethernet && fits(words, "ether", false))
		return dev->kind[0] && strcmp(dev->kind, "veth") ? BT_MATCH_MAYBE : BT_MATCH_YES;
	return dev->ethernet ? BT_MATCH_NO : BT_MATCH_MAYBE;
}

static enum bt_match match_untold(const struct bt_linkdev *dev, const char *words)
{
	(void)dev, (void)words;
	return BT_MATCH_MAYBE;
}

static const struct {
	const char *key;
	enum bt_match (*match)(const struct bt_linkdev *dev, const char *words);
} conditions[] = {
	{ "OriginalName", match_name }, { "Name", match_name },
	{ "MACAddress", match_mac },	{ "PermanentMACAddress", match_untold },
	{ "Driver", match_driver },	{ "Type", match_type },
	{ "Kind", match_type },		{ NULL, match_untold },
};

/* As systemd reads sizes: K, M and G are powers of 1024. */
static __u64 size_of(const char *text)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	__u64 v = strtoull(text, &end, 10);

	unit = *end ? strchr(units, *end) : NULL;
	return unit ? v << (10 * (unit - units + 1)) : v;
}

static bool is_off(const char *text)
{
	static const char *const words[] = { "0", "no", "n", "false", "f", "off" };

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(text, words[i]))
			return true;
	}
	return false;
}

static void take_setting(struct bt_linkfile *f, const char *key, const char *value)
{
	static const char *const offloads[] = {
		"GenericSegmentationOffload",
		"TCP6SegmentationOffload",
		"TCPSegmentationOffload",
		"GenericReceiveOffload",
	};

	if (!strcmp(key, "GenericSegmentOffloadMaxBytes"))
		f->gso_max = size_of(value);
	for (unsigned int i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++) {
		if (!strcmp(key, offloads[i]) && is_off(value))
			f->off = offloads[i];
	}
}

static void take_condition(const struct reading *r, const char *key, const char *value)
{
	unsigned int i = 0;

	if (!value[0])
		return;
	while (conditions[i].key && strcmp(conditions[i].key, key) != 0)
		i++;
	r->f->match = both(r->f->match, conditions[i].match(r->dev, value));
}

static int take(void *arg, const char *section, const char *key, const char *value)
{
	const struct reading *r = arg;

	if (!strcmp(section, "Match"))
		take_condition(r, key, value ? value : "");
	else if (!strcmp(section, "Link"))
		take_setting(r->f, key, value ? value : "");
	return 1;
}

int bt_linkfile_read(FILE *file, const struct bt_linkdev *dev, struct bt_linkfile *f)
{
	struct reading r = { .dev = dev, .f = f };

	return ini_parse_file(file, take, &r);
}

/* --- all of them ---------------------------------------------------------------------------------- */

/* Files of one suffix, by name; each once, at its first folder. */
struct files {
	struct file {
		char *name; /* without the folder */
		char *path;
	} * v;
	unsigned int n;
	int err;
};

static void files_free(struct files *l)
{
	for (unsigned int i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].path);
	}
	free(l->v);
}

static void add_file(struct files *l, const char *dir, const char *name)
{
	struct file *more;

	for (unsigned int i = 0; i < l->n; i++) {
		if (!strcmp(l->v[i].name, name))
			return;
	}
	more = reallocarray(l->v, l->n + 1, sizeof(*more));
	if (!more) {
		l->err = -ENOMEM;
		return;
	}
	l->v = more;
	more = &l->v[l->n];
	more->name = strdup(name);
	if (asprintf(&more->path, "%s/%s", dir, name) < 0)
		more->path = NULL;
	l->n++;
	if (!more->name || !more->path)
		l->err = -ENOMEM;
}

static bool ends_in(const char *name, const char *suffix)
{
	const size_t len = strlen(name), s = strlen(suffix);

	return len > s && !strcmp(name + len - s, suffix);
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* *unread counts folders that are there and can't be read. */
static void scan(struct files *l, const char *dir, const char *suffix, unsigned int *unread)
{
	DIR *d __cleanup(close_dir) = opendir(dir);
	const struct dirent *e;

	if (!d && errno != ENOENT && errno != ENOTDIR)
		(*unread)++;
	while (d && !l->err && (e = readdir(d))) {
		if (e->d_name[0] != '.' && ends_in(e->d_name, suffix))
			add_file(l, dir, e->d_name);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

/* @sub: "/NAME.d" for drop-ins. */
static int list_files(const char *root, const char *sub, const char *suffix, struct files *l,
		      unsigned int *unread)
{
	char dir[PATH_MAX];

	for (unsigned int i = 0; i < FOLDERS; i++) {
		snprintf(dir, sizeof(dir), "%s%s%s", root, folders[i], sub);
		scan(l, dir, suffix, unread);
	}
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	return l->err;
}

/* 1: there is nothing in it (a mask: an empty file, or a link to /dev/null). */
static int read_path(const char *path, const struct bt_linkdev *dev, struct bt_linkfile *f)
{
	FILE *file __fclose = fopen(path, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return 1;
	return bt_linkfile_read(file, dev, f) ? -EBADMSG : 0;
}

static int read_one(const char *root, const struct file *file, const struct bt_linkdev *dev,
		    struct bt_linkfile *f, unsigned int *unread)
{
	struct files drop = {};
	char sub[NAME_MAX + 8];
	int err;

	*f = (struct bt_linkfile){ .match = BT_MATCH_YES };
	snprintf(f->path, sizeof(f->path), "%s", file->path);
	err = read_path(file->path, dev, f);
	if (err) {
		*unread += err < 0;
		f->match = BT_MATCH_NO;
		return 0;
	}
	snprintf(sub, sizeof(sub), "/%s.d", file->name);
	err = list_files(root, sub, ".conf", &drop, unread);
	for (unsigned int i = 0; i < drop.n && !err; i++)
		*unread += read_path(drop.v[i].path, dev, f) < 0;
	files_free(&drop);
	return err;
}

int bt_linkfile_find(const char *root, const struct bt_linkdev *dev, struct bt_linkfile **list,
		     unsigned int *n, unsigned int *unread)
{
	struct bt_linkfile *v = NULL, *f;
	struct files all = {};
	unsigned int got = 0;
	int err;

	*unread = 0;
	err = list_files(root, "", ".link", &all, unread);
	if (!err)
		v = calloc(all.n + 1, sizeof(*v));
	if (!v && !err)
		err = -ENOMEM;
	for (unsigned int i = 0; i < all.n && !err; i++) {
		f = &v[got];
		err = read_one(root, &all.v[i], dev, f, unread);
		got += !err && f->match != BT_MATCH_NO;
		if (!err && f->match == BT_MATCH_YES)
			break;
	}
	files_free(&all);
	if (err) {
		free(v);
		return err;
	}
	*list = v;
	*n = got;
	return 0;
}
