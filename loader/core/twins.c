// SPDX-License-Identifier: GPL-2.0
#include "core/twins.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/hooks.h"
#include "core/ownprog.h"

/* Is there a twin on this host at all? 1, 0 or -errno. Asking every hook of every device takes longer. */
static int any_twin(void)
{
	__u32 id = 0, len;

	while (!bpf_map_get_next_id(id, &id)) {
		struct bpf_map_info info = { 0 };
		int fd __close = bpf_map_get_fd_by_id(id);

		len = sizeof(info);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    !strcmp(info.name, BIGTCP_TWIN_STATE_NAME))
			return 1;
	}
	return errno == ENOENT ? 0 : -errno;
}

/* A program that was looked at. */
struct seen {
	__u32 id;
	bool twin;
	char name[BPF_OBJ_NAME_LEN];
	struct bigtcp_twin_state state;
};

struct seens {
	struct seen *v;
	unsigned int n;
};

static void read_prog(struct seen *p)
{
	int prog __close = bt_prog_by_id(p->id);
	int map __close = bt_own_map(p->id, BIGTCP_TWIN_STATE_NAME);
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info), key = 0;

	/* One that has gone meanwhile is none. */
	if (prog < 0 || map < 0 || bpf_obj_get_info_by_fd(prog, &info, &len) ||
	    bpf_map_lookup_elem(map, &key, &p->state))
		return;
	memcpy(p->name, info.name, sizeof(p->name));
	p->twin = true;
}

static const struct seen *look(struct seens *s, __u32 id)
{
	struct seen *p;

	for (unsigned int i = s->n; i; i--) {
		if (s->v[i - 1].id == id)
			return &s->v[i - 1];
	}
	p = realloc(s->v, (s->n + 1) * sizeof(*p));
	if (!p)
		return NULL;
	s->v = p;
	p += s->n++;
	*p = (struct seen){ .id = id };
	read_prog(p);
	return p;
}

/* The command line's name of a hook: it does not say by which kind of link or filter. */
static void put_hook(char *to, size_t len, const char *hook)
{
	static const struct {
		const char *prefix, *name;
	} rows[] = {
		{ "tcx/ingress", "ingress" },
		{ "tcx/egress", "egress" },
		{ "clsact/ingress", "ingress" },
		{ "clsact/egress", "egress" },
		{ "xdp/", "xdp" },
		{ "cgroup_skb/ingress", "cgroup-ingress" },
		{ "cgroup_skb/egress", "cgroup-egress" },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strncmp(hook, rows[i].prefix, strlen(rows[i].prefix)))
			hook = rows[i].name;
	}
	snprintf(to, len, "%s", hook);
}

static int by_place(const struct bt_twin_use *a, const struct bt_twin_use *b)
{
	int c = strcmp(a->dev, b->dev);

	c = c ? c : strcmp(a->hook, b->hook);
	return c ? c : strcmp(a->name, b->name);
}

static int by_place_and_id(const void *a, const void *b)
{
	const struct bt_twin_use *x = a, *y = b;
	int c = by_place(x, y);

	return c ? c : (x->prog_id > y->prog_id) - (x->prog_id < y->prog_id);
}

/* A program may be at a hook more than once: by several filters, in several cgroups. */
static unsigned int merge(struct bt_twin_use *list, unsigned int n)
{
	unsigned int out = 0;

	qsort(list, n, sizeof(*list), by_place_and_id);
	for (unsigned int i = 0; i < n; i++) {
		struct bt_twin_use *last = out ? &list[out - 1] : NULL;

		if (!last || by_place(last, &list[i])) {
			list[out++] = list[i];
		} else if (last->prog_id != list[i].prog_id) {
			last->prog_id = list[i].prog_id;
			last->state.jumbo += list[i].state.jumbo;
			last->state.lost += list[i].state.lost;
			last->state.unresized += list[i].state.unresized;
		}
	}
	return out;
}

int bt_twins_list(struct bt_twin_use **list, unsigned int *n)
{
	struct bt_attached *hooks __free = NULL;
	struct bt_twin_use *l __free = NULL;
	struct seen *v __free = NULL;
	struct seens seens = { 0 };
	unsigned int n_hooks = 0, k = 0;
	int err = any_twin();

	if (err < 0)
		return bt_err(err, "looking for twins takes CAP_SYS_ADMIN: %s", strerror(-err));
	if (err)
		err = bt_hooks_list(NULL, &hooks, &n_hooks);
	if (err)
		return err;
	l = calloc(n_hooks + 1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	for (unsigned int i = 0; i < n_hooks && !err; i++) {
		const struct seen *p = look(&seens, hooks[i].prog_id);

		v = seens.v;
		if (!p)
			return -ENOMEM;
		if (!p->twin)
			continue;
		memcpy(l[k].dev, hooks[i].dev, sizeof(l[k].dev));
		put_hook(l[k].hook, sizeof(l[k].hook), hooks[i].hook);
		memcpy(l[k].name, p->name, sizeof(l[k].name));
		l[k].prog_id = p->id;
		l[k++].state = p->state;
	}
	*n = merge(l, k);
	*list = TAKE_PTR(l);
	return 0;
}
