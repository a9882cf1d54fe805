// SPDX-License-Identifier: GPL-2.0
/* What the engine makes of small programs, and why it refuses others. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <bigtcp/twin.h>

#include "engine/insn.h"

#define SKB(field) offsetof(struct __sk_buff, field)
#define LEN(a)	   (sizeof(a) / sizeof((a)[0]))
#define MAP_FD(d, fd) \
	insn_raw(BPF_LD | BPF_IMM | BPF_DW, d, INSN_PSEUDO_MAP_FD, 0, fd), insn_raw(0, 0, 0, 0, 0)
#define CALL_SUB(rel)  insn_raw(BPF_JMP | BPF_CALL, 0, INSN_PSEUDO_CALL, 0, rel)
#define CALL_KFUNC(id) insn_raw(BPF_JMP | BPF_CALL, 0, INSN_PSEUDO_KFUNC_CALL, 0, id)
#define FUNC_REF(d, rel) \
	insn_raw(BPF_LD | BPF_IMM | BPF_DW, d, INSN_PSEUDO_FUNC, 0, rel), insn_raw(0, 0, 0, 0, 0)
#define JA(o) insn_raw(BPF_JMP | BPF_JA, 0, 0, o, 0)

static int kfunc_name(void *arg, __s32 imm, __s16 off, char *buf, size_t len)
{
	static const char *const names[] = { "bpf_dynptr_from_skb", "bpf_throw", "bpf_brand_new" };

	(void)arg;
	if (off || imm < 1 || imm > 3)
		return -ENOENT;
	snprintf(buf, len, "%s", names[imm - 1]);
	return 0;
}

static __s32 kfunc_id(void *arg, const char *name)
{
	(void)name;
	return arg ? 99 : -ENOENT;
}

static int make(const struct bpf_insn *insns, __u32 cnt, void *has_kfuncs, struct bigtcp_twin *t,
		struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin_prog p = { .type = BPF_PROG_TYPE_SCHED_CLS,
				      .insns = insns,
				      .insn_cnt = cnt };
	struct bigtcp_twin_opts o = { .sz = sizeof(o),
				      .move = true,
				      .state_fd = 11,
				      .buf_fd = 12,
				      .arg = has_kfuncs,
				      .kfunc_name = kfunc_name,
				      .kfunc_id = kfunc_id };

	return bigtcp_twin_make(&p, &o, t, why);
}

static void refused(const struct bpf_insn *insns, __u32 cnt, enum bigtcp_twin_why want, __u32 at)
{
	struct bigtcp_twin t = { .insn_cnt = 4242 };
	struct bigtcp_twin_reason why;
	int err = make(insns, cnt, NULL, &t, &why);

	cr_assert_eq(err, want == BIGTCP_TWIN_BAD_INPUT ? -EINVAL : -ENOTSUP, "%d: %s", err,
		     why.text);
	cr_assert_eq(why.why, want, "%s: %s", bigtcp_twin_why_name(why.why), why.text);
	cr_assert_eq(why.insn, at, "%s", why.text);
	cr_assert_neq(why.text[0], 0);
	cr_assert_eq(t.insn_cnt, 4242, "output touched on failure");
}
#define REFUSED(prog, want, at) refused(prog, LEN(prog), want, at)

static struct bigtcp_twin made(const struct bpf_insn *insns, __u32 cnt)
{
	static int yes;
	struct bigtcp_twin_reason why = {};
	struct bigtcp_twin t;
	int err = make(insns, cnt, &yes, &t, &why);

	cr_assert_eq(err, 0, "%d: %s", err, why.text);
	return t;
}
#define MADE(prog) made(prog, LEN(prog))

static bool same(const struct bpf_insn *a, struct bpf_insn b)
{
	return !memcmp(a, &b, sizeof(b));
}

/* How often @first and, right behind it, @then stand in the twin. */
static unsigned int count_pairs(const struct bigtcp_twin *t, struct bpf_insn first,
				struct bpf_insn then)
{
	unsigned int n = 0;
	__u32 i;

	for (i = 0; i + 1 < t->insn_cnt; i++)
		n += same(&t->insns[i], first) && same(&t->insns[i + 1], then);
	return n;
}

static unsigned int count_one(const struct bigtcp_twin *t, struct bpf_insn what)
{
	unsigned int n = 0;
	__u32 i;

	for (i = 0; i < t->insn_cnt; i++)
		n += same(&t->insns[i], what);
	return n;
}

Test(twin, ordinary_packets_pay_a_load_and_a_branch)
{
	const struct bpf_insn prog[] = { MOV64_IMM(0, 0), EXIT() };
	struct bigtcp_twin t = MADE(prog);

	cr_assert(same(&t.insns[0], LDX_MEM(BPF_W, BPF_REG_2, BPF_REG_1, SKB(len))));
	cr_assert_eq(t.insns[1].code, BPF_JMP | BPF_JGT | BPF_K);
	cr_assert_eq(t.insns[1].imm, BIGTCP_TWIN_MIN_LEN);
	cr_assert(!memcmp(&t.insns[2], prog, sizeof(prog)), "the original stands behind it");
	cr_assert_not(t.direct, "a program that writes nothing does not make the kernel unclone");
	bigtcp_twin_free(&t);
}

Test(twin, data_moves_and_len_shrinks)
{
	const struct bpf_insn data = LDX_MEM(BPF_W, 3, 1, SKB(data));
	const struct bpf_insn half = LDX_MEM(BPF_H, 4, 1, SKB(len) + 2);
	const struct bpf_insn prog[] = { data, LDX_MEM(BPF_W, 5, 1, SKB(data_end)), half,
					 MOV64_IMM(0, 0), EXIT() };
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(count_pairs(&t, data, ALU64_IMM(BPF_ADD, 3, 8)), 1);
	cr_assert_eq(count_pairs(&t, data, prog[1]), 1, "the original is as it was");
	cr_assert_eq(count_pairs(&t, LDX_MEM(BPF_W, 4, 1, SKB(len)), ALU32_IMM(BPF_ADD, 4, -8)), 1);
	cr_assert_eq(count_pairs(&t, ALU32_IMM(BPF_RSH, 4, 16), ALU32_IMM(BPF_AND, 4, 0xffff)), 1);
	bigtcp_twin_free(&t);
}

/* The context goes through a spill slot and a struct on the caller's stack into a subprogram. */
Test(twin, context_is_followed_through_memory_and_calls)
{
	const struct bpf_insn data = LDX_MEM(BPF_W, 2, 1, SKB(data));
	const struct bpf_insn prog[] = {
		STX_MEM(BPF_DW, 10, 1, -8),
		MOV64_REG(2, 10),
		ALU64_IMM(BPF_ADD, 2, -8),
		MOV64_IMM(1, 5),
		CALL_SUB(1),
		EXIT(),
		LDX_MEM(BPF_DW, 1, 2, 0),
		data,
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(t.cloned_subprogs, 1);
	cr_assert_eq(count_pairs(&t, data, ALU64_IMM(BPF_ADD, 2, 8)), 1);
	cr_assert_eq(count_one(&t, data), 2 + 0, "the original and the copy");
	bigtcp_twin_free(&t);
}

Test(twin, subprogram_without_packet_is_shared)
{
	const struct bpf_insn prog[] = {
		MOV64_IMM(1, 7),	  CALL_SUB(1), EXIT(), MOV64_REG(0, 1),
		ALU64_IMM(BPF_MUL, 0, 3), EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(t.cloned_subprogs, 0);
	cr_assert_eq(count_one(&t, prog[4]), 1);
	bigtcp_twin_free(&t);
}

Test(twin, other_memory_at_the_same_offset_is_left_alone)
{
	const struct bpf_insn load = LDX_MEM(BPF_W, 3, 0, SKB(data));
	const struct bpf_insn prog[] = {
		ST_MEM(BPF_W, 10, -4, 0),
		MAP_FD(1, 9),
		MOV64_REG(2, 10),
		ALU64_IMM(BPF_ADD, 2, -4),
		CALL_HELPER(BPF_FUNC_map_lookup_elem),
		insn_raw(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0),
		load,
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(count_one(&t, load), 2);
	cr_assert_eq(count_pairs(&t, load, ALU64_IMM(BPF_ADD, 3, 8)), 0);
	bigtcp_twin_free(&t);
}

Test(twin, offsets_move_by_eight_where_they_are_known)
{
	const struct bpf_insn call = CALL_HELPER(BPF_FUNC_skb_load_bytes);
	const struct bpf_insn prog[] = {
		MOV64_IMM(2, 20),
		MOV64_REG(3, 10),
		ALU64_IMM(BPF_ADD, 3, -8),
		MOV64_IMM(4, 8),
		call,
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(count_pairs(&t, ALU64_IMM(BPF_ADD, 2, 8), call), 1);
	bigtcp_twin_free(&t);
}

Test(twin, pull_of_everything_stays_a_pull_of_everything)
{
	const struct bpf_insn call = CALL_HELPER(BPF_FUNC_skb_pull_data);
	const struct bpf_insn prog[] = { MOV64_IMM(2, 0), call, MOV64_IMM(0, 0), EXIT() };
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(count_pairs(&t, MOV64_IMM(2, 0), call), 2);
	bigtcp_twin_free(&t);
}

Test(twin, records_are_carried_over)
{
	const struct bpf_insn prog[] = {
		LDX_MEM(BPF_W, 2, 1, SKB(data)), CALL_SUB(1),	  EXIT(),
		LDX_MEM(BPF_W, 2, 1, SKB(len)),	 MOV64_IMM(0, 0), EXIT(),
	};
	const struct bpf_func_info funcs[] = { { 0, 7 }, { 3, 8 } };
	const struct bpf_line_info lines[] = { { 0, 1, 2, 3 }, { 3, 4, 5, 6 }, { 4, 7, 8, 9 } };
	struct bigtcp_twin_prog p = { .type = BPF_PROG_TYPE_SCHED_CLS,
				      .insns = prog,
				      .insn_cnt = LEN(prog),
				      .func_info = funcs,
				      .func_info_cnt = 2,
				      .func_info_rec_size = sizeof(funcs[0]),
				      .line_info = lines,
				      .line_info_cnt = 3,
				      .line_info_rec_size = sizeof(lines[0]) };
	struct bigtcp_twin_opts o = { .sz = sizeof(o), .move = true };
	const struct bpf_func_info *f;
	const struct bpf_line_info *l;
	struct bigtcp_twin t;

	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, NULL), 0);
	f = t.func_info;
	l = t.line_info;
	cr_assert_eq(t.func_info_cnt, 3);
	cr_assert_eq(f[0].insn_off, 0);
	cr_assert_eq(f[1].type_id, 8);
	cr_assert_eq(f[2].type_id, 8);
	cr_assert(f[0].insn_off < f[1].insn_off && f[1].insn_off < f[2].insn_off);
	cr_assert(same(&t.insns[f[1].insn_off], prog[3]) && same(&t.insns[f[2].insn_off], prog[3]));
	cr_assert_eq(t.line_info_cnt, 6);
	cr_assert_eq(l[0].insn_off, 0);
	cr_assert(same(&t.insns[l[1].insn_off], prog[0]),
		  "main's twin has the line of main's start");
	cr_assert_eq(l[1].file_name_off, 1);
	cr_assert_eq(l[2].insn_off, f[1].insn_off);
	cr_assert_eq(l[4].insn_off, f[2].insn_off);
	cr_assert(same(&t.insns[l[5].insn_off], prog[4]));
	bigtcp_twin_free(&t);
}

Test(refused, geometry_helper)
{
	const struct bpf_insn prog[] = { MOV64_IMM(2, 8), MOV64_IMM(3, 0), MOV64_IMM(4, 0),
					 CALL_HELPER(BPF_FUNC_skb_adjust_room), EXIT() };

	struct bigtcp_twin_prog p = { .type = BPF_PROG_TYPE_SCHED_CLS,
				      .insns = prog,
				      .insn_cnt = LEN(prog) };
	struct bigtcp_twin_opts o = { .sz = sizeof(o), .move = true, .resize_fails = true };
	struct bigtcp_twin t;

	REFUSED(prog, BIGTCP_TWIN_HELPER, 3);
	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, NULL), 0);
	cr_assert_eq(count_one(&t, prog[3]), 1, "the original's call only");
	cr_assert_eq(count_one(&t, MOV64_IMM(0, -524)), 1);
	bigtcp_twin_free(&t);
}

Test(refused, helper_from_the_future)
{
	const struct bpf_insn prog[] = { CALL_HELPER(4000), EXIT() };

	REFUSED(prog, BIGTCP_TWIN_HELPER_UNKNOWN, 0);
}

Test(refused, kfuncs)
{
	const struct bpf_insn thrower[] = { CALL_KFUNC(2), EXIT() };
	const struct bpf_insn future[] = { CALL_KFUNC(3), EXIT() };
	const struct bpf_insn nameless[] = { CALL_KFUNC(77), EXIT() };
	const struct bpf_insn dynptr[] = {
		MOV64_IMM(2, 0), MOV64_REG(3, 10), ALU64_IMM(BPF_ADD, 3, -16),
		CALL_KFUNC(1),	 MOV64_IMM(0, 0),  EXIT()
	};
	struct bigtcp_twin t;

	REFUSED(thrower, BIGTCP_TWIN_KFUNC, 0);
	REFUSED(future, BIGTCP_TWIN_KFUNC_UNKNOWN, 0);
	REFUSED(nameless, BIGTCP_TWIN_KFUNC_UNKNOWN, 0);
	REFUSED(dynptr, BIGTCP_TWIN_KFUNC_MISSING, 3);
	t = MADE(dynptr);
	cr_assert_eq(count_one(&t, CALL_KFUNC(99)), 2, "size and adjust behind the creation");
	bigtcp_twin_free(&t);
}

/* The metadata is not moved: it is compared with the packet's real start. */
Test(twin, data_meta_ends_at_the_real_start)
{
	const struct bpf_insn jump = insn_raw(BPF_JMP | BPF_JGT | BPF_X, 2, 3, 1, 0);
	struct bpf_insn prog[] = { LDX_MEM(BPF_W, 2, 1, SKB(data_meta)),
				   LDX_MEM(BPF_W, 3, 1, SKB(data)),
				   ALU64_IMM(BPF_ADD, 2, 4),
				   jump,
				   MOV64_IMM(4, 0),
				   MOV64_IMM(0, 0),
				   EXIT() };
	struct bigtcp_twin t = MADE(prog);
	struct bpf_insn in_twin = jump;

	in_twin.off = 2;
	cr_assert_eq(count_pairs(&t, ALU64_IMM(BPF_ADD, 3, -8), in_twin), 1);
	cr_assert_eq(count_pairs(&t, in_twin, ALU64_IMM(BPF_ADD, 3, 8)), 1);
	bigtcp_twin_free(&t);
	prog[3] = insn_raw(BPF_ALU64 | BPF_SUB | BPF_X, 3, 2, 0, 0);
	REFUSED(prog, BIGTCP_TWIN_FIELD, 3);
}

/* What constants keep from running is not judged, as the verifier does not walk it either. */
Test(twin, code_that_constants_switch_off)
{
	struct bpf_insn prog[] = {
		MOV64_IMM(2, 0),
		insn_raw(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 2, 0),
		CALL_HELPER(BPF_FUNC_skb_adjust_room),
		CALL_HELPER(0xbad2310),
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	bigtcp_twin_free(&t);
	prog[0] = LDX_MEM(BPF_W, 2, 1, SKB(mark));
	REFUSED(prog, BIGTCP_TWIN_HELPER, 2);
	prog[2] = MOV64_IMM(3, 0);
	t = MADE(prog);
	bigtcp_twin_free(&t);
}

/* The only value of map 9 is 0, 7; of other maps nobody knows. */
static int const_value(void *arg, int fd, __u32 off, __u32 size, __u64 *val)
{
	(void)arg;
	if (fd != 9 || off % 4 || off > 4 || size != 4)
		return -EPERM;
	*val = off ? 7 : 0;
	return 0;
}

Test(twin, constants_of_frozen_maps_switch_off_too)
{
	struct bpf_insn prog[] = {
		insn_raw(BPF_LD | BPF_IMM | BPF_DW, 2, INSN_PSEUDO_MAP_VALUE, 0, 9),
		insn_raw(0, 0, 0, 0, 0),
		LDX_MEM(BPF_W, 3, 2, 0),
		insn_raw(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1, 0),
		CALL_HELPER(BPF_FUNC_skb_change_proto),
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin_prog p = { .type = BPF_PROG_TYPE_SCHED_CLS,
				      .insns = prog,
				      .insn_cnt = LEN(prog) };
	struct bigtcp_twin_opts o = { .sz = sizeof(o), .move = true, .const_value = const_value };
	struct bigtcp_twin_reason why;
	struct bigtcp_twin t;

	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, &why), 0, "%s", why.text);
	bigtcp_twin_free(&t);
	prog[2].off = 4;
	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, &why), -ENOTSUP, "7 does not jump");
	cr_assert_eq(why.insn, 4);
	prog[2].off = 0;
	prog[0].imm = 8;
	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, &why), -ENOTSUP, "another map");
	prog[0].imm = 9;
	prog[1].imm = 4;
	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, &why), -ENOTSUP, "an offset in the address");
}

/* A third VLAN tag in a subprogram must not end it with a verdict of its own. */
Test(twin, subprograms_end_only_as_they_did)
{
	const struct bpf_insn prog[] = {
		MOV64_REG(6, 1), MOV64_REG(1, 6),
		CALL_SUB(2),	 MOV64_IMM(0, 0),
		EXIT(),		 MOV64_IMM(2, 0x81),
		MOV64_IMM(3, 5), CALL_HELPER(BPF_FUNC_skb_vlan_push),
		MOV64_IMM(0, 0), EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);
	__u32 n, start = 0, exits = 0;

	for (n = 0; n < t.insn_cnt; n++)
		if (same(&t.insns[n], prog[5]))
			start = n; /* the copy's start, the last one */
	for (n = start; n < t.insn_cnt; n++)
		exits += same(&t.insns[n], prog[9]);
	cr_assert_eq(exits, 1);
	bigtcp_twin_free(&t);
}

Test(refused, segs_check_unless_it_is_off)
{
	struct bpf_insn prog[] = { MOV64_IMM(2, 1),	      MOV64_REG(3, 10),
				   ALU64_IMM(BPF_ADD, 3, -4), MOV64_IMM(4, 0),
				   MOV64_IMM(5, 1),	      CALL_HELPER(BPF_FUNC_check_mtu),
				   MOV64_IMM(0, 0),	      EXIT() };
	struct bigtcp_twin t;

	REFUSED(prog, BIGTCP_TWIN_HELPER, 5);
	prog[4].imm = 0;
	t = MADE(prog);
	bigtcp_twin_free(&t);
}

/* One path has the context in R2, the other a map value: a load that could be either. */
Test(refused, context_or_not)
{
	const struct bpf_insn prog[] = {
		MOV64_REG(6, 1),
		ST_MEM(BPF_W, 10, -4, 0),
		MAP_FD(1, 9),
		MOV64_REG(2, 10),
		ALU64_IMM(BPF_ADD, 2, -4),
		CALL_HELPER(BPF_FUNC_map_lookup_elem),
		MOV64_REG(2, 0),
		insn_raw(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0),
		MOV64_REG(2, 6),
		LDX_MEM(BPF_W, 3, 2, SKB(data)),
		MOV64_IMM(0, 0),
		EXIT(),
	};

	REFUSED(prog, BIGTCP_TWIN_AMBIGUOUS, 10);
}

Test(refused, no_room_for_the_context)
{
	struct bpf_insn prog[] = {
		MOV64_IMM(6, 1),
		MOV64_IMM(7, 1),
		MOV64_IMM(8, 1),
		MOV64_IMM(9, 1),
		ST_MEM(BPF_DW, 10, -512, 0),
		MOV64_IMM(1, 0),
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin t;

	REFUSED(prog, BIGTCP_TWIN_NO_ROOM, 7);
	prog[4].off = -504;
	t = MADE(prog);
	cr_assert_eq(count_one(&t, LDX_MEM(BPF_DW, 6, 10, -512)), 1, "the last slot is its home");
	bigtcp_twin_free(&t);
	prog[4].off = -512;
	prog[3] = prog[2];
	t = MADE(prog);
	cr_assert_eq(count_one(&t, MOV64_REG(6, 9)), 1, "the free register is its home");
	bigtcp_twin_free(&t);
}

Test(refused, bad_input)
{
	const struct bpf_insn jump_out[] = { JA(5), EXIT() };
	const struct bpf_insn jump_into_ld64[] = { JA(1), MAP_FD(1, 3), EXIT() };
	const struct bpf_insn falls_off[] = { MOV64_IMM(0, 0) };
	const struct bpf_insn half[] = { EXIT(), insn_raw(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0) };
	const struct bpf_insn call_self[] = { CALL_SUB(-1), EXIT() };
	const struct bpf_insn no_reg[] = { insn_raw(BPF_ALU64 | BPF_MOV | BPF_K, 12, 0, 0, 0),
					   EXIT() };
	const struct bpf_insn odd[] = { insn_raw(0xff, 0, 0, 0, 0), EXIT() };

	REFUSED(jump_out, BIGTCP_TWIN_BAD_INPUT, 0);
	REFUSED(jump_into_ld64, BIGTCP_TWIN_BAD_INPUT, 0);
	REFUSED(falls_off, BIGTCP_TWIN_BAD_INPUT, 0);
	REFUSED(half, BIGTCP_TWIN_BAD_INPUT, 1);
	REFUSED(call_self, BIGTCP_TWIN_BAD_INPUT, 0);
	REFUSED(no_reg, BIGTCP_TWIN_BAD_INPUT, 0);
	REFUSED(odd, BIGTCP_TWIN_INSN, 0);
	refused(odd, 0, BIGTCP_TWIN_BAD_INPUT, 0);
}

Test(refused, options_of_another_version)
{
	const struct bpf_insn prog[] = { MOV64_IMM(0, 0), EXIT() };
	struct bigtcp_twin_prog p = { .type = BPF_PROG_TYPE_KPROBE, .insns = prog, .insn_cnt = 2 };
	struct bigtcp_twin_opts o = { .sz = sizeof(o) };
	struct bigtcp_twin_reason why;
	struct bigtcp_twin t;

	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, &why), -ENOTSUP);
	cr_assert_eq(why.why, BIGTCP_TWIN_PROG_TYPE);
	o.sz = 3;
	cr_assert_eq(bigtcp_twin_make(&p, &o, &t, &why), -EINVAL);
}

/* A program too long for a 16-bit jump over it is said to be so. */
Test(refused, too_large)
{
	static struct bpf_insn prog[40000];
	__u32 n;

	for (n = 0; n < LEN(prog) - 1; n++)
		prog[n] = MOV64_IMM(0, 0);
	prog[n] = EXIT();
	REFUSED(prog, BIGTCP_TWIN_TOO_LARGE, 0);
}

/* A helper may write over a constant on the stack: the branch on it can go both ways. */
Test(twin, helpers_write_to_the_stack)
{
	const struct bpf_insn prog[] = {
		MOV64_REG(6, 1),
		ST_MEM(BPF_DW, 10, -8, 0),
		MOV64_IMM(2, 30),
		MOV64_REG(3, 10),
		ALU64_IMM(BPF_ADD, 3, -8),
		MOV64_IMM(4, 8),
		CALL_HELPER(BPF_FUNC_skb_load_bytes),
		LDX_MEM(BPF_DW, 1, 10, -8),
		insn_raw(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1, 0),
		LDX_MEM(BPF_W, 2, 6, SKB(data)),
		MOV64_IMM(0, 0),
		EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(count_pairs(&t, LDX_MEM(BPF_W, 2, 6, SKB(data)), ALU64_IMM(BPF_ADD, 2, 8)), 1);
	bigtcp_twin_free(&t);
}

/* A tail call out of a subprogram may return anything to the caller, whatever stands behind the call. */
Test(twin, tail_calls_return_what_the_other_program_does)
{
	const struct bpf_insn prog[] = {
		MOV64_REG(6, 1),
		CALL_SUB(5),
		insn_raw(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0),
		LDX_MEM(BPF_W, 2, 6, SKB(data)),
		MOV64_IMM(0, 0),
		insn_raw(BPF_JMP | BPF_JA, 0, 0, 0, 0),
		EXIT(),
		MAP_FD(2, 5),
		MOV64_IMM(3, 0),
		CALL_HELPER(BPF_FUNC_tail_call),
		MOV64_IMM(0, 2),
		EXIT(),
	};
	struct bigtcp_twin t = MADE(prog);

	cr_assert_eq(count_pairs(&t, LDX_MEM(BPF_W, 2, 6, SKB(data)), ALU64_IMM(BPF_ADD, 2, 8)), 1);
	bigtcp_twin_free(&t);
}
