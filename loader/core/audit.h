/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Audit: does a program treat a BIG TCP packet as it treats the same packet in plain form?
 * Proven by running it (BPF_PROG_TEST_RUN) on both and comparing verdict, packet, context and maps.
 */
#ifndef CORE_AUDIT_H
#define CORE_AUDIT_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/audit_flows.h"
#include "core/audit_model.h"
#include "core/audit_prog.h"

enum bt_audit_form { BT_AUDIT_HBH, BT_AUDIT_LEN0, BT_AUDIT_IPV4, BT_AUDIT_FORMS };

/* What came of one form of jumbo packet. */
struct bt_audit_form_result {
	bool counts; /* this kernel makes such packets: part of the program's verdict */
	bool tried;
	enum bt_verdict verdict;
	struct bt_diff diff; /* MISREADS and worse */
	struct bt_packet packet; /* the jumbo packet that showed it */
	char map[16]; /* name and id, when diff.in_map */
	__u32 map_id;
};

struct bt_audit_result {
	char name[64];
	__u32 prog_id;
	enum bt_verdict verdict; /* the worst of the forms that count */
	int worst; /* enum bt_audit_form, -1: none */
	struct bt_audit_form_result forms[BT_AUDIT_FORMS];
	enum bt_kind kind;
	unsigned int parts; /* programs that an XDP dispatcher runs, judged with it */
	bool twin;
	bool ours; /* one that bigtcp attached for itself, not run: core/ours.h */
	bool by_mark; /* a twin that can't be run on packets long enough for it */
	bool passing; /* UNKNOWN for a reason that may be gone the next time */
	char why[400]; /* UNKNOWN: one phrase; of others, what more there is to say, or "" */
	char branch[256]; /* "file.c:12: the line" where the program takes the next header for
			     TCP's; or "" */
	unsigned int flows, runs;
};

/* How and for whom a program is run. */
struct bt_audit_opts {
	int ifindex; /* the device packets seem to come through; 0: loopback */
	__u8 dmac[6]; /* its address */
	bool ingress;
	bool any_device; /* it may be for devices without Ethernet header */
	bool class_id; /* the return value is a class, not a verdict (cls_bpf without direct-action)
			*/
	bool live; /* others use its maps too: they are only read */
	const struct bt_flow *user;
	unsigned int n_user;
	const struct bt_host *host;
};

struct bt_auditor; /* what audits have in common; one for the whole command */

/* Pins the calling thread to one CPU, since per-CPU maps are compared. 0 or -errno with a sentence.
 */
int bt_auditor_open(struct bt_auditor **out);
void bt_auditor_close(struct bt_auditor *a);

/* Audits the program behind @fd. Always fills @res: what could not be done is an UNKNOWN with its
 * why.
 */
void bt_audit_prog(struct bt_auditor *a, int fd, const struct bt_audit_opts *o,
		   struct bt_audit_result *res);

/* What to prepare in an object before a program of it is audited. */
struct bt_audit_fill {
	char map[64], prog[64];
	__u32 index;
};

struct bt_audit_object {
	const char *path;
	const char *prog; /* NULL: all but setup */
	const char *setup; /* run once on a packet first; or NULL */
	const struct bt_audit_fill *fills; /* slots of program arrays */
	unsigned int n_fills;
	bool no_run;
};

typedef void (*bt_audit_fn)(void *arg, const struct bt_audit_result *res);

/* Loads the object as it is, afresh for every program, and audits its programs. 0, or -errno
 * with a sentence.
 */
int bt_audit_file(struct bt_auditor *a, const struct bt_audit_object *obj,
		  const struct bt_audit_opts *o, bt_audit_fn fn, void *arg);

const char *bt_audit_form_name(enum bt_audit_form form); /* "hbh", "len0", "ipv4" */

#endif
