// SPDX-License-Identifier: GPL-2.0
/*
 * Which values can R0 have where the program ends? A forward dataflow in which a value is the set
 * of the numbers 0 ... 31 that its low 32 bits can be, and "else". Those 32 bits are what the kernel
 * and the dispatcher take for the verdict. All that is not understood is "any number".
 */
#include "core/sandwich_verdicts.h"
#include "core/audit_ksyms.h"
#include "core/kbtf.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>

#define SMALL 32 /* numbers that are told apart */
#define ELSE  (1ULL << SMALL)
#define ANY   ((1ULL << (SMALL + 1)) - 1)
#define FRAME \
	(1ULL \
	 << 63) /* a pointer to the stack; the low bits are its distance from the lowest byte */
#define FRAME_ANY    (FRAME | 1ULL << 62) /* where to is not known; or perhaps it is none */
#define STACK	     512u
#define SLOTS	     (STACK / 4)

#define INSNS_MAX    16384u /* the states take 1 KiB an instruction */
#define SUBS_MAX     256u
#define ROUNDS_MAX   64u

#define OP_TAIL_CALL 0xf0 /* in class JMP, as the kernel dumps it */
#define OP_JCOND     0xe0 /* may_goto */
#define MODE_ATOMIC  0xc0
#define LOAD_ACQUIRE 0x100 /* of an atomic instruction (6.15) */

struct state {
	__u64 reg[MAX_BPF_REG];
	__u64 slot[SLOTS]; /* of each 4 bytes of the stack */
	bool reached;
};

struct flow {
	const struct bpf_insn *insns;
	unsigned int n;
	bool jited;
	struct state *at; /* before each instruction */
	unsigned int *todo, n_todo;
	bool *queued;
	unsigned int subs[SUBS_MAX],
		n_subs; /* where functions start; the program itself is the first */
	__u64 returns[SUBS_MAX];
	bool gave_up;
};

static __u64 set_of(__s64 v)
{
	return (__u32)v < SMALL ? 1ULL << (__u32)v : ELSE;
}

/* As a number. */
static __u64 number(__u64 v)
{
	return v & FRAME ? ANY : v;
}

static __u64 join(__u64 a, __u64 b)
{
	if (a == b || !b)
		return a;
	if (!a)
		return b;
	return (a | b) & FRAME ? FRAME_ANY : a | b;
}

/* All numbers below @limit. */
static __u64 below(__u64 limit)
{
	return limit >= SMALL ? (limit > SMALL ? ANY : ANY & ~ELSE) : (1ULL << limit) - 1;
}

/* Something may have been written anywhere in the stack: data, or (@pointers) also addresses. */
static void forget_stack(struct state *s, bool pointers)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		s->slot[i] = pointers || (s->slot[i] & FRAME) ? FRAME_ANY : ANY;
}

/* The first slot of @size bytes at @base + @off, -1: not known. */
static int slot_of(__u64 base, int off, unsigned int size)
{
	__s64 at = (__s64)(base & 0xffff) + off;

	if (base == FRAME_ANY || at < 0 || at + size > STACK)
		return -1;
	return (int)(at / 4);
}

static bool aligned(__u64 base, int off)
{
	return !(((base & 0xffff) + (unsigned int)off) & 3);
}

static unsigned int size_of(__u8 code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

static void store(struct state *s, const struct bpf_insn *i, __u64 val)
{
	__u64 base = s->reg[i->dst_reg];
	unsigned int size = size_of(i->code);
	int first, last;

	if (!(base & FRAME))
		return;
	first = slot_of(base, i->off, size);
	last = slot_of(base, i->off + (int)size - 1, 1);
	if (first < 0 || last < 0) {
		forget_stack(s, val & FRAME);
		return;
	}
	for (int k = first; k <= last; k++)
		s->slot[k] = ANY;
	if (size == 8 && aligned(base, i->off))
		s->slot[first] = val;
	else if (size == 4 && aligned(base, i->off))
		s->slot[first] = number(val);
}

static __u64 load(const struct state *s, const struct bpf_insn *i)
{
	__u64 base = s->reg[i->src_reg], val;
	unsigned int size = size_of(i->code);
	int first;

	if (!(base & FRAME) || BPF_MODE(i->code) != BPF_MEM || !aligned(base, i->off))
		return ANY;
	first = slot_of(base, i->off, size);
	if (first < 0)
		return size == 8 ? FRAME_ANY : ANY;
	val = s->slot[first];
	if (size == 8)
		return val;
	val = number(val);
	if (size == 4)
		return val;
	/* the low bytes of a small number are that number, where they come first */
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !(val & ELSE) ? val : ANY;
}

/* Operations whose low 32 bits depend on nothing but the low 32 bits of both sides. */
static bool one_by_one(__u8 op, __u32 a, __u32 b, __u32 *out)
{
	switch (op) {
	case BPF_ADD:
		*out = a + b;
		return true;
	case BPF_SUB:
		*out = a - b;
		return true;
	case BPF_MUL:
		*out = a * b;
		return true;
	case BPF_OR:
		*out = a | b;
		return true;
	case BPF_AND:
		*out = a & b;
		return true;
	case BPF_XOR:
		*out = a ^ b;
		return true;
	case BPF_LSH:
		if (b > 31)
			return false;
		*out = a << b;
		return true;
	default:
		return false;
	}
}

static __u64 with_constant(const struct bpf_insn *i, __u64 dst, __s32 k)
{
	bool is32 = BPF_CLASS(i->code) == BPF_ALU;
	__u8 op = BPF_OP(i->code);
	__u64 out = 0;
	__u32 v;

	if (op == BPF_RSH && k >= 0 && k < (is32 ? 32 : 64))
		return below(1ULL << (is32 ? 32 - k : (k ? 64 - k : 63)));
	if (op == BPF_MOD && k > 0 && !i->off)
		return below((__u32)k);
	if (dst & ELSE) {
		if (op != BPF_AND)
			return ANY;
		for (v = 0; v < SMALL; v++) {
			if (!(v & ~(__u32)k))
				out |= 1ULL << v;
		}
		return (__u32)k >= SMALL ? out | ELSE : out;
	}
	for (__u32 a = 0; a < SMALL; a++) {
		if (!(dst >> a & 1))
			continue;
		if (!one_by_one(op, a, (__u32)k, &v))
			return ANY;
		out |= set_of(v);
	}
	return out;
}

/* The one number that @v is; false: there are more. */
static bool single(__u64 v, __s32 *k)
{
	if ((v & (FRAME | ELSE)) || !v || (v & (v - 1)))
		return false;
	*k = __builtin_ctzll(v);
	return true;
}

static __u64 alu(const struct state *s, const struct bpf_insn *i)
{
	__u8 op = BPF_OP(i->code);
	bool is32 = BPF_CLASS(i->code) == BPF_ALU, by_reg = BPF_SRC(i->code) == BPF_X;
	__u64 dst = s->reg[i->dst_reg], src = s->reg[i->src_reg];
	__s32 k = i->imm;

	if (op == BPF_MOV) {
		if (!by_reg)
			return set_of(k);
		/* off: with sign extension, or of a per-CPU address */
		return i->off ? ANY : (is32 ? number(src) : src);
	}
	if (op == BPF_END || op == BPF_NEG)
		return ANY;
	if ((dst & FRAME) || (by_reg && (src & FRAME))) {
		__s64 at = (__s64)(dst & 0xffff) + (op == BPF_SUB ? -(__s64)k : k);

		if (is32)
			return ANY;
		if (by_reg || dst == FRAME_ANY || (op != BPF_ADD && op != BPF_SUB) || at < 0 ||
		    at > STACK)
			return FRAME_ANY;
		return FRAME | (__u64)at;
	}
	if (by_reg && op == BPF_XOR && i->dst_reg == i->src_reg)
		return set_of(0);
	/* of a register only the low 32 bits are known: as much as the operations below need */
	if (by_reg && (!single(src, &k) || op == BPF_MOD || op == BPF_RSH || op == BPF_LSH))
		return ANY;
	return with_constant(i, dst, k);
}

/* What is left of @v on one side of a branch. An upper limit of 64 bits is one of the low 32, the reverse is
 * not so.
 */
static __u64 narrowed(const struct bpf_insn *i, __u64 v, bool taken)
{
	bool is32 = BPF_CLASS(i->code) == BPF_JMP32;
	__u64 k = is32 ? (__u32)i->imm : (__u64)(__s64)i->imm;

	if ((v & FRAME) || BPF_SRC(i->code) == BPF_X)
		return v;
	switch (BPF_OP(i->code)) {
	case BPF_JNE:
		taken = !taken;
		/* fallthrough */
	case BPF_JEQ:
		if (taken)
			return v & set_of(i->imm);
		return is32 && k < SMALL ? v & ~(1ULL << k) : v;
	case BPF_JGT: /* what is left: <= k */
		return !taken ? v & below(k + 1 ? k + 1 : ~0ULL)
			      : (is32 ? v & ~(below(k + 1) & ~ELSE) : v);
	case BPF_JGE:
		return !taken ? v & below(k) : (is32 ? v & ~(below(k) & ~ELSE) : v);
	case BPF_JLT:
		return taken ? v & below(k) : (is32 ? v & ~(below(k) & ~ELSE) : v);
	case BPF_JLE:
		return taken ? v & below(k + 1 ? k + 1 : ~0ULL)
			     : (is32 ? v & ~(below(k + 1) & ~ELSE) : v);
	default:
		return v;
	}
}

static void flow_to(struct flow *f, unsigned int to, const struct state *s)
{
	struct state *old;
	bool changed = false;

	if (to >= f->n) {
		f->gave_up = true;
		return;
	}
	old = &f->at[to];
	if (!old->reached) {
		*old = *s;
		old->reached = changed = true;
	} else {
		for (unsigned int r = 0; r < MAX_BPF_REG; r++) {
			__u64 v = join(old->reg[r], s->reg[r]);

			changed |= v != old->reg[r];
			old->reg[r] = v;
		}
		for (unsigned int k = 0; k < SLOTS; k++) {
			__u64 v = join(old->slot[k], s->slot[k]);

			changed |= v != old->slot[k];
			old->slot[k] = v;
		}
	}
	if (changed && !f->queued[to]) {
		f->queued[to] = true;
		f->todo[f->n_todo++] = to;
	}
}

/* Helpers that write to no memory of the program but that of maps, packets and rings. */
static bool leaves_stack_alone(const char *name)
{
	static const char *const quiet[] = {
		"bpf_map_delete_elem",	 "bpf_map_update_elem",	    "bpf_ktime_get_ns",
		"bpf_ktime_get_boot_ns", "bpf_ktime_get_coarse_ns", "bpf_get_smp_processor_id",
		"bpf_user_rnd_u32",	 "bpf_xdp_adjust_head",	    "bpf_xdp_adjust_tail",
		"bpf_xdp_adjust_meta",	 "bpf_xdp_get_buff_len",    "bpf_xdp_store_bytes",
		"bpf_csum_diff",	 "bpf_trace_printk",	    "bpf_xdp_redirect_map",
		"bpf_xdp_redirect",	 "bpf_ringbuf_output",	    "bpf_ringbuf_reserve",
		"bpf_ringbuf_submit",	 "bpf_ringbuf_discard",	    "bpf_xdp_event_output",
		"bpf_spin_lock",	 "bpf_spin_unlock",	    "bpf_per_cpu_ptr",
	};
	size_t len;

	if (!name)
		return false;
	for (unsigned int i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++) {
		if (!strcmp(name, quiet[i]))
			return true;
	}
	/* the maps' own functions, which the kernel calls in place of bpf_map_lookup_elem */
	len = strlen(name);
	return len > 12 && !strcmp(name + len - 12, "_lookup_elem");
}

/* Which function an instruction belongs to: the one with the nearest start before it. */
static void returns(struct flow *f, unsigned int at, __u64 val)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < f->n_subs; i++) {
		if (f->subs[i] <= at && f->subs[i] > f->subs[best])
			best = i;
	}
	f->returns[best] |= number(val);
}

/* Index of the function that starts at @start; -1: too many. */
static int sub_at(struct flow *f, unsigned int start)
{
	struct state entry = { .reached = true };

	for (unsigned int i = 0; i < f->n_subs; i++) {
		if (f->subs[i] == start)
			return (int)i;
	}
	if (f->n_subs == SUBS_MAX)
		return -1;
	for (unsigned int r = 0; r < MAX_BPF_REG; r++)
		entry.reg[r] = ANY;
	entry.reg[BPF_REG_10] = FRAME | STACK;
	forget_stack(&entry, false);
	flow_to(f, start, &entry);
	f->subs[f->n_subs] = start;
	f->returns[f->n_subs] = 0;
	return (int)f->n_subs++;
}

/* false: nothing comes back from it so far. */
static bool call(struct flow *f, struct state *s, const struct bpf_insn *i, unsigned int at)
{
	const char *name = i->src_reg ? NULL : bt_ksym_of_call(i->imm);
	char kfunc[64];
	__u64 result = ANY;
	int sub;

	if (i->src_reg == BPF_PSEUDO_CALL) {
		forget_stack(s, true); /* it may have been given an address */
		sub = f->jited ? sub_at(f, at + 1 + i->off) : -1;
		if (sub < 0)
			f->gave_up = true;
		else
			result = f->returns[sub];
	} else if (!leaves_stack_alone(name)) {
		/* an exception ends the program with a number of its own */
		if (i->src_reg && (bt_kfunc_name(i->imm, i->off, NULL, kfunc, sizeof(kfunc)) ||
				   !strcmp(kfunc, "bpf_throw")))
			returns(f, 0, ANY);
		forget_stack(s, false);
		result = FRAME_ANY; /* such as a slice of a dynptr */
	}
	s->reg[BPF_REG_0] = result;
	for (unsigned int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->reg[r] = ANY;
	return result;
}

static void branch(struct flow *f, struct state *s, const struct bpf_insn *i, unsigned int at)
{
	bool narrow = BPF_OP(i->code) != OP_JCOND;
	__u64 was = s->reg[i->dst_reg], left;

	left = narrow ? narrowed(i, was, true) : was;
	if (left) {
		s->reg[i->dst_reg] = left;
		flow_to(f, at + 1 + i->off, s);
	}
	left = narrow ? narrowed(i, was, false) : was;
	if (left) {
		s->reg[i->dst_reg] = left;
		flow_to(f, at + 1, s);
	}
}

/* Jumps, calls and exits go on by themselves. */
static void step_jump(struct flow *f, struct state *s, const struct bpf_insn *i, unsigned int at)
{
	switch (BPF_OP(i->code)) {
	case BPF_EXIT:
		returns(f, at, s->reg[BPF_REG_0]);
		return;
	case BPF_CALL:
		if (call(f, s, i, at))
			flow_to(f, at + 1, s);
		return;
	case BPF_JA:
		flow_to(f, at + 1 + (BPF_CLASS(i->code) == BPF_JMP32 ? i->imm : i->off), s);
		return;
	case OP_TAIL_CALL:
		/* it may end here, with whatever the other program says */
		returns(f, 0, ANY);
		for (unsigned int r = BPF_REG_0; r <= BPF_REG_5; r++)
			s->reg[r] = ANY;
		flow_to(f, at + 1, s);
		return;
	default:
		branch(f, s, i, at);
	}
}

static void step(struct flow *f, unsigned int at)
{
	const struct bpf_insn *i = &f->insns[at];
	struct state s = f->at[at];
	__u8 class = BPF_CLASS(i->code);
	bool constant = i->code == (BPF_LD | BPF_IMM | BPF_DW);

	switch (class) {
	case BPF_ALU:
	case BPF_ALU64:
		s.reg[i->dst_reg] = alu(&s, i);
		break;
	case BPF_LDX:
		s.reg[i->dst_reg] = load(&s, i);
		break;
	case BPF_ST:
		store(&s, i, set_of(i->imm));
		break;
	case BPF_STX:
		if (BPF_MODE(i->code) == MODE_ATOMIC) {
			if (s.reg[i->dst_reg] & FRAME)
				forget_stack(&s, false);
			s.reg[i->src_reg] = s.reg[i->src_reg] & FRAME ? FRAME_ANY : ANY;
			s.reg[BPF_REG_0] = join(s.reg[BPF_REG_0], ANY);
			if (i->imm == LOAD_ACQUIRE)
				s.reg[i->dst_reg] = ANY;
		} else {
			store(&s, i, s.reg[i->src_reg]);
		}
		break;
	case BPF_JMP:
	case BPF_JMP32:
		step_jump(f, &s, i, at);
		return;
	default: /* BPF_LD */
		if (constant) {
			s.reg[i->dst_reg] = i->src_reg ? ANY : set_of(i->imm);
			break;
		}
		f->gave_up = true;
	}
	flow_to(f, at + 1 + constant, &s);
}

/* Once through all that can be reached. false: what subprograms return has grown. */
static bool pass(struct flow *f)
{
	__u64 before[SUBS_MAX];
	unsigned int n = f->n_subs;

	memcpy(before, f->returns, sizeof(before));
	for (unsigned int i = 0; i < f->n; i++)
		f->at[i].reached = f->queued[i] = false;
	f->n_todo = f->n_subs = 0;
	for (unsigned int i = 0; i < n; i++) {
		sub_at(f, f->subs[i]);
		f->returns[i] = before[i];
	}
	while (f->n_todo && !f->gave_up) {
		unsigned int at = f->todo[--f->n_todo];

		f->queued[at] = false;
		step(f, at);
	}
	return n == f->n_subs && !memcmp(before, f->returns, n * sizeof(before[0]));
}

unsigned int bt_verdicts_of(const struct bpf_insn *insns, unsigned int n, bool jited)
{
	struct flow f = { .insns = insns, .n = n, .jited = jited, .n_subs = 1 };
	struct state *at __free = calloc(n, sizeof(*at));
	unsigned int *todo __free = calloc(n, sizeof(*todo));
	bool *queued __free = calloc(n, sizeof(*queued));
	bool done = false;

	if (!n || n > INSNS_MAX || !at || !todo || !queued)
		return BT_VERDICTS_ANY;
	f.at = at;
	f.todo = todo;
	f.queued = queued;
	for (unsigned int i = 0; i < ROUNDS_MAX && !done && !f.gave_up; i++)
		done = pass(&f);
	if (!done || f.gave_up)
		return BT_VERDICTS_ANY;
	/* all values above the known verdicts are one */
	return (f.returns[0] & 0x1f) | (f.returns[0] >> 5 ? 1U << BT_VERDICT_OTHER : 0);
}

int bt_verdicts(int prog_fd, unsigned int *out)
{
	struct bpf_prog_info info = {};
	struct bpf_insn *insns __free = NULL;
	__u32 len = sizeof(info), size;
	bool jited;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	jited = info.jited_prog_len;
	size = info.xlated_prog_len;
	insns = calloc(1, size + 1);
	if (!insns)
		return -ENOMEM;
	info = (struct bpf_prog_info){ .xlated_prog_len = size,
				       .xlated_prog_insns = (unsigned long)insns };
	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	/* Without the right to see them the kernel leaves the instructions out. */
	if (!info.xlated_prog_insns)
		return -EPERM;
	*out = bt_verdicts_of(insns, size / sizeof(*insns), jited);
	return 0;
}

void bt_verdicts_text(unsigned int verdicts, char *buf, unsigned int len)
{
	static const char *const names[] = { "ABORTED", "DROP", "PASS", "TX", "REDIRECT", "other" };
	unsigned int n = 0;

	snprintf(buf, len, "%s", verdicts ? "" : "none");
	if (verdicts == BT_VERDICTS_ANY) {
		snprintf(buf, len, "any");
		return;
	}
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]) && n < len; i++) {
		if (verdicts >> i & 1)
			n += (unsigned int)snprintf(buf + n, len - n, "%s%s", n ? " " : "",
						    names[i]);
	}
}
