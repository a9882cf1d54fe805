// SPDX-License-Identifier: GPL-2.0
#include "core/audit_run.h"

#include "base/bpf.h"
#include "base/cleanup.h"

#include <arpa/inet.h>
#include <bigtcp/jumbo.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
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
static const __u32 attach_types[] = { 0, BT_TCX_INGRESS, BT_TCX_EGRESS, BT_NETKIT_PRIMARY,
				      BT_NETKIT_PEER };
static const __u32 prog_types[] = { BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_SCHED_ACT };
#define N_ATTACH 5
#define N_TYPES	 2

struct bt_runner {
	struct audit_lift *lifts[N_TYPES][N_ATTACH];
	bool tried[N_TYPES][N_ATTACH];
	struct audit_lift *lift; /* of the program that is set; NULL: none takes it */
	enum bt_kind kind;
	int prog_fd;
	bool frags; /* XDP */
	bool no_rxq; /* XDP: the device can't be named */
	bool l2; /* socket filters */
	bool direct, direct_known; /* cgroup_skb */
	__u8 in[BT_RUN_XDP_MAX];
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

/* --- which program -------------------------------------------------------------------------------- */

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

static struct audit_lift *find_lift(struct bt_runner *r, __u32 type)
{
	unsigned int t = type == prog_types[0] ? 0 : 1;
	__u32 key = 0;

	for (unsigned int a = 0; a < N_ATTACH; a++) {
		struct audit_lift **s = &r->lifts[t][a];

		if (!r->tried[t][a])
			*s = lift_load(type, attach_types[a]);
		r->tried[t][a] = true;
		if (*s && !bpf_map_update_elem(bpf_map__fd((*s)->maps.lift_prog), &key, &r->prog_fd,
					       BPF_ANY))
			return *s;
	}
	return NULL;
}

/* May a program made for frags tail-call it? The kernel lets no caller mix those that are and those
 * that are not, and nothing else tells of a loaded program.
 */
static bool frags_caller(int prog_fd, __u32 attach_type)
{
	int map __close = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "bigtcp_frags", 4, 4, 1, NULL);
	struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{},
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .prog_flags = BPF_F_XDP_HAS_FRAGS,
		    .expected_attach_type = attach_type);
	int caller __close = -1;
	__u32 key = 0;

	if (map < 0)
		return false;
	caller = bpf_prog_load(BPF_PROG_TYPE_XDP, "bigtcp_frags", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &o);
	return caller >= 0 && !bpf_map_update_elem(map, &key, &prog_fd, BPF_ANY);
}

int bt_runner_set(struct bt_runner *r, int prog_fd, __u32 type)
{
	enum bt_kind kind = bt_kind_of(type);

	if (kind == BT_KIND_NONE || kind == BT_KIND_LOOKUP)
		return -EINVAL;
	r->kind = kind;
	r->prog_fd = prog_fd;
	r->l2 = false;
	r->no_rxq = false;
	r->lift = kind == BT_KIND_TC ? find_lift(r, type) : NULL;
	r->frags =
		kind == BT_KIND_XDP && (frags_caller(prog_fd, 0) || frags_caller(prog_fd, BPF_XDP));
	return 0;
}

__u32 bt_runner_max(const struct bt_runner *r)
{
	if (r->kind == BT_KIND_XDP)
		return BT_RUN_XDP_MAX;
	return r->lift ? BT_RUN_MAX : BT_RUN_SMALL_MAX;
}

bool bt_runner_frags(const struct bt_runner *r)
{
	return r->frags;
}

void bt_runner_l2(struct bt_runner *r, bool on)
{
	r->l2 = on && r->kind == BT_KIND_SOCKET;
}

/* Passes a packet if there are 40 bytes between data and data_end. */
static bool try_direct(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_LDX | BPF_MEM | BPF_W,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_1,
		  .off = offsetof(struct __sk_buff, data) },
		{ .code = BPF_LDX | BPF_MEM | BPF_W,
		  .dst_reg = BPF_REG_3,
		  .src_reg = BPF_REG_1,
		  .off = offsetof(struct __sk_buff, data_end) },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = 40 },
		{ .code = BPF_JMP | BPF_JGT | BPF_X,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_3,
		  .off = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	__u8 data[128] = { [12] = 0x86, [13] = 0xdd };
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = data, .data_size_in = sizeof(data));
	int fd __close = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "bigtcp_direct", "GPL", insns,
				       sizeof(insns) / sizeof(insns[0]), NULL);

	return fd >= 0 && !bpf_prog_test_run_opts(fd, &o) && o.retval == 1;
}

bool bt_runner_direct(struct bt_runner *r)
{
	if (!r->direct_known)
		r->direct = try_direct();
	r->direct_known = true;
	return r->direct;
}

/* --- runs ----------------------------------------------------------------------------------------- */

/* The packet's first bytes, to run->in and to the input. */
static int write_head(struct bt_runner *r, struct bt_run *run)
{
	int head = bt_packet_head(&run->packet, run->in);

	if (head < 0)
		return head;
	memset(run->in + head, 0, sizeof(run->in) - head);
	run->head_len = head;
	run->in_len = run->packet.len;
	memset(r->in, 0, sizeof(r->in));
	memcpy(r->in, run->in, sizeof(run->in));
	return 0;
}

/* Input of the test run that leads to the packet, and which program to run. */
static int lift(struct bt_runner *r, struct bt_run *run, int *fd, __u32 *in_len)
{
	const struct bt_packet *p = &run->packet;
	struct lift_plan plan = {};
	__u32 key = 0;

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

/* The packet as the program left it: @len bytes from @at on of the output. */
static void keep_out(const struct bt_runner *r, __u32 at, __u32 len, struct bt_run *res)
{
	const __u8 *out = r->out + at;

	res->out_len = len;
	memcpy(res->out, out, len < sizeof(res->out) ? len : sizeof(res->out));
	if (len > sizeof(res->out))
		res->payload_changed = !all_zero(out + sizeof(res->out), len - sizeof(res->out));
}

static int run_tc(struct bt_runner *r, struct __sk_buff *in, struct bt_run *res)
{
	struct __sk_buff out = {};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = r->in, .data_out = r->out,
		    .data_size_out = sizeof(r->out), .ctx_in = in, .ctx_size_in = sizeof(*in),
		    .ctx_out = &out, .ctx_size_out = sizeof(out));
	int fd, err;

	err = lift(r, res, &fd, &o.data_size_in);
	if (err)
		return err;
	if (bpf_prog_test_run_opts(fd, &o))
		return -errno;
	if (res->in_len > BT_RUN_SMALL_MAX && o.retval >= LIFT_FAILED &&
	    o.retval < LIFT_FAILED + 4096)
		return o.retval == LIFT_FAILED + ENOMEM ? -EAGAIN : -EOPNOTSUPP;
	res->retval = o.retval;
	res->mark = out.mark;
	res->priority = out.priority;
	memcpy(res->cb, out.cb, sizeof(res->cb));
	res->tstamp = out.tstamp;
	keep_out(r, 0, o.data_size_out, res);
	return 0;
}

static int run_xdp(struct bt_runner *r, int ifindex, struct bt_run *res)
{
	struct xdp_md in = { .data_end = res->in_len, .ingress_ifindex = r->no_rxq ? 0 : ifindex };
	struct xdp_md out = {};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = r->in, .data_size_in = res->in_len,
		    .data_out = r->out, .data_size_out = sizeof(r->out), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out));
	int err;

	if (res->in_len > BT_RUN_XDP_MAX)
		return -EINVAL;
	err = bpf_prog_test_run_opts(r->prog_fd, &o) ? -errno : 0;
	if (err == -EINVAL && in.ingress_ifindex) {
		/* A device whose driver has registered no receive queue for XDP. */
		in.ingress_ifindex = 0;
		err = bpf_prog_test_run_opts(r->prog_fd, &o) ? -errno : 0;
		r->no_rxq = !err;
	}
	if (err)
		return err == -ENOMEM ? -EAGAIN : err;
	res->retval = o.retval;
	/* The output begins with the metadata. */
	res->meta_len = out.data < o.data_size_out ? out.data : 0;
	memcpy(res->meta, r->out, res->meta_len < BT_RUN_META ? res->meta_len : BT_RUN_META);
	keep_out(r, res->meta_len, o.data_size_out - res->meta_len, res);
	return 0;
}

/*
 * cgroup_skb, socket filters: the kernel takes the Ethernet header off and the program sees what
 * is behind it (and may not write to it). For a socket that sees Ethernet headers, one more is put in front.
 */
static int run_l3(struct bt_runner *r, struct __sk_buff *in, struct bt_run *res)
{
	unsigned int more = r->l2 ? BT_ETH_LEN : 0;
	struct __sk_buff out = {};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = r->in, .data_size_in = res->in_len + more,
		    .ctx_in = in, .ctx_size_in = sizeof(*in), .ctx_out = &out,
		    .ctx_size_out = sizeof(out));

	if (o.data_size_in > BT_RUN_SMALL_MAX)
		return -EINVAL;
	if (more) {
		memcpy(r->in + more, res->in, sizeof(res->in));
		memset(r->in, 0, 12);
	}
	if (bpf_prog_test_run_opts(r->prog_fd, &o))
		return -errno;
	res->retval = bt_ret_of_run(r->kind, o.retval, res->in_len - (r->l2 ? 0 : BT_ETH_LEN));
	res->mark = out.mark;
	res->priority = out.priority;
	memcpy(res->cb, out.cb, sizeof(res->cb));
	res->tstamp = out.tstamp;
	res->out_len = res->in_len;
	memcpy(res->out, res->in, sizeof(res->out));
	return 0;
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
	};
	struct bt_run res = { .packet = *p, .kind = r->kind };
	int err = write_head(r, &res);

	if (err)
		return err;
	if (r->kind == BT_KIND_TC)
		err = run_tc(r, &in, &res);
	else if (r->kind == BT_KIND_XDP)
		err = run_xdp(r, ifindex, &res);
	else
		err = run_l3(r, &in, &res);
	if (!err)
		*run = res;
	return err;
}
