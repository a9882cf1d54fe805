// SPDX-License-Identifier: GPL-2.0
/* bigtcp detach: takes off what bigtcp attach put on a device or a cgroup, and nothing else. */
#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "cmd/hook.h"
#include "core/attach.h"

#include <linux/if_link.h>
#include <string.h>

enum { OPT_PROG = 0x100 };

const struct bt_opt detach_opts[] = {
	{ "prog", OPT_PROG, "NAME",
	  "this program only (default: all that bigtcp has attached there)" },
	{ NULL },
};

int parse_hook(const struct bt_cmd *cmd, const char *word, enum bt_hook_id *hook)
{
	if (!bt_hook_parse(word, hook))
		return 0;
	return bt_usage(cmd,
			"the hook is ingress, egress or xdp of a device, or cgroup-ingress or "
			"cgroup-egress of a cgroup, not '%s'",
			word);
}

static const char *kind_name(const struct bt_attached *a)
{
	switch (a->pin.hook) {
	case BT_HOOK_XDP:
		return a->xdp_mode == XDP_ATTACHED_SKB	 ? "generic"
		       : a->xdp_mode == XDP_ATTACHED_DRV ? "native"
							 : "xdp";
	case BT_HOOK_CGROUP_INGRESS:
	case BT_HOOK_CGROUP_EGRESS:
		return "cgroup_skb";
	default:
		return a->pin.kind == BT_PIN_CLS ? "cls_bpf" : "tcx";
	}
}

void print_attachment(const char *target, const struct bt_attached *a)
{
	bt_print_str("prog", "%s", a->pin.prog);
	bt_print_str(a->pin.cgroup ? "cgroup" : "dev", " at %s", target);
	if (a->pin.cgroup)
		bt_print_uint("cgroup_id", NULL, a->pin.cgroup);
	else
		bt_print_int("ifindex", NULL, a->pin.ifindex);
	bt_print_str("hook", " %s,", bt_hook_name(a->pin.hook));
	bt_print_str("kind", " %s", kind_name(a));
	bt_print_uint("prog_id", " program %lu", a->prog_id);
	if (a->pin.kind == BT_PIN_CLS) {
		bt_print_uint("prio", " prio %lu", a->pin.prio);
		bt_print_uint("handle", " handle 0x%lx", a->pin.handle);
	} else if (a->link_id) {
		bt_print_uint("link_id", " link %lu", a->link_id);
	}
	bt_print_str("pin", NULL, a->path);
	bt_text("\n");
}

static void print_one(const struct bt_attached *a, void *arg)
{
	bt_obj_open(NULL);
	bt_text(bt_global.dry_run ? "would be detached: " : "detached: ");
	print_attachment(arg, a);
	bt_obj_close();
}

int cmd_detach(int argc, char **argv)
{
	const struct bt_cmd *cmd = bt_cmd_find("detach");
	const char *prog = NULL;
	enum bt_hook_id hook;
	int c, ret;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c != OPT_PROG)
			return BT_EXIT_USAGE;
		prog = optarg;
	}
	if (argc - optind != 2)
		return bt_usage(cmd,
				"detach wants a device and ingress, egress or xdp, or a cgroup and "
				"cgroup-ingress or cgroup-egress");
	ret = parse_hook(cmd, argv[optind + 1], &hook);
	if (ret)
		return ret;
	bt_obj_open(NULL);
	bt_arr_open("detached");
	ret = bt_detach(argv[optind], hook, prog, bt_global.dry_run, print_one, argv[optind]);
	bt_arr_close();
	if (ret < 0)
		return BT_EXIT_REFUSED;
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	return BT_EXIT_OK;
}
