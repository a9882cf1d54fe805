// SPDX-License-Identifier: GPL-2.0
#include "core/hooks.h"
#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rtnl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_bpf.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define LIST_MAX 4096

struct list {
	struct bt_attached *v, *proto; /* proto: what entries to come have in common */
	unsigned int n, cap;
	int err;
};

static void add(struct list *l, __u32 prog_id, __u32 prio, __u32 handle)
{
	struct bt_attached *p;

	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		p = realloc(l->v, l->cap * sizeof(*p));
		if (!p || l->n >= LIST_MAX) {
			l->err = p ? -E2BIG : -ENOMEM;
			l->v = p ? p : l->v;
			return;
		}
		l->v = p;
	}
	l->v[l->n] = *l->proto;
	l->v[l->n].prog_id = prog_id;
	l->v[l->n].prio = prio;
	l->v[l->n++].handle = handle;
}

static void at_hook(struct list *l, const char *hook, bool runs, bool ingress)
{
	snprintf(l->proto->hook, sizeof(l->proto->hook), "%s", hook);
	l->proto->runs = runs;
	l->proto->ingress = ingress;
	l->proto->class_id = false;
}

/* tcx and netkit. */
static int query(struct list *l, __u32 type, const char *hook, bool runs, bool ingress)
{
	struct bt_hook h = {};
	int err = bt_prog_query(l->proto->ifindex, type, &h);

	if (err)
		return err == -EINVAL ? 0 : err; /* a kernel, or a device, without this hook */
	at_hook(l, hook, runs, ingress);
	for (__u32 i = 0; i < h.n; i++)
		add(l, h.progs[i].prog_id, 0, 0);
	return 0;
}

static int filter_opts(const struct nlattr *opts, __u32 *id, bool *direct)
{
	const struct nlattr *a;

	*id = 0;
	*direct = false;
	mnl_attr_for_each_nested(a, opts) {
		if (mnl_attr_get_type(a) == TCA_BPF_ID)
			*id = mnl_attr_get_u32(a);
		else if (mnl_attr_get_type(a) == TCA_BPF_FLAGS)
			*direct = mnl_attr_get_u32(a) & TCA_BPF_FLAG_ACT_DIRECT;
	}
	return *id ? 0 : -ENOENT;
}

static int on_filter(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *opts = NULL;
	struct list *l = arg;
	bool bpf = false, direct;
	__u32 id;

	if (nlh->nlmsg_type != RTM_NEWTFILTER)
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			bpf = !strcmp(mnl_attr_get_str(a), "bpf");
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			opts = a;
	}
	/* classic BPF has no program id */
	if (!bpf || !opts || filter_opts(opts, &id, &direct))
		return MNL_CB_OK;
	l->proto->class_id = !direct;
	add(l, id, TC_H_MAJ(tc->tcm_info) >> 16, tc->tcm_handle);
	return MNL_CB_OK;
}

static int on_action(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tab, *act, *a, *o;
	struct list *l = arg;

	mnl_attr_for_each(tab, nlh, sizeof(struct tcamsg)) {
		if (mnl_attr_get_type(tab) != 1) /* TCA_ACT_TAB, alias TCA_ROOT_TAB */
			continue;
		mnl_attr_for_each_nested(act, tab) {
			mnl_attr_for_each_nested(a, act) {
				if (mnl_attr_get_type(a) != TCA_ACT_OPTIONS)
					continue;
				mnl_attr_for_each_nested(o, a) {
					if (mnl_attr_get_type(o) == TCA_ACT_BPF_ID)
						add(l, mnl_attr_get_u32(o), 0, 0);
				}
			}
		}
	}
	return MNL_CB_OK;
}

/* Sends a dump request and hands every answer to @cb. */
static int dump(struct mnl_socket *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	static char buf[65536];
	unsigned int port = mnl_socket_get_portid(nl);
	int got, ret = MNL_CB_OK;

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = time(NULL);
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (ret == MNL_CB_OK) {
		got = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		ret = mnl_cb_run(buf, got, nlh->nlmsg_seq, port, cb, arg);
		if (ret < 0 && errno == EINTR)
			ret = MNL_CB_OK; /* changed during the dump: what was read is still right */
	}
	return ret < 0 ? -errno : 0;
}

static int filters(struct list *l, struct mnl_socket *nl, __u32 parent, const char *hook,
		   bool ingress)
{
	char buf[MNL_NLMSG_HDRLEN + 256] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	int err;

	nlh->nlmsg_type = RTM_GETTFILTER;
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = l->proto->ifindex;
	tc->tcm_parent = parent;
	at_hook(l, hook, true, ingress);
	err = dump(nl, nlh, on_filter, l);
	/* no such qdisc */
	return err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP ? 0 : err;
}

static int actions(struct list *l, struct mnl_socket *nl)
{
	char buf[MNL_NLMSG_HDRLEN + 256] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nlattr *tab, *one;
	int err;

	nlh->nlmsg_type = RTM_GETACTION;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcamsg));
	tab = mnl_attr_nest_start(nlh, 1); /* TCA_ACT_TAB */
	one = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, TCA_ACT_KIND, "bpf");
	mnl_attr_nest_end(nlh, one);
	mnl_attr_nest_end(nlh, tab);
	at_hook(l, "act_bpf", true, true);
	err = dump(nl, nlh, on_action, l);
	return err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP ? 0 : err;
}

static void mac_of(struct bt_attached *a)
{
	int fd __close = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = {};

	memcpy(req.ifr_name, a->dev, sizeof(req.ifr_name));
	if (fd >= 0 && !ioctl(fd, SIOCGIFHWADDR, &req))
		memcpy(a->mac, req.ifr_hwaddr.sa_data, sizeof(a->mac));
}

static int of_device(struct list *l, struct mnl_socket *nl, const struct bt_link *link)
{
	struct bt_attached proto = { .ifindex = link->ifindex };
	int err;

	memcpy(proto.dev, link->name, sizeof(proto.dev));
	proto.ethernet = link->arp_type == ARPHRD_ETHER || link->arp_type == ARPHRD_LOOPBACK;
	if (proto.ethernet)
		mac_of(&proto);
	l->proto = &proto;
	if (link->xdp_prog_id) {
		at_hook(l, "xdp", false, true);
		add(l, link->xdp_prog_id, 0, 0);
	}
	err = query(l, BT_TCX_INGRESS, "tcx/ingress", true, true);
	if (!err)
		err = filters(l, nl, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), "clsact/ingress",
			      true);
	if (!err)
		err = query(l, BT_TCX_EGRESS, "tcx/egress", true, false);
	if (!err)
		err = filters(l, nl, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS), "clsact/egress",
			      false);
	if (!err)
		err = filters(l, nl, 0, "qdisc", false); /* filters of the root qdisc */
	if (!err && !strcmp(link->kind, "netkit")) {
		err = query(l, BT_NETKIT_PRIMARY, "netkit/primary", false, false);
		if (!err)
			err = query(l, BT_NETKIT_PEER, "netkit/peer", false, false);
	}
	return err;
}

/* Programs of cgroups have no device: those that are loaded at all. */
static int of_cgroups(struct list *l)
{
	__u32 id = 0;

	at_hook(l, "cgroup_skb", false, false);
	while (!bpf_prog_get_next_id(id, &id)) {
		int fd __close = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    info.type == BPF_PROG_TYPE_CGROUP_SKB)
			add(l, id, 0, 0);
	}
	return errno == ENOENT ? 0 : -errno;
}

static int collect(struct list *l, struct mnl_socket *nl, const char *dev)
{
	struct bt_attached none = { .ethernet = true };
	struct bt_link *links __free = NULL;
	struct bt_link one;
	unsigned int n = 0;
	int err;

	if (dev) {
		err = bt_link_get_name(dev, &one);
		return err ? err : of_device(l, nl, &one);
	}
	err = bt_link_list(&links, &n);
	for (unsigned int i = 0; i < n && !err; i++) {
		err = of_device(l, nl, &links[i]);
		if (err == -ENODEV)
			err = 0; /* went away meanwhile */
	}
	l->proto = &none;
	if (!err)
		err = actions(l, nl);
	return err ? err : of_cgroups(l);
}

int bt_hooks_list(const char *dev, struct bt_attached **list, unsigned int *n)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct list l = {};
	int err;

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = -errno;
		if (nl)
			mnl_socket_close(nl);
		return bt_err(err, "cannot talk to the kernel by netlink: %s", strerror(-err));
	}
	err = collect(&l, nl, dev);
	err = err ? err : l.err;
	mnl_socket_close(nl);
	if (err) {
		free(l.v);
		if (err == -EPERM)
			return bt_err(err, "listing the programs of a host needs CAP_SYS_ADMIN and "
					   "CAP_NET_ADMIN");
		return bt_err(err, "cannot list the attached programs: %s", strerror(-err));
	}
	*list = l.v;
	*n = l.n;
	return 0;
}
