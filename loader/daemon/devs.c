// SPDX-License-Identifier: GPL-2.0
#include "daemon/devs.h"

#include <stdlib.h>

#define BUCKETS 1024

struct bt_devs {
	struct bt_dev *v[BUCKETS];
};

struct bt_devs *bt_devs_new(void)
{
	return calloc(1, sizeof(struct bt_devs));
}

void bt_devs_free(struct bt_devs **d)
{
	if (!*d)
		return;
	bt_devs_sweep(*d, 0, NULL, NULL);
	free(*d);
	*d = NULL;
}

static unsigned int bucket_of(int nsid, int ifindex)
{
	return ((unsigned int)ifindex + (unsigned int)nsid * 31) % BUCKETS;
}

struct bt_dev *bt_devs_find(const struct bt_devs *d, int nsid, int ifindex)
{
	struct bt_dev *dev = d->v[bucket_of(nsid, ifindex)];

	while (dev && (dev->nsid != nsid || dev->ifindex != ifindex))
		dev = dev->next;
	return dev;
}

struct bt_dev *bt_devs_get(struct bt_devs *d, int nsid, int ifindex, unsigned int round)
{
	struct bt_dev *dev = bt_devs_find(d, nsid, ifindex);
	struct bt_dev **at = &d->v[bucket_of(nsid, ifindex)];

	if (!dev) {
		dev = calloc(1, sizeof(*dev));
		if (!dev)
			return NULL;
		dev->nsid = nsid;
		dev->ifindex = ifindex;
		dev->next = *at;
		*at = dev;
	}
	if (dev->round != round)
		dev->named = false;
	dev->round = round;
	return dev;
}

void bt_devs_each(const struct bt_devs *d, void (*fn)(void *arg, const struct bt_dev *dev),
		  void *arg)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (const struct bt_dev *dev = d->v[i]; dev; dev = dev->next)
			fn(arg, dev);
	}
}

unsigned int bt_devs_sweep(struct bt_devs *d, unsigned int round,
			   bool (*gone)(void *arg, const struct bt_dev *dev), void *arg)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < BUCKETS; i++) {
		struct bt_dev **p = &d->v[i], *dev;

		while ((dev = *p)) {
			if ((round && dev->round == round) || (gone && !gone(arg, dev))) {
				p = &dev->next;
				continue;
			}
			*p = dev->next;
			free(dev->culprit);
			free(dev);
			n++;
		}
	}
	return n;
}
