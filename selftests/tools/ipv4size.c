// SPDX-License-Identifier: GPL-2.0
/* ipv4size DEV SIZE: gso_ipv4_max_size and gro_ipv4_max_size, which iproute2 before 6.3 can't set. */
#include "base/err.h"
#include "base/rtnl.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct bt_sizes sizes = { 0 };

	if (argc != 3)
		return 1;
	sizes.gso_ipv4 = sizes.gro_ipv4 = strtoul(argv[2], NULL, 0);
	if (bt_link_set_sizes(if_nametoindex(argv[1]), &sizes)) {
		fprintf(stderr, "ipv4size: %s\n", bt_err_text());
		return 2;
	}
	return 0;
}
