// SPDX-License-Identifier: GPL-2.0
#include "core/guard.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <string.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rtnl.h"
#include "core/ownprog.h"
#include "guard_tc.skel.h"
#include "guard_xdp.skel.h"

const struct bt_guard_class bt_guard_classes[GUARD_NR] = {
#define ROW(sym, name, kind, rule, help) { name, kind, rule, help },
	GUARD_CLASSES(ROW)
#undef ROW
};

int bt_guard_class(const char *name, size_t len)
{
	for (int i = 0; i < GUARD_NR; i++) {
		const char *n = bt_guard_classes[i].name;

		if (strlen(n) == len && !memcmp(n, name, len))
			return i;
	}
	return -ENOENT;
}

/* --- the program -------------------------------------------------------------------------------- */

/* One of the two; both NULL: none. */
struct loaded {
	struct guard_tc *tc;
	struct guard_xdp *xdp;
	int prog_fd, conf_fd, counts_fd, events_fd;
};

static void unload(struct loaded *l)
{
	guard_tc__destroy(l->tc);
	guard_xdp__destroy(l->xdp);
}

#define FDS_OF(l, s, prog_name)                                       \
	do {                                                          \
		(l)->prog_fd = bpf_program__fd((s)->progs.prog_name); \
		(l)->conf_fd = bpf_map__fd((s)->maps.guard_conf);     \
		(l)->counts_fd = bpf_map__fd((s)->maps.guard_counts); \
		(l)->events_fd = bpf_map__fd((s)->maps.guard_events); \
	} while (0)

static int load_tc(struct loaded *l, __u32 link)
{
	l->tc = guard_tc__open();
	if (!l->tc)
		return bt_own_load_error(-errno, "the guard");
	l->tc->rodata->guard_link = link;
	if (guard_tc__load(l->tc))
		return bt_own_load_error(-errno, "the guard");
	FDS_OF(l, l->tc, guard_tc);
	return 0;
}

static int load_xdp(struct loaded *l, __u32 link)
{
	l->xdp = guard_xdp__open();
	if (!l->xdp)
		return bt_own_load_error(-errno, "the guard");
	l->xdp->rodata->guard_link = link;
	if (guard_xdp__load(l->xdp))
		return bt_own_load_error(-errno, "the guard");
	FDS_OF(l, l->xdp, guard_xdp);
	return 0;
}

/* What its packets start with. */
static int link_type(const struct bt_guard_opts *o, const struct bt_link *dev, __u32 *link)
{
	switch (dev->arp_type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
		*link = GUARD_LINK_ETHER;
		return 0;
	case ARPHRD_NONE: /* tun, WireGuard */
	case ARPHRD_RAWIP:
		*link = GUARD_LINK_NONE;
		return 0;
	}
	*link = GUARD_LINK_UNKNOWN;
	if (o->hook != BT_HOOK_XDP)
		return 0;
	return bt_err(
		-EOPNOTSUPP,
		"%s is no Ethernet device (type %u), and XDP does not say where IPv6 starts there: "
		"use --hook tc",
		o->dev, dev->arp_type);
}

/* Before the program sees its first packet. */
static int put_maps(const struct loaded *l, int ifindex, const struct guard_conf *conf)
{
	int cpus = libbpf_num_possible_cpus();
	void *zero __free = NULL;
	__u32 key = ifindex;

	if (cpus < 0)
		return cpus;
	zero = calloc((size_t)cpus, sizeof(struct guard_counts));
	if (!zero)
		return -ENOMEM;
	if (bpf_map_update_elem(l->conf_fd, &key, conf, BPF_ANY) ||
	    bpf_map_update_elem(l->counts_fd, &key, zero, BPF_ANY))
		return -errno;
	return 0;
}

/* --- guards that are there ---------------------------------------------------------------------- */

void bt_guard_close(struct bt_guard *g)
{
	int *fds[] = { &g->conf_fd, &g->counts_fd, &g->events_fd };

	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void bt_guard_list_free(struct bt_guard *list, unsigned int n)
{
	while (n)
		bt_guard_close(&list[--n]);
	free(list);
}

/* Finds the maps of a guard's program; reads the configuration. */
static int open_maps(struct bt_guard *g)
{
	__u32 key = g->at.pin.ifindex;

	g->conf_fd = bt_own_map(g->at.prog_id, GUARD_MAP_CONF);
	if (g->conf_fd < 0 && g->conf_fd != -ENOENT)
		return bt_err(g->conf_fd, "cannot look at the guard's program %u: %s",
			      g->at.prog_id, strerror(-g->conf_fd));
	g->counts_fd = bt_own_map(g->at.prog_id, GUARD_MAP_COUNTS);
	g->events_fd = bt_own_map(g->at.prog_id, GUARD_MAP_EVENTS);
	if (g->counts_fd == -EMFILE || g->events_fd == -EMFILE)
		return bt_err(-EMFILE, "more guards than file descriptors: see 'ulimit -n'");
	if (g->conf_fd < 0 || g->counts_fd < 0 || g->events_fd < 0 ||
	    bpf_map_lookup_elem(g->conf_fd, &key, &g->conf))
		return bt_err(-ENOENT, "program %u at %s is no guard of this version of bigtcp",
			      g->at.prog_id, g->dev);
	return 0;
}

struct listing {
	struct bt_guard *list;
	unsigned int n;
};

static int list_one(const struct bt_attached *at, const char *dev, void *arg)
{
	struct bt_guard *list, g = { .at = *at, .conf_fd = -1, .counts_fd = -1, .events_fd = -1 };
	struct listing *l = arg;
	int err;

	snprintf(g.dev, sizeof(g.dev), "%s", dev);
	err = open_maps(&g);
	list = err ? NULL : realloc(l->list, (l->n + 1) * sizeof(*list));
	if (!list) {
		bt_guard_close(&g);
		return err ? err : -ENOMEM;
	}
	l->list = list;
	list[l->n++] = g;
	return 0;
}

int bt_guard_list(const char *dev, struct bt_guard **list, unsigned int *n)
{
	struct listing l = { 0 };
	int err = bt_attached_each(dev, BT_PIN_GUARD, list_one, &l);

	if (err) {
		bt_guard_list_free(l.list, l.n);
		return err;
	}
	*list = l.list;
	*n = l.n;
	return 0;
}

struct each {
	int (*fn)(const struct bt_guard *g, void *arg);
	void *arg;
};

static int each_one(const struct bt_attached *at, const char *dev, void *arg)
{
	struct bt_guard g = { .at = *at, .conf_fd = -1, .counts_fd = -1, .events_fd = -1 };
	const struct each *e = arg;
	int err;

	snprintf(g.dev, sizeof(g.dev), "%s", dev);
	err = open_maps(&g);
	if (!err)
		err = e->fn(&g, e->arg);
	bt_guard_close(&g);
	return err;
}

int bt_guard_each(const char *dev, int (*fn)(const struct bt_guard *g, void *arg), void *arg)
{
	struct each e = { fn, arg };

	return bt_attached_each(dev, BT_PIN_GUARD, each_one, &e);
}

static int is_it(const struct bt_attached *at, const char *dev, void *arg)
{
	(void)dev;
	return at->prog_id == *(const __u32 *)arg;
}

bool bt_guard_is(__u32 prog_id, const char *dev)
{
	int found = bt_attached_each(dev, BT_PIN_GUARD, is_it, &prog_id);

	if (found < 0)
		bt_err_clear();
	return found == 1;
}

int bt_guard_counts(const struct bt_guard *g, struct guard_counts *sum)
{
	int cpus = libbpf_num_possible_cpus();
	struct guard_counts *cpu __free = NULL;
	__u32 key = g->at.pin.ifindex;
	__u64 *to = (__u64 *)sum;

	if (cpus < 0)
		return cpus;
	cpu = calloc((size_t)cpus, sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	if (bpf_map_lookup_elem(g->counts_fd, &key, cpu))
		return -errno;
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < cpus; i++) {
		const __u64 *from = (const __u64 *)&cpu[i];

		for (size_t k = 0; k < sizeof(*sum) / sizeof(*to); k++)
			to[k] += from[k];
	}
	return 0;
}

/* --- attach and change -------------------------------------------------------------------------- */

/* The guard that is there already: 1, 0 if there is none, or -errno. */
static int find_own(const struct bt_guard_opts *o, struct bt_guard *g)
{
	struct bt_guard *list;
	unsigned int n;
	int err, ret = 0;

	err = bt_guard_list(o->dev, &list, &n);
	if (err)
		return err;
	for (unsigned int i = 0; i < n && !ret; i++) {
		if (list[i].at.pin.hook != o->hook)
			continue;
		*g = list[i];
		list[i].conf_fd = list[i].counts_fd = list[i].events_fd = -1;
		ret = 1;
	}
	bt_guard_list_free(list, n);
	return ret;
}

static int change(const struct bt_guard_opts *o, struct bt_guard *g)
{
	__u32 key = g->at.pin.ifindex;
	bool skb = g->at.xdp_mode == XDP_ATTACHED_SKB;

	if (o->hook == BT_HOOK_XDP && o->mode != BT_XDP_ANY && skb != (o->mode == BT_XDP_SKB))
		return bt_err(
			-EBUSY,
			"the guard at %s xdp is in %s mode: take it off first with 'bigtcp guard %s "
			"--off'",
			o->dev, skb ? "skb" : "native", o->dev);
	g->conf = o->conf;
	if (!o->dry_run && bpf_map_update_elem(g->conf_fd, &key, &o->conf, BPF_ANY))
		return bt_err(-errno, "cannot change the guard at %s: %s", o->dev, strerror(errno));
	return 0;
}

/* Somebody has the XDP hook. */
static int xdp_taken(const char *dev, __u32 prog_id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd __close = bt_prog_by_id(prog_id);

	if (fd >= 0)
		bpf_obj_get_info_by_fd(fd, &info, &len);
	bt_err_clear();
	return bt_err(
		-EBUSY,
		"program %u%s%s is at %s xdp, which takes one program: guard the tc hook (--hook tc), or, where "
		"libxdp puts programs into one chain, add the guard to it: xdp-loader load %s "
		"guard_xdp.bpf.o (without --show and --drop)",
		prog_id, *info.name ? " " : "", info.name, dev, dev);
}

static int attach(const struct bt_guard_opts *o, struct bt_guard *g)
{
	struct bt_attach_opts at = {
		.hook = o->hook,
		.target = o->dev,
		.mode = o->mode,
		.legacy = o->legacy,
		.dry_run = o->dry_run,
	};
	struct loaded l __cleanup(unload) = { .prog_fd = -1 };
	struct bt_link dev;
	__u32 link;
	int err;

	err = bt_link_get_name(o->dev, &dev);
	if (!err)
		err = link_type(o, &dev, &link);
	if (err)
		return err;
	if (o->mode == BT_XDP_ANY && !strcmp(dev.kind, "veth"))
		at.mode = BT_XDP_SKB;
	err = bt_attach_check(&at);
	if (err == -EBUSY)
		return xdp_taken(o->dev, dev.xdp_prog_id);
	if (!err)
		err = o->hook == BT_HOOK_XDP ? load_xdp(&l, link) : load_tc(&l, link);
	if (err)
		return err;
	err = put_maps(&l, dev.ifindex, &o->conf);
	if (err)
		return bt_err(err, "cannot fill the guard's maps: %s", strerror(-err));
	err = bt_attach(l.prog_fd, BT_PIN_GUARD, &at, &g->at);
	if (err)
		return err;
	snprintf(g->dev, sizeof(g->dev), "%s", o->dev);
	g->conf = o->conf;
	return o->dry_run ? 0 : open_maps(g);
}

int bt_guard_set(const struct bt_guard_opts *o, struct bt_guard *g, bool *changed)
{
	struct bt_guard new = { .conf_fd = -1, .counts_fd = -1, .events_fd = -1 };
	int err;

	err = find_own(o, &new);
	if (err < 0)
		return err;
	*changed = err;
	err = *changed ? change(o, &new) : attach(o, &new);
	if (err) {
		bt_guard_close(&new);
		return err;
	}
	*g = new;
	return 0;
}

/* --- events --------------------------------------------------------------------------------------- */

struct reader {
	const struct bt_guard *g;
	void (*fn)(const struct bt_guard *g, const struct guard_event *e);
	bool skip;
};

static int on_event(void *arg, void *data, size_t len)
{
	struct reader *r = arg;

	if (!r->skip && len >= sizeof(struct guard_event))
		r->fn(r->g, data);
	return 0;
}

/* Are all of them gone? */
static bool all_gone(const struct bt_guard *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (!access(list[i].at.path, F_OK) && if_nametoindex(list[i].dev))
			return false;
	}
	return true;
}

static int read_events(struct ring_buffer *rb, struct bt_guard *list, unsigned int n,
		       struct reader *readers, volatile sig_atomic_t *stop,
		       void (*tick)(struct bt_guard *list, unsigned int n))
{
	int err;

	/* What nobody has read so far may be from last week. */
	err = ring_buffer__consume(rb);
	for (unsigned int i = 0; i < n; i++)
		readers[i].skip = false;
	tick(list, n);
	while (err >= 0 && !*stop) {
		err = ring_buffer__poll(rb, 300);
		if (err == -EINTR)
			err = 0;
		tick(list, n);
		if (all_gone(list, n))
			return 0;
	}
	return err < 0 ? bt_err(err, "cannot read the guard's events: %s", strerror(-err)) : 0;
}

int bt_guard_watch(struct bt_guard *list, unsigned int n, volatile sig_atomic_t *stop,
		   void (*fn)(const struct bt_guard *g, const struct guard_event *e),
		   void (*tick)(struct bt_guard *list, unsigned int n))
{
	struct reader *readers __free = calloc(n, sizeof(*readers));
	struct ring_buffer *rb = NULL;
	int err = 0;

	if (!readers)
		return -ENOMEM;
	for (unsigned int i = 0; i < n && !err; i++) {
		readers[i] = (struct reader){ .g = &list[i], .fn = fn, .skip = true };
		if (rb) {
			err = ring_buffer__add(rb, list[i].events_fd, on_event, &readers[i]);
			continue;
		}
		rb = ring_buffer__new(list[i].events_fd, on_event, &readers[i], NULL);
		err = rb ? 0 : -errno;
	}
	if (err)
		bt_err(err, "cannot read the guard's events: %s", strerror(-err));
	else
		err = read_events(rb, list, n, readers, stop, tick);
	ring_buffer__free(rb);
	return err;
}
