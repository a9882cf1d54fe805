/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Constants of a program: values of maps that neither the program nor user space can change, as the
 * verifier takes them (bpf_map_is_rdonly(): BPF_F_RDONLY_PROG, and frozen). A .rodata, in short.
 */
#ifndef CORE_ROMAP_H
#define CORE_ROMAP_H

#include <linux/types.h>
#include <stddef.h>

#define BT_ROMAPS_MAX 16

/* What has been read so far; start with {}, end with bt_romaps_free(). */
struct bt_romaps {
	struct bt_romap {
		int fd;
		size_t size; /* 0: not constant */
		__u8 *value;
	} map[BT_ROMAPS_MAX];
	unsigned int n;
};

/* The @size bytes (1, 2, 4, 8) at @off of the value of @fd, an array of one, in host byte order.
 * 0, -EPERM when it is not constant, -ERANGE, -ENOSPC beyond BT_ROMAPS_MAX maps.
 */
int bt_romap_read(struct bt_romaps *r, int fd, __u32 off, __u32 size, __u64 *val);
void bt_romaps_free(struct bt_romaps *r);

#endif
