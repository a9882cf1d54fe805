// SPDX-License-Identifier: GPL-2.0
/* Where the packet's length goes in a program. */
#include <criterion/criterion.h>
#include <linux/bpf.h>

#include "core/audit_len.h"

#define LEN  112
#define DATA 200
#define END  80

#define I(c, d, s, o, i)                                                                 \
	{                                                                                \
		.code = (c), .dst_reg = BPF_REG_##d, .src_reg = BPF_REG_##s, .off = (o), \
		.imm = (i)                                                               \
	}
#define MOV(d, i)	  I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR(d, s)	  I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD(d, i)	  I(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define ADDR(d, s)	  I(BPF_ALU64 | BPF_ADD | BPF_X, d, s, 0, 0)
#define SUBR(d, s)	  I(BPF_ALU64 | BPF_SUB | BPF_X, d, s, 0, 0)
#define AND(d, i)	  I(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define LD(size, d, s, o) I(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define ST(size, d, o, s) I(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define JGT(d, i)	  I(BPF_JMP | BPF_JGT | BPF_K, d, 0, 0, i)
#define JGTR(d, s)	  I(BPF_JMP | BPF_JGT | BPF_X, d, s, 0, 0)
#define CALL(o)		  I(BPF_JMP | BPF_CALL, 0, 1, o, 1)
#define EXIT		  I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LOAD_LEN(d)	  LD(BPF_W, d, 1, LEN)

static struct bt_len_facts scan(const struct bpf_insn *insns, unsigned int n, bool may_return)
{
	static const struct bt_len_layout ctx = { LEN, DATA, END };
	struct bt_len_facts f;

	bt_len_scan_at(insns, n, &ctx, may_return, &f);
	return f;
}

#define USE(want, ...)                                                                          \
	do {                                                                                    \
		const struct bpf_insn insns[] = { __VA_ARGS__ };                                \
		cr_expect_eq(scan(insns, sizeof(insns) / sizeof(insns[0]), false).use, (want)); \
	} while (0)

Test(audit_len, counted)
{
	USE(BT_LEN_NONE, MOV(0, 1), EXIT);
	USE(BT_LEN_NONE, LOAD_LEN(2), MOV(0, 1), EXIT);
	/* *(u64 *)(r6 + 8) += len; r6 is anything */
	USE(BT_LEN_COUNTED, LOAD_LEN(2), MOV(6, 0), LD(BPF_DW, 3, 6, 8), ADDR(3, 2),
	    ST(BPF_DW, 6, 8, 3), MOV(0, 1), EXIT);
	USE(BT_LEN_COUNTED, LOAD_LEN(2), MOV(6, 0),
	    I(BPF_STX | BPF_ATOMIC | BPF_DW, 6, 2, 8, BPF_ADD), MOV(0, 1), EXIT);
}

Test(audit_len, cut)
{
	USE(BT_LEN_DECIDES, LOAD_LEN(2), MOV(6, 0), ST(BPF_H, 6, 0, 2), MOV(0, 1), EXIT);
	USE(BT_LEN_DECIDES, LOAD_LEN(2), AND(2, 0xffff), MOV(6, 0), ST(BPF_W, 6, 0, 2), MOV(0, 1),
	    EXIT);
	/* stored in 32 bits, read back in 16 */
	USE(BT_LEN_DECIDES, LOAD_LEN(2), ST(BPF_W, 10, -8, 2), LD(BPF_H, 3, 10, -8), MOV(0, 1),
	    EXIT);
}

Test(audit_len, compared)
{
	USE(BT_LEN_NONE, LOAD_LEN(2), MOV(0, 1), JGT(2, 60), EXIT);
	USE(BT_LEN_DECIDES, LOAD_LEN(2), MOV(0, 1), JGT(2, 1500), EXIT);
	USE(BT_LEN_THRESHOLD, LOAD_LEN(2), MOV(0, 1), JGT(2, 65536), EXIT);
	USE(BT_LEN_DECIDES, LOAD_LEN(2), MOV(3, 1), MOV(0, 1), JGTR(3, 2), EXIT);
	/* a sum may be anything, also when the constant is small */
	USE(BT_LEN_DECIDES, LOAD_LEN(2), MOV(3, 7), ADDR(3, 2), MOV(0, 1), JGT(3, 60), EXIT);
	USE(BT_LEN_DECIDES, LOAD_LEN(2), ADD(2, -1400), MOV(0, 1), JGT(2, 60), EXIT);
	USE(BT_LEN_DECIDES, LOAD_LEN(0), EXIT);
}

Test(audit_len, returned)
{
	const struct bpf_insn insns[] = { LOAD_LEN(0), EXIT };

	cr_expect_eq(scan(insns, 2, true).use, BT_LEN_NONE);
	cr_expect_eq(scan(insns, 2, false).use, BT_LEN_DECIDES);
}

Test(audit_len, packet_pointers)
{
	/* does a header fit? */
	USE(BT_LEN_NONE, LD(BPF_DW, 2, 1, DATA), LD(BPF_DW, 3, 1, END), ADD(2, 54), MOV(0, 1),
	    JGTR(2, 3), EXIT);
	USE(BT_LEN_THRESHOLD, LD(BPF_DW, 2, 1, DATA), LD(BPF_DW, 3, 1, END), ADD(2, 9000),
	    MOV(0, 1), JGTR(2, 3), EXIT);
	/* data_end - data is the length */
	USE(BT_LEN_THRESHOLD, LD(BPF_DW, 2, 1, DATA), LD(BPF_DW, 3, 1, END), SUBR(3, 2), MOV(0, 1),
	    JGT(3, 9000), EXIT);
	USE(BT_LEN_NONE, LD(BPF_DW, 2, 1, DATA), LD(BPF_DW, 3, 1, END), SUBR(3, 2), MOV(0, 1),
	    JGT(3, 54), EXIT);
	/* an offset within the packet is not */
	USE(BT_LEN_NONE, LD(BPF_DW, 2, 1, DATA), MOVR(3, 2), ADD(3, 14), SUBR(3, 2), MOV(0, 1),
	    JGT(3, 9000), EXIT);
}

/* r2 goes to a function, by value, by a pointer to the stack, and back. */
Test(audit_len, calls)
{
	USE(BT_LEN_THRESHOLD, LOAD_LEN(2), CALL(2), MOV(0, 1), EXIT, MOV(0, 1), JGT(2, 9000), EXIT);
	USE(BT_LEN_THRESHOLD, LOAD_LEN(2), ST(BPF_DW, 10, -8, 2), MOVR(2, 10), ADD(2, -8), CALL(2),
	    MOV(0, 1), EXIT, LD(BPF_DW, 3, 2, 0), MOV(0, 1), JGT(3, 9000), EXIT);
	USE(BT_LEN_THRESHOLD, CALL(4), MOVR(2, 0), MOV(0, 1), JGT(2, 9000), EXIT, LOAD_LEN(0),
	    EXIT);
	/* written by the function, read by the caller */
	USE(BT_LEN_THRESHOLD, MOVR(2, 10), ADD(2, -8), CALL(4), LD(BPF_DW, 2, 10, -8), MOV(0, 1),
	    JGT(2, 9000), EXIT, LOAD_LEN(3), ST(BPF_DW, 2, 0, 3), MOV(0, 0), EXIT);
}

Test(audit_len, memory)
{
	/* kept in a map's value, read back */
	USE(BT_LEN_THRESHOLD, LOAD_LEN(2), MOV(6, 0), ST(BPF_DW, 6, 16, 2), LD(BPF_DW, 3, 6, 16),
	    MOV(0, 1), JGT(3, 9000), EXIT);
	/* another field of it */
	USE(BT_LEN_COUNTED, LOAD_LEN(2), MOV(6, 0), ST(BPF_DW, 6, 16, 2), LD(BPF_DW, 3, 6, 24),
	    MOV(0, 1), JGT(3, 9000), EXIT);
	/* the address of an access */
	USE(BT_LEN_DECIDES, LOAD_LEN(2), MOV(6, 0), ADDR(6, 2), LD(BPF_DW, 3, 6, 0), MOV(0, 1),
	    EXIT);
}

/* Two ways meet: on one of them there is the length. */
Test(audit_len, merges)
{
	USE(BT_LEN_THRESHOLD, LOAD_LEN(2), I(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1, 0), MOV(2, 7),
	    MOV(0, 1), JGT(2, 9000), EXIT);
	/* overwritten on both */
	USE(BT_LEN_NONE, LOAD_LEN(2), I(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 2, 0), MOV(2, 7),
	    I(BPF_JMP | BPF_JA, 0, 0, 1, 0), MOV(2, 8), MOV(0, 1), JGT(2, 9000), EXIT);
}

/* What is no program is not taken for one that does nothing. */
Test(audit_len, no_program)
{
	struct bt_len_facts f;

	bt_len_scan(NULL, 0, BT_KIND_XDP, &f);
	cr_expect_eq(f.use, BT_LEN_DECIDES);
	USE(BT_LEN_DECIDES, MOV(0, 1));
	USE(BT_LEN_DECIDES, I(BPF_JMP | BPF_JA, 0, 0, 100, 0), EXIT);
	USE(BT_LEN_DECIDES, CALL(100), EXIT);
}

Test(audit_len, direct)
{
	const struct bpf_insn no[] = { LOAD_LEN(2), MOV(0, 1), EXIT };
	const struct bpf_insn yes[] = { LD(BPF_DW, 2, 1, END), MOV(0, 1), EXIT };

	cr_expect(!scan(no, 3, false).direct);
	cr_expect(scan(yes, 3, false).direct);
}
