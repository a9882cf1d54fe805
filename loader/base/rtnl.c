// SPDX-License-Identifier: GPL-2.0
/* Requests and answers over libmnl, one socket a request: none of this is a hot path. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/rtnl.h"

/* include/uapi/linux/if_link.h of 6.18; the 6.1 headers end at 61. */
#define ATTR_GSO_MAX_SIZE      41
#define ATTR_GRO_MAX_SIZE      58
#define ATTR_TSO_MAX_SIZE      59
#define ATTR_GSO_IPV4_MAX_SIZE 63
#define ATTR_GRO_IPV4_MAX_SIZE 64

#define BUF_SIZE	       32768 /* a link's answer with all its statistics is far below */

struct request {
	struct nlmsghdr *nlh;
	union {
		char buf[1024];
		struct nlmsghdr align;
	};
};

static void *request_init(struct request *r, __u16 type, __u16 flags, size_t extra)
{
	memset(r, 0, sizeof(*r));
	r->nlh = mnl_nlmsg_put_header(r->buf);
	r->nlh->nlmsg_type = type;
	r->nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(r->nlh, extra);
}

static struct ifinfomsg *link_request(struct request *r, __u16 type, __u16 flags, int ifindex)
{
	struct ifinfomsg *ifi = request_init(r, type, flags, sizeof(*ifi));

	ifi->ifi_index = ifindex;
	return ifi;
}

static void cleanup_socket(struct mnl_socket **nl)
{
	if (*nl)
		mnl_socket_close(*nl);
}

/* The kernel's own words in an error answer, or NULL. */
static const char *extack(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t at = sizeof(*e);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		at += MNL_ALIGN(e->msg.nlmsg_len) - sizeof(struct nlmsghdr);
	if (at > mnl_nlmsg_get_payload_len(nlh))
		return NULL;
	mnl_attr_for_each(attr, nlh, at) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(attr);
	}
	return NULL;
}

static int ack(const struct nlmsghdr *nlh, const char *what)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	const char *words;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
		return -EBADMSG;
	if (!e->error)
		return 0;
	words = extack(nlh);
	if (words)
		return bt_err(e->error, "cannot %s: %s (%s)", what, words, strerror(-e->error));
	return bt_err(e->error, "cannot %s: %s", what, strerror(-e->error));
}

typedef int (*answer_fn)(const struct nlmsghdr *nlh, void *data);

/* Reads answers until the acknowledgement or the end of a dump; fn sees all others. */
static int answers(struct mnl_socket *nl, __u32 seq, const char *what, answer_fn fn, void *data)
{
	char *buf __free = malloc(BUF_SIZE);
	const struct nlmsghdr *nlh;
	bool torn = false;
	int len, err;
	ssize_t n;

	while (buf) {
		n = mnl_socket_recvfrom(nl, buf, BUF_SIZE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bt_err(-errno, "cannot %s: %s", what, strerror(errno));
		len = (int)n;
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
			if (nlh->nlmsg_seq != seq)
				continue;
			/* Something changed between two parts of the dump: -EAGAIN, ask again. */
			torn = torn || (nlh->nlmsg_flags & NLM_F_DUMP_INTR);
			if (nlh->nlmsg_type == NLMSG_ERROR)
				return ack(nlh, what);
			if (nlh->nlmsg_type == NLMSG_DONE)
				return torn ? -EAGAIN : 0;
			err = fn ? fn(nlh, data) : 0;
			if (err)
				return err;
		}
	}
	return -ENOMEM;
}

static int talk(struct request *r, const char *what, answer_fn fn, void *data)
{
	struct mnl_socket *nl __cleanup(cleanup_socket) = NULL;
	int on = 1;

	nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		return bt_err(-errno, "cannot %s: no rtnetlink socket: %s", what, strerror(errno));
	/* Without them the answers are the same, only the words are missing. */
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl, NETLINK_CAP_ACK, &on, sizeof(on));
	r->nlh->nlmsg_seq = (__u32)time(NULL);
	/* NLM_F_DUMP is two bits, one of them also means NLM_F_EXCL. */
	if ((r->nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		r->nlh->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(nl, r->nlh, r->nlh->nlmsg_len) < 0)
		return bt_err(-errno, "cannot %s: %s", what, strerror(errno));
	return answers(nl, r->nlh->nlmsg_seq, what, fn, data);
}

/* --- reading ------------------------------------------------------------------ */

static __u32 attr_u32(const struct nlattr *attr)
{
	return mnl_attr_validate(attr, MNL_TYPE_U32) < 0 ? 0 : mnl_attr_get_u32(attr);
}

static void attr_copy(const struct nlattr *attr, char *dst, size_t len)
{
	if (mnl_attr_validate(attr, MNL_TYPE_STRING) >= 0)
		snprintf(dst, len, "%.*s", (int)mnl_attr_get_payload_len(attr),
			 mnl_attr_get_str(attr));
}

static void parse_xdp(const struct nlattr *nest, struct bt_link *l)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_XDP_ATTACHED:
			l->xdp_mode = mnl_attr_get_u8(attr);
			break;
		case IFLA_XDP_PROG_ID:
			l->xdp_prog_id = attr_u32(attr);
			break;
		case IFLA_XDP_DRV_PROG_ID:
			l->xdp_drv_id = attr_u32(attr);
			break;
		case IFLA_XDP_SKB_PROG_ID:
			l->xdp_skb_id = attr_u32(attr);
			break;
		case IFLA_XDP_HW_PROG_ID:
			l->xdp_hw_id = attr_u32(attr);
			break;
		}
	}
	if (l->xdp_prog_id)
		return;
	l->xdp_prog_id = l->xdp_drv_id ? l->xdp_drv_id : l->xdp_hw_id;
	if (!l->xdp_prog_id)
		l->xdp_prog_id = l->xdp_skb_id;
}

/* A vxlan tells its lower device here, others as IFLA_LINK. The kind comes first. */
static void parse_data(const struct nlattr *nest, struct bt_link *l)
{
	const struct nlattr *attr;

	if (strcmp(l->kind, "vxlan") != 0)
		return;
	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == IFLA_VXLAN_LINK)
			l->peer = (int)attr_u32(attr);
	}
}

static void parse_attr(const struct nlattr *attr, struct bt_link *l)
{
	const struct nlattr *sub;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		attr_copy(attr, l->name, sizeof(l->name));
		break;
	case IFLA_MTU:
		l->mtu = attr_u32(attr);
		break;
	case IFLA_LINK:
		l->peer = (int)attr_u32(attr);
		break;
	case IFLA_MASTER:
		l->master = (int)attr_u32(attr);
		break;
	case IFLA_LINK_NETNSID:
		l->peer_elsewhere = true;
		l->peer_nsid = (int)attr_u32(attr);
		break;
	case IFLA_LINKINFO:
		mnl_attr_for_each_nested(sub, attr) {
			if (mnl_attr_get_type(sub) == IFLA_INFO_KIND)
				attr_copy(sub, l->kind, sizeof(l->kind));
			else if (mnl_attr_get_type(sub) == IFLA_INFO_DATA)
				parse_data(sub, l);
		}
		break;
	case IFLA_XDP:
		parse_xdp(attr, l);
		break;
	case ATTR_GSO_MAX_SIZE:
		l->sizes.gso = attr_u32(attr);
		break;
	case ATTR_GRO_MAX_SIZE:
		l->sizes.gro = attr_u32(attr);
		break;
	case ATTR_TSO_MAX_SIZE:
		l->sizes.tso_max = attr_u32(attr);
		break;
	case ATTR_GSO_IPV4_MAX_SIZE:
		l->sizes.gso_ipv4 = attr_u32(attr);
		break;
	case ATTR_GRO_IPV4_MAX_SIZE:
		l->sizes.gro_ipv4 = attr_u32(attr);
		break;
	}
}

static int parse_link(const struct nlmsghdr *nlh, struct bt_link *l)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi))
		return -EBADMSG;
	memset(l, 0, sizeof(*l));
	l->ifindex = ifi->ifi_index;
	l->flags = ifi->ifi_flags;
	l->arp_type = ifi->ifi_type;
	l->peer_nsid = -1;
	mnl_attr_for_each(attr, nlh, sizeof(*ifi))
		parse_attr(attr, l);
	return 0;
}

struct link_array {
	struct bt_link *links;
	unsigned int n;
};

static int collect_link(const struct nlmsghdr *nlh, void *data)
{
	struct link_array *a = data;
	struct bt_link *more = reallocarray(a->links, a->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	a->links = more;
	/* Other messages of a dump are none of ours. */
	if (!parse_link(nlh, &a->links[a->n]))
		a->n++;
	return 0;
}

int bt_link_list(struct bt_link **links, unsigned int *n)
{
	struct link_array a;
	struct request r;
	int err, tries = 5;

	do {
		a = (struct link_array){ NULL, 0 };
		link_request(&r, RTM_GETLINK, NLM_F_DUMP, 0);
		err = talk(&r, "list the devices", collect_link, &a);
		if (err)
			free(a.links);
	} while (err == -EAGAIN && --tries);
	if (err)
		return err;
	*links = a.links;
	*n = a.n;
	return 0;
}

static int take_link(const struct nlmsghdr *nlh, void *data)
{
	return parse_link(nlh, data);
}

int bt_link_get(int ifindex, struct bt_link *link)
{
	struct bt_link got = {};
	struct request r;
	char what[64];
	int err;

	link_request(&r, RTM_GETLINK, 0, ifindex);
	snprintf(what, sizeof(what), "read device %d", ifindex);
	err = talk(&r, what, take_link, &got);
	if (!err)
		*link = got;
	return err;
}

int bt_link_get_in(int nsid, int ifindex, struct bt_link *link)
{
	struct bt_link got = {};
	struct request r;
	int err;

	link_request(&r, RTM_GETLINK, 0, ifindex);
	mnl_attr_put_u32(r.nlh, IFLA_TARGET_NETNSID, (__u32)nsid);
	err = talk(&r, "read a device of another namespace", take_link, &got);
	if (err)
		bt_err_clear();
	else
		*link = got;
	return err;
}

int bt_link_get_name(const char *name, struct bt_link *link)
{
	struct bt_link got = {};
	struct request r;
	int err;

	if (!*name || strlen(name) >= IFNAMSIZ)
		return bt_err(-ENODEV, "no device '%s'", name);
	link_request(&r, RTM_GETLINK, 0, 0);
	mnl_attr_put_strz(r.nlh, IFLA_IFNAME, name);
	err = talk(&r, "read a device", take_link, &got);
	if (err == -ENODEV) {
		bt_err_clear();
		bt_err(err, "no device '%s' in this network namespace", name);
	}
	if (!err)
		*link = got;
	return err;
}

static int take_nsid(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWNSID)
		return 0;
	mnl_attr_for_each(attr, nlh, sizeof(struct rtgenmsg)) {
		if (mnl_attr_get_type(attr) == NETNSA_NSID)
			*(int *)data = (int)attr_u32(attr);
	}
	return 0;
}

int bt_netns_nsid(int fd, int *nsid)
{
	int err, got = -1;
	struct request r;

	request_init(&r, RTM_GETNSID, 0, sizeof(struct rtgenmsg));
	mnl_attr_put_u32(r.nlh, NETNSA_FD, (__u32)fd);
	err = talk(&r, "read the id of a namespace", take_nsid, &got);
	if (err)
		bt_err_clear();
	if (!err && got < 0)
		err = -ENOENT;
	if (!err)
		*nsid = got;
	return err;
}

struct tc_dump {
	int ifindex;
	int (*fn)(const struct nlmsghdr *nlh, void *arg);
	void *arg;
};

/* Kernels tell the qdiscs of all devices, whichever was asked for. */
static int take_tc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct tc_dump *d = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*tc) || tc->tcm_ifindex != d->ifindex)
		return 0;
	return d->fn(nlh, d->arg);
}

int bt_tc_dump(__u16 type, int ifindex, __u32 parent,
	       int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg)
{
	struct tc_dump d = { .ifindex = ifindex, .fn = fn, .arg = arg };
	struct tcmsg *tc;
	struct request r;
	int err;

	tc = request_init(&r, type, NLM_F_DUMP, sizeof(*tc));
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = parent;
	err = talk(&r, "read the qdiscs", take_tc, &d);
	if (err < 0)
		bt_err_clear();
	return err == -EAGAIN ? 0 : err; /* changed meanwhile: what was read is still right */
}

/* --- changing ------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int change(struct request *r, const char *fmt, ...)
{
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return talk(r, what, NULL, NULL);
}

int bt_veth_add(const char *name, const char *peer, int peer_netns)
{
	struct nlattr *info, *data, *end;
	struct request r;

	if (strlen(name) >= IFNAMSIZ || strlen(peer) >= IFNAMSIZ)
		return -EINVAL;
	link_request(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	mnl_attr_put_strz(r.nlh, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(r.nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(r.nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(r.nlh, IFLA_INFO_DATA);
	end = mnl_attr_nest_start(r.nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(r.nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(r.nlh, IFLA_IFNAME, peer);
	if (peer_netns >= 0)
		mnl_attr_put_u32(r.nlh, IFLA_NET_NS_FD, (__u32)peer_netns);
	mnl_attr_nest_end(r.nlh, end);
	mnl_attr_nest_end(r.nlh, data);
	mnl_attr_nest_end(r.nlh, info);
	return change(&r, "add the veth pair %s, %s", name, peer);
}

int bt_link_add(const char *name, const char *kind)
{
	struct nlattr *info;
	struct request r;

	if (strlen(name) >= IFNAMSIZ)
		return -EINVAL;
	link_request(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	mnl_attr_put_strz(r.nlh, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(r.nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(r.nlh, IFLA_INFO_KIND, kind);
	mnl_attr_nest_end(r.nlh, info);
	return change(&r, "add the %s device %s", kind, name);
}

int bt_link_del(int ifindex)
{
	struct request r;

	link_request(&r, RTM_DELLINK, 0, ifindex);
	return change(&r, "delete device %d", ifindex);
}

int bt_link_set_up(int ifindex)
{
	struct ifinfomsg *ifi;
	struct request r;

	ifi = link_request(&r, RTM_NEWLINK, 0, ifindex);
	ifi->ifi_flags = IFF_UP;
	ifi->ifi_change = IFF_UP;
	return change(&r, "set device %d up", ifindex);
}

int bt_link_set_mtu(int ifindex, __u32 mtu)
{
	struct request r;

	link_request(&r, RTM_NEWLINK, 0, ifindex);
	mnl_attr_put_u32(r.nlh, IFLA_MTU, mtu);
	return change(&r, "set the MTU of device %d to %u", ifindex, mtu);
}

int bt_link_set_sizes(int ifindex, const struct bt_sizes *s)
{
	const struct {
		__u16 attr;
		__u32 size;
		const char *name;
	} set[] = {
		{ ATTR_GSO_MAX_SIZE, s->gso, "gso_max_size" },
		{ ATTR_GRO_MAX_SIZE, s->gro, "gro_max_size" },
		{ ATTR_GSO_IPV4_MAX_SIZE, s->gso_ipv4, "gso_ipv4_max_size" },
		{ ATTR_GRO_IPV4_MAX_SIZE, s->gro_ipv4, "gro_ipv4_max_size" },
	};
	struct request r;
	int err;

	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
		if (!set[i].size)
			continue;
		link_request(&r, RTM_NEWLINK, 0, ifindex);
		mnl_attr_put_u32(r.nlh, set[i].attr, set[i].size);
		err = change(&r, "set %s of device %d to %u", set[i].name, ifindex, set[i].size);
		if (err)
			return err;
	}
	return 0;
}

int bt_addr_add(int ifindex, int family, const void *addr, unsigned int prefix_len)
{
	size_t len = family == AF_INET6 ? 16 : 4;
	struct ifaddrmsg *ifa;
	struct request r;

	ifa = request_init(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*ifa));
	ifa->ifa_family = (__u8)family;
	ifa->ifa_prefixlen = (__u8)prefix_len;
	ifa->ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0;
	ifa->ifa_index = (__u32)ifindex;
	mnl_attr_put(r.nlh, IFA_LOCAL, len, addr);
	mnl_attr_put(r.nlh, IFA_ADDRESS, len, addr);
	return change(&r, "add an address to device %d", ifindex);
}
