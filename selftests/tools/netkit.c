// SPDX-License-Identifier: GPL-2.0
/*
 * netkit DEV primary|peer PROG LINK: a link of the pinned program at a netkit device, pinned itself. bpftool
 * and iproute2 of Debian 12 do not know these.
 */
#include "base/bpf.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int prog __close = argc == 5 ? bpf_obj_get(argv[3]) : -1, link __close = -1;

	if (prog < 0)
		return 1;
	link = bt_link_create(prog, if_nametoindex(argv[1]),
			      strcmp(argv[2], "peer") ? BT_NETKIT_PRIMARY : BT_NETKIT_PEER, NULL);
	if (link < 0 || bpf_obj_pin(link, argv[4])) {
		fprintf(stderr, "netkit: %s\n", link < 0 ? strerror(-link) : "cannot pin");
		return 2;
	}
	return 0;
}
