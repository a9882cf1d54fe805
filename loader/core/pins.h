/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where attachments are remembered: pins under /sys/fs/bpf/bigtcp/v1/links, nothing else. A pin's
 * name says what it is of, with the network namespace and the interface's index, or the cgroup's id, which
 * do not change while the device or cgroup lives; names do.
 */
#ifndef CORE_PINS_H
#define CORE_PINS_H

#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define BT_BPFFS     "/sys/fs/bpf"
#define BT_PIN_LINKS BT_BPFFS "/bigtcp/v1/links"

/* The name that pins of guards have instead of their program's (core/guard.h). */
#define BT_PIN_GUARD "bigtcp_guard"
/* And those of observers (core/observe.h). */
#define BT_PIN_OBSERVE "bigtcp_observe"
/* Is it one of these? `bigtcp detach` leaves them alone: they have commands of their own. */
bool bt_pin_own(const char *prog);

enum bt_hook_id {
	BT_HOOK_INGRESS, /* tc, of a device */
	BT_HOOK_EGRESS,
	BT_HOOK_XDP,
	BT_HOOK_CGROUP_INGRESS, /* cgroup_skb, of a cgroup2 directory */
	BT_HOOK_CGROUP_EGRESS,
	__BT_HOOK_MAX,
};

/* As the command line names it: "ingress", "xdp", "cgroup-egress" ... */
const char *bt_hook_name(enum bt_hook_id hook);
/* Returns 0, or -EINVAL with *hook untouched. */
int bt_hook_parse(const char *name, enum bt_hook_id *hook);
bool bt_hook_is_cgroup(enum bt_hook_id hook);

enum bt_pin_kind {
	BT_PIN_TCX, /* the pin is a tcx link */
	BT_PIN_CLS, /* the pin is a program, attached by a cls_bpf filter */
	BT_PIN_LINK, /* the pin is the link of an XDP or cgroup hook */
};

/* NETNS-IFINDEX-HOOK-KIND-PROG, KIND "tcx", "clsPRIO_HANDLE" or "link". Of cgroups NETNS is 0, and the
 * cgroup's id stands where IFINDEX does.
 */
struct bt_pin {
	__u64 netns; /* inode; 0: of a cgroup */
	int ifindex; /* 0: of a cgroup */
	__u64 cgroup; /* id, the inode of its directory; 0: of a device */
	enum bt_hook_id hook;
	enum bt_pin_kind kind;
	__u32 prio, handle; /* BT_PIN_CLS */
	char prog[128]; /* name of the program: no '-', no '.' */
};

/* Returns 0, or -ENAMETOOLONG. */
int bt_pin_format(const struct bt_pin *pin, char *buf, size_t len);
/* Returns 0, or -EINVAL for a name that is not one of ours, with *pin untouched. */
int bt_pin_parse(const char *name, struct bt_pin *pin);

/*
 * Is there a BPF file system at /sys/fs/bpf, the one that holds what bigtcp pinned (not one mounted over
 * it), and is what is there of this layout? A v2 beside v1 was made by a newer bigtcp, and nothing is read or
 * changed then (-EPROTO). 0, or -errno with a sentence.
 */
int bt_bpffs_check(void);

/*
 * Opens BT_PIN_LINKS, made if it is missing, and takes its lock, which every command that changes
 * something holds until it closes the fd. Returns the fd, or -errno with a sentence.
 * @look: make and lock nothing; -ENOENT without a sentence if there is no directory.
 */
int bt_pins_open(bool look);

/* Is @fd a BPF program? Info of a map can be read as that of a program; the kernel's name of the file
 * tells them apart.
 */
bool bt_is_prog(int fd);

/* Pins @fd at an absolute path. Returns 0, or -errno with a sentence. */
int bt_pin_at(int fd, const char *path);

/*
 * A program array loses its contents when its last fd and pin go, also while programs use it: every tail
 * call of an attached program would then fall through. So those of @obj that have no pin of their own
 * are pinned beside the program or link at @path, as PATH-MAP. 0, or -errno with a sentence and none pinned.
 */
struct bpf_object;
int bt_pin_prog_arrays(struct bpf_object *obj, const char *path);
/* Removes @path and the pins beside it. 0, or -errno with a sentence if @path stays. */
int bt_unpin(const char *path);
/* Removes program arrays of which the pin they belong to is gone. */
void bt_pins_sweep(int dirfd);

/* Calls fn for each pin of ours in @dirfd until it returns non-zero, which is then returned. fn may remove
 * the pin it is called for.
 */
int bt_pins_each(int dirfd, int (*fn)(const struct bt_pin *pin, const char *path, void *arg),
		 void *arg);

#endif
