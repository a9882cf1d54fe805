// SPDX-License-Identifier: GPL-2.0
/* Programs without a device: of cgroups, and those that do not tell where they are attached. */
#include "base/bpf.h"
#include "base/cleanup.h"
#include "core/audit_kind.h"
#include "core/hooks_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>

#define PROGS_MAX  64 /* BPF_CGROUP_MAX_PROGS */
#define FDS_MAX	   32 /* of a walk */
#define MOUNTS_MAX 16

static struct bt_hooks *walked; /* nftw() hands nothing on */

static void query(struct bt_hooks *l, int fd, __u32 type, const char *hook)
{
	__u32 ids[PROGS_MAX], n = PROGS_MAX;

	if (bpf_prog_query(fd, type, 0, NULL, ids, &n))
		return; /* gone meanwhile, or a kernel without */
	bt_hooks_at(l, hook, type == BPF_CGROUP_INET_INGRESS);
	for (__u32 i = 0; i < n && i < PROGS_MAX; i++)
		bt_hooks_add(l, ids[i]);
}

static int on_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int fd __close = -1;

	(void)st;
	(void)at;
	if (type != FTW_D)
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	snprintf(walked->proto.cgroup, sizeof(walked->proto.cgroup), "%s", path);
	query(walked, fd, BPF_CGROUP_INET_INGRESS, "cgroup_skb/ingress");
	query(walked, fd, BPF_CGROUP_INET_EGRESS, "cgroup_skb/egress");
	return walked->err;
}

int bt_hooks_cgroups(struct bt_hooks *l)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct stat seen[MOUNTS_MAX], st;
	unsigned int n = 0, i;
	struct mntent *m;
	int err = 0;

	if (!mounts)
		return 0;
	walked = l;
	while (!err && n < MOUNTS_MAX && (m = getmntent(mounts))) {
		if (strcmp(m->mnt_type, "cgroup2") != 0 || stat(m->mnt_dir, &st))
			continue;
		/* mounted at more than one place? */
		for (i = 0; i < n; i++) {
			if (seen[i].st_dev == st.st_dev && seen[i].st_ino == st.st_ino)
				break;
		}
		if (i < n)
			continue;
		seen[n++] = st;
		err = nftw(m->mnt_dir, on_entry, FDS_MAX, FTW_PHYS | FTW_MOUNT);
		if (err == -1)
			err = 0; /* what was there went away during the walk */
	}
	endmntent(mounts);
	l->proto.cgroup[0] = 0;
	return err;
}

static bool listed(const struct bt_hooks *l, __u32 id)
{
	for (unsigned int i = 0; i < l->n; i++) {
		if (l->v[i].prog_id == id)
			return true;
	}
	return false;
}

int bt_hooks_loaded(struct bt_hooks *l)
{
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		int fd __close = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		enum bt_kind kind;

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
			continue;
		kind = bt_kind_of(info.type);
		if (kind == BT_KIND_SOCKET)
			bt_hooks_at(l, "socket", true);
		else if (kind == BT_KIND_LOOKUP)
			bt_hooks_at(l, "sk_lookup", true);
		else if (kind == BT_KIND_CGROUP && !listed(l, id))
			bt_hooks_at(l, "cgroup_skb", false);
		else
			continue;
		bt_hooks_add(l, id);
	}
	return errno == ENOENT ? 0 : -errno;
}
