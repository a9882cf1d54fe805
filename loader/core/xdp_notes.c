// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/ethtool.h"
#include "base/rtnl.h"
#include "core/xdp_notes.h"

/* What cuts a TCP packet into pieces of the MTU before the device gets it, when it is off. */
#define TSO6 "tx-tcp6-segmentation"

struct list {
	struct bt_xdp_note *v;
	unsigned int n;
};

static struct bt_xdp_note *add(struct list *l, const struct bt_link *link, const char *code)
{
	struct bt_xdp_note *v = reallocarray(l->v, l->n + 1, sizeof(*v));

	if (!v)
		return NULL;
	l->v = v;
	v = &l->v[l->n++];
	*v = (struct bt_xdp_note){ .ifindex = link->ifindex, .code = code };
	memcpy(v->dev, link->name, sizeof(v->dev));
	return v;
}

/* ", tx-tcp6-segmentation of NAME: off [fixed]"; false: it is on. */
static bool proof(int ifindex, const char *name, char *buf, size_t len)
{
	struct bt_feature_state s;

	buf[0] = 0;
	if (bt_ethtool_feature(ifindex, TSO6, &s))
		return true;
	snprintf(buf, len, ", " TSO6 " of %s: %s%s", name, s.on ? "on" : "off",
		 s.fixed ? " [fixed]" : "");
	return !s.on;
}

/* The other end of a veth, wherever it is. */
static int other_end(const struct bt_link *link, struct bt_link *peer)
{
	int err;

	if (strcmp(link->kind, "veth") != 0 || !link->peer)
		return -ENOENT;
	if (link->peer_elsewhere)
		return link->peer_nsid < 0 ? -ENOENT
					   : bt_link_get_in(link->peer_nsid, link->peer, peer);
	err = bt_link_get(link->peer, peer);
	if (err)
		bt_err_clear();
	return err;
}

static int native(struct list *l, const struct bt_link *link)
{
	struct bt_link peer;
	struct bt_xdp_note *n;
	char seen[96] = "";

	if (strcmp(link->kind, "veth") != 0 || !link->xdp_drv_id)
		return 0;
	if (!link->peer_elsewhere && !other_end(link, &peer) &&
	    !proof(peer.ifindex, peer.name, seen, sizeof(seen)))
		return 0;
	n = add(l, link, "xdp-native-veth");
	if (!n)
		return -ENOMEM;
	snprintf(n->found, sizeof(n->found), "native XDP (program %u) on an end of a veth%s",
		 link->xdp_drv_id, seen);
	n->why =
		"the other end cuts what it sends to packets of the MTU, whatever its gso_max_size: "
		"BIG TCP is off in this direction";
	n->advice = "attach the program in generic mode, or to tc, and audit it there";
	return 0;
}

static int native_peer(struct list *l, const struct bt_link *link)
{
	struct bt_feature_state s = {};
	struct bt_xdp_note *n;
	struct bt_link peer;
	char seen[96] = "";
	bool read = !other_end(link, &peer);

	if (strcmp(link->kind, "veth") != 0 || (read && !peer.xdp_drv_id))
		return 0;
	/* An end that can't be read: nothing else than native XDP takes the offload away for good. */
	if (!read && (bt_ethtool_feature(link->ifindex, TSO6, &s) || s.on || !s.fixed))
		return 0;
	if (!proof(link->ifindex, link->name, seen, sizeof(seen)))
		return 0;
	n = add(l, link, "xdp-native-peer");
	if (!n)
		return -ENOMEM;
	if (read)
		snprintf(n->found, sizeof(n->found),
			 "native XDP (program %u) on %s, the other end of the veth%s%s",
			 peer.xdp_drv_id, peer.name,
			 link->peer_elsewhere ? " in another namespace" : "", seen);
	else
		snprintf(
			n->found, sizeof(n->found),
			"native XDP, it seems, on the other end of the veth, which cannot be read%s",
			seen);
	n->why =
		"this end cuts what it sends to packets of the MTU, whatever its gso_max_size: BIG "
		"TCP is off in this direction";
	n->advice =
		"attach the program at the other end in generic mode, or to tc, and audit it there";
	return 0;
}

static int generic(struct list *l, const struct bt_link *link)
{
	struct bt_xdp_note *n;

	if (!link->xdp_skb_id)
		return 0;
	n = add(l, link, "xdp-generic");
	if (!n)
		return -ENOMEM;
	snprintf(n->found, sizeof(n->found), "generic XDP (program %u)", link->xdp_skb_id);
	n->why =
		!strcmp(link->kind, "veth")
			? "GRO is off on this device: what comes in is not put together; jumbo "
			  "packets that the other end of the veth sends still come, and the program "
			  "sees them"
			: "GRO is off on this device: what comes in is not put together, BIG TCP is "
			  "off on receive";
	n->advice = "attach the program to tc, or natively to a NIC";
	return 0;
}

static int of_link(struct list *l, const struct bt_link *link)
{
	int err = native(l, link);

	if (!err)
		err = native_peer(l, link);
	return err ? err : generic(l, link);
}

int bt_xdp_notes(const char *dev, struct bt_xdp_note **notes, unsigned int *n)
{
	struct bt_link *links __free = NULL;
	unsigned int n_links = 1;
	struct list l = {};
	int err;

	if (dev) {
		links = malloc(sizeof(*links));
		err = links ? bt_link_get_name(dev, links) : -ENOMEM;
	} else {
		err = bt_link_list(&links, &n_links);
	}
	for (unsigned int i = 0; i < n_links && !err; i++)
		err = of_link(&l, &links[i]);
	if (err) {
		free(l.v);
		return err == -ENOMEM ? bt_err(err, "out of memory") : err;
	}
	*notes = l.v;
	*n = l.n;
	return 0;
}
