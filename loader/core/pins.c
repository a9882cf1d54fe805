// SPDX-License-Identifier: GPL-2.0
#include "core/pins.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* In the order of enum bt_hook_id. A '-' separates the parts of a pin's name. */
static const struct {
	const char *name, *in_pin;
} hooks[] = {
	{ "ingress", "ingress" },
	{ "egress", "egress" },
	{ "xdp", "xdp" },
	{ "cgroup-ingress", "cgroup_ingress" },
	{ "cgroup-egress", "cgroup_egress" },
};

const char *bt_hook_name(enum bt_hook_id hook)
{
	return hooks[hook].name;
}

int bt_hook_parse(const char *name, enum bt_hook_id *hook)
{
	for (int i = 0; i < __BT_HOOK_MAX; i++) {
		if (!strcmp(name, hooks[i].name)) {
			*hook = i;
			return 0;
		}
	}
	return -EINVAL;
}

bool bt_hook_is_cgroup(enum bt_hook_id hook)
{
	return hook == BT_HOOK_CGROUP_INGRESS || hook == BT_HOOK_CGROUP_EGRESS;
}

bool bt_pin_own(const char *prog)
{
	return !strcmp(prog, BT_PIN_GUARD) || !strcmp(prog, BT_PIN_OBSERVE);
}

int bt_pin_format(const struct bt_pin *pin, char *buf, size_t len)
{
	uint64_t target = pin->cgroup ? pin->cgroup : (uint64_t)pin->ifindex;
	char kind[40] = "tcx";
	int n;

	if (pin->kind == BT_PIN_CLS)
		snprintf(kind, sizeof(kind), "cls%u_%u", pin->prio, pin->handle);
	else if (pin->kind == BT_PIN_LINK)
		strcpy(kind, "link");
	n = snprintf(buf, len, "%" PRIu64 "-%" PRIu64 "-%s-%s-%s", (uint64_t)pin->netns, target,
		     hooks[pin->hook].in_pin, kind, pin->prog);
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static bool parse_hook(const char *s, struct bt_pin *p)
{
	for (int i = 0; i < __BT_HOOK_MAX; i++) {
		if (!strcmp(s, hooks[i].in_pin)) {
			p->hook = i;
			return true;
		}
	}
	return false;
}

/* tc hooks have filters and links of their own kind, the others plain links. */
static bool parse_kind(char *s, struct bt_pin *p)
{
	bool tc = p->hook == BT_HOOK_INGRESS || p->hook == BT_HOOK_EGRESS;
	__u64 prio, handle;
	char *sep;

	if (!strcmp(s, tc ? "tcx" : "link")) {
		p->kind = tc ? BT_PIN_TCX : BT_PIN_LINK;
		return true;
	}
	if (!tc || strncmp(s, "cls", 3))
		return false;
	s += 3;
	sep = strchr(s, '_');
	if (!sep)
		return false;
	*sep = 0;
	if (!bt_number(s, 65535, &prio) || !bt_number(sep + 1, UINT_MAX, &handle))
		return false;
	p->kind = BT_PIN_CLS;
	p->prio = prio;
	p->handle = handle;
	return true;
}

static bool parse_target(const char *netns, const char *target, struct bt_pin *p)
{
	bool cgroup = bt_hook_is_cgroup(p->hook);
	__u64 val;

	if (!bt_number(netns, UINT64_MAX, &p->netns) ||
	    !bt_number(target, cgroup ? UINT64_MAX : INT_MAX, &val) || !val)
		return false;
	if (cgroup)
		p->cgroup = val;
	else
		p->ifindex = val;
	return !cgroup || !p->netns;
}

int bt_pin_parse(const char *name, struct bt_pin *pin)
{
	struct bt_pin p = { 0 };
	char copy[NAME_MAX + 1];
	char *at = copy, *netns, *target, *hook, *kind;

	if (strlen(name) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, name);
	netns = strsep(&at, "-");
	target = strsep(&at, "-");
	hook = strsep(&at, "-");
	kind = strsep(&at, "-");
	if (!at || !*at || strchr(at, '-') || strlen(at) >= sizeof(p.prog))
		return -EINVAL;
	if (!parse_hook(hook, &p) || !parse_kind(kind, &p) || !parse_target(netns, target, &p))
		return -EINVAL;
	strcpy(p.prog, at);
	*pin = p;
	return 0;
}

static int read_only(void)
{
	return bt_err(
		-EROFS,
		"the BPF file system at " BT_BPFFS
		" is mounted read-only, and state is kept there: mount -o remount,rw " BT_BPFFS
		" (a service of systemd: ReadWritePaths=" BT_BPFFS "/bigtcp). Nothing was changed");
}

static int make_dirs(void)
{
	char path[] = BT_PIN_LINKS;
	char *p = path + strlen(BT_BPFFS) + 1;
	int err;

	for (;;) {
		p = strchr(p, '/');
		if (p)
			*p = 0;
		err = mkdir(path, 0700) ? -errno : 0;
		if (err == -EROFS)
			return read_only();
		if (err && err != -EEXIST)
			return bt_err(err, "cannot make directory %s: %s", path, strerror(-err));
		if (!p)
			return 0;
		*p++ = '/';
	}
}

int bt_pins_open(bool look)
{
	int fd __close = -1;
	int err;

	err = bt_bpffs_check();
	if (!err && !look)
		err = make_dirs();
	if (err)
		return err;
	fd = open(BT_PIN_LINKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && look)
		return -ENOENT;
	if (fd < 0)
		return bt_err(-errno, "cannot open " BT_PIN_LINKS ": %s", strerror(errno));
	/* A service can have all of /sys read-only but this folder. */
	if (!look && faccessat(fd, ".", W_OK, 0) && errno == EROFS)
		return read_only();
	while (!look && flock(fd, LOCK_EX)) {
		if (errno != EINTR)
			return bt_err(-errno, "cannot lock " BT_PIN_LINKS ": %s", strerror(errno));
	}
	return TAKE_FD(fd);
}

int bt_pin_at(int fd, const char *path)
{
	int err = bpf_obj_pin(fd, path) ? -errno : 0;

	switch (err) {
	case 0:
		return 0;
	case -EEXIST:
		return bt_err(err, "cannot pin at %s: there is something already", path);
	case -ENOENT:
		return bt_err(err, "cannot pin at %s: no such directory", path);
	case -EPERM:
	case -EINVAL:
		/* The kernel's answer for a file system of another type, and for dots in the name. */
		return bt_err(
			err,
			"cannot pin at %s: the place must be in a BPF file system (mount -t bpf "
			"bpf " BT_BPFFS ") and the name without dots",
			path);
	default:
		return bt_err(err, "cannot pin at %s: %s", path, strerror(-err));
	}
}

bool bt_is_prog(int fd)
{
	static const char want[] = "anon_inode:bpf-prog";
	char path[32], target[sizeof(want)] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) == sizeof(want) - 1 &&
	       !strcmp(target, want);
}

/* Calls fn for each file beside @path: PATH-something without another dash. */
static void each_beside(const char *path, void (*fn)(const char *file))
{
	const char *base = strrchr(path, '/') + 1;
	char file[PATH_MAX];
	struct dirent *de;
	DIR *dir;

	snprintf(file, sizeof(file), "%.*s", (int)(base - path), path);
	dir = opendir(file);
	while (dir && (de = readdir(dir))) {
		size_t len = strlen(base);

		if (strncmp(de->d_name, base, len) || de->d_name[len] != '-' ||
		    strchr(de->d_name + len + 1, '-'))
			continue;
		snprintf(file, sizeof(file), "%.*s%s", (int)(base - path), path, de->d_name);
		fn(file);
	}
	if (dir)
		closedir(dir);
}

/* Beside a pin of a user's choice there can be anything. */
static void unlink_prog_array(const char *file)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	int fd __close = bpf_obj_get(file);

	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	    info.type == BPF_MAP_TYPE_PROG_ARRAY)
		unlink(file);
}

int bt_unpin(const char *path)
{
	if (unlink(path) && errno != ENOENT)
		return bt_err(-errno, "cannot remove %s: %s", path, strerror(errno));
	each_beside(path, unlink_prog_array);
	return 0;
}

static bool wants_pin(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_PROG_ARRAY && !bpf_map__is_pinned(map) &&
	       bpf_map__fd(map) >= 0;
}

static void array_path(char *buf, size_t len, const char *path, const struct bpf_map *map)
{
	snprintf(buf, len, "%s-%s", path, bpf_map__name(map));
}

int bt_pin_prog_arrays(struct bpf_object *obj, const char *path)
{
	struct bpf_map *map, *bad;
	char file[PATH_MAX];
	int err = 0;

	bpf_object__for_each_map(map, obj) {
		if (!wants_pin(map))
			continue;
		array_path(file, sizeof(file), path, map);
		err = bt_pin_at(bpf_map__fd(map), file);
		if (err)
			break;
	}
	if (!err)
		return 0;
	bad = map;
	bpf_object__for_each_map(map, obj) {
		if (map == bad)
			break;
		array_path(file, sizeof(file), path, map);
		if (wants_pin(map))
			unlink(file);
	}
	return err;
}

void bt_pins_sweep(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	struct bt_pin pin;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (de = readdir(dir))) {
		char base[NAME_MAX + 1];
		char *dash;

		strcpy(base, de->d_name);
		dash = strrchr(base, '-');
		if (!dash || !bt_pin_parse(base, &pin))
			continue;
		*dash = 0;
		if (!bt_pin_parse(base, &pin) && faccessat(dirfd, base, F_OK, 0))
			unlinkat(dirfd, de->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

int bt_pins_each(int dirfd, int (*fn)(const struct bt_pin *pin, const char *path, void *arg),
		 void *arg)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char path[sizeof(BT_PIN_LINKS) + 1 + NAME_MAX];
	struct dirent *de;
	struct bt_pin pin;
	int ret = 0;

	if (!dir) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return bt_err(ret, "cannot read " BT_PIN_LINKS ": %s", strerror(-ret));
	}
	while (!ret && (de = readdir(dir))) {
		if (bt_pin_parse(de->d_name, &pin))
			continue;
		snprintf(path, sizeof(path), BT_PIN_LINKS "/%s", de->d_name);
		ret = fn(&pin, path, arg);
	}
	closedir(dir);
	return ret;
}
