// SPDX-License-Identifier: GPL-2.0
#include "daemon/netns.h"

#include <dirent.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/netns.h"

struct place {
	int nsid;
	char *path;
};

struct bt_places {
	struct mnl_socket *nl;
	struct place *v; /* by nsid */
	unsigned int n, cap, seq;
};

static int on_nsid(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;
	int *nsid = arg;

	mnl_attr_for_each(a, nlh, sizeof(struct rtgenmsg)) {
		if (mnl_attr_get_type(a) == NETNSA_NSID && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			*nsid = (int)mnl_attr_get_u32(a);
	}
	return MNL_CB_STOP;
}

/* The number of the namespace behind @fd; negative: it has none here, or -errno. */
static int nsid_of(struct bt_places *p, int fd)
{
	char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO))) = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtgenmsg *gen = mnl_nlmsg_put_extra_header(nlh, sizeof(*gen));
	int nsid = -1, n;

	nlh->nlmsg_type = RTM_GETNSID;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = ++p->seq;
	gen->rtgen_family = AF_UNSPEC;
	mnl_attr_put_u32(nlh, NETNSA_FD, (__u32)fd);
	if (mnl_socket_sendto(p->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = (int)mnl_socket_recvfrom(p->nl, buf, sizeof(buf));
	} while (n < 0 && errno == EINTR);
	if (n < 0 || mnl_cb_run(buf, (size_t)n, p->seq, 0, on_nsid, &nsid) < 0)
		return -errno;
	return nsid;
}

static int add(struct bt_places *p, int nsid, const char *path)
{
	if (p->n == p->cap) {
		struct place *more = reallocarray(p->v, p->cap * 2 + 16, sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->v = more;
		p->cap = p->cap * 2 + 16;
	}
	p->v[p->n].nsid = nsid;
	p->v[p->n].path = strdup(path);
	return p->v[p->n].path ? (p->n++, 0) : -ENOMEM;
}

static int scan(struct bt_places *p, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	char path[PATH_MAX];
	int err = 0;

	while (d && !err && (de = readdir(d))) {
		int fd __close = -1;
		int nsid;

		if (de->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", dir, de->d_name) >= (int)sizeof(path))
			continue;
		fd = bt_netns_open(path);
		nsid = fd < 0 ? fd : nsid_of(p, fd);
		if (nsid >= 0)
			err = add(p, nsid, path);
	}
	if (d)
		closedir(d);
	return err;
}

static int by_nsid(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->nsid < y->nsid ? -1 : x->nsid > y->nsid;
}

int bt_places_new(const char dirs[][192], unsigned int n_dirs, struct bt_places **out)
{
	struct bt_places *p __cleanup(bt_places_free) = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!p->nl || mnl_socket_bind(p->nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	for (unsigned int i = 0; i < n_dirs && dirs[i][0] && !err; i++)
		err = scan(p, dirs[i]);
	if (err)
		return err;
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_nsid);
	*out = TAKE_PTR(p);
	return 0;
}

void bt_places_free(struct bt_places **p)
{
	if (!*p)
		return;
	if ((*p)->nl)
		mnl_socket_close((*p)->nl);
	for (unsigned int i = 0; i < (*p)->n; i++)
		free((*p)->v[i].path);
	free((*p)->v);
	free(*p);
	*p = NULL;
}

int bt_places_enter(const struct bt_places *p, int nsid)
{
	const struct place key = { .nsid = nsid };
	const struct place *at = NULL;
	int fd __close = -1;

	if (p->n)
		at = bsearch(&key, p->v, p->n, sizeof(*p->v), by_nsid);
	if (!at)
		return -ENOENT;
	fd = bt_netns_open(at->path);
	return fd < 0 ? -ENOENT : bt_netns_set(fd);
}
