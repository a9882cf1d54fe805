// SPDX-License-Identifier: GPL-2.0
/* A forward dataflow over registers and stack slots: where does the packet's length go? */
#include "core/audit_len.h"
#include "core/audit_ksyms.h"
#include "base/cleanup.h"

#include <stddef.h>
#include <string.h>

#define INSNS_MAX  200000
#define ROUNDS_MAX 16
#define STACK	   512
#define SLOTS	   (STACK / 4)
#define KEPT_MAX   256 /* and all that are greater */

/* What a register or a stack slot may hold; of two ways that meet, the greater. */
enum value {
	V_ANY,
	V_FRAME, /* own stack, at a known offset */
	V_STACK, /* some stack, or something behind a pointer that a caller gave */
	V_CTX,
	V_DATA, /* a packet pointer */
	V_END, /* data_end */
	V_BUF, /* the length, of a helper that test runs give the whole length of */
	V_LEN, /* the length, give or take a small constant */
	V_SUM, /* a number with the length in it */
};

struct state {
	bool seen;
	__u8 reg[11];
	__s16 off[11]; /* of V_FRAME */
	__u8 slot[SLOTS];
};

struct flow {
	const struct bpf_insn *insns;
	unsigned int n;
	const struct bt_len_layout *ctx;
	bool may_return;
	struct state *st;
	__u32 *func; /* first instruction of the function that each is in */
	__s8 *ret; /* by first instruction: what R0 holds at its end; -1: not seen to end */
	bool *callback;
	__u32 *queue;
	bool *queued;
	unsigned int n_queue;
	__u8 stored, foreign; /* what any stack has held; what was written by a pointer to one */
	bool kept[KEPT_MAX]; /* offsets at which memory elsewhere was given the length as it is */
	bool grew;
	struct bt_len_facts facts;
};

static void note(struct flow *f, enum bt_len_use use, unsigned int at)
{
	if (use <= f->facts.use)
		return;
	f->facts.use = use;
	f->facts.at = at;
}

static bool is_len(__u8 v)
{
	return v >= V_LEN;
}

static __u8 join(__u8 a, __u8 b)
{
	if (a == b)
		return a;
	/* two offsets, or a pointer to the stack on one way only */
	if (a <= V_FRAME && b <= V_FRAME)
		return V_STACK;
	return a > b ? a : b;
}

static void enqueue(struct flow *f, unsigned int at)
{
	if (at >= f->n) {
		note(f, BT_LEN_DECIDES, f->n - 1); /* no program that we understand */
		return;
	}
	if (f->queued[at])
		return;
	f->queued[at] = true;
	f->queue[f->n_queue++] = at;
}

static void flow_to(struct flow *f, unsigned int at, const struct state *from)
{
	struct state *to;
	bool changed;

	if (at >= f->n) {
		note(f, BT_LEN_DECIDES, f->n - 1);
		return;
	}
	to = &f->st[at];
	changed = !to->seen;
	if (changed) {
		*to = *from;
		to->seen = true;
	}
	for (unsigned int i = 0; i < 11; i++) {
		__u8 v = join(to->reg[i], from->reg[i]);

		if (v == V_FRAME && to->off[i] != from->off[i])
			v = V_STACK;
		changed |= v != to->reg[i];
		to->reg[i] = v;
	}
	for (unsigned int i = 0; i < SLOTS; i++) {
		__u8 v = join(to->slot[i], from->slot[i]);

		changed |= v != to->slot[i];
		to->slot[i] = v;
	}
	if (changed)
		enqueue(f, at);
}

static void grow(struct flow *f, __u8 *what, __u8 v)
{
	__u8 to = join(*what, v);

	f->grew |= to != *what;
	*what = to;
}

static unsigned int width(const struct bpf_insn *in)
{
	switch (BPF_SIZE(in->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	}
	return 8;
}

/* Index of the slot at @off from the frame pointer; SLOTS: not in the frame. */
static unsigned int slot_at(int off)
{
	return off >= -STACK && off < 0 ? (off + STACK) / 4 : SLOTS;
}

static unsigned int kept_at(const struct bpf_insn *in)
{
	return in->off >= 0 && in->off < KEPT_MAX - 1 ? (unsigned int)in->off : KEPT_MAX - 1;
}

static __u8 load_ctx(const struct flow *f, const struct bpf_insn *in)
{
	if (in->off == f->ctx->len && BPF_SIZE(in->code) == BPF_W)
		return V_LEN;
	if (in->off == f->ctx->data)
		return V_DATA;
	return in->off == f->ctx->end ? V_END : V_ANY;
}

static void do_load(struct flow *f, struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	__u8 base = s->reg[in->src_reg], v = V_ANY;
	unsigned int slot;

	if (base == V_FRAME) {
		slot = slot_at(s->off[in->src_reg] + in->off);
		v = slot < SLOTS ? s->slot[slot] : V_ANY;
		if (width(in) == 8 && slot + 1 < SLOTS)
			v = join(v, s->slot[slot + 1]);
		v = join(v, f->foreign);
	} else if (base == V_STACK) {
		v = f->stored;
	} else if (base == V_CTX) {
		v = load_ctx(f, in);
		f->facts.direct |= v == V_END;
	} else if (is_len(base)) {
		note(f, BT_LEN_DECIDES, at);
	} else if (base == V_ANY && f->kept[kept_at(in)]) {
		v = V_LEN; /* read back, perhaps */
	}
	if (is_len(v) && width(in) < 4)
		note(f, BT_LEN_DECIDES, at);
	s->reg[in->dst_reg] = v == V_FRAME ? V_STACK : v;
}

static void do_store(struct flow *f, struct state *s, unsigned int at, __u8 v)
{
	const struct bpf_insn *in = &f->insns[at];
	__u8 base = s->reg[in->dst_reg];
	unsigned int slot, w = width(in);

	if (is_len(base) || (is_len(v) && w < 4))
		note(f, BT_LEN_DECIDES, at);
	else if (is_len(v))
		note(f, BT_LEN_COUNTED, at);
	v = v == V_FRAME ? V_STACK : v;
	if (base == V_STACK) {
		grow(f, &f->stored, v);
		grow(f, &f->foreign, v);
	}
	if (base == V_ANY && v == V_LEN && !f->kept[kept_at(in)])
		f->kept[kept_at(in)] = f->grew = true;
	if (base != V_FRAME)
		return;
	grow(f, &f->stored, v);
	slot = slot_at(s->off[in->dst_reg] + in->off);
	for (unsigned int i = slot; i < SLOTS && i < slot + (w + 3) / 4; i++)
		s->slot[i] = w < 4 ? join(s->slot[i], v) : v;
}

static void do_atomic(struct flow *f, struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	__u8 src = s->reg[in->src_reg], old = V_ANY;
	bool sums = (in->imm & ~BPF_FETCH) == BPF_ADD;

	if (is_len(s->reg[in->dst_reg]) || (is_len(src) && !sums && in->imm != (BPF_XCHG)))
		note(f, BT_LEN_DECIDES, at);
	if (s->reg[in->dst_reg] == V_FRAME || s->reg[in->dst_reg] == V_STACK)
		old = join(f->stored, src);
	if (is_len(src) || is_len(old))
		do_store(f, s, at, V_SUM);
	if (in->imm == BPF_CMPXCHG)
		s->reg[BPF_REG_0] = old;
	else if (in->imm & BPF_FETCH)
		s->reg[in->src_reg] = old;
}

/* A constant added to or taken from a register. */
static void add_const(struct flow *f, struct state *s, unsigned int at, __s64 imm)
{
	unsigned int r = f->insns[at].dst_reg;
	__u8 *v = &s->reg[r];

	if (*v == V_FRAME) {
		if (s->off[r] + imm < -STACK || s->off[r] + imm > STACK)
			*v = V_STACK;
		else
			s->off[r] += imm;
	} else if (*v == V_LEN && (imm > 256 || imm < -256)) {
		*v = V_SUM;
	} else if ((*v == V_DATA || *v == V_END) && (imm > BT_LEN_TOP || imm < -BT_LEN_TOP)) {
		note(f, BT_LEN_THRESHOLD, at);
	}
}

static __u8 sum(__u8 dst, __u8 src)
{
	if (is_len(dst) || is_len(src))
		return V_SUM;
	return dst == V_FRAME || src == V_FRAME ? V_STACK : join(dst, src);
}

static __u8 difference(__u8 dst, __u8 src)
{
	/* The verifier lets nothing else be taken from data_end than another packet pointer. */
	if (dst == V_END)
		return V_LEN;
	if (src == V_END)
		return V_SUM;
	if (dst == V_DATA && src == V_DATA)
		return V_ANY;
	return sum(dst, src);
}

static void do_move(struct flow *f, struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];

	if (BPF_SRC(in->code) == BPF_K) {
		s->reg[in->dst_reg] = V_ANY;
		return;
	}
	/* sign extension of 8 or 16 bits */
	if (is_len(s->reg[in->src_reg]) && (in->off == 8 || in->off == 16))
		note(f, BT_LEN_DECIDES, at);
	s->reg[in->dst_reg] = s->reg[in->src_reg];
	s->off[in->dst_reg] = s->off[in->src_reg];
}

static void do_alu(struct flow *f, struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	bool k = BPF_SRC(in->code) == BPF_K;
	__u8 op = BPF_OP(in->code), *dst = &s->reg[in->dst_reg];
	__u8 src = k ? V_ANY : s->reg[in->src_reg];

	if (op == BPF_MOV)
		return do_move(f, s, at);
	if (op == BPF_ADD && k)
		return add_const(f, s, at, in->imm);
	if (op == BPF_SUB && k)
		return add_const(f, s, at, -(__s64)in->imm);
	if (op == BPF_ADD)
		*dst = sum(*dst, src);
	else if (op == BPF_SUB)
		*dst = difference(*dst, src);
	else if (!is_len(*dst) && (k || !is_len(src)))
		*dst = V_ANY;
	else if (op == BPF_XOR && !k && in->src_reg == in->dst_reg)
		*dst = V_ANY;
	else if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && k && in->imm == 32)
		return; /* from 32 to 64 bits */
	else if (op == BPF_AND && k && in->imm == -1)
		return;
	else if (op == BPF_END || ((op == BPF_MUL || op == BPF_LSH) && k))
		*dst = V_SUM;
	else
		note(f, BT_LEN_DECIDES, at);
}

static void do_compare(struct flow *f, const struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	__u8 dst = s->reg[in->dst_reg];

	if (BPF_SRC(in->code) != BPF_K) {
		if (is_len(dst) || is_len(s->reg[in->src_reg]))
			note(f, BT_LEN_DECIDES, at);
		return;
	}
	if (dst == V_BUF && (in->imm > BT_LEN_FULL || in->imm < 0))
		note(f, BT_LEN_DECIDES, at);
	if (!is_len(dst))
		return;
	if (in->imm > BT_LEN_TOP)
		note(f, BT_LEN_THRESHOLD, at);
	else if (dst == V_SUM || in->imm > BT_LEN_SURE || in->imm < 0)
		note(f, BT_LEN_DECIDES, at);
}

/* --- calls ---------------------------------------------------------------------------------------- */

static void after_call(struct state *s, __u8 r0)
{
	s->reg[BPF_REG_0] = r0;
	for (unsigned int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->reg[r] = V_ANY;
}

static void do_helper(struct flow *f, struct state *s, unsigned int at)
{
	const char *name = bt_ksym_of_call(f->insns[at].imm);
	unsigned int args = name ? bt_ksym_args(name) : 5;

	for (unsigned int r = BPF_REG_1; r < BPF_REG_1 + args; r++) {
		if (is_len(s->reg[r]))
			note(f, BT_LEN_DECIDES, at);
	}
	/* Compares the MTU with what is between data and data_end. */
	if (name && strstr(name, "check_mtu"))
		note(f, BT_LEN_DECIDES, at);
	if (name && strstr(name, "dynptr_size"))
		after_call(s, V_LEN);
	else
		after_call(s, name && strstr(name, "xdp_get_buff_len") ? V_BUF : V_ANY);
}

/* A function's frame is its own: pointers to the caller's are to some stack. */
static struct state entry_state(const struct state *caller)
{
	struct state s = { .reg = { [BPF_REG_10] = V_FRAME } };

	for (unsigned int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s.reg[r] = caller->reg[r] == V_FRAME ? V_STACK : caller->reg[r];
	return s;
}

static unsigned int callee(const struct flow *f, unsigned int at)
{
	return at + 1 + f->insns[at].off; /* imm is the number of the subprogram */
}

static void do_subprog(struct flow *f, const struct state *s, unsigned int at)
{
	struct state in = entry_state(s), out = *s;
	unsigned int to = callee(f, at);

	flow_to(f, to, &in);
	if (to >= f->n || f->ret[to] < 0)
		return; /* the way on is taken when it returns */
	after_call(&out, f->ret[to]);
	flow_to(f, at + 1, &out);
}

static void do_exit(struct flow *f, const struct state *s, unsigned int at)
{
	unsigned int func = f->func[at];
	__u8 v = s->reg[BPF_REG_0] == V_FRAME ? V_STACK : s->reg[BPF_REG_0];
	__s8 to = f->ret[func] < 0 ? (__s8)v : (__s8)join(f->ret[func], v);

	if ((!func || f->callback[func]) && is_len(v) && !(f->may_return && !func))
		note(f, BT_LEN_DECIDES, at);
	if (to == f->ret[func])
		return;
	f->ret[func] = to;
	for (unsigned int i = 0; i < f->n; i++) {
		const struct bpf_insn *in = &f->insns[i];

		if (in->code == (BPF_JMP | BPF_CALL) && in->src_reg == BPF_PSEUDO_CALL &&
		    f->st[i].seen && callee(f, i) == func)
			enqueue(f, i);
	}
}

/* --- the walk ------------------------------------------------------------------------------------- */

static bool wide(const struct bpf_insn *in)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static void do_wide(struct flow *f, struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	struct state cb = { .reg = { [BPF_REG_10] = V_FRAME } };

	if (in->src_reg == BPF_PSEUDO_FUNC) {
		/* Who calls it with what is not followed. */
		for (unsigned int r = BPF_REG_1; r <= BPF_REG_5; r++)
			cb.reg[r] = V_STACK;
		flow_to(f, at + 1 + in->imm, &cb);
	}
	s->reg[in->dst_reg] = V_ANY;
	flow_to(f, at + 2, s);
}

static void do_jump(struct flow *f, struct state *s, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	__u8 op = BPF_OP(in->code);
	bool far = in->code == (BPF_JMP32 | BPF_JA);

	if (op == BPF_EXIT)
		return do_exit(f, s, at);
	if (op == BPF_CALL && in->src_reg == BPF_PSEUDO_CALL)
		return do_subprog(f, s, at);
	if (op == BPF_CALL) {
		do_helper(f, s, at);
		return flow_to(f, at + 1, s);
	}
	flow_to(f, at + 1 + (far ? in->imm : in->off), s);
	if (op == BPF_JA)
		return;
	if (op < 0xe0) /* else may_goto, which compares nothing */
		do_compare(f, s, at);
	flow_to(f, at + 1, s);
}

static void step(struct flow *f, unsigned int at)
{
	const struct bpf_insn *in = &f->insns[at];
	struct state s = f->st[at];

	if (in->dst_reg > BPF_REG_10 || in->src_reg > BPF_REG_10) {
		/* a register of the kernel's own; what it holds is none of the program's */
		if (BPF_CLASS(in->code) != BPF_JMP && BPF_CLASS(in->code) != BPF_JMP32) {
			if (in->dst_reg <= BPF_REG_10)
				s.reg[in->dst_reg] = V_ANY;
			return flow_to(f, at + 1, &s);
		}
		flow_to(f, at + 1 + in->off, &s);
		return flow_to(f, at + 1, &s);
	}
	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		do_alu(f, &s, at);
		break;
	case BPF_LDX:
		do_load(f, &s, at);
		break;
	case BPF_ST:
		do_store(f, &s, at, V_ANY);
		break;
	case BPF_STX:
		if (BPF_MODE(in->code) == BPF_ATOMIC)
			do_atomic(f, &s, at);
		else
			do_store(f, &s, at, s.reg[in->src_reg]);
		break;
	case BPF_LD:
		if (wide(in))
			return do_wide(f, &s, at);
		if (BPF_MODE(in->code) == BPF_IND && is_len(s.reg[in->src_reg]))
			note(f, BT_LEN_DECIDES, at);
		after_call(&s, V_ANY);
		break;
	default:
		return do_jump(f, &s, at);
	}
	flow_to(f, at + 1, &s);
}

/* Where functions begin, and which one each instruction is in. */
static void find_funcs(struct flow *f)
{
	unsigned int start = 0, to;

	for (unsigned int i = 0; i < f->n; i++)
		f->func[i] = 0;
	for (unsigned int i = 0; i < f->n; i++) {
		const struct bpf_insn *in = &f->insns[i];
		bool call = in->code == (BPF_JMP | BPF_CALL) && in->src_reg == BPF_PSEUDO_CALL;
		bool func = wide(in) && in->src_reg == BPF_PSEUDO_FUNC;

		if (call && f->n > 32767) /* off has 16 bits only */
			note(f, BT_LEN_DECIDES, i);
		to = func ? i + 1 + in->imm : callee(f, i);
		if ((call || func) && to < f->n) {
			f->func[to] = 1;
			f->callback[to] |= func;
		}
		i += wide(in);
	}
	for (unsigned int i = 0; i < f->n; i++) {
		start = f->func[i] ? i : start;
		f->func[i] = start;
	}
}

static void one_round(struct flow *f)
{
	const struct state start = {
		.reg = { [BPF_REG_1] = V_CTX, [BPF_REG_10] = V_FRAME },
	};

	memset(f->st, 0, f->n * sizeof(*f->st));
	memset(f->ret, -1, f->n);
	memset(f->queued, 0, f->n);
	f->n_queue = 0;
	f->grew = false;
	flow_to(f, 0, &start);
	while (f->n_queue) {
		unsigned int at = f->queue[--f->n_queue];

		f->queued[at] = false;
		step(f, at);
	}
}

void bt_len_scan_at(const struct bpf_insn *insns, unsigned int n, const struct bt_len_layout *ctx,
		    bool may_return, struct bt_len_facts *out)
{
	void *mem[] = { NULL, NULL, NULL, NULL, NULL, NULL };
	struct flow f = { insns, n, ctx, may_return };
	int rounds = 0;

	*out = (struct bt_len_facts){ .use = BT_LEN_DECIDES, .direct = true };
	if (!n || n > INSNS_MAX)
		return;
	mem[0] = f.st = calloc(n, sizeof(*f.st));
	mem[1] = f.func = calloc(n, sizeof(*f.func));
	mem[2] = f.ret = calloc(n, sizeof(*f.ret));
	mem[3] = f.callback = calloc(n, sizeof(*f.callback));
	mem[4] = f.queue = calloc(n, sizeof(*f.queue));
	mem[5] = f.queued = calloc(n, sizeof(*f.queued));
	if (mem[0] && mem[1] && mem[2] && mem[3] && mem[4] && mem[5]) {
		find_funcs(&f);
		do {
			one_round(&f);
		} while (f.grew && ++rounds < ROUNDS_MAX);
		if (!f.grew)
			*out = f.facts;
	}
	for (unsigned int i = 0; i < 6; i++)
		free(mem[i]);
}
