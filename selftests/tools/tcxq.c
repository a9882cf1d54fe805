// SPDX-License-Identifier: GPL-2.0
/* tcxq DEV ingress|egress: names of the programs at a tcx hook, one a line, in the order they run. */
#include "base/bpf.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct bt_hook hook;
	int err;

	if (argc != 3)
		return 1;
	err = bt_prog_query(if_nametoindex(argv[1]),
			    strcmp(argv[2], "egress") ? BT_TCX_INGRESS : BT_TCX_EGRESS, &hook);
	if (err) {
		fprintf(stderr, "tcxq: %s\n", strerror(-err));
		return 2;
	}
	for (__u32 i = 0; i < hook.n; i++) {
		int fd __close = bt_prog_by_id(hook.progs[i].prog_id);
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
			return 2;
		printf("%s %u %u\n", info.name, hook.progs[i].prog_id, hook.progs[i].link_id);
	}
	return 0;
}
