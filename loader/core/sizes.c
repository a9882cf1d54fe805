// SPDX-License-Identifier: GPL-2.0
/* What is kept of devices' sizes, in a pinned map; the steps themselves are in sizes_do.c. */
#include "core/sizes_int.h"
#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Elements take memory only when they are there. */
#define MAX_KEPT 65536

struct key {
	__u64 cookie; /* of the network namespace */
	__u32 ifindex;
	__u32 unused; /* 0 */
};

/* What a call works on. */
struct ctx {
	int dirfd; /* the lock; -1: none is held */
	int map;
	__u64 cookie;
};

static const char *const state_names[] = {
	[BT_SIZES_UNTOUCHED] = "untouched",
	[BT_SIZES_OURS] = "ours",
	[BT_SIZES_CHANGED] = "changed",
	[BT_SIZES_HANDS_OFF] = "hands-off",
};

static const char *const setter_names[] = {
	[BT_SET_BY_NOBODY] = "nobody",
	[BT_SET_BY_COMMAND] = "command",
	[BT_SET_BY_DAEMON] = "daemon",
};

const char *bt_sizes_state_name(enum bt_sizes_state state)
{
	return state_names[state];
}

const char *bt_setter_name(enum bt_setter setter)
{
	return setter <= BT_SET_BY_DAEMON ? setter_names[setter] : "unknown";
}

/* --- the map --------------------------------------------------------------------------- */

static void ctx_close(struct ctx *c)
{
	cleanup_fd(&c->map);
	cleanup_fd(&c->dirfd);
	c->map = c->dirfd = -1;
}

/* Another build may have made it. */
static int map_check(int map)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(map, &info, &len))
		return bt_err(-errno, "cannot look at " BT_PIN_SIZES ": %s", strerror(errno));
	if (info.type == BPF_MAP_TYPE_HASH && info.key_size == sizeof(struct key) &&
	    info.value_size == sizeof(struct bt_kept))
		return 0;
	return bt_err(-EPROTO, BT_PIN_SIZES
		      " is not what this version of bigtcp keeps sizes in: 'bigtcp disable' of "
		      "the version that made it puts them back, then remove the file");
}

static int map_make(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map __close = bpf_map_create(BPF_MAP_TYPE_HASH, "bigtcp_sizes", sizeof(struct key),
					 sizeof(struct bt_kept), MAX_KEPT, &opts);
	int err;

	if (map < 0 && errno == EPERM)
		return bt_err(-EPERM,
			      "cannot make the map that remembers sizes: it takes CAP_BPF. Nothing "
			      "was changed");
	if (map < 0)
		return bt_err(-errno, "cannot make the map that remembers sizes: %s",
			      strerror(errno));
	err = bt_pin_at(map, BT_PIN_SIZES);
	return err ? err : TAKE_FD(map);
}

/* Returns the fd; -ENOENT without a sentence when there is none and none shall be made. */
static int map_open(bool change)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = change ? 0 : BPF_F_RDONLY);
	int map __close = bpf_obj_get_opts(BT_PIN_SIZES, &opts);
	int err;

	if (map < 0 && errno == ENOENT)
		return change ? map_make() : -ENOENT;
	if (map < 0 && (errno == EPERM || errno == EACCES))
		return bt_err(-errno,
			      "cannot open " BT_PIN_SIZES
			      ": %s: it takes root, or CAP_BPF and the right to the file",
			      strerror(errno));
	if (map < 0)
		return bt_err(-errno, "cannot open " BT_PIN_SIZES ": %s", strerror(errno));
	err = map_check(map);
	return err ? err : TAKE_FD(map);
}

/* @change: with the lock, and the map made if there is none; else -ENOENT without a sentence. */
static int ctx_open(struct ctx *c, bool change)
{
	int err;

	*c = (struct ctx){ .dirfd = -1, .map = -1 };
	err = bt_netns_cookie(&c->cookie);
	if (err)
		return bt_err(err,
			      "this kernel does not tell one network namespace from another: %s",
			      strerror(-err));
	if (change) {
		c->dirfd = bt_pins_open(false);
		if (c->dirfd < 0)
			return c->dirfd;
	}
	c->map = map_open(change);
	return c->map < 0 ? c->map : 0;
}

static struct key key_of(const struct ctx *c, int ifindex)
{
	return (struct key){ .cookie = c->cookie, .ifindex = (__u32)ifindex };
}

static int kept_get(const struct ctx *c, int ifindex, struct bt_kept *kept)
{
	struct key key = key_of(c, ifindex);
	struct bt_kept k;

	if (!bpf_map_lookup_elem(c->map, &key, &k)) {
		*kept = k;
		return 0;
	}
	if (errno == ENOENT)
		return -ENOENT;
	return bt_err(-errno, "cannot read " BT_PIN_SIZES ": %s", strerror(errno));
}

/* --- which devices ------------------------------------------------------------------------- */

typedef bool (*key_fn)(const struct ctx *c, const struct key *key);

static bool of_this_netns(const struct ctx *c, const struct key *key)
{
	return key->cookie == c->cookie;
}

static bool of_another_netns(const struct ctx *c, const struct key *key)
{
	return key->cookie != c->cookie;
}

/* Keys that fn says yes to; free() *keys. */
static int keys_of(const struct ctx *c, key_fn fn, struct key **keys, unsigned int *n)
{
	struct key *v = NULL, *more, key, next;
	unsigned int count = 0, room = 0, seen = 0;
	void *prev = NULL;

	/* A walk over a map that others change may begin anew; it must end. */
	while (seen++ < 2 * MAX_KEPT && !bpf_map_get_next_key(c->map, prev, &next)) {
		key = next;
		prev = &key;
		if (!fn(c, &key))
			continue;
		if (count == room) {
			room = room ? 2 * room : 64;
			more = reallocarray(v, room, sizeof(*v));
			if (!more) {
				free(v);
				return bt_err(-ENOMEM, "out of memory");
			}
			v = more;
		}
		v[count++] = key;
	}
	*keys = v;
	*n = count;
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * The map is full: of namespaces that are gone, most likely, which nobody can tell by their cookies. The eighth that
 * was last changed longest ago is forgotten.
 */
static void make_room(struct ctx *c)
{
	struct key *keys __free = NULL;
	__u64 *ages __free = NULL;
	struct bt_kept k;
	unsigned int n;

	if (keys_of(c, of_another_netns, &keys, &n) || !n)
		return;
	ages = calloc(n, sizeof(*ages));
	for (unsigned int i = 0; ages && i < n; i++)
		ages[i] = bpf_map_lookup_elem(c->map, &keys[i], &k) ? 0 : k.since;
	if (!ages)
		return;
	qsort(ages, n, sizeof(*ages), by_age);
	for (unsigned int i = 0, gone = 0; i < n && gone <= n / 8; i++) {
		if (bpf_map_lookup_elem(c->map, &keys[i], &k) || k.since > ages[n / 8])
			continue;
		bpf_map_delete_elem(c->map, &keys[i]);
		gone++;
	}
}

static int kept_put(struct ctx *c, int ifindex, const struct bt_kept *kept)
{
	struct key key = key_of(c, ifindex);
	int err;

	if (!kept)
		return bpf_map_delete_elem(c->map, &key) && errno != ENOENT ? -errno : 0;
	err = bpf_map_update_elem(c->map, &key, kept, BPF_ANY) ? -errno : 0;
	if (err == -E2BIG) {
		make_room(c);
		err = bpf_map_update_elem(c->map, &key, kept, BPF_ANY) ? -errno : 0;
	}
	if (!err)
		return 0;
	return bt_err(err, "cannot remember its sizes in " BT_PIN_SIZES ": %s",
		      err == -E2BIG ? "it is full of devices of this namespace" : strerror(-err));
}

static int by_ifindex(const void *a, const void *b)
{
	const struct bt_kept_dev *x = a, *y = b;

	return x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

int bt_kept_get(int ifindex, struct bt_kept *kept)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	int err = ctx_open(&c, false);

	return err ? err : kept_get(&c, ifindex, kept);
}

int bt_kept_list(struct bt_kept_dev **list, unsigned int *n)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	struct bt_kept_dev *l;
	struct key *keys __free = NULL;
	unsigned int n_keys = 0, k = 0;
	int err = ctx_open(&c, false);

	if (!err)
		err = keys_of(&c, of_this_netns, &keys, &n_keys);
	if (err && err != -ENOENT)
		return err;
	l = calloc(n_keys + 1, sizeof(*l));
	if (!l)
		return bt_err(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < n_keys; i++) {
		l[k].ifindex = (int)keys[i].ifindex;
		/* It may be forgotten meanwhile. */
		if (!bpf_map_lookup_elem(c.map, &keys[i], &l[k].kept))
			k++;
	}
	qsort(l, k, sizeof(*l), by_ifindex);
	*list = l;
	*n = k;
	return 0;
}

const struct bt_kept *bt_kept_find(const struct bt_kept_dev *list, unsigned int n, int ifindex)
{
	struct bt_kept_dev key = { .ifindex = ifindex };
	const struct bt_kept_dev *d = n ? bsearch(&key, list, n, sizeof(*list), by_ifindex) : NULL;

	return d ? &d->kept : NULL;
}

static int sweep(struct ctx *c)
{
	struct bt_link *links __free = NULL;
	struct key *keys __free = NULL;
	unsigned int n_keys, n_links;
	int gone = 0, err;

	err = keys_of(c, of_this_netns, &keys, &n_keys);
	if (!err && !n_keys)
		return 0;
	/* The keys first: a device that comes in between is then in the list. */
	err = err ? err : bt_link_list(&links, &n_links);
	if (err)
		return err;
	for (unsigned int i = 0; i < n_keys; i++) {
		bool there = false;

		for (unsigned int j = 0; j < n_links && !there; j++)
			there = links[j].ifindex == (int)keys[i].ifindex;
		if (!there && !bpf_map_delete_elem(c->map, &keys[i]))
			gone++;
	}
	return gone;
}

int bt_sizes_sweep(void)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	/* Without a map there is nothing to forget, and none is made for it. */
	int err = ctx_open(&c, false);

	if (err)
		return err == -ENOENT ? 0 : err;
	ctx_close(&c);
	err = ctx_open(&c, true);
	return err ? err : sweep(&c);
}

int bt_kept_forget(__u64 cookie, int ifindex)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	int err = ctx_open(&c, false);

	if (err)
		return err == -ENOENT ? 0 : err;
	ctx_close(&c);
	err = ctx_open(&c, true);
	if (err)
		return err;
	c.cookie = cookie;
	return kept_put(&c, ifindex, NULL);
}

/* --- changing -------------------------------------------------------------------------------- */

static int io_link(void *arg, int ifindex, struct bt_link *link)
{
	(void)arg;
	return bt_link_get(ifindex, link);
}

static int io_set(void *arg, int ifindex, const struct bt_sizes *sizes)
{
	(void)arg;
	return bt_link_set_sizes(ifindex, sizes);
}

static int io_get(void *arg, int ifindex, struct bt_kept *kept)
{
	return kept_get(arg, ifindex, kept);
}

static int io_put(void *arg, int ifindex, const struct bt_kept *kept)
{
	return kept_put(arg, ifindex, kept);
}

static int change(struct bt_sizes_change *changes, unsigned int n, const struct bt_sizes_how *how)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	struct bt_sizes_io io = { io_link, io_set, io_get, io_put, &c, (__u64)time(NULL) };
	int err = ctx_open(&c, true);

	if (!err)
		err = bt_sizes_do(&io, changes, n, how);
	/* The daemon sweeps by itself, not once a device. */
	if (!err && how->setter == BT_SET_BY_COMMAND && sweep(&c) < 0)
		bt_err_clear();
	return err;
}

static int no_get(void *arg, int ifindex, struct bt_kept *kept)
{
	(void)arg, (void)ifindex, (void)kept;
	return -ENOENT;
}

/* Without the lock, and without making anything. */
static int only_look(struct bt_sizes_change *changes, unsigned int n,
		     const struct bt_sizes_how *how)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	struct bt_sizes_io io = { io_link, io_set, io_get, io_put, &c, 0 };
	int dirfd __close = bt_pins_open(true);
	int err = dirfd < 0 ? dirfd : ctx_open(&c, false);

	if (err == -ENOENT)
		io.get = no_get;
	else if (err)
		return err;
	return bt_sizes_do(&io, changes, n, how);
}

int bt_sizes_apply(struct bt_sizes_change *changes, unsigned int n, enum bt_setter setter)
{
	struct bt_sizes_how how = { .setter = setter };

	return change(changes, n, &how);
}

int bt_sizes_restore(const int *ifindexes, unsigned int n, enum bt_setter setter, bool force)
{
	struct bt_sizes_how how = { .setter = setter, .restore = true, .force = force };
	struct bt_sizes_change *changes __free = calloc(n + 1, sizeof(*changes));

	if (!changes)
		return bt_err(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < n; i++)
		changes[i].ifindex = ifindexes[i];
	return change(changes, n, &how);
}

int bt_sizes_disable(struct bt_sizes_change *changes, unsigned int n, bool force, bool dry_run)
{
	struct bt_sizes_how how = {
		.setter = BT_SET_BY_COMMAND,
		.restore = true,
		.force = force,
		.dry_run = dry_run,
	};

	return dry_run ? only_look(changes, n, &how) : change(changes, n, &how);
}

int bt_sizes_hands_off(int ifindex)
{
	struct ctx c __cleanup(ctx_close) = { -1, -1 };
	struct bt_kept k = { .setter = BT_SET_BY_COMMAND,
			     .hands_off = 1,
			     .since = (__u64)time(NULL) };
	struct bt_link link;
	int err = ctx_open(&c, true);

	if (!err)
		err = bt_link_get(ifindex, &link);
	if (err)
		return err;
	k.set = link.sizes;
	k.set.tso_max = 0;
	k.before = k.set;
	return kept_put(&c, ifindex, &k);
}
