// SPDX-License-Identifier: GPL-2.0
#include "base/cleanup.h"
#include "base/ethtool.h"
#include "core/audit_parts.h"
#include "core/hooks_int.h"

#include <string.h>

/*
 * Native XDP runs in the driver, before GRO puts packets together. A veth whose end has a native
 * program takes segmentation off the other end (veth_fix_features), so that all it gets are
 * packets of the MTU. tun gives what a native program can't take to a generic one.
 */
static const char *out_of_reach(const struct bt_link *link)
{
	struct bt_feature_state tso;

	/* Whether it holds on this kernel can be seen where the other end is at hand. */
	if (!strcmp(link->kind, "veth") && link->peer && !link->peer_elsewhere &&
	    !bt_ethtool_feature(link->peer, "tx-tcp6-segmentation", &tso) && tso.on)
		return NULL;
	if (!strcmp(link->kind, "veth"))
		return "sees no jumbo packet here: native XDP, for which the other end of the veth "
		       "sends packets of the MTU";
	if (!link->kind[0])
		return "sees no jumbo packet here: native XDP, which runs before GRO";
	return NULL;
}

static void add_parts(struct bt_hooks *l, __u32 id)
{
	struct bt_part *parts __free = NULL;
	unsigned int n = 0;

	if (bt_parts_list(&parts, &n))
		return; /* judged as a whole all the same */
	l->proto.dispatcher = id;
	for (unsigned int i = 0; i < n; i++) {
		if (parts[i].of == id)
			bt_hooks_add(l, parts[i].prog_id);
	}
	l->proto.dispatcher = 0;
}

void bt_hooks_xdp(struct bt_hooks *l, const struct bt_link *link)
{
	const struct {
		__u32 id;
		const char *hook, *no_jumbo;
	} modes[] = {
		{ link->xdp_hw_id, "xdp/hw", "sees no jumbo packet here: XDP in hardware" },
		{ link->xdp_drv_id, "xdp/native", out_of_reach(link) },
		{ link->xdp_skb_id, "xdp/generic", NULL },
	};

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!modes[i].id)
			continue;
		bt_hooks_at(l, modes[i].hook, true);
		l->proto.no_jumbo = modes[i].no_jumbo;
		bt_hooks_add(l, modes[i].id);
		add_parts(l, modes[i].id);
	}
	l->proto.no_jumbo = NULL;
}
