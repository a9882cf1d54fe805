// SPDX-License-Identifier: GPL-2.0
#include "core/pins.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int bt_pin_format(const struct bt_pin *pin, char *buf, size_t len)
{
	char kind[40] = "tcx";
	int n;

	if (pin->kind == BT_PIN_CLS)
		snprintf(kind, sizeof(kind), "cls%u_%u", pin->prio, pin->handle);
	n = snprintf(buf, len, "%" PRIu64 "-%d-%s-%s-%s", (uint64_t)pin->netns, pin->ifindex,
		     pin->egress ? "egress" : "ingress", kind, pin->prog);
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static bool parse_uint(const char *s, __u64 max, __u64 *val)
{
	char *end;

	/* strtoull takes signs and blanks. */
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*val = strtoull(s, &end, 10);
	return !errno && !*end && *val <= max;
}

static bool parse_kind(char *s, struct bt_pin *p)
{
	__u64 prio, handle;
	char *sep;

	if (!strcmp(s, "tcx")) {
		p->kind = BT_PIN_TCX;
		return true;
	}
	if (strncmp(s, "cls", 3))
		return false;
	s += 3;
	sep = strchr(s, '_');
	if (!sep)
		return false;
	*sep = 0;
	if (!parse_uint(s, 65535, &prio) || !parse_uint(sep + 1, UINT_MAX, &handle))
		return false;
	p->kind = BT_PIN_CLS;
	p->prio = prio;
	p->handle = handle;
	return true;
}

int bt_pin_parse(const char *name, struct bt_pin *pin)
{
	struct bt_pin p = { 0 };
	char copy[NAME_MAX + 1];
	char *at = copy, *netns, *ifindex, *hook, *kind;
	__u64 val;

	if (strlen(name) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, name);
	netns = strsep(&at, "-");
	ifindex = strsep(&at, "-");
	hook = strsep(&at, "-");
	kind = strsep(&at, "-");
	if (!at || !*at || strlen(at) >= sizeof(p.prog))
		return -EINVAL;
	if (!parse_uint(netns, UINT64_MAX, &p.netns) || !parse_uint(ifindex, INT_MAX, &val) || !val)
		return -EINVAL;
	p.ifindex = val;
	p.egress = !strcmp(hook, "egress");
	if ((!p.egress && strcmp(hook, "ingress")) || !parse_kind(kind, &p))
		return -EINVAL;
	strcpy(p.prog, at);
	*pin = p;
	return 0;
}

int bt_bpffs_check(void)
{
	struct statfs st;

	if (statfs(BT_BPFFS, &st))
		return bt_err(-errno, "cannot look at " BT_BPFFS ": %s", strerror(errno));
	if ((unsigned int)st.f_type != BPF_FS_MAGIC)
		return bt_err(-ENODEV,
			      "there is no BPF file system at " BT_BPFFS
			      ", and an attachment must be "
			      "pinned to outlive this command: mount -t bpf bpf " BT_BPFFS);
	return 0;
}

static int make_dirs(void)
{
	char path[] = BT_PIN_LINKS;
	char *p = path + strlen(BT_BPFFS) + 1;

	for (;;) {
		p = strchr(p, '/');
		if (p)
			*p = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return bt_err(-errno, "cannot make directory %s: %s", path,
				      strerror(errno));
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
