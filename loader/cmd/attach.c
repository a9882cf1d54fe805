// SPDX-License-Identifier: GPL-2.0
/* bigtcp attach: a program as its twin, on a device's ingress or egress. */
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

enum { OPT_PINNED = OPT_OWN, OPT_PLACE, OPT_LEGACY };

const struct bt_opt attach_opts[] = {
	LOADING_OPTS,
	{ "pinned", OPT_PINNED, "PATH", "attach a program that is loaded and pinned already" },
	{ "place", OPT_PLACE, "PLACE",
	  "among the programs of the hook: head (default), tail, before:ID or after:ID of a program, "
	  "before:link:ID or after:link:ID" },
	{ "legacy", OPT_LEGACY, NULL,
	  "a cls_bpf filter on clsact, as is done anyway where the kernel has no tcx (before 6.6)" },
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

static int parse(int argc, char **argv, struct args *a)
{
	const struct bt_cmd *cmd = bt_cmd_find("attach");
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c == OPT_PINNED)
			a->pinned = optarg;
		else if (c == OPT_LEGACY)
			a->at.legacy = true;
		else if (c == OPT_PLACE ? parse_place(optarg, &a->at.place)
					: loading_opt(&a->load, c))
			return BT_EXIT_USAGE;
	}
	argc -= optind;
	argv += optind;
	if (argc != (a->pinned ? 2 : 3))
		return bt_usage(cmd,
				"attach wants a device, ingress or egress, and an object file or "
				"--pinned PATH");
	if (a->pinned && (a->load.opts.only || a->load.opts.plain))
		return bt_usage(cmd,
				"--pinned names a program that is loaded: --prog and --plain say "
				"nothing about it");
	a->at.dev = argv[0];
	a->file = a->pinned ? NULL : argv[2];
	a->at.dry_run = bt_global.dry_run;
	return parse_hook(cmd, argv[1], &a->at.egress);
}

static int print_attached(const struct args *a, const struct bt_attached *done)
{
	if (bt_global.dry_run)
		bt_text("would be attached: ");
	print_attachment(a->at.dev, done);
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
