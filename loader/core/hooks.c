// SPDX-License-Identifier: GPL-2.0
#include "core/hooks_int.h"
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

void bt_hooks_add(struct bt_hooks *l, __u32 prog_id)
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
	l->v[l->n] = l->proto;
	l->v[l->n++].prog_id = prog_id;
}

void bt_hooks_at(struct bt_hooks *l, const char *hook, bool ingress)
{
	snprintf(l->proto.hook, sizeof(l->proto.hook), "%s", hook);
	l->proto.ingress = ingress;
	l->proto.class_id = false;
	l->proto.prio = l->proto.handle = 0;
}

/* tcx and netkit. */
static int query(struct bt_hooks *l, __u32 type, const char *hook, bool ingress)
{
	struct bt_hook h = {};
	int err = bt_prog_query(l->proto.ifindex, type, &h);

	if (err)
		return err == -EINVAL ? 0 : err; /* a kernel, or a device, without this hook */
	bt_hooks_at(l, hook, ingress);
	for (__u32 i = 0; i < h.n; i++)
		bt_hooks_add(l, h.progs[i].prog_id);
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
	struct bt_hooks *l = arg;
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
	l->proto.class_id = !direct;
	l->proto.prio = TC_H_MAJ(tc->tcm_info) >> 16;
	l->proto.handle = tc->tcm_handle;
	bt_hooks_add(l, id);
	return MNL_CB_OK;
}

static int on_action(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tab, *act, *a, *o;
	struct bt_hooks *l = arg;

	mnl_attr_for_each(tab, nlh, sizeof(struct tcamsg)) {
		if (mnl_attr_get_type(tab) != 1) /* TCA_ACT_TAB, alias TCA_ROOT_TAB */
			continue;
		mnl_attr_for_each_nested(act, tab) {
			mnl_attr_for_each_nested(a, act) {
				if (mnl_attr_get_type(a) != TCA_ACT_OPTIONS)
					continue;
				mnl_attr_for_each_nested(o, a) {
					if (mnl_attr_get_type(o) == TCA_ACT_BPF_ID)
						bt_hooks_add(l, mnl_attr_get_u32(o));
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

static int filters(struct bt_hooks *l, struct mnl_socket *nl, __u32 parent, const char *hook,
		   bool ingress)
{
	char buf[MNL_NLMSG_HDRLEN + 256] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	int err;

	nlh->nlmsg_type = RTM_GETTFILTER;
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = l->proto.ifindex;
	tc->tcm_parent = parent;
	bt_hooks_at(l, hook, ingress);
	err = dump(nl, nlh, on_filter, l);
	/* no such qdisc */
	return err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP ? 0 : err;
}

static int actions(struct bt_hooks *l, struct mnl_socket *nl)
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
	bt_hooks_at(l, "act_bpf", true);
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

static int of_device(struct bt_hooks *l, struct mnl_socket *nl, const struct bt_link *link)
{
	struct bt_attached proto = { .ifindex = link->ifindex };
	int err;

	memcpy(proto.dev, link->name, sizeof(proto.dev));
	memcpy(proto.kind, link->kind, sizeof(proto.kind));
	proto.ethernet = link->arp_type == ARPHRD_ETHER || link->arp_type == ARPHRD_LOOPBACK;
	if (proto.ethernet)
		mac_of(&proto);
	l->proto = proto;
	bt_hooks_xdp(l, link);
	err = query(l, BT_TCX_INGRESS, "tcx/ingress", true);
	if (!err)
		err = filters(l, nl, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), "clsact/ingress",
			      true);
	if (!err)
		err = query(l, BT_TCX_EGRESS, "tcx/egress", false);
	if (!err)
		err = filters(l, nl, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS), "clsact/egress",
			      false);
	if (!err)
		err = filters(l, nl, 0, "qdisc", false); /* filters of the root qdisc */
	if (!err && !strcmp(link->kind, "netkit")) {
		err = query(l, BT_NETKIT_PRIMARY, "netkit/primary", false);
		if (!err)
			err = query(l, BT_NETKIT_PEER, "netkit/peer", false);
	}
	return err;
}

static int collect(struct bt_hooks *l, struct mnl_socket *nl, const char *dev)
{
	struct bt_link *links __free = NULL;
	struct bt_link one;
	unsigned int n = 0;
	int err;

	if (dev && *dev) {
		err = bt_link_get_name(dev, &one);
		return err ? err : of_device(l, nl, &one);
	}
	err = dev ? 0 : bt_link_list(&links, &n);
	for (unsigned int i = 0; i < n && !err; i++) {
		err = of_device(l, nl, &links[i]);
		if (err == -ENODEV)
			err = 0; /* went away meanwhile */
	}
	l->proto = (struct bt_attached){ .ethernet = true };
	if (!err)
		err = actions(l, nl);
	if (!err)
		err = bt_hooks_cgroups(l);
	return err ? err : bt_hooks_loaded(l);
}

int bt_hooks_list(const char *dev, struct bt_attached **list, unsigned int *n)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct bt_hooks l = {};
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
