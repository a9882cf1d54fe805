// SPDX-License-Identifier: GPL-2.0
#include "core/audit_judge.h"
#include "core/twinload.h"
#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>

struct bt_auditor {
	struct bt_runner *runner;
	int cpu;
	cpu_set_t before;
};

const char *bt_audit_form_name(enum bt_audit_form form)
{
	static const char *const names[] = { "hbh", "len0", "ipv4" };

	return form < BT_AUDIT_FORMS ? names[form] : "?";
}

int bt_auditor_open(struct bt_auditor **out)
{
	struct bt_auditor *a = calloc(1, sizeof(*a));
	cpu_set_t one;
	int err;

	if (!a)
		return bt_err(-ENOMEM, "out of memory");
	err = bt_runner_open(&a->runner);
	if (err) {
		free(a);
		return bt_err(err, "out of memory");
	}
	CPU_ZERO(&one);
	if (!sched_getaffinity(0, sizeof(a->before), &a->before)) {
		while (a->cpu < CPU_SETSIZE - 1 && !CPU_ISSET(a->cpu, &a->before))
			a->cpu++;
		CPU_SET(a->cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	*out = a;
	return 0;
}

void bt_auditor_close(struct bt_auditor *a)
{
	if (!a)
		return;
	sched_setaffinity(0, sizeof(a->before), &a->before);
	bt_runner_close(a->runner);
	free(a);
}

static void unknown(struct bt_audit_result *res, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Whatever was found safe so far is not known after all. The first reason is kept. */
static void unknown(struct bt_audit_result *res, const char *fmt, ...)
{
	va_list ap;

	for (unsigned int i = 0; i < BT_AUDIT_FORMS; i++) {
		if (res->forms[i].verdict < BT_VERDICT_UNKNOWN)
			res->forms[i].verdict = BT_VERDICT_UNKNOWN;
	}
	if (res->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(res->why, sizeof(res->why), fmt, ap);
	va_end(ap);
}

static int classes(struct bt_judging *j, const struct bt_flow *flow, bool first)
{
	const __u8 data = BT_TCP_PSH | BT_TCP_ACK;
	const struct bt_class all[] = {
		{ flow, data, false, false, !first },
		{ flow, BT_TCP_ACK, false, true, !first },
		{ flow, data | BT_TCP_FIN, true, false, false },
		{ flow, BT_TCP_RST | BT_TCP_ACK, true, false, false },
		{ flow, BT_TCP_SYN, false, false, false },
	};
	unsigned int n = first ? sizeof(all) / sizeof(all[0]) : 1;
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++)
		err = bt_judge_class(j, &all[i]);
	return err;
}

static int judge_flows(struct bt_judging *j, const struct bt_flows *flows)
{
	int err = 0;

	for (unsigned int i = 0; i < flows->n && !err; i++) {
		err = classes(j, &flows->v[i], i < flows->n_first);
		if (!err && i < flows->n_first && !j->no_link)
			err = bt_judge_proto(j, &flows->v[i]);
		if (!i)
			bt_maps_cool(j->maps);
	}
	if (err || !bt_maps_warm(j->maps))
		return err;
	/* A map that was left out has changed: once more, with all of them. */
	err = bt_maps_mark(j->maps);
	for (unsigned int i = 0; i < flows->n && !err; i++)
		err = classes(j, &flows->v[i], i < flows->n_first);
	return err;
}

/* Equal as far as could be seen: is that far enough to say safe? */
static void doubts(struct bt_audit_result *res, const struct bt_judging *j,
		   const struct bt_prog_facts *f)
{
	const char *unseen = bt_maps_unseen(j->maps), *empty = bt_maps_empty(j->maps);

	if (j->kind == BT_KIND_TC && bt_runner_max(j->runner) <= BT_RUN_SMALL_MAX)
		unknown(res, "the kernel let it be run on packets of up to %d bytes only",
			BT_RUN_SMALL_MAX);
	if (f->len_use >= BT_LEN_DECIDES)
		unknown(res,
			"what it does hangs on the packet's length%s%s: a test run cannot show that of "
			"a jumbo packet",
			f->len_line[0] ? ", at " : "", f->len_line);
	if (unseen)
		unknown(res, "%s", unseen);
	if (f->sends[0])
		unknown(res, "it calls %s: where copies go cannot be seen", f->sends);
	if (j->redirected && !f->redirect_const)
		unknown(res, "it redirects: a test run does not show to which device");
	if (f->resizes[0] && j->kind == BT_KIND_XDP)
		unknown(res, "it calls %s: a packet of another size is not compared", f->resizes);
	else if (f->resizes[0])
		unknown(res,
			"it calls %s, which in a test run does not do what it does on a "
			"BIG TCP packet",
			f->resizes);
	if (f->map_redirects[0] && !j->redirected && bt_maps_no_target(j->maps))
		unknown(res, "its map %s has no entry that it could redirect to",
			bt_maps_no_target(j->maps));
	if (f->hidden[0])
		unknown(res, "it calls %s, whose effect cannot be seen", f->hidden);
	if (f->empty_array[0])
		unknown(res, "its program array %s is empty", f->empty_array);
	if (empty)
		unknown(res, "its map %s is empty: what a match would bring about was not seen",
			empty);
	else if (f->by_proto && !j->matters)
		unknown(res,
			"it tells TCP from other protocols, but does the same for both with its "
			"maps as they are");
	if (f->calls_unknown)
		unknown(res, "the kernel does not show which functions it calls");
}

static const char *run_error(int err)
{
	switch (err) {
	case -EPERM:
		return "running it needs CAP_SYS_ADMIN or CAP_BPF and CAP_NET_ADMIN";
	case -EAGAIN:
		return "the kernel had no memory in one piece for a long packet";
	case -ENODEV:
		return "its device is gone";
	case -EINVAL:
	case -524: /* ENOTSUPP */
	case -EOPNOTSUPP:
		return "the kernel cannot run it on a packet of ours";
	}
	return strerror(-err);
}

static bool safe_so_far(const struct bt_audit_result *res)
{
	for (unsigned int i = 0; i < BT_AUDIT_FORMS; i++) {
		if (res->forms[i].counts && res->forms[i].verdict != BT_VERDICT_SAFE)
			return false;
	}
	return true;
}

/* Once more, in another way, where a difference is no proof of harm but of a doubt: @doubt. */
static void once_more(struct bt_judging *j, const struct bt_flows *flows, const char *doubt)
{
	struct bt_audit_result *res = j->res, none = { .worst = -1 };
	int err;

	bt_judge_counts(&none);
	j->res = &none;
	j->n_kinds = 0;
	err = judge_flows(j, flows);
	j->res = res;
	res->runs += none.runs;
	if (err)
		unknown(res, "%s", run_error(err));
	else if (!safe_so_far(&none))
		unknown(res, "%s", doubt);
}

/*
 * The same with packets that begin with the IP header: a program for tun or wireguard finds nothing
 * of what it looks for in packets with an Ethernet header, and treats all of those alike. Whether
 * it ever meets packets without one is not known.
 */
static void without_link(struct bt_judging *j, const struct bt_flows *flows)
{
	j->no_link = true;
	once_more(j, flows,
		  "it treats jumbo packets differently if its device has no Ethernet header, as on "
		  "tun or wireguard; audit it on its device");
}

/* Which socket a filter is at, nothing tells. */
static void other_sockets(struct bt_judging *j, const struct bt_flows *flows)
{
	bt_runner_l2(j->runner, false);
	once_more(j, flows,
		  "it treats jumbo packets differently at a socket that sees packets from the IP "
		  "header on (AF_PACKET, SOCK_DGRAM); at a TCP or UDP socket, which sees what is "
		  "behind it, it cannot");
}

/*
 * Bad verdicts that a test run may only seem to show, since it has no packet above 64 KiB: of a
 * program that asks whether the packet is as long as that, and of a twin, which is such a
 * program; of a cgroup program that sees nothing at all.
 */
static void artefacts(struct bt_audit_result *res, const struct bt_judging *j,
		      const struct bt_prog_facts *f)
{
	bool whole =
		j->kind == BT_KIND_TC || (j->kind == BT_KIND_XDP && bt_runner_frags(j->runner));
	bool blind = j->kind == BT_KIND_CGROUP && f->direct && !bt_runner_direct(j->runner);
	bool bad = false;

	if (whole)
		return;
	res->by_mark = res->twin;
	if (f->len_use < BT_LEN_THRESHOLD && !f->n_twins && !blind)
		return;
	for (unsigned int i = 0; i < BT_AUDIT_FORMS; i++) {
		if (res->forms[i].verdict <= BT_VERDICT_UNKNOWN)
			continue;
		res->forms[i].verdict = BT_VERDICT_UNKNOWN;
		bad = true;
	}
	if (blind)
		unknown(res, "it reads packets directly, and a test run on this kernel shows it no "
			     "byte of them; audit it on a newer one");
	if (bad && f->n_twins && !res->twin)
		unknown(res,
			"%s twins, and a test run has no packet for those; audit the other "
			"programs' object files",
			f->n_parts ? "it is a dispatcher of" : "it calls");
}

static void conclude(struct bt_audit_result *res)
{
	enum bt_verdict v = BT_VERDICT_SAFE;

	res->worst = -1;
	for (int i = 0; i < BT_AUDIT_FORMS; i++) {
		const struct bt_audit_form_result *f = &res->forms[i];

		if (!f->counts || f->verdict <= v)
			continue;
		v = f->verdict;
		res->worst = i;
	}
	if (v == BT_VERDICT_SAFE && res->kind == BT_KIND_SOCKET)
		snprintf(res->why, sizeof(res->why),
			 "at an AF_PACKET socket; a TCP or UDP socket shows it no IP header");
	if (v == BT_VERDICT_UNKNOWN && !res->why[0] && res->worst >= 0)
		snprintf(res->why, sizeof(res->why), "%s", res->forms[res->worst].diff.text);
	if (res->twin && (v <= BT_VERDICT_UNKNOWN || res->by_mark)) {
		v = BT_VERDICT_TWIN;
		res->why[0] = 0;
		res->worst = -1;
	}
	res->verdict = v;
}

static void audit_run(struct bt_auditor *a, int fd, const struct bt_audit_opts *o,
		      const struct bt_prog_facts *f, struct bt_audit_result *res)
{
	struct bt_judging j = { .runner = a->runner, .opts = o, .res = res, .kind = f->kind };
	struct bt_flows flows;
	int err;

	err = bt_maps_open(f->map_ids, f->n_map_ids, !o->live, a->cpu, &j.maps);
	if (err)
		return unknown(res, "its maps cannot be opened: %s", strerror(-err));
	err = bt_runner_set(a->runner, fd, f->type);
	bt_runner_l2(a->runner, true);
	if (!err)
		err = bt_maps_mark(j.maps);
	if (!err) {
		bt_flows_build(&flows, o->user, o->n_user, o->host, f, j.maps);
		res->flows = flows.n;
		err = judge_flows(&j, &flows);
	}
	if (err)
		unknown(res, "%s", run_error(err));
	res->passing = err == -ENODEV || err == -EAGAIN || err == -ENOMEM;
	artefacts(res, &j, f);
	doubts(res, &j, f);
	if (j.kind == BT_KIND_SOCKET && !res->twin && safe_so_far(res))
		other_sockets(&j, &flows);
	else if (o->any_device && j.kind != BT_KIND_CGROUP && !res->twin && safe_so_far(res))
		without_link(&j, &flows);
	bt_maps_close(j.maps);
}

void bt_audit_prog(struct bt_auditor *a, int fd, const struct bt_audit_opts *o,
		   struct bt_audit_result *res)
{
	struct bt_prog_facts f;
	int err;

	*res = (struct bt_audit_result){ .worst = -1 };
	bt_judge_counts(res);
	err = bt_prog_facts(fd, &f);
	if (err) {
		unknown(res,
			err == -EPERM ? "looking at it needs CAP_SYS_ADMIN"
				      : "it cannot be looked at: %s",
			strerror(-err));
		return conclude(res);
	}
	memcpy(res->name, f.name, sizeof(res->name));
	memcpy(res->branch, f.branch, sizeof(res->branch));
	res->prog_id = f.id;
	res->twin = f.twin || (f.n_parts && f.n_twins == f.n_parts);
	res->kind = f.kind;
	res->parts = f.n_parts;
	if (f.kind == BT_KIND_LOOKUP)
		snprintf(res->why, sizeof(res->why),
			 "sees addresses and ports only, no packet bytes");
	else if (f.type == BPF_PROG_TYPE_EXT)
		unknown(res, "it replaces a function of another program, and cannot be run alone; "
			     "audit that one, or this one's object file");
	else if (f.kind == BT_KIND_NONE)
		unknown(res,
			"programs of its type are not audited: tc, XDP, cgroup_skb and socket filters are");
	else if (f.sends[0] && o->live)
		unknown(res, "not run: it calls %s, which would send the packets of a test run",
			f.sends);
	else
		audit_run(a, fd, o, &f, res);
	bt_prog_facts_free(&f);
	conclude(res);
}

static int run_setup(struct bpf_object *obj, const char *name, const struct bt_audit_opts *o)
{
	struct bpf_program *p = bpf_object__find_program_by_name(obj, name);
	struct __sk_buff in = { .ifindex = o->ifindex };
	__u8 data[256] = { [12] = 0x86, [13] = 0xdd };
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = data, .data_size_in = sizeof(data),
		    .ctx_in = &in, .ctx_size_in = sizeof(in));

	if (!p)
		return bt_err(-ENOENT, "the object has no program '%s' to set it up with", name);
	if (bt_kind_of(bpf_program__type(p)) == BT_KIND_XDP) {
		t.ctx_in = NULL;
		t.ctx_size_in = 0;
	}
	if (bpf_prog_test_run_opts(bpf_program__fd(p), &t))
		return bt_err(-errno, "cannot run '%s': %s", name, strerror(errno));
	if (t.retval)
		return bt_err(-EINVAL, "'%s' did not set the object up: it returned %d", name,
			      (int)t.retval);
	return 0;
}

static int run_fill(struct bpf_object *obj, const struct bt_audit_fill *f)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, f->map);
	struct bpf_program *p = bpf_object__find_program_by_name(obj, f->prog);
	int fd;

	if (!m || bpf_map__type(m) != BPF_MAP_TYPE_PROG_ARRAY)
		return bt_err(-ENOENT, "the object has no program array '%s'", f->map);
	if (!p)
		return bt_err(-ENOENT, "the object has no program '%s'", f->prog);
	fd = bpf_program__fd(p);
	if (bpf_map_update_elem(bpf_map__fd(m), &f->index, &fd, BPF_ANY))
		return bt_err(-errno, "cannot put '%s' into %s[%u]: %s", f->prog, f->map, f->index,
			      strerror(errno));
	return 0;
}

/* Loaded as it is, and set up. */
static int open_object(const struct bt_audit_object *obj, const struct bt_audit_opts *o,
		       struct bt_object **out)
{
	struct bt_object_opts opts = { .plain = true, .no_pins = true, .any_type = true };
	struct bt_object *b = NULL;
	int err;

	err = bt_object_load(obj->path, &opts, &b);
	if (err && obj->prog && !obj->n_fills && !obj->setup) {
		/* Another program of the object may be what the kernel refuses. */
		bt_object_free(b);
		b = NULL;
		bt_err_clear();
		opts.only = obj->prog;
		err = bt_object_load(obj->path, &opts, &b);
	}
	for (unsigned int i = 0; i < obj->n_fills && !err; i++)
		err = run_fill(bt_object_bpf(b), &obj->fills[i]);
	if (!err && obj->setup)
		err = run_setup(bt_object_bpf(b), obj->setup, o);
	if (err)
		bt_object_free(b);
	else
		*out = b;
	return err;
}

/* The program after @prev that is to be audited, of an object that is loaded afresh each time. */
static struct bpf_program *next_prog(struct bpf_object *o, const struct bt_audit_object *obj,
				     unsigned int skip)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, o) {
		const char *name = bpf_program__name(p);

		if (obj->prog
			    ? strcmp(name, obj->prog) != 0
			    : (bt_kind_of(bpf_program__type(p)) == BT_KIND_NONE ||
			       bpf_program__fd(p) < 0 || (obj->setup && !strcmp(name, obj->setup))))
			continue;
		if (!skip--)
			return p;
	}
	return NULL;
}

int bt_audit_file(struct bt_auditor *a, const struct bt_audit_object *obj,
		  const struct bt_audit_opts *o, bt_audit_fn fn, void *arg)
{
	struct bt_audit_result res;
	struct bpf_program *p;
	struct bt_object *b;
	unsigned int n;
	int err;

	for (n = 0;; n++) {
		err = open_object(obj, o, &b);
		if (err)
			return err;
		p = next_prog(bt_object_bpf(b), obj, n);
		if (p) {
			res = (struct bt_audit_result){ .worst = -1 };
			if (!obj->no_run)
				bt_audit_prog(a, bpf_program__fd(p), o, &res);
			snprintf(res.name, sizeof(res.name), "%s", bpf_program__name(p));
			fn(arg, &res);
		}
		bt_object_free(b);
		if (!p)
			break;
	}
	if (!n && obj->prog)
		return bt_err(-ENOENT, "%s has no program '%s'", obj->path, obj->prog);
	if (!n)
		return bt_err(
			-ENOENT,
			"%s has no program that packets pass: tc, XDP, cgroup_skb, socket filter",
			obj->path);
	return 0;
}
