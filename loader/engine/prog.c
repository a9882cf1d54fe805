// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/insn.h"
#include "engine/prog.h"
#include "engine/reason.h"

bool insn_is_func_ref(const struct bpf_insn *i)
{
	return insn_is_ld64(i) && i->src_reg == INSN_PSEUDO_FUNC;
}

bool insn_is_subcall(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src_reg == INSN_PSEUDO_CALL;
}

bool insn_is_exit(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_EXIT);
}

bool insn_is_ld_abs(const struct bpf_insn *i)
{
	return BPF_CLASS(i->code) == BPF_LD && BPF_MODE(i->code) != BPF_IMM;
}

bool insn_is_gotol(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP32 | BPF_JA);
}

bool insn_is_uncond(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_JA) || insn_is_gotol(i);
}

bool insn_is_jump(const struct bpf_insn *i)
{
	__u8 class = BPF_CLASS(i->code);

	if (class != BPF_JMP && class != BPF_JMP32)
		return false;
	return BPF_OP(i->code) != BPF_CALL && BPF_OP(i->code) != BPF_EXIT;
}

__s64 insn_target(const struct prog *p, __u32 at)
{
	const struct bpf_insn *i = &p->insns[at];
	__s64 t = (__s64)at + 1;

	if (insn_is_subcall(i) || insn_is_func_ref(i) || insn_is_gotol(i))
		t += i->imm;
	else
		t += i->off;
	return t < 0 || t >= p->cnt ? -1 : t;
}

int prog_sub_at(const struct prog *p, __u32 insn)
{
	__u16 s;

	if (insn >= p->cnt)
		return -1;
	s = p->sub_of[insn];
	return p->subs[s].start == insn ? s : -1;
}

/* Opcodes the verifier of some kernel up to 6.18 knows. */
static bool known_mem(const struct bpf_insn *i)
{
	bool size_ok = BPF_SIZE(i->code) != BPF_DW;

	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		if (BPF_MODE(i->code) == BPF_IMM)
			return insn_is_ld64(i);
		return (BPF_MODE(i->code) == BPF_ABS || BPF_MODE(i->code) == BPF_IND) && size_ok;
	case BPF_LDX:
		return BPF_MODE(i->code) == BPF_MEM || (BPF_MODE(i->code) == INSN_MEMSX && size_ok);
	case BPF_ST:
		return BPF_MODE(i->code) == BPF_MEM;
	default:
		return BPF_MODE(i->code) == BPF_MEM || BPF_MODE(i->code) == INSN_ATOMIC;
	}
}

static bool known_jmp(const struct bpf_insn *i)
{
	bool wide = BPF_CLASS(i->code) == BPF_JMP;

	switch (BPF_OP(i->code)) {
	case BPF_CALL:
		return i->code == (BPF_JMP | BPF_CALL) && i->src_reg <= INSN_PSEUDO_KFUNC_CALL;
	case BPF_EXIT:
		return i->code == (BPF_JMP | BPF_EXIT);
	case BPF_JA:
		return BPF_SRC(i->code) == BPF_K;
	case INSN_JCOND:
		return wide && BPF_SRC(i->code) == BPF_K;
	default:
		return BPF_OP(i->code) < INSN_JCOND;
	}
}

static bool known_insn(const struct bpf_insn *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return BPF_OP(i->code) <= BPF_END;
	case BPF_JMP:
	case BPF_JMP32:
		return known_jmp(i);
	default:
		return known_mem(i);
	}
}

static int check_insns(struct prog *p, struct bigtcp_twin_reason *why)
{
	__u32 n;

	for (n = 0; n < p->cnt; n++) {
		const struct bpf_insn *i = &p->insns[n];

		if (!known_insn(i))
			return reason_set(why, BIGTCP_TWIN_INSN, n, i->code, "",
					  "instruction %u has opcode 0x%02x, which this version of "
					  "bigtcp does not know; use a newer bigtcp",
					  n, i->code);
		if (i->dst_reg > BPF_REG_10 || i->src_reg > BPF_REG_10)
			return reason_set(why, BIGTCP_TWIN_BAD_INPUT, n, 0, "",
					  "instruction %u names a register that does not exist", n);
		if (!insn_is_ld64(i))
			continue;
		if (n + 1 >= p->cnt || p->insns[n + 1].code)
			return reason_set(why, BIGTCP_TWIN_BAD_INPUT, n, 0, "",
					  "instruction %u is half of a 64-bit load", n);
		p->second[++n] = 1;
	}
	return 0;
}

static int cmp_u32(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return x < y ? -1 : x > y;
}

/* Every called or referenced instruction starts a subprogram. */
static int find_subs(struct prog *p, struct bigtcp_twin_reason *why)
{
	__u32 starts[PROG_MAX_SUBS], k, n, cnt = 1;

	starts[0] = 0;
	for (n = 0; n < p->cnt; n++) {
		const struct bpf_insn *i = &p->insns[n];
		__s64 t;

		if (!insn_is_subcall(i) && !insn_is_func_ref(i))
			continue;
		t = insn_target(p, n);
		if (t <= 0 || p->second[t])
			return reason_set(why, BIGTCP_TWIN_BAD_INPUT, n, 0, "",
					  "instruction %u calls a place that is no function", n);
		for (k = 0; k < cnt && starts[k] != t; k++)
			;
		if (k < cnt)
			continue;
		if (cnt == PROG_MAX_SUBS)
			return reason_set(why, BIGTCP_TWIN_TOO_LARGE, n, 0, "",
					  "more than %d subprograms", PROG_MAX_SUBS);
		starts[cnt++] = t;
	}
	qsort(starts, cnt, sizeof(starts[0]), cmp_u32);
	p->nsubs = cnt;
	for (k = 0; k < cnt; k++) {
		p->subs[k].start = starts[k];
		p->subs[k].end = k + 1 < cnt ? starts[k + 1] : p->cnt;
		for (n = p->subs[k].start; n < p->subs[k].end; n++)
			p->sub_of[n] = k;
	}
	return 0;
}

static int check_jumps(struct prog *p, struct bigtcp_twin_reason *why)
{
	__u32 n;

	for (n = 0; n < p->cnt; n++) {
		const struct bpf_insn *i = &p->insns[n];
		struct subprog *s = &p->subs[p->sub_of[n]];
		__s64 t;

		if (p->second[n])
			continue;
		s->used_regs |= 1u << i->dst_reg | 1u << i->src_reg;
		if (insn_is_ld_abs(i))
			s->used_regs |= 1u << BPF_REG_6; /* the implicit skb */
		if (!insn_is_jump(i))
			continue;
		t = insn_target(p, n);
		if (t < s->start || t >= s->end || p->second[t])
			return reason_set(why, BIGTCP_TWIN_BAD_INPUT, n, 0, "",
					  "instruction %u jumps out of its function", n);
	}
	for (n = 0; n < p->nsubs; n++) {
		const struct bpf_insn *last = &p->insns[p->subs[n].end - 1];

		if (p->second[p->subs[n].end - 1] || (!insn_is_exit(last) && !insn_is_uncond(last)))
			return reason_set(why, BIGTCP_TWIN_BAD_INPUT, p->subs[n].end - 1, 0, "",
					  "the function at instruction %u does not end in an exit "
					  "or a jump",
					  p->subs[n].start);
	}
	return 0;
}

int prog_init(struct prog *p, const struct bigtcp_twin_prog *in, struct bigtcp_twin_reason *why)
{
	int err;

	memset(p, 0, sizeof(*p));
	if (!in->insns || !in->insn_cnt)
		return reason_set(why, BIGTCP_TWIN_BAD_INPUT, 0, 0, "", "the program is empty");
	if (in->insn_cnt > PROG_MAX_INSNS / 2)
		return reason_set(why, BIGTCP_TWIN_TOO_LARGE, 0, 0, "",
				  "%u instructions: a twin would have more than the kernel loads",
				  in->insn_cnt);
	p->hook = hook_of(in->type);
	p->frags = in->frags;
	p->insns = in->insns;
	p->cnt = in->insn_cnt;
	p->sub_of = calloc(p->cnt, sizeof(*p->sub_of));
	p->second = calloc(p->cnt, sizeof(*p->second));
	if (!p->sub_of || !p->second) {
		prog_free(p);
		return -ENOMEM;
	}
	err = check_insns(p, why);
	if (!err)
		err = find_subs(p, why);
	if (!err)
		err = check_jumps(p, why);
	if (err)
		prog_free(p);
	return err;
}

void prog_free(struct prog *p)
{
	free(p->sub_of);
	free(p->second);
	p->sub_of = NULL;
	p->second = NULL;
}
