// SPDX-License-Identifier: GPL-2.0
/* Twins by addressing of programs that copy headers to the stack: which bytes there are known. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <bigtcp/twin.h>

#include "engine/insn.h"

#define SKB(field)	     offsetof(struct __sk_buff, field)
#define LEN(a)		     (sizeof(a) / sizeof((a)[0]))
#define JMP(op, d, imm, off) insn_raw(BPF_JMP | (op) | BPF_K, d, 0, off, imm)
#define NET		     1 /* BPF_HDR_START_NET */
#define MAX_INSNS	     64
#define LOST		     9 /* instructions that no twin can follow */

/* skb_load_bytes(R6, off, fp + to, n): 5 instructions */
#define TO_STACK(to, n) \
	MOV64_REG(1, 6), MOV64_REG(3, 10), ALU64_IMM(BPF_ADD, 3, to), MOV64_IMM(4, n)
#define COPY(off, to, n) MOV64_IMM(2, off), TO_STACK(to, n), CALL_HELPER(BPF_FUNC_skb_load_bytes)

static enum bpf_prog_type type;
static struct bpf_insn prog[MAX_INSNS];
static __u32 cnt;

static void setup(void)
{
	type = BPF_PROG_TYPE_CGROUP_SKB;
}

static int make(struct bigtcp_twin *t, struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin_opts opts = { .sz = sizeof(opts), .state_fd = 11, .buf_fd = 12 };
	struct bigtcp_twin_prog p = { .type = type, .insns = prog, .insn_cnt = cnt };

	return bigtcp_twin_make(&p, &opts, t, why);
}

/* @insns, which jump behind the end to be done, and fall through to be lost. */
static void put(const struct bpf_insn *insns, __u32 n)
{
	const struct bpf_insn lost[LOST] = {
		LDX_MEM(BPF_W, 2, 6, SKB(mark)),      ALU64_IMM(BPF_AND, 2, 63), TO_STACK(-16, 2),
		CALL_HELPER(BPF_FUNC_skb_load_bytes), MOV64_IMM(0, 1),		 EXIT(),
	};

	cnt = 1 + n + LOST + 2;
	cr_assert_leq(cnt, MAX_INSNS);
	prog[0] = MOV64_REG(6, 1);
	memcpy(prog + 1, insns, n * sizeof(*insns));
	memcpy(prog + 1 + n, lost, sizeof(lost));
	prog[cnt - 2] = MOV64_IMM(0, 1);
	prog[cnt - 1] = EXIT();
}

static void decides(const struct bpf_insn *insns, __u32 n, bool want)
{
	struct bigtcp_twin_reason why = {};
	struct bigtcp_twin t = {};
	int err;

	put(insns, n);
	err = make(&t, &why);
	if (want) {
		cr_assert_eq(err, 0, "%s", why.text);
		bigtcp_twin_free(&t);
		return;
	}
	cr_assert_eq(err, -ENOTSUP);
	cr_assert_eq(why.why, BIGTCP_TWIN_OFFSET, "%s", why.text);
}
/* The last instruction is the jump past what is lost, if all is well. */
#define DONE(op, d, imm) JMP(op, d, imm, LOST)
#define DECIDES(...)                                             \
	do {                                                     \
		const struct bpf_insn insns[] = { __VA_ARGS__ }; \
                                                                 \
		decides(insns, LEN(insns), true);                \
	} while (0)
#define DECIDES_NOT(...)                                         \
	do {                                                     \
		const struct bpf_insn insns[] = { __VA_ARGS__ }; \
                                                                 \
		decides(insns, LEN(insns), false);               \
	} while (0)

TestSuite(twin_copy, .init = setup);

Test(twin_copy, a_copied_byte_is_known)
{
	DECIDES(COPY(6, -1, 1), LDX_MEM(BPF_B, 1, 10, -1), DONE(BPF_JEQ, 1, 6));
	DECIDES(COPY(0, -40, 40), LDX_MEM(BPF_B, 1, 10, -34), DONE(BPF_JEQ, 1, 6));
	/* the source address is not */
	DECIDES_NOT(COPY(8, -1, 1), LDX_MEM(BPF_B, 1, 10, -1), DONE(BPF_JEQ, 1, 6));
	/* and all that is known of it is not in what lies beside it */
	DECIDES_NOT(COPY(6, -1, 1), LDX_MEM(BPF_B, 1, 10, -2), DONE(BPF_JEQ, 1, 6));
	/* a failure would leave 0: the packet may end behind the headers */
	DECIDES_NOT(COPY(0, -48, 48), LDX_MEM(BPF_B, 1, 10, -42), DONE(BPF_JEQ, 1, 6));
}

Test(twin_copy, until_it_is_overwritten)
{
	DECIDES(COPY(6, -1, 1), ST_MEM(BPF_B, 10, -2, 9), LDX_MEM(BPF_B, 1, 10, -1),
		DONE(BPF_JEQ, 1, 6));
	DECIDES_NOT(COPY(6, -1, 1), ST_MEM(BPF_B, 10, -1, 9), LDX_MEM(BPF_B, 1, 10, -1),
		    DONE(BPF_JEQ, 1, 6));
	DECIDES_NOT(COPY(6, -1, 1), COPY(8, -2, 2), LDX_MEM(BPF_B, 1, 10, -1), DONE(BPF_JEQ, 1, 6));
	DECIDES(COPY(6, -1, 1), COPY(8, -4, 2), LDX_MEM(BPF_B, 1, 10, -1), DONE(BPF_JEQ, 1, 6));
	/* a helper of which it is not known where it writes */
	DECIDES_NOT(COPY(6, -1, 1), MOV64_REG(1, 10), ALU64_IMM(BPF_ADD, 1, -16), MOV64_IMM(2, 16),
		    CALL_HELPER(BPF_FUNC_get_current_comm), LDX_MEM(BPF_B, 1, 10, -1),
		    DONE(BPF_JEQ, 1, 6));
}

/* The way in looks at no linear part where a program has none. */
Test(twin_copy, the_relative_copy_may_fail)
{
	const struct bpf_insn insns[] = {
		MOV64_IMM(2, 6),	   TO_STACK(-1, 1),
		MOV64_IMM(5, NET),	   CALL_HELPER(BPF_FUNC_skb_load_bytes_relative),
		LDX_MEM(BPF_B, 1, 10, -1), DONE(BPF_JEQ, 1, 6),
	};

	decides(insns, LEN(insns), true);
	type = BPF_PROG_TYPE_SOCKET_FILTER;
	decides(insns, LEN(insns), false);
}

Test(twin_copy, constants_in_bytes)
{
	DECIDES(ST_MEM(BPF_B, 10, -3, 54), LDX_MEM(BPF_B, 1, 10, -3), DONE(BPF_JEQ, 1, 54));
	DECIDES(ST_MEM(BPF_H, 10, -4, 0x1234), ST_MEM(BPF_H, 10, -2, 0), LDX_MEM(BPF_H, 1, 10, -4),
		DONE(BPF_JEQ, 1, 0x1234));
	DECIDES(ST_MEM(BPF_DW, 10, -8, -1), ST_MEM(BPF_B, 10, -8, 1), LDX_MEM(BPF_W, 1, 10, -4),
		DONE(BPF_JNE, 1, 0));
	DECIDES_NOT(ST_MEM(BPF_B, 10, -3, 54), LDX_MEM(BPF_H, 1, 10, -4), DONE(BPF_JEQ, 1, 54));
	/* one way or the other */
	DECIDES_NOT(ST_MEM(BPF_B, 10, -3, 54), LDX_MEM(BPF_W, 1, 6, SKB(mark)),
		    JMP(BPF_JEQ, 1, 0, 1), ST_MEM(BPF_B, 10, -3, 34), LDX_MEM(BPF_B, 1, 10, -3),
		    DONE(BPF_JEQ, 1, 54));
}

/* It was taken for 0 for ever, and what follows was left as it is. */
Test(twin_copy, a_store_somewhere_changes_constants)
{
	DECIDES_NOT(ST_MEM(BPF_DW, 10, -8, 0), LDX_MEM(BPF_W, 2, 6, SKB(mark)),
		    ALU64_IMM(BPF_AND, 2, 7), MOV64_REG(3, 10), ALU64_IMM(BPF_ADD, 3, -8),
		    insn_raw(BPF_ALU64 | BPF_ADD | BPF_X, 3, 2, 0, 0), ST_MEM(BPF_B, 3, 0, 1),
		    LDX_MEM(BPF_DW, 1, 10, -8), DONE(BPF_JEQ, 1, 0));
}

Test(twin_copy, sockets_of_ipv6_packets)
{
	DECIDES(LDX_MEM(BPF_W, 1, 6, SKB(family)), DONE(BPF_JEQ, 1, AF_INET6));
	DECIDES_NOT(LDX_MEM(BPF_W, 1, 6, SKB(mark)), DONE(BPF_JEQ, 1, AF_INET6));
}

/* The verifier lets no 32-bit sum be made of one. */
Test(twin_copy, a_socket_filter_may_return_a_pointer)
{
	const struct bpf_insn want[] = { MOV32_REG(0, 0) };
	struct bigtcp_twin_reason why = {};
	struct bigtcp_twin t = {};
	unsigned int n = 0;
	__u32 k;

	type = BPF_PROG_TYPE_SOCKET_FILTER;
	prog[0] = LDX_MEM(BPF_W, 6, 1, SKB(len));
	prog[1] = CALL_HELPER(BPF_FUNC_ktime_get_ns);
	prog[2] = EXIT();
	cnt = 3;
	cr_assert_eq(make(&t, &why), 0, "%s", why.text);
	for (k = 0; k < t.insn_cnt; k++)
		n += !memcmp(&t.insns[k], want, sizeof(want));
	cr_assert_gt(n, 0);
	bigtcp_twin_free(&t);
}
