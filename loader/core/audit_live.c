// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "core/audit_live.h"
#include "core/ours.h"

static void cannot(struct bt_audit_result *res, __u32 id, const char *why)
{
	*res = (struct bt_audit_result){
		.verdict = BT_VERDICT_UNKNOWN,
		.prog_id = id,
		.worst = -1,
	};
	snprintf(res->why, sizeof(res->why), "%s", why);
}

/* The name alone, of a program that is not run. */
static void name_only(struct bt_audit_result *res, __u32 id, int fd, const char *why)
{
	struct bt_prog_facts f;

	cannot(res, id, why);
	if (bt_prog_facts(fd, &f))
		return;
	memcpy(res->name, f.name, sizeof(res->name));
	res->kind = f.kind;
	res->twin = f.twin;
	bt_prog_facts_free(&f);
}

static void of_ours(struct bt_audit_result *res, __u32 id, int fd, enum bt_ours what)
{
	name_only(res, id, fd,
		  what == BT_OURS_GUARD
			  ? "the guard of bigtcp, not run: it is about the jumbo header itself"
			  : "the observer of bigtcp, not run: it would count the packets");
	res->ours = true;
	res->verdict = BT_VERDICT_SAFE;
}

void bt_audit_attached(struct bt_auditor *a, const struct bt_attached *at,
		       const struct bt_audit_opts *base, struct bt_host *host, bool no_run,
		       struct bt_audit_result *res)
{
	int fd __close = bt_prog_by_id(at->prog_id);
	struct bt_audit_opts o = *base;
	enum bt_ours ours;

	if (fd < 0)
		return cannot(res, at->prog_id,
			      fd == -ENOENT ? "it is gone" : "looking at it needs CAP_SYS_ADMIN");
	ours = bt_ours(at->prog_id, at->dev[0] ? at->dev : NULL, fd);
	if (ours != BT_OURS_NOT)
		return of_ours(res, at->prog_id, fd, ours);
	if (no_run)
		return name_only(res, at->prog_id, fd, "");
	if (!at->ethernet)
		return name_only(
			res, at->prog_id, fd,
			"not run: the device has no Ethernet header, and a test run always has");
	bt_host_addrs(host, at->dev);
	o.live = true;
	o.host = host;
	o.ifindex = at->ifindex ? at->ifindex : 1;
	o.any_device = !at->ifindex; /* an action: whichever filter uses it */
	o.ingress = at->ingress;
	o.class_id = at->class_id;
	memcpy(o.dmac, at->mac, sizeof(o.dmac));
	bt_audit_prog(a, fd, &o, res);
}

void bt_audit_part(const struct bt_attached *at, const enum bt_verdict *whole,
		   struct bt_audit_result *res)
{
	int fd __close = bt_prog_by_id(at->prog_id);

	name_only(res, at->prog_id, fd, "");
	if (res->twin || !whole) {
		res->verdict = res->twin ? BT_VERDICT_TWIN : BT_VERDICT_UNKNOWN;
	} else if (*whole <= BT_VERDICT_TWIN) {
		res->verdict = BT_VERDICT_SAFE;
		snprintf(res->why, sizeof(res->why), "judged with dispatcher %u, all in one",
			 at->dispatcher);
	} else {
		snprintf(res->why, sizeof(res->why),
			 "dispatcher %u runs it, and is '%s' as a whole; by which of its programs, "
			 "an audit of their object files (--obj) can tell",
			 at->dispatcher, bt_verdict_name(*whole));
	}
}
