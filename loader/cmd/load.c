// SPDX-License-Identifier: GPL-2.0
/* bigtcp load: a program as its twin, pinned for whoever attaches it. */
#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "cmd/loading.h"
#include "core/pins.h"

#include <bpf/libbpf.h>
#include <unistd.h>

enum { OPT_PIN = OPT_OWN };

const struct bt_opt load_opts[] = {
	LOADING_OPTS,
	{ "pin", OPT_PIN, "PATH",
	  "where to pin it, in a BPF file system; its program arrays are pinned beside it, "
	  "as PATH-MAP: keep them while it is in use" },
	{ NULL },
};

static int pin(const struct loading *l, const char *path)
{
	int err;

	err = bt_pin_at(bpf_program__fd(l->prog), path);
	if (err)
		return err;
	err = bt_pin_prog_arrays(bt_object_bpf(l->obj), path);
	if (err)
		unlink(path);
	return err;
}

static int load(struct loading *l, const char *file, const char *path)
{
	int ret;

	bt_obj_open(NULL);
	ret = loading_run(l, file);
	if (ret)
		return ret;
	if (!bt_global.dry_run && pin(l, path)) {
		bt_object_undo_pins(l->obj);
		return BT_EXIT_REFUSED;
	}
	bt_print_str("prog", NULL, bpf_program__name(l->prog));
	bt_print_str("pin", bt_global.dry_run ? "would be pinned at %s\n" : "pinned at %s\n", path);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	return BT_EXIT_OK;
}

int cmd_load(int argc, char **argv)
{
	const struct bt_cmd *cmd = bt_cmd_find("load");
	const char *path = NULL;
	struct loading l = { 0 };
	int c, ret;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c == OPT_PIN)
			path = optarg;
		else if (loading_opt(&l, c))
			return BT_EXIT_USAGE;
	}
	if (argc - optind != 1)
		return bt_usage(cmd, "load wants one object file");
	if (!path)
		return bt_usage(cmd, "load wants --pin PATH: an unpinned program ends with this "
				     "command");
	ret = load(&l, argv[optind], path);
	loading_free(&l);
	return ret;
}
