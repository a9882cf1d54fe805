// SPDX-License-Identifier: GPL-2.0
#include "daemon/marks.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bpf.h"
#include "base/cleanup.h"

#define HASH_START 0xcbf29ce484222325ULL /* FNV-1a */
#define HASH_PRIME 0x100000001b3ULL

/* Where a device has filters. */
struct place {
	int ifindex;
	__u32 parent;
};

struct bt_marks {
	struct mnl_socket *nl;
	unsigned int seq;
	struct place *v; /* by ifindex */
	unsigned int n, cap;
	bool no_tcx; /* this kernel */
	char buf[32768];
};

static __u64 add(__u64 h, const void *data, size_t len)
{
	const __u8 *p = data;

	while (len--)
		h = (h ^ *p++) * HASH_PRIME;
	return h;
}

static __u64 add_u32(__u64 h, __u32 val)
{
	return add(h, &val, sizeof(val));
}

/* Asks for a dump; fn sees each answer, and -errno of it ends the dump. */
static int dump(struct bt_marks *m, __u16 type, const struct tcmsg *of,
		int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg)
{
	char req[MNL_NLMSG_HDRLEN + sizeof(struct tcmsg) + 64]
		__attribute__((aligned(NLMSG_ALIGNTO))) = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(req);
	int n, ret;

	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(*of)), of, sizeof(*of));
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++m->seq;
	if (mnl_socket_sendto(m->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = (int)mnl_socket_recvfrom(m->nl, m->buf, sizeof(m->buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		/* EINTR here: something changed meanwhile, and the next round will see it. */
		ret = mnl_cb_run(m->buf, (size_t)n, m->seq, 0, fn, arg);
		if (ret < 0 && errno == EINTR)
			ret = MNL_CB_OK;
	} while (n < 0 || ret > 0);
	return ret < 0 ? -errno : 0;
}

/* --- which devices have filters --------------------------------------------------------- */

/* Qdiscs that never have any. */
static bool plain(const char *kind)
{
	static const char *const kinds[] = { "noqueue", "noop", "pfifo_fast", "pfifo",
					     "bfifo",	"mq",	"fq" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kind, kinds[i]))
			return true;
	}
	return false;
}

static int put(struct bt_marks *m, int ifindex, __u32 parent)
{
	if (m->n == m->cap) {
		struct place *more = reallocarray(m->v, m->cap * 2 + 64, sizeof(*more));

		if (!more)
			return -ENOMEM;
		m->v = more;
		m->cap = m->cap * 2 + 64;
	}
	m->v[m->n++] = (struct place){ ifindex, parent };
	return 0;
}

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;
	struct bt_marks *m = arg;
	const char *kind = "";
	int err;

	mnl_attr_for_each(a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND &&
		    mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			kind = mnl_attr_get_str(a);
	}
	if (tc->tcm_parent == TC_H_CLSACT) { /* that of ingress, too */
		err = put(m, tc->tcm_ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
		if (!err)
			err = put(m, tc->tcm_ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	} else {
		err = plain(kind) ? 0 : put(m, tc->tcm_ifindex, tc->tcm_handle);
	}
	if (!err)
		return MNL_CB_OK;
	errno = -err;
	return MNL_CB_ERROR;
}

static int by_ifindex(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return x->parent < y->parent ? -1 : x->parent > y->parent;
}

int bt_marks_new(struct bt_marks **out)
{
	struct bt_marks *m __cleanup(bt_marks_free) = calloc(1, sizeof(*m));
	const struct tcmsg all = {};
	int err;

	if (!m)
		return -ENOMEM;
	m->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!m->nl || mnl_socket_bind(m->nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	err = dump(m, RTM_GETQDISC, &all, on_qdisc, m);
	if (err)
		return err;
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_ifindex);
	*out = TAKE_PTR(m);
	return 0;
}

void bt_marks_free(struct bt_marks **m)
{
	if (!*m)
		return;
	if ((*m)->nl)
		mnl_socket_close((*m)->nl);
	free((*m)->v);
	free(*m);
	*m = NULL;
}

/* --- a device ----------------------------------------------------------------------------- */

/* Options of other kinds hold counters; of BPF filters the program counts. */
static int on_filter(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *o;
	__u64 *h = arg;

	*h = add_u32(add_u32(*h, tc->tcm_handle), tc->tcm_info);
	mnl_attr_for_each(a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) != TCA_OPTIONS)
			continue;
		mnl_attr_for_each_nested(o, a) {
			if (mnl_attr_get_type(o) == TCA_BPF_ID)
				*h = add(*h, mnl_attr_get_payload(o), mnl_attr_get_payload_len(o));
		}
	}
	return MNL_CB_OK;
}

static int filters(struct bt_marks *m, int ifindex, __u64 *h)
{
	const struct place *p;
	unsigned int lo = 0, hi = m->n;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (m->v[mid].ifindex < ifindex)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (p = m->v + lo; p < m->v + m->n && p->ifindex == ifindex; p++) {
		const struct tcmsg of = { .tcm_ifindex = ifindex, .tcm_parent = p->parent };
		int err;

		*h = add_u32(*h, p->parent);
		err = dump(m, RTM_GETTFILTER, &of, on_filter, h);
		/* no egress hook, or a qdisc without filters */
		if (err && err != -EINVAL && err != -ENOENT && err != -EOPNOTSUPP)
			return err;
	}
	return 0;
}

static int programs(struct bt_marks *m, int ifindex, __u32 type, __u64 *h)
{
	struct bt_hook hook = {};
	bool tcx = type == BT_TCX_INGRESS || type == BT_TCX_EGRESS;
	int err = tcx && m->no_tcx ? 0 : bt_prog_query(ifindex, type, &hook);

	if (err && err != -EINVAL)
		return err;
	/* A kernel without the hook, or one end of a netkit pair. */
	m->no_tcx = m->no_tcx || (tcx && err);
	*h = add_u32(*h, hook.n);
	for (__u32 i = 0; i < hook.n; i++)
		*h = add_u32(*h, hook.progs[i].prog_id);
	return 0;
}

__u64 bt_marks_of(struct bt_marks *m, const struct bt_link *l)
{
	__u64 h = HASH_START;

	h = add_u32(add_u32(add_u32(h, l->xdp_drv_id), l->xdp_skb_id), l->xdp_hw_id);
	h = add_u32(add_u32(h, l->xdp_prog_id), l->xdp_mode);
	if (programs(m, l->ifindex, BT_TCX_INGRESS, &h) ||
	    programs(m, l->ifindex, BT_TCX_EGRESS, &h) || filters(m, l->ifindex, &h))
		return 0;
	if (!strcmp(l->kind, "netkit") && (programs(m, l->ifindex, BT_NETKIT_PRIMARY, &h) ||
					   programs(m, l->ifindex, BT_NETKIT_PEER, &h)))
		return 0;
	return h ? h : 1;
}
