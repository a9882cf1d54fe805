/* SPDX-License-Identifier: GPL-2.0 */
/* The corpus's statements (selftests/corpus/README.md), read from its sources. */
#ifndef PROG_STATEMENT_H
#define PROG_STATEMENT_H

#include <netinet/in.h>
#include <stdbool.h>

struct flow_stmt {
	bool v6;
	struct in6_addr src, dst; /* IPv4: first four bytes */
	__u16 sport, dport; /* host byte order */
};

struct fill_stmt {
	char map[32], prog[32];
	unsigned int index;
};

struct statement {
	char file[64]; /* without .bpf.c */
	char prog[32];
	char audit[16];
	char twin[32]; /* "made" or "refused:WHY" */
	unsigned int kernel; /* KERNEL_VERSION of the first kernel it loads on */
	struct flow_stmt flow[16];
	unsigned int nflows;
	struct fill_stmt fill[32];
	unsigned int nfills;
	bool loses; /* makes of packets what can't be a jumbo packet: the twin drops these */
	bool cuts; /* to TCP packets too short for a jumbo header: tests can't take these for long */
	bool frags; /* XDP, and takes packets in several buffers */
};

/* All statements of the corpus; *out is the caller's to free. Number of them, or -errno. */
int statements_read(struct statement **out);
/* The object of @st, built by clang @version. */
void statement_object(const struct statement *st, const char *version, char *path, size_t len);
/* Is this kernel new enough for it? */
bool statement_runs_here(const struct statement *st);

#endif
