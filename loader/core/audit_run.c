// SPDX-License-Identifier: GPL-2.0
#include "core/audit_run.h"

#include "base/bpf.h"
#include "base/cleanup.h"

#include <arpa/inet.h>
#include <bigtcp/jumbo.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "audit_lift.skel.h"

#define LIFT_FAILED 0x7a110000u /* bpf/audit_lift.bpf.c */
#define LIFT_HEAD   128

/* As a TCP sender at an MTU of 1500 sets them. Constant, so that what a program derives from them
 * is no difference between a long packet and a short one; but the jumbo header counts, as in skb->len.
 */
#define GSO_SIZE 1428
#define GSO_SEGS 46
#define WIRE_LEN 65000

struct lift_plan {
	__u32 grow;
	__u32 slot;
	__u8 head[LIFT_HEAD];
};

/* From 6.18 on the caller's expected_attach_type must be that of the program it calls, and nothing
 * tells that of a loaded program: one caller for each that a tc program can have.
 */
static const __u32 attach_types[] = { 0, BT_TCX_INGRESS, BT_TCX_EGRESS };
static const __u32 prog_types[] = { BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_SCHED_ACT };
#define N_ATTACH 3
#define N_TYPES	 2

struct bt_runner {
	struct audit_lift *lifts[N_TYPES][N_ATTACH];
	bool tried[N_TYPES][N_ATTACH];
	struct audit_lift *lift; /* of the program that is set; NULL: none takes it */
	int prog_fd;
	__u8 in[BT_RUN_SMALL_MAX];
	__u8 out[BT_RUN_MAX];
};

int bt_runner_open(struct bt_runner **out)
{
	struct bt_runner *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->prog_fd = -1;
	*out = r;
	return 0;
}

void bt_runner_close(struct bt_runner *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < N_TYPES * N_ATTACH; i++)
		audit_lift__destroy(r->lifts[i / N_ATTACH][i % N_ATTACH]);
	free(r);
}

static struct audit_lift *lift_load(__u32 type, __u32 attach_type)
{
	struct audit_lift *s = audit_lift__open();

	if (!s)
		return NULL;
	bpf_program__set_type(s->progs.audit_lift, type);
	bpf_program__set_expected_attach_type(s->progs.audit_lift, attach_type);
	if (audit_lift__load(s)) {
		audit_lift__destroy(s);
		return NULL;
	}
	return s;
}

int bt_runner_set(struct bt_runner *r, int prog_fd, __u32 type)
{
	unsigned int t = type == prog_types[0] ? 0 : 1;
	__u32 key = 0;

	if (type != prog_types[t])
		return -EINVAL;
	r->prog_fd = prog_fd;
	r->lift = NULL;
	for (unsigned int a = 0; a < N_ATTACH; a++) {
		struct audit_lift **s = &r->lifts[t][a];

		if (!r->tried[t][a])
			*s = lift_load(type, attach_types[a]);
		r->tried[t][a] = true;
		if (*s && !bpf_map_update_elem(bpf_map__fd((*s)->maps.lift_prog), &key, &prog_fd,
					       BPF_ANY)) {
			r->lift = *s;
			return 0;
		}
	}
	return 0;
}

bool bt_runner_lifts(const struct bt_runner *r)
{
	return r->lift;
}

/* Input of the test run that leads to @p, and which program to run. */
static int prepare(struct bt_runner *r, struct bt_run *run, int *fd, __u32 *in_len)
{
	const struct bt_packet *p = &run->packet;
	struct lift_plan plan = {};
	__u32 key = 0;
	int head;

	head = bt_packet_head(p, run->in);
	if (head < 0)
		return head;
	memset(run->in + head, 0, sizeof(run->in) - head);
	run->head_len = head;
	run->in_len = p->len;
	memset(r->in, 0, sizeof(r->in));
	memcpy(r->in, run->in, sizeof(run->in));
	*fd = r->prog_fd;
	*in_len = p->len;
	if (p->len <= BT_RUN_SMALL_MAX)
		return 0;

	*in_len = p->len % BT_RUN_LIFT_UNIT;
	plan.grow = p->len - *in_len;
	if (!r->lift || p->len > BT_RUN_MAX || *in_len < BT_RUN_LIFT_MIN ||
	    *in_len > BT_RUN_SMALL_MAX)
		return -EINVAL;
	memcpy(plan.head, run->in, sizeof(plan.head));
	/* Behind the first 54 bytes, which the lift clears, there is payload. */
	memset(r->in + BT_RUN_LIFT_MIN, 0, sizeof(run->in) - BT_RUN_LIFT_MIN);
	*fd = bpf_program__fd(r->lift->progs.audit_lift);
	if (bpf_map_update_elem(bpf_map__fd(r->lift->maps.lift_plan), &key, &plan, BPF_ANY))
		return -errno;
	return 0;
}

static bool all_zero(const __u8 *p, size_t len)
{
	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

int bt_runner_run(struct bt_runner *r, const struct bt_packet *p, int ifindex, bool ingress,
		  struct bt_run *run)
{
	struct __sk_buff in = {
		.ifindex = ifindex,
		.ingress_ifindex = ingress ? ifindex : 0,
		.gso_size = GSO_SIZE,
		.gso_segs = GSO_SEGS,
		.wire_len = WIRE_LEN + (p->shape == BT_SHAPE_HBH ? BIGTCP_JUMBO_HDR_LEN : 0),
	}, out = {};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = r->in, .data_out = r->out,
		    .data_size_out = sizeof(r->out), .ctx_in = &in, .ctx_size_in = sizeof(in),
		    .ctx_out = &out, .ctx_size_out = sizeof(out));
	struct bt_run res = { .packet = *p };
	int fd, err;

	err = prepare(r, &res, &fd, &o.data_size_in);
	if (err)
		return err;
	if (bpf_prog_test_run_opts(fd, &o))
		return -errno;
	if (p->len > BT_RUN_SMALL_MAX && o.retval >= LIFT_FAILED && o.retval < LIFT_FAILED + 4096)
		return o.retval == LIFT_FAILED + ENOMEM ? -EAGAIN : -EOPNOTSUPP;
	res.retval = o.retval;
	res.mark = out.mark;
	res.priority = out.priority;
	memcpy(res.cb, out.cb, sizeof(res.cb));
	res.tstamp = out.tstamp;
	res.out_len = o.data_size_out;
	memcpy(res.out, r->out,
	       o.data_size_out < sizeof(res.out) ? o.data_size_out : sizeof(res.out));
	if (o.data_size_out > sizeof(res.out))
		res.payload_changed =
			!all_zero(r->out + sizeof(res.out), o.data_size_out - sizeof(res.out));
	*run = res;
	return 0;
}
