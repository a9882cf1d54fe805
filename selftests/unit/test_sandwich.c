// SPDX-License-Identifier: GPL-2.0
/* What a program can return, told from its instructions; where in a chain the sandwich can go. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/sandwich.h"
#include "core/sandwich_verdicts.h"

#define ABORTED (1U << XDP_ABORTED)
#define DROP	(1U << XDP_DROP)
#define PASS	(1U << XDP_PASS)
#define TX	(1U << XDP_TX)
#define REDIR	(1U << XDP_REDIRECT)
#define OTHER	(1U << BT_VERDICT_OTHER)

#define I(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOVI(d, i)	    I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV32I(d, i)	    I(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR(d, s)	    I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALUI(op, d, i)	    I(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU32I(op, d, i)    I(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define ALUR(op, d, s)	    I(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LD(size, d, s, o)   I(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define ST(size, d, o, s)   I(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define JMPI(op, d, i, o)   I(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JMP32I(op, d, i, o) I(BPF_JMP32 | (op) | BPF_K, d, 0, o, i)
#define JA(o)		    I(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(imm)	    I(BPF_JMP | BPF_CALL, 0, 0, 0, imm)
#define CALLSUB(o)	    I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, o, 1)
#define TAILCALL	    I(BPF_JMP | 0xf0, 0, 0, 0, 0)
#define EXIT		    I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define R10		    BPF_REG_10

#define verdicts(...)                                                       \
	({                                                                  \
		struct bpf_insn code[] = { __VA_ARGS__ };                   \
		bt_verdicts_of(code, sizeof(code) / sizeof(code[0]), true); \
	})

Test(verdicts, constants)
{
	cr_assert_eq(verdicts(MOVI(0, 2), EXIT), PASS);
	cr_assert_eq(verdicts(MOV32I(0, 1), EXIT), DROP);
	cr_assert_eq(verdicts(MOVI(0, 7), EXIT), OTHER);
	cr_assert_eq(verdicts(MOVI(0, -1), EXIT), OTHER);
	cr_assert_eq(verdicts(MOVI(6, 2), LD(BPF_W, 1, 1, 0), JMPI(BPF_JEQ, 1, 5, 1), MOVI(6, 3),
			      MOVR(0, 6), EXIT),
		     PASS | TX);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), EXIT), BT_VERDICTS_ANY);
	cr_assert_eq(verdicts(LD(BPF_W, 1, 1, 0), MOVI(0, 2), JMPI(BPF_JEQ, 1, 5, 1), EXIT,
			      MOVI(0, 1), EXIT),
		     PASS | DROP);
}

Test(verdicts, arithmetic)
{
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), ALUI(BPF_AND, 0, 1), ALUI(BPF_ADD, 0, 1), EXIT),
		     DROP | PASS);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), ALU32I(BPF_RSH, 0, 31), EXIT), ABORTED | DROP);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), ALUI(BPF_MOD, 0, 3), EXIT),
		     ABORTED | DROP | PASS);
	cr_assert_eq(verdicts(MOVI(0, 1), ALUI(BPF_LSH, 0, 2), EXIT), REDIR);
	cr_assert_eq(verdicts(MOVI(0, 1), MOVI(1, 2), ALUR(BPF_OR, 0, 1), EXIT), TX);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), ALUI(BPF_OR, 0, 2), EXIT), BT_VERDICTS_ANY);
	cr_assert_eq(verdicts(LD(BPF_W, 1, 1, 0), MOVI(0, 2), ALUR(BPF_SUB, 0, 1), EXIT),
		     BT_VERDICTS_ANY);
}

Test(verdicts, branches_narrow)
{
	/* if (w0 > 2) return 0; return w0; */
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), JMPI(BPF_JLE, 0, 2, 1), MOVI(0, 0), EXIT),
		     ABORTED | DROP | PASS);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), JMP32I(BPF_JGT, 0, 2, 1), EXIT, MOVI(0, 0), EXIT),
		     ABORTED | DROP | PASS);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), JMPI(BPF_JLT, 0, 2, 1), MOVI(0, 2), EXIT),
		     ABORTED | DROP | PASS);
	/* the low half of what is not 3 in 64 bits may be 3 */
	cr_assert(verdicts(LD(BPF_DW, 0, 1, 0), JMPI(BPF_JNE, 0, 3, 1), MOVI(0, 2), EXIT) & TX);
	cr_assert_not(verdicts(LD(BPF_W, 0, 1, 0), JMP32I(BPF_JNE, 0, 3, 1), MOVI(0, 2), EXIT) &
		      TX);
	cr_assert(verdicts(LD(BPF_DW, 0, 1, 0), JMPI(BPF_JGT, 0, 4, 1), MOVI(0, 2), EXIT) & TX);
	cr_assert_eq(verdicts(LD(BPF_W, 0, 1, 0), JMPI(BPF_JEQ, 0, 1, 1), MOVI(0, 2), EXIT),
		     DROP | PASS);
}

Test(verdicts, stack)
{
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), LD(BPF_W, 0, R10, -4), EXIT),
		     DROP);
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_DW, R10, -8, 2), LD(BPF_DW, 0, R10, -8), EXIT),
		     DROP);
	/* through a copy of the address */
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), MOVR(3, R10), ALUI(BPF_ADD, 3, -8),
			      MOVI(2, 3), ST(BPF_W, 3, 4, 2), LD(BPF_W, 0, R10, -4), EXIT),
		     TX);
	/* through one that went over the stack, and one that is not known any more */
	cr_assert(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), MOVR(3, R10), ST(BPF_DW, R10, -16, 3),
			   LD(BPF_DW, 4, R10, -16), MOVI(2, 3), ST(BPF_W, 4, -4, 2),
			   LD(BPF_W, 0, R10, -4), EXIT) &
		  TX);
	cr_assert(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), MOVR(3, R10), LD(BPF_W, 4, 1, 0),
			   ALUR(BPF_ADD, 3, 4), MOVI(2, 3), ST(BPF_W, 3, 0, 2),
			   LD(BPF_W, 0, R10, -4), EXIT) &
		  TX);
	/* part of it written anew */
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), ST(BPF_B, R10, -3, 1),
			      LD(BPF_W, 0, R10, -4), EXIT),
		     BT_VERDICTS_ANY);
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_DW, R10, -8, 2), LD(BPF_W, 0, R10, -4), EXIT),
		     BT_VERDICTS_ANY);
	/* by a helper, which this test can't name */
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), MOVR(1, R10), CALL(0),
			      LD(BPF_W, 0, R10, -4), EXIT),
		     BT_VERDICTS_ANY);
}

Test(verdicts, calls)
{
	cr_assert_eq(verdicts(CALL(0), EXIT), BT_VERDICTS_ANY);
	cr_assert_eq(verdicts(MOVI(6, 2), CALL(0), MOVR(0, 6), EXIT), PASS);
	cr_assert_eq(verdicts(MOVI(1, 2), CALL(0), MOVR(0, 1), EXIT), BT_VERDICTS_ANY);
	cr_assert_eq(verdicts(CALLSUB(1), EXIT, MOVI(0, 3), EXIT), TX);
	/* a subprogram that calls another */
	cr_assert_eq(verdicts(CALLSUB(1), EXIT, CALLSUB(1), EXIT, MOVI(0, 1), EXIT), DROP);
	/* one that was given an address */
	cr_assert_eq(verdicts(MOVI(2, 1), ST(BPF_W, R10, -4, 2), MOVR(1, R10), CALLSUB(2),
			      LD(BPF_W, 0, R10, -4), EXIT, MOVI(0, 0), EXIT),
		     BT_VERDICTS_ANY);
	cr_assert_eq(verdicts(TAILCALL, MOVI(0, 2), EXIT), BT_VERDICTS_ANY);
	struct bpf_insn code[] = { CALLSUB(1), EXIT, MOVI(0, 2), EXIT };
	cr_assert_eq(bt_verdicts_of(code, 4, false), BT_VERDICTS_ANY);
	cr_assert_eq(bt_verdicts_of(code, 0, true), BT_VERDICTS_ANY);
}

/* Random programs, run: what they return must be in the set. */
static unsigned int rnd(unsigned int n)
{
	return (unsigned int)rand() % n;
}

static struct bpf_insn random_insn(unsigned int at, unsigned int n)
{
	static const __u8 ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR,	BPF_AND, BPF_XOR,
				    BPF_LSH, BPF_RSH, BPF_MOD, BPF_MOV, BPF_ARSH };
	static const __u8 jumps[] = { BPF_JEQ, BPF_JNE,	 BPF_JGT,  BPF_JGE,  BPF_JLT,
				      BPF_JLE, BPF_JSGT, BPF_JSLT, BPF_JSET, BPF_JA };
	static const int consts[] = { 0, 1, 2, 3, 4, 5, 31, 32, 33, -1, -3, 255 };
	int k = consts[rnd(12)], dst = (int)rnd(5), src = (int)rnd(5);
	__u8 op = ops[rnd(11)];
	bool is32 = rnd(2), by_reg = !rnd(4);

	switch (rnd(8)) {
	case 0:
	case 1:
		return I(is32 ? BPF_ALU | BPF_MOV : BPF_ALU64 | BPF_MOV, dst, 0, 0, k);
	case 2:
	case 3:
		if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && (k < 0 || k > 31))
			k = 31;
		if (op == BPF_MOD && k <= 0)
			k = 3;
		if (by_reg && op != BPF_MOD && op != BPF_LSH && op != BPF_RSH && op != BPF_ARSH)
			return I((is32 ? BPF_ALU : BPF_ALU64) | op | BPF_X, dst, src, 0, 0);
		return I((is32 ? BPF_ALU : BPF_ALU64) | op, dst, 0, 0, k);
	case 4:
		return LD(rnd(2) ? BPF_W : BPF_DW, dst, 9, (int)rnd(4) * 8); /* an input */
	case 5:
		return ST(rnd(2) ? BPF_W : (rnd(2) ? BPF_DW : BPF_B), R10, -8 * (int)(1 + rnd(3)),
			  src);
	case 6:
		return LD(rnd(2) ? BPF_W : (rnd(2) ? BPF_DW : BPF_B), dst, R10,
			  -8 * (int)(1 + rnd(3)));
	default:
		return I((is32 ? BPF_JMP32 : BPF_JMP) | jumps[rnd(9)], dst, 0, (int)rnd(n - at - 1),
			 k);
	}
}

static __u64 run_alu(const struct bpf_insn *i, __u64 a, __u64 b)
{
	bool is32 = BPF_CLASS(i->code) == BPF_ALU;
	__u64 r;

	if (is32) {
		a = (__u32)a;
		b = (__u32)b;
	}
	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		r = a + b;
		break;
	case BPF_SUB:
		r = a - b;
		break;
	case BPF_MUL:
		r = a * b;
		break;
	case BPF_OR:
		r = a | b;
		break;
	case BPF_AND:
		r = a & b;
		break;
	case BPF_XOR:
		r = a ^ b;
		break;
	case BPF_LSH:
		r = a << b;
		break;
	case BPF_RSH:
		r = a >> b;
		break;
	case BPF_MOD:
		r = a % b;
		break;
	case BPF_ARSH:
		r = is32 ? (__u64)((__s32)a >> b) : (__u64)((__s64)a >> b);
		break;
	default:
		r = b;
	}
	return is32 ? (__u32)r : r;
}

static bool run_jump(const struct bpf_insn *i, __u64 a)
{
	bool is32 = BPF_CLASS(i->code) == BPF_JMP32;
	__u64 b = is32 ? (__u32)i->imm : (__u64)(__s64)i->imm;
	__s64 sa = is32 ? (__s32)a : (__s64)a, sb = i->imm;

	a = is32 ? (__u32)a : a;
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSLT:
		return sa < sb;
	default:
		return a & b;
	}
}

static __u32 interpret(const struct bpf_insn *code, const __u64 *input)
{
	__u64 reg[11] = {};
	__u8 stack[32] = {};

	for (unsigned int at = 0;; at++) {
		const struct bpf_insn *i = &code[at];
		unsigned int size =
			BPF_SIZE(i->code) == BPF_W ? 4 : (BPF_SIZE(i->code) == BPF_B ? 1 : 8);
		__u64 v = 0;

		switch (BPF_CLASS(i->code)) {
		case BPF_ALU:
		case BPF_ALU64:
			v = BPF_SRC(i->code) == BPF_X ? reg[i->src_reg] : (__u64)(__s64)i->imm;
			reg[i->dst_reg] = run_alu(i, reg[i->dst_reg], v);
			break;
		case BPF_LDX:
			if (i->src_reg == R10)
				memcpy(&v, stack + 32 + i->off, size);
			else
				memcpy(&v, (const __u8 *)input + i->off, size);
			reg[i->dst_reg] = v;
			break;
		case BPF_STX:
			memcpy(stack + 32 + i->off, &reg[i->src_reg], size);
			break;
		default:
			if (BPF_OP(i->code) == BPF_EXIT)
				return (__u32)reg[0];
			if (run_jump(i, reg[i->dst_reg]))
				at += i->off;
		}
	}
}

Test(verdicts, hold_for_random_programs)
{
	unsigned int known = 0;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		struct bpf_insn code[48];
		unsigned int n = 16 + rnd(32), first = 0, set;

		/* the verifier wants stack and registers written before they are read */
		for (; first < 5; first++)
			code[first] = MOVI((int)first, 0);
		for (int s = 1; s <= 3; s++)
			code[first++] = ST(BPF_DW, R10, -8 * s, 0);
		for (unsigned int i = first; i < n - 1; i++)
			code[i] = random_insn(i, n);
		code[n - 1] = EXIT;
		set = bt_verdicts_of(code, n, true);
		known += set != BT_VERDICTS_ANY;
		for (int k = 0; k < 40; k++) {
			static const __u64 some[] = { 0,
						      1,
						      2,
						      3,
						      4,
						      5,
						      31,
						      32,
						      ~0ULL,
						      1ULL << 32,
						      (1ULL << 32) + 3,
						      (5ULL << 32) + 4 };
			__u64 input[5];
			__u32 r;

			for (int j = 0; j < 5; j++)
				input[j] = some[rnd(12)];
			r = interpret(code, input);
			cr_assert(set >> (r < 5 ? r : BT_VERDICT_OTHER) & 1,
				  "round %d: returns %u, told 0x%x", round, r, set);
		}
	}
	cr_assert(known > 4000, "only %u are known", known);
}

/* --- plans ------------------------------------------------------------------------------------ */

static struct bt_chain chain;
static struct bt_sandwich_plan plan;

static struct bt_chain_prog *add(const char *name, __u32 prio, unsigned int verdicts)
{
	struct bt_chain_prog *p = &chain.progs[chain.n++];

	*p = (struct bt_chain_prog){
		.id = chain.n, .prio = prio, .actions = PASS, .verdicts = verdicts
	};
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static void new_chain(void)
{
	chain = (struct bt_chain){ .dev = "eth0", .ethernet = true, .main_id = 1 };
	bt_err_clear();
}

static int make_plan(void)
{
	return bt_sandwich_plan(&chain, NULL, 0, &plan);
}

TestSuite(sandwich_plan, .init = new_chain);

Test(sandwich_plan, around_all)
{
	add("a", 10, PASS);
	add("b", 50, PASS | DROP | ABORTED | OTHER);
	cr_assert_eq(make_plan(), 0);
	cr_assert_eq(plan.refused, 0);
	cr_assert_eq(plan.strip_prio, 9);
	cr_assert_eq(plan.restore_prio, 51);
	cr_assert(plan.progs[0].inside && plan.progs[1].inside);
	cr_assert_not(plan.in_place || plan.halves);
}

Test(sandwich_plan, what_can_leave_is_refused)
{
	const char *const trust[] = { "b", "c" };

	add("a", 10, PASS);
	add("b", 50, PASS | TX);
	add("c", 51, BT_VERDICTS_ANY);
	add("d", 52, PASS | REDIR)->actions = PASS | REDIR;
	cr_assert_eq(make_plan(), 0);
	cr_assert_eq(plan.refused, 2);
	cr_assert(!plan.progs[0].refused && plan.progs[1].refused && plan.progs[2].refused &&
		  !plan.progs[3].refused);
	cr_assert(strstr(plan.progs[1].why, "TX") && !strstr(plan.progs[1].why, "REDIRECT"));
	cr_assert_eq(bt_sandwich_plan(&chain, trust, 2, &plan), 0);
	cr_assert_eq(plan.refused, 0);
	/* trust is in verdicts alone */
	chain.progs[1].actions = DROP;
	cr_assert_eq(bt_sandwich_plan(&chain, trust, 2, &plan), 0);
	cr_assert_eq(plan.refused, 1);
	chain.n = 1;
	cr_assert_eq(bt_sandwich_plan(&chain, trust, 1, &plan), -EINVAL);
}

Test(sandwich_plan, twins_stay_outside)
{
	add("t1", 10, PASS | TX)->role = BT_ROLE_TWIN;
	add("a", 20, PASS);
	add("t2", 30, PASS)->role = BT_ROLE_TWIN;
	add("b", 40, PASS);
	add("t3", 50, BT_VERDICTS_ANY)->role = BT_ROLE_TWIN;
	cr_assert_eq(make_plan(), 0);
	cr_assert_eq(plan.refused, 0);
	cr_assert_eq(plan.strip_prio, 19);
	cr_assert_eq(plan.restore_prio, 41);
	cr_assert(!plan.progs[0].inside && plan.progs[2].inside && !plan.progs[4].inside);
	chain.progs[2].verdicts |= TX;
	cr_assert_eq(make_plan(), 0);
	cr_assert(plan.progs[2].refused);
	/* nothing else: no sandwich at all */
	chain.n = 1;
	cr_assert_eq(make_plan(), 0);
	cr_assert(!plan.progs[0].inside && !plan.refused && !plan.restore_prio);
}

Test(sandwich_plan, no_room)
{
	add("a", 0, PASS);
	cr_assert_eq(make_plan(), -ENOSPC);
	chain.progs[0].prio = 0xffffffff;
	cr_assert_eq(make_plan(), -ENOSPC);
	new_chain();
	add("t", 10, PASS)->role = BT_ROLE_TWIN;
	add("a", 11, PASS);
	cr_assert_eq(make_plan(), -ENOSPC);
	chain.progs[1].prio = 12;
	cr_assert_eq(make_plan(), 0);
	cr_assert_eq(plan.strip_prio, 11);
	add("u", 13, PASS)->role = BT_ROLE_TWIN;
	cr_assert_eq(make_plan(), -ENOSPC);
	new_chain();
	for (int i = 0; i < 9; i++)
		add("a", 50, PASS);
	cr_assert_eq(make_plan(), -E2BIG);
	chain.n = 8;
	cr_assert_eq(make_plan(), 0);
}

Test(sandwich_plan, in_place)
{
	add("s", 9, PASS)->role = BT_ROLE_STRIP;
	add("a", 10, PASS);
	add("r", 11, PASS)->role = BT_ROLE_RESTORE;
	cr_assert_eq(make_plan(), 0);
	cr_assert(plan.in_place && plan.progs[1].inside);
	cr_assert_eq(bt_sandwich_place(&chain, &plan), 0);
	add("b", 60, PASS);
	cr_assert_eq(make_plan(), 0);
	cr_assert(!plan.in_place && !plan.progs[3].inside);
	cr_assert_eq(bt_sandwich_place(&chain, &plan), -EEXIST);
	cr_assert(strstr(bt_err_text(), "that b is not in"));
	chain.progs[3].role = BT_ROLE_TWIN;
	cr_assert_eq(make_plan(), 0);
	cr_assert(plan.in_place);
	/* half of one, or the wrong way round */
	bt_err_clear();
	chain.n = 2;
	cr_assert_eq(make_plan(), 0);
	cr_assert_not(plan.in_place);
	cr_assert_eq(bt_sandwich_place(&chain, &plan), -EEXIST);
	cr_assert(strstr(bt_err_text(), "half of a sandwich"));
	chain.n = 3;
	chain.progs[0].role = BT_ROLE_RESTORE;
	chain.progs[2].role = BT_ROLE_STRIP;
	cr_assert_eq(make_plan(), 0);
	cr_assert_eq(bt_sandwich_place(&chain, &plan), -EEXIST);
}
