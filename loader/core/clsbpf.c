// SPDX-License-Identifier: GPL-2.0
#include "core/clsbpf.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <time.h>

/* Where the kernel puts filters without a priority (tcf_auto_prio). */
#define PRIO_AUTO 0xc000
#define PRIO_MAX  0xffff

struct prios {
	unsigned char used[(PRIO_MAX + 1) / 8];
	__u32 min, max; /* 0: none */
};

static bool is_used(const struct prios *p, __u32 prio)
{
	return p->used[prio / 8] & (1u << prio % 8);
}

static int note_filter(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	struct prios *p = arg;
	__u32 prio;

	if (nlh->nlmsg_type != RTM_NEWTFILTER)
		return MNL_CB_OK;
	prio = TC_H_MAJ(tcm->tcm_info) >> 16;
	p->used[prio / 8] |= 1u << prio % 8;
	if (!p->min || prio < p->min)
		p->min = prio;
	if (prio > p->max)
		p->max = prio;
	return MNL_CB_OK;
}

static int dump(struct mnl_socket *nl, int ifindex, bool egress, struct prios *p)
{
	char buf[32768];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	unsigned int seq = time(NULL);
	struct tcmsg *tcm;
	ssize_t n;
	int ret;

	nlh->nlmsg_type = RTM_GETTFILTER;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = seq;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	tcm->tcm_family = AF_UNSPEC;
	tcm->tcm_ifindex = ifindex;
	tcm->tcm_parent = TC_H_MAKE(TC_H_CLSACT, egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0)
			return -errno;
		ret = mnl_cb_run(buf, n, seq, mnl_socket_get_portid(nl), note_filter, p);
	} while (ret > MNL_CB_STOP);
	return ret < 0 ? -errno : 0;
}

static int read_prios(int ifindex, bool egress, struct prios *p)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int err;

	memset(p, 0, sizeof(*p));
	if (!nl)
		return bt_err(-errno, "cannot open a netlink socket: %s", strerror(errno));
	err = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ? -errno : dump(nl, ifindex, egress, p);
	mnl_socket_close(nl);
	/* No clsact yet: no filters. */
	if (!err || err == -EINVAL || err == -ENOENT)
		return 0;
	return bt_err(err, "cannot list the tc filters: %s", strerror(-err));
}

int bt_cls_free_prio(int ifindex, bool egress, bool last, __u32 *prio, bool *late)
{
	struct prios p;
	__u32 at;
	int err;

	*late = false;
	err = read_prios(ifindex, egress, &p);
	if (err)
		return err;
	if (!p.min) {
		*prio = PRIO_AUTO;
		return 0;
	}
	if (!last && p.min > 2) {
		*prio = p.min > PRIO_AUTO ? PRIO_AUTO : p.min - 1;
		return 0;
	}
	*late = !last;
	for (at = last ? p.max : p.min; at <= PRIO_MAX; at++) {
		if (at > 1 && !is_used(&p, at)) {
			*prio = at;
			return 0;
		}
	}
	return bt_err(-ENOSPC, "no tc filter priority is left after %u", p.max);
}

static struct bpf_tc_hook hook_of(int ifindex, bool egress)
{
	return (struct bpf_tc_hook){
		.sz = sizeof(struct bpf_tc_hook),
		.ifindex = ifindex,
		.attach_point = egress ? BPF_TC_EGRESS : BPF_TC_INGRESS,
	};
}

int bt_cls_attach(int prog_fd, int ifindex, bool egress, __u32 prio, __u32 handle)
{
	struct bpf_tc_hook hook = hook_of(ifindex, egress);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .priority = prio, .handle = handle);
	int err;

	/* EEXIST: clsact, or an ingress qdisc, which does for ingress. */
	err = bpf_tc_hook_create(&hook);
	if (err && err != -EEXIST)
		return bt_err(err, "cannot make the clsact qdisc: %s",
			      err == -ENOENT ? "this kernel has none (CONFIG_NET_SCH_INGRESS)"
					     : strerror(-err));
	err = bpf_tc_attach(&hook, &opts);
	if (err)
		return bt_err(err, "cannot add the tc filter: %s",
			      err == -ENOENT ? "this kernel has no cls_bpf (CONFIG_NET_CLS_BPF)"
					     : strerror(-err));
	return 0;
}

int bt_cls_query(int ifindex, bool egress, __u32 prio, __u32 handle, __u32 *prog_id)
{
	struct bpf_tc_hook hook = hook_of(ifindex, egress);
	LIBBPF_OPTS(bpf_tc_opts, opts, .priority = prio, .handle = handle);
	int err = bpf_tc_query(&hook, &opts);

	/* Without the qdisc, or a filter of that priority, the kernel says EINVAL. */
	if (err == -EINVAL || err == -ENODEV)
		return -ENOENT;
	if (!err)
		*prog_id = opts.prog_id;
	return err;
}

int bt_cls_detach(int ifindex, bool egress, __u32 prio, __u32 handle)
{
	struct bpf_tc_hook hook = hook_of(ifindex, egress);
	LIBBPF_OPTS(bpf_tc_opts, opts, .priority = prio, .handle = handle);

	return bpf_tc_detach(&hook, &opts);
}

int bt_cls_replace(int prog_fd, int ifindex, bool egress, __u32 prio, __u32 handle)
{
	struct bpf_tc_hook hook = hook_of(ifindex, egress);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .priority = prio, .handle = handle,
		    .flags = BPF_TC_F_REPLACE);

	return bpf_tc_attach(&hook, &opts);
}

bool bt_cls_is_first(int ifindex, bool egress, __u32 prio)
{
	struct prios p;

	if (read_prios(ifindex, egress, &p)) {
		bt_err_clear();
		return false;
	}
	return p.min == prio;
}
