/* SPDX-License-Identifier: GPL-2.0 */
/* What can be told about a loaded program without running it. */
#ifndef CORE_AUDIT_PROG_H
#define CORE_AUDIT_PROG_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/audit_kind.h"
#include "core/audit_len.h"

#define BT_PROG_PORTS 48
#define BT_PROG_WORDS 16

struct bt_prog_facts {
	__u32 id, type;
	enum bt_kind kind;
	char name[64]; /* in full where BTF has it */
	/* the program's maps, and those of the programs it tail-calls */
	__u32 *map_ids;
	unsigned int n_map_ids;
	unsigned int n_progs; /* those programs and itself */
	unsigned int
		n_parts; /* of them, freplace programs in it: it is a dispatcher, such as libxdp's */
	unsigned int n_twins; /* of them, those with libbigtcp's mark */
	bool twin; /* carries libbigtcp's mark and map */
	/* Names of helpers, "" if none is called: what they do shows in no test run; changes the
	 * packet's size; sends packets during a test run; redirects.
	 */
	char hidden[48];
	char resizes[48];
	char sends[48];
	char redirects[48];
	char map_redirects[48]; /* by a map of devices, CPUs or sockets (XDP) */
	bool redirect_const; /* all redirects go to one place given by constants */
	enum bt_len_use len_use; /* not of tc programs */
	bool direct; /* it has packet pointers; of tc programs not told */
	char len_line[256]; /* "file.c:12: the line" that shows it, or "" */
	bool calls_unknown; /* the kernel does not tell which helpers are called */
	/* 16-bit constants that it compares with, as numbers and byte-swapped: may be ports */
	__u16 ports[BT_PROG_PORTS];
	unsigned int n_ports;
	/* 32-bit constants that it compares for equality: may be addresses, in network byte order
	 */
	__u32 words[BT_PROG_WORDS];
	unsigned int n_words;
	char empty_array[16]; /* name of a program array without programs, or "" */
	bool by_proto; /* it seems to tell TCP from other protocols */
	/* "file.c:12: the line" of the branch on the IPv6 next header, if there is just one; or ""
	 */
	char branch[256];
};

/* -errno, outputs untouched: -EPERM without CAP_SYS_ADMIN. The fd stays the caller's. */
int bt_prog_facts(int prog_fd, struct bt_prog_facts *out);
void bt_prog_facts_free(struct bt_prog_facts *f);

#endif
