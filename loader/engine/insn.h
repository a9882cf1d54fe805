/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instruction constants that are newer than the UAPI header of Debian 12, and makers for the
 * instructions the engine emits (names as in tools/include/linux/filter.h).
 */
#ifndef ENGINE_INSN_H
#define ENGINE_INSN_H

#include <linux/bpf.h>

#define INSN_MEMSX		  0x80 /* BPF_LDX: sign-extending load, 6.6 */
#define INSN_ATOMIC		  0xc0 /* BPF_STX */
#define INSN_JCOND		  0xe0 /* BPF_JMP: may_goto, 6.9 */
#define INSN_LOAD_ACQ		  0x100 /* imm of BPF_ATOMIC, 6.15 */
#define INSN_STORE_REL		  0x110

#define INSN_PSEUDO_MAP_FD	  1
#define INSN_PSEUDO_MAP_VALUE	  2
#define INSN_PSEUDO_BTF_ID	  3
#define INSN_PSEUDO_FUNC	  4
#define INSN_PSEUDO_MAP_IDX	  5
#define INSN_PSEUDO_MAP_IDX_VALUE 6
#define INSN_PSEUDO_CALL	  1
#define INSN_PSEUDO_KFUNC_CALL	  2

static inline struct bpf_insn insn_raw(__u8 code, __u8 dst, __u8 src, __s16 off, __s32 imm)
{
	return (struct bpf_insn){
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm
	};
}

/* Bytes that a load or a store moves. */
static inline __u32 insn_size(const struct bpf_insn *i)
{
	static const __u8 bytes[] = { 4, 2, 1, 8 }; /* BPF_W, _H, _B, _DW */

	return bytes[BPF_SIZE(i->code) >> 3];
}

#define LDX_MEM(sz, d, s, o)  insn_raw(BPF_LDX | (sz) | BPF_MEM, d, s, o, 0)
#define STX_MEM(sz, d, s, o)  insn_raw(BPF_STX | (sz) | BPF_MEM, d, s, o, 0)
#define ST_MEM(sz, d, o, i)   insn_raw(BPF_ST | (sz) | BPF_MEM, d, 0, o, i)
#define MOV64_REG(d, s)	      insn_raw(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV32_REG(d, s)	      insn_raw(BPF_ALU | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV64_IMM(d, i)	      insn_raw(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ALU64_IMM(op, d, i)   insn_raw(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU32_IMM(op, d, i)   insn_raw(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define ALU32_REG(op, d, s)   insn_raw(BPF_ALU | (op) | BPF_X, d, s, 0, 0)
#define MOV32_IMM(d, i)	      insn_raw(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
#define TO_BE(d, bits)	      insn_raw(BPF_ALU | BPF_END | BPF_TO_BE, d, 0, 0, bits)
#define CALL_HELPER(id)	      insn_raw(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT()		      insn_raw(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define ATOMIC_ADD64(d, s, o) insn_raw(BPF_STX | BPF_DW | INSN_ATOMIC, d, s, o, BPF_ADD)

#endif
