// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "core/stack.h"

struct stack {
	const struct bt_link *links; /* of this namespace */
	unsigned int n_links;
	struct bt_related *v;
	unsigned int n, max, left_out;
	int self; /* ifindex of the device itself */
};

const char *bt_relation_name(enum bt_relation relation)
{
	static const char *const names[BT_RELATIONS] = { "lower", "upper", "peer", "beside" };

	return names[relation];
}

static bool in(const char *word, const char *const *list)
{
	while (*list && strcmp(word, *list) != 0)
		list++;
	return *list;
}

bool bt_is_tunnel(const struct bt_link *link)
{
	static const char *const kinds[] = {
		"vxlan",     "geneve",	"gre",	"gretap", "erspan", "ip6gre", "ip6gretap",
		"ip6erspan", "ip6tnl",	"ipip", "sit",	  "vti",    "vti6",   "xfrm",
		"wireguard", "bareudp", "gtp",	"amt",	  "l2tp",   "ovpn",   NULL
	};

	return in(link->kind, kinds);
}

static bool is_pair(const struct bt_link *link)
{
	return !strcmp(link->kind, "veth") || !strcmp(link->kind, "netkit");
}

static const struct bt_link *here(const struct stack *s, int ifindex)
{
	for (unsigned int i = 0; i < s->n_links; i++) {
		if (s->links[i].ifindex == ifindex)
			return &s->links[i];
	}
	return NULL;
}

static bool known(const struct stack *s, const struct bt_link *link)
{
	if (link->ifindex == s->self)
		return true;
	for (unsigned int i = 0; i < s->n; i++) {
		if (!s->v[i].elsewhere && s->v[i].link.ifindex == link->ifindex)
			return true;
	}
	return false;
}

static void add(struct stack *s, enum bt_relation relation, const struct bt_link *link)
{
	if (!link || known(s, link))
		return;
	if (s->n == s->max) {
		s->left_out++;
		return;
	}
	s->v[s->n++] = (struct bt_related){
		.relation = relation,
		.link = *link,
		.readable = true,
		.nsid = -1,
	};
}

/* The device that IFLA_LINK names, wherever it is. */
static void add_linked(struct stack *s, enum bt_relation relation, const struct bt_link *link)
{
	struct bt_related *r;

	if (!link->peer_elsewhere)
		return add(s, relation, here(s, link->peer));
	if (s->n == s->max) {
		s->left_out++;
		return;
	}
	r = &s->v[s->n++];
	*r = (struct bt_related){
		.relation = relation,
		.link = { .ifindex = link->peer },
		.elsewhere = true,
		.nsid = link->peer_nsid,
	};
	r->readable =
		link->peer_nsid >= 0 && !bt_link_get_in(link->peer_nsid, link->peer, &r->link);
}

static void add_below(struct stack *s, const struct bt_link *link)
{
	if (is_pair(link)) {
		if (link->peer)
			add_linked(s, BT_PEER, link);
		return;
	}
	/* A tunnel over nothing in particular has its own index there. */
	if (link->peer && link->peer != link->ifindex)
		add_linked(s, BT_LOWER, link);
	for (unsigned int i = 0; i < s->n_links; i++) {
		if (s->links[i].master == link->ifindex)
			add(s, BT_LOWER, &s->links[i]);
	}
}

static void add_above(struct stack *s, const struct bt_link *link)
{
	if (link->master)
		add(s, BT_UPPER, here(s, link->master));
	for (unsigned int i = 0; i < s->n_links; i++) {
		const struct bt_link *l = &s->links[i];

		if (l->peer == link->ifindex && !l->peer_elsewhere && !is_pair(l))
			add(s, BT_UPPER, l);
	}
}

/* What a port of a bridge receives leaves through its other ports. */
static void add_beside(struct stack *s, const struct bt_link *dev)
{
	const struct bt_link *master = dev->master ? here(s, dev->master) : NULL;

	if (!master || strcmp(master->kind, "bridge") != 0)
		return;
	for (unsigned int i = 0; i < s->n_links; i++) {
		if (s->links[i].master == dev->master)
			add(s, BT_BESIDE, &s->links[i]);
	}
}

int bt_stack_list(const struct bt_link *dev, unsigned int max, struct bt_related **list,
		  unsigned int *n, unsigned int *left_out)
{
	struct bt_link *links __free = NULL;
	struct stack s = { .max = max, .self = dev->ifindex };
	int err;

	err = bt_link_list(&links, &s.n_links);
	if (err)
		return err;
	s.links = links;
	s.v = calloc(max + 1, sizeof(*s.v));
	if (!s.v)
		return bt_err(-ENOMEM, "out of memory");
	add_below(&s, dev);
	for (unsigned int i = 0; i < s.n; i++) {
		if (s.v[i].relation == BT_LOWER && !s.v[i].elsewhere)
			add_below(&s, &s.v[i].link);
	}
	add_above(&s, dev);
	for (unsigned int i = 0; i < s.n; i++) {
		if (s.v[i].relation == BT_UPPER)
			add_above(&s, &s.v[i].link);
	}
	add_beside(&s, dev);
	*list = s.v;
	*n = s.n;
	*left_out = s.left_out;
	return 0;
}

/* --- names of namespaces -------------------------------------------------------------------------- */

static bool is_it(const char *path, int nsid)
{
	int fd __close = bt_netns_open(path), got;

	return fd >= 0 && !bt_netns_nsid(fd, &got) && got == nsid;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int find_in(const char *dir, bool processes, int nsid, char *buf, size_t len)
{
	DIR *d __cleanup(close_dir) = opendir(dir);
	const struct dirent *e;
	char path[PATH_MAX];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || (processes && !isdigit((unsigned char)e->d_name[0])))
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", dir, e->d_name, processes ? "/ns/net" : "");
		if (!is_it(path, nsid))
			continue;
		snprintf(buf, len, "%s", strcmp(dir, "/run/netns") != 0 ? path : e->d_name);
		return 0;
	}
	return -ENOENT;
}

int bt_netns_find(int nsid, char *buf, size_t len)
{
	int err = find_in("/run/netns", false, nsid, buf, len);

	if (err)
		err = find_in("/run/docker/netns", false, nsid, buf, len);
	return err ? find_in("/proc", true, nsid, buf, len) : 0;
}
