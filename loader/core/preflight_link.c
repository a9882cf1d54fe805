// SPDX-License-Identifier: GPL-2.0
/* systemd's .link files, which udev applies whenever the device appears or is triggered. */
#include <net/if_arp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "core/linkfile.h"
#include "core/preflight_int.h"

#define RENAMED 4 /* NET_NAME_RENAMED of linux/netdevice.h */

static void mac_of(const struct bt_link *link, char buf[18])
{
	int fd __close = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {};
	const __u8 *m = (__u8 *)r.ifr_hwaddr.sa_data;

	buf[0] = 0;
	memcpy(r.ifr_name, link->name, sizeof(r.ifr_name));
	if (fd >= 0 && link->arp_type == ARPHRD_ETHER && !ioctl(fd, SIOCGIFHWADDR, &r))
		snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
			 m[5]);
}

static bool was_renamed(const struct bt_link *link)
{
	char path[80];
	FILE *f __fclose = NULL;
	int how;

	snprintf(path, sizeof(path), "/sys/class/net/%s/name_assign_type", link->name);
	f = fopen(path, "re");
	return f && fscanf(f, "%d", &how) == 1 && how == RENAMED;
}

/* Does it undo something? */
static bool undoes(struct bt_pf *pf, const struct bt_linkfile *f)
{
	const bool maybe = f->match == BT_MATCH_MAYBE;
	const char *if_so = maybe ? ", if its conditions, which cannot all be told, are met" : "";
	struct bt_check *c;
	bool size = f->gso_max && f->gso_max < bt_pf_size(pf);

	if (!size && !f->off)
		return false;
	c = bt_pf_row(pf, maybe ? BT_LEVEL_NOTE : BT_LEVEL_WARNING, &pf->dev);
	if (size)
		bt_say(&c->found, "%s%.160s: GenericSegmentOffloadMaxBytes=%llu",
		       strlen(f->path) > 160 ? "..." : "", f->path, f->gso_max);
	else
		bt_say(&c->found, "%s%.160s: %s is off", strlen(f->path) > 160 ? "..." : "",
		       f->path, f->off);
	bt_say(&c->why,
	       "udev sets it%s, whenever the device appears or is triggered (udevadm trigger)",
	       if_so);
	bt_say(&c->advice, "take that line out of it, or put a file of an earlier name into "
			   "/etc/systemd/network");
	return true;
}

void bt_pf_link_file(struct bt_pf *pf)
{
	struct bt_linkfile *list __free = NULL;
	unsigned int n = 0, unread = 0, bad = 0;
	char mac[18];
	const struct bt_linkdev dev = {
		.name = pf->dev.name,
		.driver = pf->driver,
		.kind = pf->dev.kind,
		.mac = mac,
		.ethernet = pf->dev.arp_type == ARPHRD_ETHER,
		.renamed = was_renamed(&pf->dev),
	};
	struct bt_check *c;
	int err;

	mac_of(&pf->dev, mac);
	err = bt_linkfile_find(pf->root, &dev, &list, &n, &unread);
	if (err) {
		pf->err = err;
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		bad += undoes(pf, &list[i]);
	if (unread) {
		c = bt_pf_row(pf, BT_LEVEL_NOTE, &pf->dev);
		bt_say(&c->found, "%u .link files or folders of systemd cannot be read", unread);
		bt_say(&c->why, "they may set the sizes back whenever udev is triggered");
		bt_say(&c->advice, "see /etc/systemd/network, /run/systemd/network and "
				   "/usr/lib/systemd/network");
	} else if (!bad) {
		c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
		bt_say(&c->found, "no .link file of systemd sets it back");
	}
}
