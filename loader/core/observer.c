// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../bpf/observe.h"
#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/observer.h"
#include "observe.skel.h"

struct bt_observer {
	struct observe *skel;
	int link_fd; /* tcx; -1: by cls_bpf */
	struct observe_key key;
	int netns; /* of the filter: it is taken off over a socket of that namespace */
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
};

/* A filter of clsact, where there is no tcx. */
static int attach_filter(struct bt_observer *o, int ifindex, bool ingress)
{
	int err;

	o->hook = (struct bpf_tc_hook){
		.sz = sizeof(o->hook),
		.ifindex = ifindex,
		.attach_point = ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS,
	};
	o->opts = (struct bpf_tc_opts){
		.sz = sizeof(o->opts),
		.prog_fd = bpf_program__fd(o->skel->progs.observe),
		.handle = 1,
		.priority = 1,
	};
	err = bpf_tc_hook_create(&o->hook);
	if (err && err != -EEXIST)
		return err;
	return bpf_tc_attach(&o->hook, &o->opts);
}

static int attach(struct bt_observer *o, int ifindex, bool ingress)
{
	int prog = bpf_program__fd(o->skel->progs.observe);
	int err;

	o->link_fd = bt_link_create(prog, ifindex, ingress ? BT_TCX_INGRESS : BT_TCX_EGRESS, NULL);
	if (o->link_fd >= 0)
		return 0;
	/* EINVAL: no tcx here. Anything else would meet cls_bpf as well. */
	if (o->link_fd != -EINVAL)
		return o->link_fd;
	o->netns = bt_netns_self();
	err = attach_filter(o, ifindex, ingress);
	if (err)
		o->hook.sz = 0; /* nothing to take off */
	return err;
}

static int reset(struct bt_observer *o)
{
	int cpus = libbpf_num_possible_cpus();
	void *zero __free = NULL;
	__u32 key = 0;

	if (cpus < 0)
		return cpus;
	zero = calloc((size_t)cpus, sizeof(struct observe_stats) + sizeof(struct observe_last));
	if (!zero)
		return -ENOMEM;
	if (bpf_map_update_elem(bpf_map__fd(o->skel->maps.observe_stats), &o->key, zero, BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(o->skel->maps.observe_last), &key, zero, BPF_ANY))
		return -errno;
	return 0;
}

int bt_observer_new(struct bt_observer **out)
{
	struct bt_observer *o __cleanup(bt_observer_free) = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->link_fd = o->netns = -1;
	o->skel = observe__open_and_load();
	if (!o->skel) {
		err = -errno;
		if (err == -EPERM)
			return bt_err(err,
				      "loading a BPF program was refused: it takes CAP_BPF and "
				      "CAP_NET_ADMIN");
		return bt_err(err, "the observer could not be loaded: %s; -v shows libbpf's log",
			      strerror(-err));
	}
	*out = TAKE_PTR(o);
	return 0;
}

int bt_observer_attach(struct bt_observer *o, int ifindex, bool ingress)
{
	int err, here = bt_netns_self();

	/* Detaching may have to go elsewhere. */
	bt_observer_detach(o);
	o->key = (struct observe_key){ .ifindex = (__u32)ifindex };
	err = here < 0 ? here : bt_netns_set(here);
	if (here >= 0)
		close(here);
	if (!err)
		err = reset(o);
	if (!err)
		err = attach(o, ifindex, ingress);
	if (err)
		return bt_err(err, "the observer could not be attached to a veth: %s",
			      strerror(-err));
	return 0;
}

static void add_up(const struct observe_stats *s, struct bt_seen *seen)
{
	seen->packets += s->packets;
	seen->hbh += s->jumbo_hbh;
	seen->len0 += s->jumbo_len0;
	seen->ipv4 += s->jumbo_ipv4;
	seen->malformed += s->malformed;
	if (s->max_len > seen->max_len)
		seen->max_len = (__u32)s->max_len;
}

static void keep_start(const struct observe_last *last, struct bt_seen *seen)
{
	if (!last->ns || last->l3_off > sizeof(last->data) - sizeof(seen->bytes))
		return;
	memcpy(seen->bytes, last->data + last->l3_off, sizeof(seen->bytes));
	seen->n_bytes = sizeof(seen->bytes);
}

int bt_observer_read(struct bt_observer *o, struct bt_seen *seen)
{
	int cpus = libbpf_num_possible_cpus();
	struct observe_stats *stats __free = NULL;
	struct observe_last *last __free = NULL;
	struct bt_seen sum = {};
	__u32 key = 0;

	if (cpus < 0)
		return cpus;
	stats = calloc((size_t)cpus, sizeof(*stats));
	last = calloc((size_t)cpus, sizeof(*last));
	if (!stats || !last)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(o->skel->maps.observe_stats), &o->key, stats) ||
	    bpf_map_lookup_elem(bpf_map__fd(o->skel->maps.observe_last), &key, last))
		return -errno;
	for (int i = 0; i < cpus; i++) {
		add_up(&stats[i], &sum);
		keep_start(&last[i], &sum);
	}
	*seen = sum;
	return 0;
}

void bt_observer_detach(struct bt_observer *o)
{
	if (o->link_fd >= 0)
		close(o->link_fd);
	if (o->hook.sz && !bt_netns_set(o->netns)) {
		o->opts.prog_fd = o->opts.prog_id = 0;
		bpf_tc_detach(&o->hook, &o->opts);
	}
	if (o->netns >= 0)
		close(o->netns);
	o->link_fd = o->netns = -1;
	o->hook.sz = 0;
}

void bt_observer_free(struct bt_observer **op)
{
	struct bt_observer *o = *op;

	if (!o)
		return;
	bt_observer_detach(o);
	observe__destroy(o->skel);
	free(o);
	*op = NULL;
}
