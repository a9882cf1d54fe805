// SPDX-License-Identifier: GPL-2.0
/* bigtcp detach: takes off what bigtcp attach put on a device, and nothing else. */
#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "cmd/hook.h"
#include "core/attach.h"

#include <string.h>

enum { OPT_PROG = 0x100 };

const struct bt_opt detach_opts[] = {
	{ "prog", OPT_PROG, "NAME",
	  "this program only (default: all that bigtcp has attached there)" },
	{ NULL },
};

int parse_hook(const struct bt_cmd *cmd, const char *word, bool *egress)
{
	*egress = !strcmp(word, "egress");
	if (*egress || !strcmp(word, "ingress"))
		return 0;
	return bt_usage(cmd, "the hook is ingress or egress, not '%s'", word);
}

void print_attachment(const char *dev, const struct bt_attached *a)
{
	bool cls = a->pin.kind == BT_PIN_CLS;

	bt_print_str("prog", "%s", a->pin.prog);
	bt_print_str("dev", " at %s", dev);
	bt_print_int("ifindex", NULL, a->pin.ifindex);
	bt_print_str("hook", " %s,", a->pin.egress ? "egress" : "ingress");
	bt_print_str("kind", " %s", cls ? "cls_bpf" : "tcx");
	bt_print_uint("prog_id", " program %lu", a->prog_id);
	if (cls) {
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
	bool egress;
	int c, ret;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c != OPT_PROG)
			return BT_EXIT_USAGE;
		prog = optarg;
	}
	if (argc - optind != 2)
		return bt_usage(cmd, "detach wants a device, and ingress or egress");
	ret = parse_hook(cmd, argv[optind + 1], &egress);
	if (ret)
		return ret;
	bt_obj_open(NULL);
	bt_arr_open("detached");
	ret = bt_detach(argv[optind], egress, prog, bt_global.dry_run, print_one, argv[optind]);
	bt_arr_close();
	if (ret < 0)
		return BT_EXIT_REFUSED;
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	return BT_EXIT_OK;
}
