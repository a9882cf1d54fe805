// SPDX-License-Identifier: GPL-2.0
/* The runs that a program is judged by, and the judgement. */
#include "core/audit_judge.h"
#include "core/kbtf.h"
#include "base/cleanup.h"

#include <bpf/btf.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* Lengths of the plain packets: three to tell what depends on the length; one more that is as long
 * as a plain packet can be run above 64 KiB. It has one byte behind the end that payload_len gives
 * (Ethernet allows that).
 */
#define LEN_A	  1400
#define LEN_B	  2600
#define LEN_C	  3000
#define LEN_LARGE (BT_RUN_LIFT_UNIT + BT_RUN_LIFT_MIN)
/* Jumbo packets: just above 64 KiB, the size that hosts are set to most, and the most there can be
 * here.
 */
#define LEN_JUMBO (BT_RUN_LIFT_UNIT + 612)
#define LEN_FAR	  (3 * BT_RUN_LIFT_UNIT + 612)
#define LEN_MOST  (7 * BT_RUN_LIFT_UNIT + 612)
/* Where a program can't be run on long packets, or sees no more than the first part of them. */
#define LEN_SHORT 3400

/* Flows that do the same as two others are compared by verdict and packet only. */
#define ALIKE_MAX 2
/* A difference has to come again this many times; in maps that others use too, more often. */
#define AGAIN	   1
#define AGAIN_LIVE 2
#define MEM_TRIES  5

static int run(struct bt_judging *j, const struct bt_packet *p, struct bt_run *r)
{
	int err = 0;

	for (int tries = 0; tries < MEM_TRIES; tries++) {
		err = bt_runner_run(j->runner, p, j->opts->ifindex, j->opts->ingress, r);
		j->res->runs++;
		if (err != -EAGAIN)
			break;
	}
	return err;
}

static struct bt_packet packet(const struct bt_judging *j, const struct bt_class *c,
			       enum bt_shape shape, __u8 flags, __u32 len)
{
	struct bt_packet p = {
		.flow = *c->flow,
		.shape = shape,
		.flags = flags,
		.udp = c->udp || c->other,
		.other = c->other,
		.no_link = j->no_link,
		.len = len,
		.smac = { 2, 0, 0x5e, 0, 0x53, 1 },
	};

	if (p.no_link)
		bt_flow_no_link(&p.flow);
	memcpy(p.dmac, j->opts->dmac, sizeof(p.dmac));
	return p;
}

/* Brings the program's state of this flow to where it is after a handshake. */
static int handshake(struct bt_judging *j, const struct bt_class *c)
{
	struct bt_packet syn = packet(j, c, BT_SHAPE_PLAIN, BT_TCP_SYN, LEN_A);
	struct bt_packet data = packet(j, c, BT_SHAPE_PLAIN, BT_TCP_PSH | BT_TCP_ACK, LEN_A);
	struct bt_run r;
	int err;

	err = run(j, &syn, &r);
	return err ? err : run(j, &data, &r);
}

/* One run that counts. snapshot: with what it changes in maps. */
static int observe(struct bt_judging *j, const struct bt_class *c, enum bt_shape shape, __u32 len,
		   bool snapshot, struct bt_obs *o)
{
	struct bt_packet p = packet(j, c, shape, c->flags, len);
	int err = 0;

	*o = (struct bt_obs){ .seq = ++j->seq };
	if (c->each) {
		err = handshake(j, c);
		if (!err && snapshot)
			err = bt_maps_mark(j->maps);
	}
	if (!err)
		err = run(j, &p, &o->run);
	if (!err && snapshot)
		err = bt_maps_diff(j->maps, &o->events);
	if (!err && bt_ret_redirects(o->run.kind, o->run.retval) && !j->opts->class_id)
		j->redirected = true;
	return err;
}

struct round {
	struct bt_obs plain[8], jumbo[2], far[2], most[2], brief[2];
	unsigned int n_plain;
	bool has_jumbo[2], has_far[2], has_most[2], has_brief[2];
	bool snapshot;
};

static void round_free(struct round *r)
{
	for (unsigned int i = 0; i < 8; i++)
		bt_events_free(&r->plain[i].events);
	for (unsigned int i = 0; i < 2; i++) {
		bt_events_free(&r->jumbo[i].events);
		bt_events_free(&r->far[i].events);
		bt_events_free(&r->most[i].events);
		bt_events_free(&r->brief[i].events);
	}
}

static int plain(struct bt_judging *j, const struct bt_class *c, struct round *r, __u32 len)
{
	int err = observe(j, c, BT_SHAPE_PLAIN, len, r->snapshot, &r->plain[r->n_plain]);

	r->n_plain += !err;
	return err;
}

static enum bt_audit_form form_of(const struct bt_class *c, unsigned int i)
{
	if (c->flow->family == AF_INET)
		return BT_AUDIT_IPV4;
	return i ? BT_AUDIT_LEN0 : BT_AUDIT_HBH;
}

/* Do packets above 64 KiB reach the program, and of which data and data_end show all? */
static bool can_lift(const struct bt_judging *j)
{
	return bt_runner_max(j->runner) > BT_RUN_LIFT_UNIT;
}

static bool can_lift_far(const struct bt_judging *j)
{
	return bt_runner_max(j->runner) >= LEN_MOST;
}

/*
 * XDP not made for frags, in generic mode, has all of a jumbo packet between data and data_end. A test run
 * shows it the first part alone: where that is what makes the difference, a packet that fits
 * into the first part makes none.
 */
static bool may_mislead(const struct bt_judging *j)
{
	return j->kind == BT_KIND_XDP && !bt_runner_frags(j->runner);
}

/* The jumbo forms of a family: index 0 is HBH (IPv6), 1 is length 0. */
static int jumbo(struct bt_judging *j, const struct bt_class *c, struct round *r, unsigned int i)
{
	enum bt_shape shape = i ? BT_SHAPE_LEN0 : BT_SHAPE_HBH;
	bool lifts = can_lift(j);
	int err;

	if (!i && c->flow->family == AF_INET)
		return 0;
	err = observe(j, c, shape, lifts ? LEN_JUMBO : LEN_SHORT, r->snapshot, &r->jumbo[i]);
	if (err)
		return err;
	r->has_jumbo[i] = true;
	if (may_mislead(j)) {
		err = observe(j, c, shape, LEN_SHORT, r->snapshot, &r->brief[i]);
		r->has_brief[i] = !err;
		return err;
	}
	if (!can_lift_far(j) || !r->snapshot || !j->res->forms[form_of(c, i)].counts)
		return 0;
	/* Longer ones are tried, but a kernel may have no memory in one piece for them. */
	r->has_far[i] = !observe(j, c, shape, LEN_FAR, r->snapshot, &r->far[i]);
	if (j->classes == 1)
		r->has_most[i] = !observe(j, c, shape, LEN_MOST, r->snapshot, &r->most[i]);
	return 0;
}

/* As few runs as can show a difference in verdict, packet or context. */
static int run_quick(struct bt_judging *j, const struct bt_class *c, struct round *r)
{
	int err = plain(j, c, r, LEN_B);

	for (unsigned int i = 0; i < 2 && !err; i++)
		err = jumbo(j, c, r, i);
	return err;
}

/* All runs of one class of packets. */
static int run_round(struct bt_judging *j, const struct bt_class *c, struct round *r)
{
	static const __u32 before[] = { LEN_B, LEN_A, LEN_C };
	int err = 0;

	/* One length a second and a third time: what differs then is noise. */
	for (unsigned int i = 0; i < 3 && !err; i++)
		err = plain(j, c, r, before[i]);
	if (!err && can_lift(j))
		err = plain(j, c, r, LEN_LARGE);
	for (unsigned int i = 0; i < 2 && !err; i++)
		err = jumbo(j, c, r, i);
	if (!err)
		err = plain(j, c, r, LEN_B);
	if (!err)
		err = plain(j, c, r, LEN_A);
	return err;
}

static void worse(struct bt_judging *j, struct bt_audit_form_result *f, const struct bt_diff *d,
		  const struct bt_packet *p)
{
	f->verdict = d->verdict;
	f->diff = *d;
	f->packet = *p;
	f->map[0] = 0;
	f->map_id = 0;
	if (d->in_map) {
		snprintf(f->map, sizeof(f->map), "%s", bt_maps_name(j->maps, d->map));
		f->map_id = bt_maps_id(j->maps, d->map);
	}
}

/* The worst difference of one form in one round. */
static void judge_form(const struct bt_judging *j, const struct round *r, unsigned int i,
		       struct bt_diff *worst, struct bt_packet *p)
{
	const struct {
		bool has;
		const struct bt_obs *o;
		bool far;
	} obs[] = {
		{ r->has_jumbo[i], &r->jumbo[i], !r->snapshot },
		{ r->has_far[i], &r->far[i], true },
		{ r->has_most[i], &r->most[i], true },
	};
	struct bt_diff d;

	*worst = (struct bt_diff){ .offset = -1 };
	for (unsigned int k = 0; k < 3; k++) {
		if (!obs[k].has)
			continue;
		bt_compare(r->plain, r->n_plain, obs[k].o, obs[k].far, !j->opts->class_id, j->maps,
			   &d);
		if (d.verdict <= worst->verdict)
			continue;
		*worst = d;
		*p = obs[k].o->run.packet;
	}
	if (worst->verdict < BT_VERDICT_MISREADS || !r->has_brief[i])
		return;
	bt_compare(r->plain, r->n_plain, &r->brief[i], false, !j->opts->class_id, j->maps, &d);
	if (d.verdict >= BT_VERDICT_MISREADS)
		return;
	snprintf(d.text, sizeof(d.text),
		 "differs above 64 KiB only, where a test run does not show all of the packet: "
		 "%.160s",
		 worst->text);
	memcpy(worst->text, d.text, sizeof(worst->text));
	worst->verdict = BT_VERDICT_UNKNOWN;
}

/* Does a map change although the program has not been run by us? */
static bool busy(struct bt_judging *j)
{
	struct bt_events ev = {};
	bool any = false;

	for (int i = 0; i < 3 && !any; i++) {
		if (bt_maps_mark(j->maps) || bt_maps_diff(j->maps, &ev))
			return true;
		any = ev.n;
		bt_events_free(&ev);
	}
	return any;
}

/*
 * Does the difference come again? One that shows only once and is not explained must not become
 * "safe": it is unknown then.
 */
static int confirm(struct bt_judging *j, const struct bt_class *c, unsigned int i,
		   struct bt_diff *d, struct bt_packet *p)
{
	unsigned int times = j->opts->live && d->in_map ? AGAIN_LIVE : AGAIN;
	struct bt_diff again = *d;
	int err;

	if (d->verdict < BT_VERDICT_MISREADS || (d->once && !(j->opts->live && busy(j))))
		return 0;
	for (unsigned int t = 0; t < times; t++) {
		struct round r __cleanup(round_free) = { .snapshot = true };

		err = bt_maps_mark(j->maps);
		if (!err)
			err = run_round(j, c, &r);
		if (err)
			return err;
		judge_form(j, &r, i, &again, p);
		if (again.verdict < BT_VERDICT_MISREADS)
			break;
	}
	if (again.verdict < BT_VERDICT_MISREADS) {
		d->verdict = BT_VERDICT_UNKNOWN;
		snprintf(again.text, sizeof(again.text), "seen once and not again: %.200s",
			 d->text);
		memcpy(d->text, again.text, sizeof(d->text));
	} else {
		*d = again;
	}
	return 0;
}

static int judge_round(struct bt_judging *j, const struct bt_class *c, const struct round *r)
{
	struct bt_packet p = {};
	struct bt_diff d;
	int err;

	for (unsigned int i = 0; i < 2; i++) {
		struct bt_audit_form_result *f = &j->res->forms[form_of(c, i)];

		if (!r->has_jumbo[i])
			continue;
		f->tried = true;
		judge_form(j, r, i, &d, &p);
		if (d.verdict <= f->verdict)
			continue;
		err = confirm(j, c, i, &d, &p);
		if (err)
			return err;
		if (d.verdict > f->verdict)
			worse(j, f, &d, &p);
	}
	return 0;
}

/* How often flows like this one have been compared in full. */
static unsigned int alike(struct bt_judging *j, const struct bt_obs *o)
{
	__u64 kind = bt_obs_kind(o) ^ (__u64)o->run.packet.flow.family * 0x9e3779b97f4a7c15ull;

	for (unsigned int i = 0; i < j->n_kinds; i++) {
		if (j->kinds[i].kind == kind)
			return j->kinds[i].times++;
	}
	if (j->n_kinds < BT_KINDS_MAX) {
		j->kinds[j->n_kinds].kind = kind;
		j->kinds[j->n_kinds++].times = 1;
	}
	return 0;
}

/* Does a quick round show something worse than what is known? */
static bool suspicious(const struct bt_judging *j, const struct bt_class *c, const struct round *r)
{
	struct bt_packet p;
	struct bt_diff d;

	for (unsigned int i = 0; i < 2; i++) {
		if (!r->has_jumbo[i])
			continue;
		judge_form(j, r, i, &d, &p);
		if (d.verdict > j->res->forms[form_of(c, i)].verdict)
			return true;
	}
	return false;
}

int bt_judge_class(struct bt_judging *j, const struct bt_class *c)
{
	struct round r __cleanup(round_free) = { .snapshot = true };
	struct round quick __cleanup(round_free) = {};
	int err = 0;

	j->classes++;
	if (c->flags != BT_TCP_SYN && !c->each && !c->fresh)
		err = handshake(j, c);
	if (!err)
		err = bt_maps_mark(j->maps);
	if (!err)
		err = plain(j, c, &r, LEN_A);
	if (err)
		return err;
	if (alike(j, &r.plain[0]) >= ALIKE_MAX && c->common) {
		quick.plain[quick.n_plain++].run = r.plain[0].run;
		err = run_quick(j, c, &quick);
		if (err || !suspicious(j, c, &quick))
			return err;
		err = bt_maps_mark(j->maps);
		if (err)
			return err;
	}
	err = run_round(j, c, &r);
	return err ? err : judge_round(j, c, &r);
}

/* Is a packet of another protocol treated as the plain TCP packets of @r are? */
static int other_proto(struct bt_judging *j, struct bt_class c, struct round *r, bool unknown)
{
	struct bt_diff d;
	int err;

	bt_events_free(&r->jumbo[0].events);
	c.udp = !unknown;
	c.other = unknown;
	err = observe(j, &c, BT_SHAPE_PLAIN, LEN_B, true, &r->jumbo[0]);
	c.udp = c.other = false;
	for (unsigned int i = 0; i < 2 && !err; i++)
		err = plain(j, &c, r, i & 1 ? LEN_B : LEN_A);
	if (err)
		return err;
	bt_compare(r->plain, r->n_plain, &r->jumbo[0], false, !j->opts->class_id, j->maps, &d);
	j->matters |= d.verdict >= BT_VERDICT_MISREADS;
	return 0;
}

int bt_judge_proto(struct bt_judging *j, const struct bt_flow *flow)
{
	struct bt_class c = { .flow = flow, .flags = BT_TCP_PSH | BT_TCP_ACK };
	struct round r __cleanup(round_free) = { .snapshot = true };
	int err = bt_maps_mark(j->maps);

	for (unsigned int i = 0; i < 3 && !err; i++)
		err = plain(j, &c, &r, i & 1 ? LEN_B : LEN_A);
	if (!err)
		err = other_proto(j, c, &r, false);
	if (!err && !j->matters)
		err = other_proto(j, c, &r, true);
	return err;
}

/* Which forms this kernel makes: from its types, since vendors port both ways. Without BTF: all of
 * them.
 */
void bt_judge_counts(struct bt_audit_result *res)
{
	const struct btf *btf = bt_kbtf();
	const struct btf_type *t;
	bool hbh = true, ipv4 = true;
	__s32 id;

	if (btf) {
		hbh = btf__find_by_name_kind(btf, "hop_jumbo_hdr", BTF_KIND_STRUCT) > 0;
		id = btf__find_by_name_kind(btf, "net_device", BTF_KIND_STRUCT);
		t = id > 0 ? btf__type_by_id(btf, id) : NULL;
		ipv4 = !t;
		for (unsigned int i = 0; t && i < btf_vlen(t); i++) {
			const char *name = btf__name_by_offset(btf, btf_members(t)[i].name_off);

			ipv4 |= name && !strcmp(name, "gso_ipv4_max_size");
		}
	}
	res->forms[BT_AUDIT_HBH].counts = hbh;
	res->forms[BT_AUDIT_LEN0].counts = !hbh || !btf;
	res->forms[BT_AUDIT_IPV4].counts = ipv4;
}
