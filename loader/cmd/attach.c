// SPDX-License-Identifier: GPL-2.0
/* bigtcp attach: a program as its twin, on a hook of a device or a cgroup. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "cmd/hook.h"
#include "cmd/loading.h"
#include "core/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_PINNED = OPT_OWN, OPT_PLACE, OPT_LEGACY, OPT_MODE };

const struct bt_opt attach_opts[] = {
	LOADING_OPTS,
	{ "pinned", OPT_PINNED, "PATH", "attach a program that is loaded and pinned already" },
	{ "place", OPT_PLACE, "PLACE",
	  "ingress, egress: among the programs of the hook: head (default), tail, before:ID or after:ID of a program, "
	  "before:link:ID or after:link:ID" },
	{ "legacy", OPT_LEGACY, NULL,
	  "ingress, egress: a cls_bpf filter on clsact, as is done anyway where the kernel has no tcx "
	  "(before 6.6)" },
	{ "mode", OPT_MODE, "native|skb",
	  "xdp: in the driver, or generic (default: native if the driver has it)" },
	{ NULL },
};

struct args {
	struct bt_attach_opts at;
	struct loading load;
	const char *file, *pinned;
};

static int parse_relative(const char *arg, const char *s, struct bt_place *place)
{
	__u64 id;

	place->flags |= BT_F_ID;
	if (!strncmp(s, "link:", 5)) {
		place->flags |= BT_F_LINK;
		s += 5;
	}
	if (*s == '0' || !bt_number(s, 0xffffffff, &id))
		return bt_err(BT_EXIT_USAGE, "--place=%s: '%s' is no id", arg, s);
	place->relative = id;
	return 0;
}

static int parse_place(const char *arg, struct bt_place *place)
{
	*place = (struct bt_place){ 0 };
	if (!strcmp(arg, "head") || !strncmp(arg, "before:", 7))
		place->flags = BT_F_BEFORE;
	else if (!strcmp(arg, "tail") || !strncmp(arg, "after:", 6))
		place->flags = BT_F_AFTER;
	else
		return bt_err(BT_EXIT_USAGE,
			      "--place is head, tail, before:ID, after:ID, before:link:ID or "
			      "after:link:ID, not '%s'",
			      arg);
	return strchr(arg, ':') ? parse_relative(arg, strchr(arg, ':') + 1, place) : 0;
}

static int parse_mode(const char *arg, enum bt_xdp_mode *mode)
{
	if (!strcmp(arg, "native"))
		*mode = BT_XDP_NATIVE;
	else if (!strcmp(arg, "skb"))
		*mode = BT_XDP_SKB;
	else
		return bt_err(BT_EXIT_USAGE, "--mode is native or skb, not '%s'", arg);
	return 0;
}

static int parse_opt(int c, struct args *a)
{
	switch (c) {
	case OPT_PINNED:
		a->pinned = optarg;
		return 0;
	case OPT_LEGACY:
		a->at.legacy = true;
		return 0;
	case OPT_PLACE:
		return parse_place(optarg, &a->at.place);
	case OPT_MODE:
		return parse_mode(optarg, &a->at.mode);
	default:
		return loading_opt(&a->load, c);
	}
}

/* Options that say nothing about this hook. */
static int check_hook(const struct bt_cmd *cmd, const struct bt_attach_opts *at)
{
	bool tc = at->hook == BT_HOOK_INGRESS || at->hook == BT_HOOK_EGRESS;

	if (!tc && (at->legacy || at->place.flags))
		return bt_usage(cmd, "--place and --legacy are for ingress and egress");
	if (at->mode && at->hook != BT_HOOK_XDP)
		return bt_usage(cmd, "--mode is for xdp");
	return 0;
}

static int parse(int argc, char **argv, struct args *a)
{
	const struct bt_cmd *cmd = bt_cmd_find("attach");
	int c, ret;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (parse_opt(c, a))
			return BT_EXIT_USAGE;
	}
	argc -= optind;
	argv += optind;
	if (argc != (a->pinned ? 2 : 3))
		return bt_usage(
			cmd,
			"attach wants a device and ingress, egress or xdp, or a cgroup and "
			"cgroup-ingress or cgroup-egress, and an object file or --pinned PATH");
	if (a->pinned && (a->load.opts.only || a->load.opts.plain))
		return bt_usage(cmd,
				"--pinned names a program that is loaded: --prog and --plain say "
				"nothing about it");
	a->at.target = argv[0];
	a->file = a->pinned ? NULL : argv[2];
	a->at.dry_run = bt_global.dry_run;
	ret = parse_hook(cmd, argv[1], &a->at.hook);
	if (ret)
		return ret;
	a->load.opts.type = bt_hook_prog_type(a->at.hook);
	return check_hook(cmd, &a->at);
}

static int print_attached(const struct args *a, const struct bt_attached *done)
{
	if (bt_global.dry_run)
		bt_text("would be attached: ");
	print_attachment(a->at.target, done);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	return BT_EXIT_OK;
}

static int attach_file(struct args *a)
{
	struct bt_attached done;
	int ret;

	ret = loading_run(&a->load, a->file);
	if (ret)
		return ret;
	a->at.obj = bt_object_bpf(a->load.obj);
	if (bt_attach(bpf_program__fd(a->load.prog), bpf_program__name(a->load.prog), &a->at,
		      &done)) {
		bt_object_undo_pins(a->load.obj);
		return BT_EXIT_REFUSED;
	}
	return print_attached(a, &done);
}

/* A name for a pin: bpffs takes no dots, and '-' separates the parts of our names. */
static void pin_name(const struct bpf_prog_info *info, char *buf, size_t len)
{
	char *p;

	if (info->name[0])
		snprintf(buf, len, "%s", info->name);
	else
		snprintf(buf, len, "prog%u", info->id);
	for (p = buf; *p; p++) {
		if (*p == '.' || *p == '-')
			*p = '_';
	}
}

static int attach_pinned(struct args *a)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd __close = bpf_obj_get(a->pinned);
	struct bt_attached done;
	char name[32];

	if (fd < 0)
		return bt_err(BT_EXIT_REFUSED, "cannot open %s: %s", a->pinned,
			      errno == EINVAL || errno == EPERM ? "it is no pin" : strerror(errno));
	if (!bt_is_prog(fd) || bpf_obj_get_info_by_fd(fd, &info, &len))
		return bt_err(BT_EXIT_REFUSED, "%s is not the pin of a program", a->pinned);
	pin_name(&info, name, sizeof(name));
	if (bt_attach(fd, name, &a->at, &done))
		return BT_EXIT_REFUSED;
	return print_attached(a, &done);
}

int cmd_attach(int argc, char **argv)
{
	struct args a = { 0 };
	int ret;

	ret = parse(argc, argv, &a);
	if (ret)
		return ret;
	/* Before anything is loaded: what cannot be attached need not be verified. */
	if (bt_attach_check(&a.at))
		return BT_EXIT_REFUSED;
	bt_obj_open(NULL);
	ret = a.pinned ? attach_pinned(&a) : attach_file(&a);
	loading_free(&a.load);
	return ret;
}
