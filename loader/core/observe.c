// SPDX-License-Identifier: GPL-2.0
#include "core/observe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/attach.h"
#include "core/ownprog.h"
#include "observe.skel.h"

#define WHAT "the observer"
/* Attachments between two looks for what is gone. */
#define SWEEP_EVERY 256

static const enum bt_hook_id hooks[] = {
	[OBSERVE_INGRESS] = BT_HOOK_INGRESS,
	[OBSERVE_EGRESS] = BT_HOOK_EGRESS,
};

static enum observe_hook hook_of(const struct bt_attached *at)
{
	return at->pin.hook == BT_HOOK_EGRESS ? OBSERVE_EGRESS : OBSERVE_INGRESS;
}

/*
 * Programs of this build that count into one map. Loading one takes the verifier milliseconds, so the devices of a
 * namespace share them, whichever process has attached them.
 */
struct progs {
	int stats; /* the map */
	__u32 stats_id;
	int prog[2]; /* by enum observe_hook */
};

#define NO_PROGS                                \
	{                                       \
		.stats = -1, .prog = { -1, -1 } \
	}

/* Those of the namespace this process works in. */
static struct {
	bool loaded; /* tag is known */
	__u8 tag[BPF_TAG_SIZE];
	__u64 netns; /* 0: they are not attached anywhere yet */
	struct progs p;
	unsigned int fresh; /* attached since the last sweep */
} mine = { .p = NO_PROGS };

static void put_fd(int *fd, int with)
{
	if (*fd >= 0)
		close(*fd);
	*fd = with;
}

/* Takes over what @with holds. */
static void put_progs(struct progs *p, const struct progs *with)
{
	put_fd(&p->stats, with->stats);
	put_fd(&p->prog[OBSERVE_INGRESS], with->prog[OBSERVE_INGRESS]);
	put_fd(&p->prog[OBSERVE_EGRESS], with->prog[OBSERVE_EGRESS]);
	p->stats_id = with->stats_id;
}

static __u32 map_id(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static int prog_tag(int fd, __u8 tag[BPF_TAG_SIZE])
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	memcpy(tag, info.tag, BPF_TAG_SIZE);
	return 0;
}

static void free_skel(struct observe **s)
{
	observe__destroy(*s);
}

/* --- loading ------------------------------------------------------------------------------------- */

/* Fills mine.p.prog[hook], with the map that is there or a new one. */
static int load(enum observe_hook hook)
{
	struct observe *s __cleanup(free_skel) = observe__open();
	int prog __close = -1, stats __close = -1;

	if (!s)
		return bt_own_load_error(-errno, WHAT);
	s->rodata->observe_hook = hook;
	s->rodata->observe_keep = 0;
	if (bpf_map__set_autocreate(s->maps.observe_last, false) ||
	    (mine.p.stats >= 0 && bpf_map__reuse_fd(s->maps.observe_stats, mine.p.stats)) ||
	    observe__load(s))
		return bt_own_load_error(-errno, WHAT);
	prog = fcntl(bpf_program__fd(s->progs.observe), F_DUPFD_CLOEXEC, 0);
	stats = fcntl(bpf_map__fd(s->maps.observe_stats), F_DUPFD_CLOEXEC, 0);
	if (prog < 0 || stats < 0 || prog_tag(prog, mine.tag))
		return bt_own_load_error(-errno, WHAT);
	mine.loaded = true;
	put_fd(&mine.p.prog[hook], TAKE_FD(prog));
	put_fd(&mine.p.stats, TAKE_FD(stats));
	mine.p.stats_id = map_id(mine.p.stats);
	return 0;
}

/* Is a map like ours, so that programs of both builds can use it? */
static bool same_layout(int fd)
{
	struct observe *s __cleanup(free_skel) = observe__open();
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return s && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       info.type == BPF_MAP_TYPE_PERCPU_HASH &&
	       info.key_size == sizeof(struct observe_key) &&
	       info.value_size == sizeof(struct observe_stats) &&
	       bt_own_same_values(fd, bpf_object__btf(s->obj),
				  bpf_map__btf_value_type_id(s->maps.observe_stats));
}

/* Is a program of this build? 1, 0 or -errno with a sentence. */
static int same_build(__u32 prog_id)
{
	int fd __close = bt_prog_by_id(prog_id);
	__u8 tag[BPF_TAG_SIZE];
	int err = fd < 0 ? fd : prog_tag(fd, tag);

	if (err)
		return bt_err(err, "cannot look at program %u: %s", prog_id,
			      err == -EPERM ? "it takes CAP_SYS_ADMIN" : strerror(-err));
	return !memcmp(tag, mine.tag, sizeof(tag));
}

/* Takes programs of this build that are at other devices of this namespace. */
static int adopt_one(const struct bt_attached *at, const char *dev, void *arg)
{
	enum observe_hook hook = hook_of(at);
	struct progs *found = arg;
	int stats __close = -1;
	__u32 id;

	(void)dev;
	if (found->prog[hook] >= 0)
		return found->prog[!hook] >= 0;
	if (same_build(at->prog_id) != 1) {
		bt_err_clear();
		return 0;
	}
	stats = bt_own_map(at->prog_id, BIGTCP_OBSERVE_STATS);
	id = stats < 0 ? 0 : map_id(stats);
	if (!id || (found->stats >= 0 && id != found->stats_id))
		return 0;
	found->prog[hook] = bt_prog_by_id(at->prog_id);
	put_fd(&found->stats, TAKE_FD(stats));
	found->stats_id = id;
	return 0;
}

static int move_to(__u64 netns)
{
	struct progs found = NO_PROGS, none = NO_PROGS;
	int err = bt_attached_each(NULL, BT_PIN_OBSERVE, adopt_one, &found);

	if (err < 0) {
		put_progs(&found, &none);
		return err;
	}
	/* What was loaded to know its tag is still to be used. */
	if (found.stats >= 0 || mine.netns)
		put_progs(&mine.p, &found);
	mine.netns = netns;
	return 0;
}

/* Makes mine.p.prog[hook] one for this namespace. @stats: with this map, which is taken; -1: any. */
static int want(__u64 netns, enum observe_hook hook, int stats)
{
	struct progs with = NO_PROGS;
	int err = 0;

	if (stats >= 0 && map_id(stats) != mine.p.stats_id) {
		with.stats = stats;
		with.stats_id = map_id(stats);
		put_progs(&mine.p, &with);
		mine.netns = netns;
	} else {
		put_fd(&stats, -1);
		if (mine.netns != netns)
			err = move_to(netns);
	}
	if (err || mine.p.prog[hook] >= 0)
		return err;
	return load(hook);
}

/* --- on and off ---------------------------------------------------------------------------------- */

/* Removes pins of what is gone, and what was counted for devices that are. */
static void sweep(void)
{
	struct observe_key key, next;
	char dev[IF_NAMESIZE];
	bool more;

	mine.fresh = 1;
	if (bt_attach_sweep())
		bt_err_clear();
	for (more = !bpf_map_get_next_key(mine.p.stats, NULL, &key); more; key = next) {
		more = !bpf_map_get_next_key(mine.p.stats, &key, &next);
		if (!if_indextoname(key.ifindex, dev))
			bpf_map_delete_elem(mine.p.stats, &key);
	}
}

struct place {
	const char *dev;
	int ifindex;
	__u64 netns;
};

static int find_place(const char *dev, struct place *p)
{
	int fd __close = bt_netns_self();
	int err = fd < 0 ? fd : bt_netns_inode(fd, &p->netns);

	if (err)
		return bt_err(err, "cannot tell the network namespace: %s", strerror(-err));
	p->dev = dev;
	p->ifindex = (int)if_nametoindex(dev);
	return p->ifindex ? 0 : bt_err(-ENODEV, "there is no network device '%s' here", dev);
}

/* An observer that is there. 1: it was replaced. */
static int renew(const struct place *p, enum observe_hook hook, struct bt_attached *at)
{
	int err = same_build(at->prog_id);
	int stats;

	if (err)
		return err < 0 ? err : 0;
	stats = bt_own_map(at->prog_id, BIGTCP_OBSERVE_STATS);
	if (stats >= 0 && !same_layout(stats))
		put_fd(&stats, -1);
	if (stats < 0)
		bt_note("%s %s: the observer of another build counts other things: counters start "
			"anew",
			p->dev, bt_hook_name(hooks[hook]));
	err = want(p->netns, hook, stats);
	if (!err)
		err = bt_attached_replace(at, mine.p.prog[hook]);
	return err ? err : 1;
}

/* A device that moves to another namespace keeps its links: that of the other one counts for nobody. */
static int drop_stray(const struct bt_pin *pin, const char *path, void *arg)
{
	const struct bt_hook *at = arg;
	struct bt_link_info info;
	int link __close = -1;

	if (pin->kind != BT_PIN_TCX || strcmp(pin->prog, BT_PIN_OBSERVE))
		return 0;
	link = bpf_obj_get(path);
	if (link < 0 || bt_link_info(link, &info))
		return 0;
	for (__u32 i = 0; i < at->n; i++) {
		if (at->progs[i].link_id == info.id && !bpf_link_detach(link))
			return bt_unpin(path);
	}
	return 0;
}

static void drop_strays(const struct place *p, enum observe_hook hook)
{
	__u32 type = hook == OBSERVE_EGRESS ? BT_TCX_EGRESS : BT_TCX_INGRESS;
	struct bt_hook at;
	int dirfd __close = -1;

	/* As a rule a new device has no program. */
	if (bt_prog_query(p->ifindex, type, &at) || !at.n)
		return;
	dirfd = bt_pins_open(false);
	if (dirfd < 0 || bt_pins_each(dirfd, drop_stray, &at))
		bt_err_clear();
}

/* 1: it was attached or replaced (*fresh: attached). */
static int on_at(const struct place *p, enum observe_hook hook, bool *fresh)
{
	struct observe_key key = { .ifindex = (__u32)p->ifindex, .hook = hook };
	struct bt_attach_opts o = { .hook = hooks[hook], .target = p->dev, .swept = true };
	struct bt_attached at;
	int err;

	if (bt_attached_find(p->ifindex, hooks[hook], BT_PIN_OBSERVE, &at))
		return renew(p, hook, &at);
	drop_strays(p, hook);
	err = want(p->netns, hook, -1);
	/* Of a device that had this number in a namespace that had this one. */
	if (!err)
		bpf_map_delete_elem(mine.p.stats, &key);
	if (!err)
		err = bt_attach(mine.p.prog[hook], BT_PIN_OBSERVE, &o, &at);
	if (err == -EEXIST && bt_attached_find(p->ifindex, hooks[hook], BT_PIN_OBSERVE, &at)) {
		bt_err_clear(); /* another process was quicker */
		return 0;
	}
	if (err)
		return err;
	*fresh = true;
	if (!mine.fresh++ || mine.fresh > SWEEP_EVERY)
		sweep();
	return 1;
}

static void ignore(const struct bt_attached *what, void *arg)
{
	(void)what;
	(void)arg;
}

static int off_at(const struct place *p, enum observe_hook hook)
{
	struct observe_key key = { .ifindex = (__u32)p->ifindex, .hook = hook };
	int stats __close = -1;
	struct bt_attached at;
	int n;

	if (bt_attached_find(p->ifindex, hooks[hook], BT_PIN_OBSERVE, &at))
		stats = bt_own_map(at.prog_id, BIGTCP_OBSERVE_STATS);
	n = bt_detach(p->dev, hooks[hook], BT_PIN_OBSERVE, false, ignore, NULL);
	if (n < 0 && n != -ENOENT)
		return n;
	if (n < 0)
		bt_err_clear();
	if (stats >= 0)
		bpf_map_delete_elem(stats, &key);
	return 0;
}

int bt_observe_on(const char *dev, bool *changed)
{
	bool fresh[2] = {}, any = false;
	struct place p;
	int ret = find_place(dev, &p);

	if (!ret && !mine.loaded)
		ret = load(OBSERVE_INGRESS);
	for (int hook = 0; hook < 2 && ret >= 0; hook++) {
		ret = on_at(&p, hook, &fresh[hook]);
		any |= ret > 0;
	}
	if (ret >= 0) {
		*changed = any;
		return 0;
	}
	for (int hook = 0; hook < 2; hook++) {
		if (fresh[hook])
			bt_detach(dev, hooks[hook], BT_PIN_OBSERVE, false, ignore, NULL);
	}
	return ret;
}

int bt_observe_off(const char *dev)
{
	struct place p;
	int err = find_place(dev, &p);

	for (int hook = 0; hook < 2 && !err; hook++)
		err = off_at(&p, hook);
	return err;
}

/* --- what is there -------------------------------------------------------------------------------- */

struct listing {
	struct bt_observe *list;
	unsigned int n, cap;
	int cpus;
	struct observe_stats *cpu; /* one for each CPU */
	struct {
		__u32 prog_id; /* 0: none yet */
		int stats; /* -ENOENT: not to be understood */
	} map[2]; /* of the program seen last at a hook */
};

static int stats_of(struct listing *l, const struct bt_attached *at)
{
	enum observe_hook hook = hook_of(at);
	int fd __close = -1;

	if (l->map[hook].prog_id == at->prog_id)
		return l->map[hook].stats;
	fd = bt_own_map(at->prog_id, BIGTCP_OBSERVE_STATS);
	if (fd == -EPERM)
		return bt_err(fd, "cannot look at program %u: it takes CAP_SYS_ADMIN", at->prog_id);
	l->map[hook].prog_id = at->prog_id;
	put_fd(&l->map[hook].stats, fd >= 0 && same_layout(fd) ? TAKE_FD(fd) : -ENOENT);
	return l->map[hook].stats;
}

static void add_up(struct observe_stats *sum, const struct observe_stats *cpu, int n)
{
	const size_t words = sizeof(*sum) / sizeof(__u64);
	__u64 *to = (__u64 *)sum, max = 0;

	for (int i = 0; i < n; i++) {
		const __u64 *from = (const __u64 *)&cpu[i];

		for (size_t k = 0; k < words; k++)
			to[k] += from[k];
		max = cpu[i].max_len > max ? cpu[i].max_len : max;
	}
	sum->max_len = max;
}

static int list_one(const struct bt_attached *at, const char *dev, void *arg)
{
	struct observe_key key = { .ifindex = (__u32)at->pin.ifindex, .hook = hook_of(at) };
	struct listing *l = arg;
	int fd = stats_of(l, at);
	struct bt_observe *o;

	if (fd == -EPERM)
		return fd;
	if (l->n == l->cap) {
		unsigned int cap = l->cap ? 2 * l->cap : 16;

		o = realloc(l->list, cap * sizeof(*o));
		if (!o)
			return -ENOMEM;
		l->list = o;
		l->cap = cap;
	}
	o = &l->list[l->n++];
	*o = (struct bt_observe){
		.ifindex = at->pin.ifindex,
		.hook = at->pin.hook,
		.prog_id = at->prog_id,
		.first = bt_attached_first(at),
		.read = fd >= 0,
	};
	snprintf(o->dev, sizeof(o->dev), "%s", dev);
	/* Before its first packet there is nothing in the map. */
	if (fd >= 0 && !bpf_map_lookup_elem(fd, &key, l->cpu))
		add_up(&o->stats, l->cpu, l->cpus);
	return 0;
}

static int by_device(const void *a, const void *b)
{
	const struct bt_observe *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return (int)x->hook - (int)y->hook;
}

int bt_observe_list(const char *dev, struct bt_observe **list, unsigned int *n)
{
	struct listing l = { .cpus = libbpf_num_possible_cpus(), .map = { { 0, -1 }, { 0, -1 } } };
	int err = l.cpus < 0 ? l.cpus : 0;

	if (!err) {
		l.cpu = calloc((size_t)l.cpus, sizeof(*l.cpu));
		err = l.cpu ? bt_attached_each(dev, BT_PIN_OBSERVE, list_one, &l) : -ENOMEM;
	}
	free(l.cpu);
	put_fd(&l.map[0].stats, -1);
	put_fd(&l.map[1].stats, -1);
	if (err) {
		free(l.list);
		return err;
	}
	if (l.n)
		qsort(l.list, l.n, sizeof(*l.list), by_device);
	*list = l.list;
	*n = l.n;
	return 0;
}
