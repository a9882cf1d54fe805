// SPDX-License-Identifier: GPL-2.0
/*
 * Forwarding of IPv6 packets with the jumbo header. skb_gso_network_seglen() counts the 8 bytes of the header although no segment
 * has them, so ip6_forward() answers "packet too big" to packets whose segments fill the next device's MTU.
 */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/preflight_int.h"

#define HEADER 8 /* bytes */

/* 1, 0, or -1: it cannot be read. */
static int sysctl(const char *dev, const char *name)
{
	char path[128];
	FILE *f __fclose = NULL;
	int val;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/%s", dev, name);
	f = fopen(path, "re");
	return f && fscanf(f, "%d", &val) == 1 ? val > 0 : -1;
}

static bool in_stack(const struct bt_pf *pf, int ifindex)
{
	for (unsigned int i = 0; i < pf->n_stack; i++) {
		if (!pf->stack[i].elsewhere && pf->stack[i].relation != BT_PEER &&
		    pf->stack[i].link.ifindex == ifindex)
			return true;
	}
	return ifindex == pf->dev.ifindex;
}

/* Up devices that packets of the device's MTU can be forwarded to, and whose MTU leaves no room for the header. */
static unsigned int tight(const struct bt_pf *pf, char *names, size_t len)
{
	struct bt_link *links __free = NULL;
	unsigned int n = 0, n_links = 0, at = 0;

	names[0] = 0;
	if (bt_link_list(&links, &n_links)) {
		bt_err_clear();
		return 0;
	}
	for (unsigned int i = 0; i < n_links; i++) {
		const struct bt_link *l = &links[i];

		if (in_stack(pf, l->ifindex) || (l->flags & IFF_LOOPBACK) || !(l->flags & IFF_UP) ||
		    l->master || l->mtu >= pf->dev.mtu + HEADER)
			continue;
		if (++n <= 4 && at < len)
			at += snprintf(names + at, len - at, "%s%s (%u)", n > 1 ? ", " : "",
				       l->name, l->mtu);
	}
	if (n > 4 && at < len)
		snprintf(names + at, len - at, " and %u more", n - 4);
	return n;
}

void bt_pf_forward(struct bt_pf *pf)
{
	const int all = sysctl("all", "forwarding"),
		  forced = sysctl(pf->dev.name, "force_forwarding"); /* 6.17 */
	struct bt_check *c;
	char names[160];

	if (!pf->hbh || (!all && forced <= 0)) {
		c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
		bt_say(&c->found, pf->hbh ? "IPv6 is not forwarded"
					  : "no jumbo header that forwarding would count");
		return;
	}
	if (all < 0 && forced < 0) {
		c = bt_pf_row(pf, BT_LEVEL_NOTE, &pf->dev);
		bt_say(&c->found, "whether IPv6 is forwarded cannot be read");
		bt_say(&c->why, "the kernel drops jumbo packets that it forwards at an equal MTU");
		bt_say(&c->advice, "see net.ipv6.conf.all.forwarding, if this kernel has IPv6");
		return;
	}
	if (!tight(pf, names, sizeof(names))) {
		c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
		bt_say(&c->found, "IPv6 is forwarded, but no device that is up has an MTU below %u",
		       pf->dev.mtu + HEADER);
		return;
	}
	c = bt_pf_row(pf, BT_LEVEL_REFUSE, &pf->dev);
	bt_say(&c->found, "IPv6 is forwarded from %s (MTU %u) to %s", pf->dev.name, pf->dev.mtu,
	       names);
	bt_say(&c->why,
	       "this kernel counts the jumbo header, finds such packets too big for an equal "
	       "MTU and drops them");
	bt_say(&c->advice,
	       "give those who send through it an MTU that is 8 lower: %u; if nobody does, use --force",
	       pf->dev.mtu - HEADER);
}
