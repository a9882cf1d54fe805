// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>

#include "base/print.h"
#include "cmd/sizes.h"

const char *sizes_text(__u32 gso, __u32 gro, char *buf)
{
	if (!gso && !gro)
		snprintf(buf, SIZES_TEXT, "-");
	else if (gso == gro)
		snprintf(buf, SIZES_TEXT, "%u", gso);
	else
		snprintf(buf, SIZES_TEXT, "%u/%u", gso, gro);
	return buf;
}

void print_sizes(const char *key, const struct bt_sizes *s)
{
	if (!bt_print_json())
		return;
	bt_obj_open(key);
	bt_print_uint("gso", NULL, s->gso);
	bt_print_uint("gro", NULL, s->gro);
	bt_print_uint("gso_ipv4", NULL, s->gso_ipv4);
	bt_print_uint("gro_ipv4", NULL, s->gro_ipv4);
	bt_obj_close();
}
