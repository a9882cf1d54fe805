// SPDX-License-Identifier: GPL-2.0
/* Whether the state under /sys/fs/bpf/bigtcp is there, is all that there is, and is ours to read. */
#include "core/pins.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATE  BT_BPFFS "/bigtcp"
#define LAYOUT 1 /* of the v1 in BT_PIN_LINKS */

/* --- layouts -------------------------------------------------------------------------- */

static int check_layout(void)
{
	DIR *dir = opendir(STATE);
	struct dirent *de;
	__u64 v, newest = 0;

	while (dir && (de = readdir(dir))) {
		if (de->d_name[0] == 'v' && bt_number(de->d_name + 1, UINT_MAX, &v) && v > newest)
			newest = v;
	}
	if (dir)
		closedir(dir);
	if (newest <= LAYOUT)
		return 0;
	return bt_err(-EPROTO,
		      "a newer bigtcp keeps its state here (" STATE
		      "/v%u), in a way that this version (layout v%u) does not know: use the newer "
		      "one, or take off with it what it set before going back. Nothing was changed",
		      (unsigned int)newest, LAYOUT);
}

/* --- mounts over mounts -------------------------------------------------------------------- */

/* Mounts of BPF file systems at this place; true if they are not all of the same one. */
static bool stacked(unsigned int *n)
{
	FILE *f __fclose = fopen("/proc/self/mountinfo", "re");
	char *line __free = NULL;
	char first[32] = "", dev[32], at[64];
	bool differ = false;
	size_t room = 0;

	*n = 0;
	while (f && getline(&line, &room, f) > 0) {
		const char *type = strstr(line, " - ");

		/* "ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS ... - TYPE ..." */
		if (!type || strncmp(type, " - bpf ", 7) ||
		    sscanf(line, "%*s %*s %31s %*s %63s ", dev, at) != 2 || strcmp(at, BT_BPFFS))
			continue;
		if (!*n)
			strcpy(first, dev);
		differ = differ || strcmp(first, dev);
		++*n;
	}
	return differ;
}

enum below { BELOW_NOTHING, BELOW_STATE, BELOW_UNKNOWN };

/* In a child, whose own mount namespace goes with it: takes the upper mounts off and looks. */
static enum below look_below(unsigned int n)
{
	struct statfs st;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return BELOW_UNKNOWN;
	while (--n) {
		if (umount2(BT_BPFFS, MNT_DETACH))
			return BELOW_UNKNOWN;
		if (statfs(BT_BPFFS, &st) || (unsigned int)st.f_type != BPF_FS_MAGIC)
			return BELOW_NOTHING;
		if (!access(STATE, F_OK))
			return BELOW_STATE;
	}
	return BELOW_NOTHING;
}

static enum below below(unsigned int n)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(look_below(n));
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return BELOW_UNKNOWN;
	}
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : BELOW_UNKNOWN;
}

static int check_stack(void)
{
	static dev_t good;
	struct stat st;
	unsigned int n;

	/* Each mount of the type is a file system of its own. */
	if (stat(BT_BPFFS, &st))
		return bt_err(-errno, "cannot look at " BT_BPFFS ": %s", strerror(errno));
	if (good == st.st_dev)
		return 0;
	if (stacked(&n)) {
		switch (below(n)) {
		case BELOW_STATE:
			return bt_err(
				-EBUSY,
				"another BPF file system is mounted over the one at " BT_BPFFS
				" that holds what bigtcp has attached and set: 'umount " BT_BPFFS
				"' uncovers it. Nothing was changed");
		case BELOW_UNKNOWN:
			bt_note("%u BPF file systems are mounted at " BT_BPFFS
				" one over the other; what bigtcp may have attached in a lower one is not "
				"seen (looking there takes CAP_SYS_ADMIN)",
				n);
			break;
		case BELOW_NOTHING:
			break;
		}
	}
	good = st.st_dev;
	return 0;
}

int bt_bpffs_check(void)
{
	struct statfs st;
	int err;

	if (statfs(BT_BPFFS, &st))
		return bt_err(-errno, "cannot look at " BT_BPFFS ": %s", strerror(errno));
	if ((unsigned int)st.f_type != BPF_FS_MAGIC)
		return bt_err(
			-ENODEV,
			"there is no BPF file system at " BT_BPFFS
			", and what bigtcp attaches and sets must be "
			"remembered there to outlive this command: mount -t bpf bpf " BT_BPFFS);
	err = check_stack();
	return err ? err : check_layout();
}
