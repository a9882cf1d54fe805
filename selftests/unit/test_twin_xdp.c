// SPDX-License-Identifier: GPL-2.0
/* What the engine makes of XDP programs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <bigtcp/twin.h>

#include "engine/insn.h"

#define XDP(field) offsetof(struct xdp_md, field)
#define LEN(a)	   (sizeof(a) / sizeof((a)[0]))

static int make(const struct bpf_insn *insns, __u32 cnt, bool frags, struct bigtcp_twin *t,
		struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin_prog p = {
		.type = BPF_PROG_TYPE_XDP, .frags = frags, .insns = insns, .insn_cnt = cnt
	};
	struct bigtcp_twin_opts o = { .sz = sizeof(o), .state_fd = 11, .buf_fd = 12 };

	return bigtcp_twin_make(&p, &o, t, why);
}

static struct bigtcp_twin made(const struct bpf_insn *insns, __u32 cnt, bool frags)
{
	struct bigtcp_twin_reason why = {};
	struct bigtcp_twin t = {};
	int err = make(insns, cnt, frags, &t, &why);

	cr_assert_eq(err, 0, "%d: %s", err, why.text);
	return t;
}

static unsigned int count(const struct bigtcp_twin *t, struct bpf_insn what)
{
	unsigned int n = 0;
	__u32 i;

	for (i = 0; i < t->insn_cnt; i++)
		n += !memcmp(&t->insns[i], &what, sizeof(what));
	return n;
}

static unsigned int count_call(const struct bigtcp_twin *t, struct bpf_insn call,
			       struct bpf_insn before, struct bpf_insn behind)
{
	unsigned int n = 0;
	__u32 i;

	for (i = 1; i + 1 < t->insn_cnt; i++)
		n += !memcmp(&t->insns[i], &call, sizeof(call)) &&
		     (!before.code || !memcmp(&t->insns[i - 1], &before, sizeof(before))) &&
		     (!behind.code || !memcmp(&t->insns[i + 1], &behind, sizeof(behind)));
	return n;
}

static const struct bpf_insn any;

Test(twin_xdp, ordinary_packets_pay_one_comparison)
{
	const struct bpf_insn prog[] = { MOV64_IMM(0, 2), EXIT() };
	struct bigtcp_twin t = made(prog, LEN(prog), false);

	cr_assert_eq(t.insns[0].off, XDP(data));
	cr_assert_eq(t.insns[1].off, XDP(data_end));
	cr_assert_eq(t.insns[2].imm, BIGTCP_TWIN_MIN_LEN);
	cr_assert_eq(t.insns[3].code, BPF_JMP | BPF_JLT | BPF_X);
	cr_assert(!memcmp(&t.insns[4], prog, sizeof(prog)), "the original stands behind it");
	bigtcp_twin_free(&t);
}

Test(twin_xdp, packets_in_several_buffers_are_asked_for_their_length)
{
	const struct bpf_insn prog[] = { MOV64_IMM(0, 2), EXIT() };
	struct bigtcp_twin t = made(prog, LEN(prog), true);

	cr_assert_eq(t.insns[1].imm, BPF_FUNC_xdp_get_buff_len);
	cr_assert_eq(t.insns[3].imm, BIGTCP_TWIN_MIN_LEN);
	cr_assert(!memcmp(&t.insns[4], prog, sizeof(prog)), "the original stands behind it");
	bigtcp_twin_free(&t);
}

Test(twin_xdp, data_is_moved_and_the_rest_is_not)
{
	const struct bpf_insn prog[] = {
		LDX_MEM(BPF_W, 3, 1, XDP(data)),
		LDX_MEM(BPF_W, 4, 1, XDP(data_end)),
		LDX_MEM(BPF_W, 5, 1, XDP(ingress_ifindex)),
		MOV64_IMM(0, 2),
		EXIT(),
	};
	struct bigtcp_twin t = made(prog, LEN(prog), false);

	cr_assert_eq(count(&t, ALU64_IMM(BPF_ADD, 3, 8)), 1);
	cr_assert_eq(count(&t, ALU64_IMM(BPF_ADD, 4, 8)), 0);
	cr_assert_eq(count(&t, ALU64_IMM(BPF_ADD, 5, 8)), 0);
	cr_assert_eq(t.moved_sites, 1, "the load: %u", t.moved_sites);
	bigtcp_twin_free(&t);
}

Test(twin_xdp, offsets_and_lengths)
{
	const struct bpf_insn prog[] = {
		MOV64_REG(6, 1),
		CALL_HELPER(BPF_FUNC_xdp_get_buff_len),
		MOV64_REG(7, 0),
		MOV64_REG(1, 6),
		MOV64_IMM(2, 54),
		MOV64_REG(3, 10),
		ALU64_IMM(BPF_ADD, 3, -8),
		MOV64_IMM(4, 4),
		CALL_HELPER(BPF_FUNC_xdp_load_bytes),
		MOV64_IMM(0, 2),
		EXIT(),
	};
	struct bigtcp_twin t = made(prog, LEN(prog), true);

	cr_assert_eq(count_call(&t, CALL_HELPER(BPF_FUNC_xdp_get_buff_len), any,
				ALU64_IMM(BPF_ADD, 0, -8)),
		     1);
	cr_assert_eq(
		count_call(&t, CALL_HELPER(BPF_FUNC_xdp_load_bytes), ALU64_IMM(BPF_ADD, 2, 8), any),
		1);
	bigtcp_twin_free(&t);
}

Test(twin_xdp, a_moved_start_is_marked_again)
{
	const struct bpf_insn prog[] = {
		MOV64_IMM(2, 4),
		CALL_HELPER(BPF_FUNC_xdp_adjust_head),
		MOV64_IMM(0, 2),
		EXIT(),
	};
	struct bigtcp_twin t = made(prog, LEN(prog), false);

	cr_assert_eq(count(&t, ST_MEM(BPF_W, 3, 0, (__s32)BIGTCP_TWIN_MAGIC)), 1);
	bigtcp_twin_free(&t);
}

Test(twin_xdp, the_context_must_be_known)
{
	const struct bpf_insn prog[] = {
		LDX_MEM(BPF_DW, 1, 10, -8),
		MOV64_IMM(2, 4),
		CALL_HELPER(BPF_FUNC_xdp_adjust_head),
		MOV64_IMM(0, 2),
		EXIT(),
	};
	struct bigtcp_twin_reason why;
	struct bigtcp_twin t;

	cr_assert_eq(make(prog, LEN(prog), false, &t, &why), -ENOTSUP);
	cr_assert_eq(why.why, BIGTCP_TWIN_AMBIGUOUS);
	cr_assert_eq(why.insn, 2);
}
