// SPDX-License-Identifier: GPL-2.0
/* bigtcp audit: which programs misread jumbo packets, and what shows it. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/number.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "core/audit.h"
#include "core/hooks.h"

enum {
	OPT_OBJ = 256,
	OPT_PROG,
	OPT_PROG_ID,
	OPT_SETUP,
	OPT_FILL,
	OPT_FLOW,
	OPT_NO_RUN,
	OPT_ALLOW_UNKNOWN,
};

const struct bt_opt audit_opts[] = {
	{ "obj", OPT_OBJ, "FILE.o", "audit the tc programs of an object file, loaded apart" },
	{ "prog", OPT_PROG, "NAME", "with --obj: this program only" },
	{ "setup", OPT_SETUP, "NAME", "with --obj: run this program first, to fill maps" },
	{ "fill", OPT_FILL, "MAP[I]=NAME", "with --obj: put a program into a program array first" },
	{ "prog-id", OPT_PROG_ID, "ID", "audit a loaded program" },
	{ "flow", OPT_FLOW, "FLOW",
	  "also try src=ADDR,dst=ADDR,sport=N,dport=N; may be given more than once" },
	{ "no-run", OPT_NO_RUN, NULL, "list the programs, run none" },
	{ "allow-unknown", OPT_ALLOW_UNKNOWN, NULL,
	  "exit with 0, not 3, when there are unknown verdicts but no bad ones" },
	{ NULL },
};

#define FLOWS_MAX 32
#define FILLS_MAX 64

struct args {
	const char *dev, *obj, *prog, *setup;
	__u32 prog_id;
	bool no_run, allow_unknown;
	struct bt_flow flows[FLOWS_MAX];
	unsigned int n_flows;
	struct bt_audit_fill fills[FILLS_MAX];
	unsigned int n_fills;
};

/* One row of the report. */
struct row {
	struct bt_attached at;
	struct bt_audit_result res;
};

struct report {
	struct row *rows;
	unsigned int n, cap;
	const struct args *args;
	int err;
};

static struct row *add_row(struct report *r)
{
	if (r->n == r->cap) {
		struct row *p = realloc(r->rows, (r->cap * 2 + 16) * sizeof(*p));

		if (!p) {
			r->err = -ENOMEM;
			return NULL;
		}
		r->rows = p;
		r->cap = r->cap * 2 + 16;
	}
	r->rows[r->n] = (struct row){};
	return &r->rows[r->n++];
}

static int parse_u32(const char *text, __u32 *val)
{
	__u64 v;

	if (!bt_number(text, 0xffffffff, &v))
		return -EINVAL;
	*val = v;
	return 0;
}

/* "MAP[3]=PROG" */
static int parse_fill(const char *text, struct bt_audit_fill *f)
{
	char index[16] = "", extra;

	if (sscanf(text, "%63[^[][%15[0-9]]=%63s%c", f->map, index, f->prog, &extra) != 3)
		return -EINVAL;
	return parse_u32(index, &f->index);
}

static int take_opt(const struct bt_cmd *cmd, struct args *a, int c)
{
	switch (c) {
	case OPT_OBJ:
		a->obj = optarg;
		return 0;
	case OPT_PROG:
		a->prog = optarg;
		return 0;
	case OPT_SETUP:
		a->setup = optarg;
		return 0;
	case OPT_NO_RUN:
		a->no_run = true;
		return 0;
	case OPT_ALLOW_UNKNOWN:
		a->allow_unknown = true;
		return 0;
	case OPT_PROG_ID:
		if (parse_u32(optarg, &a->prog_id) || !a->prog_id)
			return bt_usage(cmd, "'%s' is no program id", optarg);
		return 0;
	case OPT_FLOW:
		if (a->n_flows == FLOWS_MAX)
			return bt_usage(cmd, "at most %d flows", FLOWS_MAX);
		if (bt_flow_parse(optarg, &a->flows[a->n_flows]))
			return bt_usage(cmd,
					"'%s' is no flow: "
					"src=ADDR,dst=ADDR,sport=N,dport=N",
					optarg);
		a->n_flows++;
		return 0;
	case OPT_FILL:
		if (a->n_fills == FILLS_MAX)
			return bt_usage(cmd, "at most %d slots", FILLS_MAX);
		if (parse_fill(optarg, &a->fills[a->n_fills]))
			return bt_usage(cmd, "'%s' is no slot: MAP[INDEX]=PROGRAM", optarg);
		a->n_fills++;
		return 0;
	}
	return BT_EXIT_USAGE;
}

static int parse(int argc, char **argv, const struct bt_cmd *cmd, struct args *a)
{
	int c, err;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		err = take_opt(cmd, a, c);
		if (err)
			return err;
	}
	if (optind < argc)
		a->dev = argv[optind++];
	if (optind < argc)
		return bt_usage(cmd, "wants at most one device");
	if (!!a->dev + !!a->obj + !!a->prog_id > 1)
		return bt_usage(cmd, "wants a device, --obj or --prog-id, not several");
	if (!a->obj && (a->prog || a->setup || a->n_fills))
		return bt_usage(cmd, "--prog, --setup and --fill go with --obj");
	return 0;
}

static void on_result(void *arg, const struct bt_audit_result *res)
{
	struct report *r = arg;
	struct row *row = add_row(r);

	if (row)
		row->res = *res;
}

/* In a namespace of its own, so that nothing an object does can meet the host. */
static int audit_obj(struct bt_auditor *a, struct report *r, struct bt_audit_opts *o)
{
	const struct args *args = r->args;
	struct bt_audit_object obj = {
		.path = args->obj,
		.prog = args->prog,
		.setup = args->setup,
		.fills = args->fills,
		.n_fills = args->n_fills,
		.no_run = args->no_run,
	};
	int home __close = bt_netns_self();
	int err, private = bt_netns_new();

	o->ifindex = 1;
	o->any_device = true;
	err = bt_audit_file(a, &obj, o, on_result, r);
	if (private >= 0) {
		close(private);
		bt_netns_set(home);
	}
	return err;
}

static void cannot(struct bt_audit_result *res, __u32 id, const char *why)
{
	*res = (struct bt_audit_result){
		.verdict = BT_VERDICT_UNKNOWN,
		.prog_id = id,
		.worst = -1,
	};
	snprintf(res->why, sizeof(res->why), "%s", why);
}

/* A loaded program that others use. */
static void audit_live(struct bt_auditor *a, struct row *row, const struct bt_audit_opts *o,
		       bool no_run)
{
	int fd __close = bt_prog_by_id(row->at.prog_id);
	struct bt_prog_facts f;

	if (fd < 0) {
		cannot(&row->res, row->at.prog_id,
		       fd == -ENOENT ? "it is gone" : "looking at it needs CAP_SYS_ADMIN");
		return;
	}
	if (row->at.runs && row->at.ethernet && !no_run) {
		bt_audit_prog(a, fd, o, &row->res);
		return;
	}
	cannot(&row->res, row->at.prog_id, "");
	if (!bt_prog_facts(fd, &f)) {
		memcpy(row->res.name, f.name, sizeof(row->res.name));
		bt_prog_facts_free(&f);
	}
	if (!row->at.runs)
		snprintf(row->res.why, sizeof(row->res.why),
			 "not run: XDP, netkit and cgroup programs are not supported in this "
			 "version");
	else if (!row->at.ethernet)
		snprintf(row->res.why, sizeof(row->res.why),
			 "not run: the device has no Ethernet header, and a test run always has");
}

static int audit_id(struct bt_auditor *a, struct report *r, struct bt_audit_opts *o)
{
	int fd __close = bt_prog_by_id(r->args->prog_id);
	struct row *row;

	if (fd == -ENOENT)
		return bt_err(fd, "no program has the id %u", r->args->prog_id);
	if (fd < 0)
		return bt_err(fd, "cannot open program %u: %s; it needs CAP_SYS_ADMIN",
			      r->args->prog_id, strerror(-fd));
	row = add_row(r);
	if (!row)
		return -ENOMEM;
	row->at =
		(struct bt_attached){ .prog_id = r->args->prog_id, .runs = true, .ethernet = true };
	o->live = true;
	o->ifindex = 1;
	o->any_device = true;
	audit_live(a, row, o, r->args->no_run);
	return 0;
}

/* The verdict on the same program at the same kind of place, so that it is not run again. */
static const struct bt_audit_result *seen(const struct report *r, const struct bt_attached *at)
{
	for (unsigned int i = 0; i < r->n; i++) {
		const struct bt_attached *b = &r->rows[i].at;

		if (b->prog_id == at->prog_id && b->ifindex == at->ifindex &&
		    b->ingress == at->ingress && b->class_id == at->class_id)
			return &r->rows[i].res;
	}
	return NULL;
}

static int audit_hooks(struct bt_auditor *a, struct report *r, struct bt_audit_opts *o,
		       struct bt_host *host)
{
	struct bt_attached *list __free = NULL;
	const struct bt_audit_result *before;
	unsigned int n = 0;
	struct row *row;
	int err;

	err = bt_hooks_list(r->args->dev, &list, &n);
	if (err)
		return err;
	o->live = true;
	for (unsigned int i = 0; i < n; i++) {
		before = seen(r, &list[i]);
		row = add_row(r);
		if (!row)
			return -ENOMEM;
		row->at = list[i];
		if (before) {
			before = seen(r, &list[i]); /* the rows may have moved */
			row->res = *before;
			continue;
		}
		bt_host_addrs(host, list[i].dev);
		o->ifindex = list[i].ifindex ? list[i].ifindex : 1;
		o->any_device = !list[i].ifindex; /* an action: whichever filter uses it */
		o->ingress = list[i].ingress;
		o->class_id = list[i].class_id;
		memcpy(o->dmac, list[i].mac, sizeof(o->dmac));
		audit_live(a, row, o, r->args->no_run);
	}
	return 0;
}

/* "hbh PSH,ACK [2001:db8::1]:40000 > [2001:db8::2]:443, 66148 bytes" */
static void packet_text(const struct bt_packet *p, char *buf, size_t len)
{
	char flow[BT_FLOW_STR], flags[32];

	bt_flow_str(&p->flow, flow);
	bt_flags_str(p->flags, flags);
	snprintf(buf, len, "%s %s %s, %u bytes", bt_shape_name(p->shape, p->flow.family), flags,
		 flow, p->len);
}

static void evidence_text(const struct bt_audit_result *res, char *buf, size_t len)
{
	const struct bt_audit_form_result *f;
	char packet[256];
	size_t at;

	buf[0] = 0;
	if (res->worst < 0 || res->forms[res->worst].verdict < BT_VERDICT_MISREADS) {
		snprintf(buf, len, "%s", res->why);
		return;
	}
	f = &res->forms[res->worst];
	packet_text(&f->packet, packet, sizeof(packet));
	at = snprintf(buf, len, "%s%s (%s)", res->twin ? "is a twin, but: " : "", f->diff.text,
		      packet);
	if (f->diff.plain_bytes[0] && at < len)
		at += snprintf(buf + at, len - at, "; %s instead of %s", f->diff.jumbo_bytes,
			       f->diff.plain_bytes);
	if (res->branch[0] && res->worst == BT_AUDIT_HBH && at < len)
		snprintf(buf + at, len - at, "; at %s", res->branch);
}

static void json_outcome(const char *key, __u32 ret, const char *bytes)
{
	bt_obj_open(key);
	bt_print_int("return", NULL, (int)ret);
	bt_print_str("verdict", NULL, bt_ret_name(ret));
	if (bytes[0])
		bt_print_str("bytes", NULL, bytes);
	bt_obj_close();
}

static void json_form(const struct bt_audit_form_result *f, enum bt_audit_form form)
{
	char text[256];

	bt_obj_open(bt_audit_form_name(form));
	bt_print_bool("counts", NULL, f->counts);
	bt_print_bool("tried", NULL, f->tried);
	bt_print_str("verdict", NULL,
		     f->tried || f->verdict != BT_VERDICT_SAFE ? bt_verdict_name(f->verdict)
							       : "unknown");
	if (f->verdict >= BT_VERDICT_MISREADS) {
		bt_print_str("what", NULL, f->diff.text);
		packet_text(&f->packet, text, sizeof(text));
		bt_print_str("packet", NULL, text);
		bt_flags_str(f->packet.flags, text);
		bt_print_str("flags", NULL, text);
		json_outcome("plain", f->diff.plain_ret, f->diff.plain_bytes);
		json_outcome("jumbo", f->diff.jumbo_ret, f->diff.jumbo_bytes);
		if (f->diff.in_map) {
			bt_obj_open("map");
			bt_print_str("name", NULL, f->map);
			bt_print_uint("id", NULL, f->map_id);
			bt_print_str("key", NULL, f->diff.key);
			bt_obj_close();
		}
		if (f->diff.offset >= 0)
			bt_print_int("offset", NULL, f->diff.offset);
	}
	bt_obj_close();
}

static const char *verdict_of(const struct report *r, const struct bt_audit_result *res)
{
	return r->args->no_run ? NULL : bt_verdict_name(res->verdict);
}

static void json_row(const struct report *r, const struct row *row)
{
	const struct bt_attached *at = &row->at;
	const struct bt_audit_result *res = &row->res;
	char text[1024];

	bt_obj_open(NULL);
	bt_print_str("dev", NULL, at->dev[0] ? at->dev : NULL);
	if (at->ifindex)
		bt_print_uint("ifindex", NULL, at->ifindex);
	bt_print_str("hook", NULL, at->hook[0] ? at->hook : NULL);
	if (at->prio)
		bt_print_uint("prio", NULL, at->prio);
	bt_print_uint("id", NULL, at->prog_id ? at->prog_id : res->prog_id);
	bt_print_str("name", NULL, res->name);
	bt_print_str("verdict", NULL, verdict_of(r, res));
	if (!r->args->no_run) {
		evidence_text(res, text, sizeof(text));
		bt_print_str("evidence", NULL, text);
		bt_print_str("source", NULL, res->branch[0] ? res->branch : NULL);
		bt_print_uint("flows", NULL, res->flows);
		bt_print_uint("runs", NULL, res->runs);
		bt_obj_open("forms");
		for (unsigned int i = 0; i < BT_AUDIT_FORMS; i++)
			json_form(&res->forms[i], i);
		bt_obj_close();
	}
	bt_obj_close();
}

static void print_table(const struct report *r)
{
	static const struct bt_column cols[] = {
		{ "dev", "DEV" },   { "hook", "HOOK" },	      { "id", "ID" },
		{ "name", "NAME" }, { "verdict", "VERDICT" }, { "evidence", "EVIDENCE" },
	};
	struct bt_table *t = bt_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	char text[1024];

	for (unsigned int i = 0; i < r->n; i++) {
		const struct row *row = &r->rows[i];

		bt_row(t);
		bt_cell_str(t, "dev", row->at.dev[0] ? row->at.dev : NULL);
		bt_cell_str(t, "hook", row->at.hook[0] ? row->at.hook : NULL);
		/* ids of programs that the audit loaded itself say nothing */
		if (row->at.prog_id)
			bt_cell_uint(t, "id", row->at.prog_id);
		bt_cell_str(t, "name", row->res.name);
		bt_cell_str(t, "verdict", verdict_of(r, &row->res));
		evidence_text(&row->res, text, sizeof(text));
		bt_cell_str(t, "evidence", r->args->no_run || !text[0] ? NULL : text);
	}
	bt_table_end(t);
	if (!r->n)
		bt_text("no programs attached\n");
}

static void print_report(const struct report *r)
{
	if (!bt_print_json()) {
		print_table(r);
		return;
	}
	bt_arr_open(NULL);
	for (unsigned int i = 0; i < r->n; i++)
		json_row(r, &r->rows[i]);
	bt_arr_close();
}

static int exit_code(const struct report *r)
{
	enum bt_verdict worst = BT_VERDICT_SAFE;

	if (r->args->no_run)
		return BT_EXIT_OK;
	for (unsigned int i = 0; i < r->n; i++) {
		if (r->rows[i].res.verdict > worst)
			worst = r->rows[i].res.verdict;
	}
	if (worst > BT_VERDICT_UNKNOWN || (worst == BT_VERDICT_UNKNOWN && !r->args->allow_unknown))
		return BT_EXIT_UNSAFE;
	return BT_EXIT_OK;
}

int cmd_audit(int argc, char **argv)
{
	struct args args = {};
	struct report r = { .args = &args };
	struct bt_host host = {};
	struct bt_audit_opts o = { .user = args.flows, .host = &host };
	struct bt_auditor *a = NULL;
	int err;

	err = parse(argc, argv, bt_cmd_find(argv[0]), &args);
	if (err)
		return err;
	if (bt_global.dry_run)
		args.no_run = true;
	o.n_user = args.n_flows;
	bt_host_ports(&host);
	err = bt_auditor_open(&a);
	if (!err && !args.obj && !args.no_run)
		bt_note("programs are run on a few packets with addresses of 2001:db8::/32, "
			"192.0.2.0/24%s and 198.51.100.0/24: their maps may count them",
			args.dev ? "" : ", 8.0.0.0/16");
	if (err)
		return BT_EXIT_REFUSED;
	if (args.obj)
		err = audit_obj(a, &r, &o);
	else if (args.prog_id)
		err = audit_id(a, &r, &o);
	else
		err = audit_hooks(a, &r, &o, &host);
	bt_auditor_close(a);
	err = err ? err : r.err;
	if (!err)
		print_report(&r);
	free(r.rows);
	return err ? BT_EXIT_REFUSED : exit_code(&r);
}
