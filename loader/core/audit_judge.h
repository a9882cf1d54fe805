/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by audit.c (one program's audit) and audit_judge.c (one class of packets). */
#ifndef CORE_AUDIT_JUDGE_H
#define CORE_AUDIT_JUDGE_H

#include "core/audit.h"
#include "core/audit_maps.h"
#include "core/audit_run.h"

#define BT_KINDS_MAX 64

/* Packets of one flow with the same flags. */
struct bt_class {
	const struct bt_flow *flow;
	__u8 flags;
	bool each; /* a handshake before every packet, since it ends the connection */
	bool fresh; /* no handshake: the program was loaded in the middle of the connection */
	bool common; /* one of many: may be compared less closely */
	bool udp, other; /* another protocol, no class to judge: see bt_judge_proto() */
};

struct bt_judging {
	struct bt_runner *runner;
	struct bt_maps *maps;
	const struct bt_audit_opts *opts;
	struct bt_audit_result *res;
	enum bt_kind kind;
	bool no_link; /* packets have no Ethernet header */
	unsigned int seq, classes;
	bool matters; /* UDP, or an unknown protocol, is not treated as TCP is */
	bool redirected; /* a run sent the packet elsewhere: TC_ACT_REDIRECT, XDP_REDIRECT */
	struct {
		__u64 kind;
		unsigned int times;
	} kinds[BT_KINDS_MAX];
	unsigned int n_kinds;
};

/* Runs packets of other protocols with the flow's addresses, to see whether the protocol matters. */
int bt_judge_proto(struct bt_judging *j, const struct bt_flow *flow);

/* Runs and compares; differences go to j->res->forms. -errno: a run was refused. */
int bt_judge_class(struct bt_judging *j, const struct bt_class *c);

void bt_judge_counts(struct bt_audit_result *res);

#endif
