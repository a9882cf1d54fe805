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
#include "base/progress.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"
#include "core/audit_live.h"

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
	{ "obj", OPT_OBJ, "FILE.o", "audit the programs of an object file, loaded apart" },
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

static struct audit_row *add_row(struct audit_report *r)
{
	if (r->n == r->cap) {
		struct audit_row *p = realloc(r->rows, (r->cap * 2 + 16) * sizeof(*p));

		if (!p) {
			r->err = -ENOMEM;
			return NULL;
		}
		r->rows = p;
		r->cap = r->cap * 2 + 16;
	}
	r->rows[r->n] = (struct audit_row){};
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

static int take_opt(const struct bt_cmd *cmd, struct audit_args *a, int c)
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

static int parse(int argc, char **argv, const struct bt_cmd *cmd, struct audit_args *a)
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
	struct audit_report *r = arg;
	struct audit_row *row = add_row(r);

	if (row)
		row->res = *res;
	bt_progress("programs audited", r->n, 0, res->name);
}

/* In a namespace of its own, so that nothing an object does can meet the host. */
static int audit_obj(struct bt_auditor *a, struct audit_report *r, struct bt_audit_opts *o)
{
	const struct audit_args *args = r->args;
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

static int audit_id(struct bt_auditor *a, struct audit_report *r, const struct bt_audit_opts *o,
		    struct bt_host *host)
{
	int fd __close = bt_prog_by_id(r->args->prog_id);
	struct audit_row *row;

	if (fd == -ENOENT)
		return bt_err(fd, "no program has the id %u", r->args->prog_id);
	if (fd < 0)
		return bt_err(fd, "cannot open program %u: %s; it needs CAP_SYS_ADMIN",
			      r->args->prog_id, strerror(-fd));
	row = add_row(r);
	if (!row)
		return -ENOMEM;
	row->at = (struct bt_attached){ .prog_id = r->args->prog_id, .ethernet = true };
	bt_audit_attached(a, &row->at, o, host, r->args->no_run, &row->res);
	return 0;
}

/* The verdict on the same program at the same kind of place, so that it is not run again. */
static const struct bt_audit_result *seen(const struct audit_report *r,
					  const struct bt_attached *at)
{
	for (unsigned int i = 0; i < r->n; i++) {
		const struct bt_attached *b = &r->rows[i].at;

		if (b->prog_id == at->prog_id && b->ifindex == at->ifindex && !b->dispatcher &&
		    b->ingress == at->ingress && b->class_id == at->class_id)
			return &r->rows[i].res;
	}
	return NULL;
}

static const enum bt_verdict *by_id(const struct audit_report *r, __u32 id)
{
	for (unsigned int i = r->n; i; i--) {
		if (r->rows[i - 1].at.prog_id == id)
			return &r->rows[i - 1].res.verdict;
	}
	return NULL;
}

static int audit_hooks(struct bt_auditor *a, struct audit_report *r, const struct bt_audit_opts *o,
		       struct bt_host *host)
{
	struct bt_attached *list __free = NULL;
	const struct bt_audit_result *before;
	unsigned int n = 0;
	struct audit_row *row;
	int err;

	err = bt_hooks_list(r->args->dev, &list, &n);
	if (err)
		return err;
	for (unsigned int i = 0; i < n; i++) {
		bt_progress("programs audited", i, n, list[i].dev);
		before = seen(r, &list[i]);
		row = add_row(r);
		if (!row)
			return -ENOMEM;
		row->at = list[i];
		if (list[i].dispatcher) {
			bt_audit_part(&row->at, by_id(r, list[i].dispatcher), &row->res);
			continue;
		}
		if (before) {
			before = seen(r, &list[i]); /* the rows may have moved */
			row->res = *before;
			continue;
		}
		bt_audit_attached(a, &row->at, o, host, r->args->no_run, &row->res);
	}
	return bt_xdp_notes(r->args->dev, &r->notes, &r->n_notes);
}

static int exit_code(const struct audit_report *r)
{
	enum bt_verdict worst = BT_VERDICT_SAFE;

	if (r->args->no_run)
		return BT_EXIT_OK;
	for (unsigned int i = 0; i < r->n; i++) {
		if (!r->rows[i].at.no_jumbo && r->rows[i].res.verdict > worst)
			worst = r->rows[i].res.verdict;
	}
	if (worst > BT_VERDICT_UNKNOWN || (worst == BT_VERDICT_UNKNOWN && !r->args->allow_unknown))
		return BT_EXIT_UNSAFE;
	return BT_EXIT_OK;
}

int cmd_audit(int argc, char **argv)
{
	struct audit_args args = {};
	struct audit_report r = { .args = &args };
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
		err = audit_id(a, &r, &o, &host);
	else
		err = audit_hooks(a, &r, &o, &host);
	bt_auditor_close(a);
	err = err ? err : r.err;
	if (!err)
		audit_print(&r);
	free(r.rows);
	free(r.notes);
	return err ? BT_EXIT_REFUSED : exit_code(&r);
}
