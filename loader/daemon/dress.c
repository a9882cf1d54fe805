// SPDX-License-Identifier: GPL-2.0
#include "daemon/dress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/guard.h"
#include "core/observe.h"

/* What `bigtcp guard DEV` sets, where there is no guard. */
static int guard(const char *dev, bool *changed)
{
	struct bt_guard_opts o = {
		.dev = dev,
		.hook = BT_HOOK_INGRESS,
		.conf = { .drop = GUARD_WRONG_MASK,
			  .burst = GUARD_BURST,
			  .interval = GUARD_INTERVAL },
	};
	struct bt_guard *list = NULL, g;
	unsigned int n = 0;
	bool there;
	int err;

	err = bt_guard_list(dev, &list, &n);
	if (err)
		return err;
	bt_guard_list_free(list, n);
	if (n)
		return 0;
	err = bt_guard_set(&o, &g, &there);
	if (err)
		return err;
	bt_guard_close(&g);
	*changed = true;
	return 0;
}

int bt_dress(const char *dev, bool observe, bool want_guard, bool *observed, bool *guarded)
{
	int err = 0;

	if (observe)
		err = bt_observe_on(dev, observed);
	if (!err && want_guard)
		err = guard(dev, guarded);
	return err;
}

struct reading {
	struct bt_own *own;
	__u64 netns;
};

static int on_pin(const struct bt_pin *pin, const char *path, void *arg)
{
	struct reading *r = arg;
	struct bt_attached at = {};
	struct bt_own_prog *more;

	if (pin->netns != r->netns || strncmp(pin->prog, "bigtcp_", 7) != 0 ||
	    !bt_attached_read(pin, path, &at))
		return 0;
	more = reallocarray(r->own->v, r->own->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->own->v = more;
	more[r->own->n++] = (struct bt_own_prog){ at.prog_id, pin->ifindex };
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct bt_own_prog *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int bt_own_read(struct bt_own *own)
{
	int netns __close = bt_netns_self();
	struct reading r = { .own = own };
	int dirfd __close = -1;
	int err;

	*own = (struct bt_own){};
	if (netns < 0 || bt_netns_inode(netns, &r.netns))
		return -EIO;
	dirfd = bt_pins_open(true);
	err = dirfd < 0 ? dirfd : bt_pins_each(dirfd, on_pin, &r);
	bt_err_clear();
	if (own->n)
		qsort(own->v, own->n, sizeof(*own->v), by_id);
	return err == -ENOENT ? 0 : err;
}

bool bt_own_has(const struct bt_own *own, __u32 id)
{
	const struct bt_own_prog key = { .id = id };

	return own->n && bsearch(&key, own->v, own->n, sizeof(key), by_id);
}

unsigned int bt_own_at(const struct bt_own *own, int ifindex)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < own->n; i++)
		n += own->v[i].ifindex == ifindex;
	return n;
}

void bt_own_free(struct bt_own *own)
{
	free(own->v);
	*own = (struct bt_own){};
}
