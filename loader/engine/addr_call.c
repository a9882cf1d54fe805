// SPDX-License-Identifier: GPL-2.0
/* The plan of a twin by addressing: calls. */
#include "engine/access.h"
#include "engine/insn.h"
#include "engine/kfunc.h"
#include "engine/plan_int.h"
#include "engine/reason.h"
#include "engine/scalar.h"

#define HDR_START_MAC	      0 /* enum bpf_hdr_start_off */
#define HDR_START_NET	      1
#define FUNC_CGRP_STORAGE_GET 210 /* 6.2: newer than the UAPI header of Debian 12 */

/* Helpers that read or write bytes of the packet at an offset, which is their second argument. */
static const struct bytes_row {
	__s32 helper;
	__u8 len_reg; /* 0: len */
	__u8 len;
	__u8 start_reg; /* 0: the offset is from the start of the packet */
	bool write;
} bytes_rows[] = {
	{ BPF_FUNC_skb_load_bytes, BPF_REG_4, 0, 0, false },
	{ BPF_FUNC_skb_load_bytes_relative, BPF_REG_4, 0, BPF_REG_5, false },
	{ BPF_FUNC_xdp_load_bytes, BPF_REG_4, 0, 0, false },
	{ BPF_FUNC_skb_store_bytes, BPF_REG_4, 0, 0, true },
	{ BPF_FUNC_xdp_store_bytes, BPF_REG_4, 0, 0, true },
	{ BPF_FUNC_l3_csum_replace, 0, 2, 0, true },
	{ BPF_FUNC_l4_csum_replace, 0, 2, 0, true },
};

/*
 * Arguments of helpers that may point into the packet (ARG_PTR_TO_MEM, _MAP_KEY, _MAP_VALUE, _FIXED_SIZE_MEM):
 * all of them, since what has no row here is taken for an old value in a register.
 */
enum mem_how { MEM_KEY, MEM_VALUE, MEM_REG, MEM_SIZE };

static const struct mem_row {
	__s32 helper;
	__u8 reg;
	enum mem_how how;
	__u8 size; /* MEM_REG: the register, MEM_SIZE: bytes */
	bool write;
} mem_rows[] = {
	{ BPF_FUNC_map_lookup_elem, 2, MEM_KEY, 0, false },
	{ BPF_FUNC_map_update_elem, 2, MEM_KEY, 0, false },
	{ BPF_FUNC_map_update_elem, 3, MEM_VALUE, 0, false },
	{ BPF_FUNC_map_delete_elem, 2, MEM_KEY, 0, false },
	{ BPF_FUNC_map_lookup_percpu_elem, 2, MEM_KEY, 0, false },
	{ BPF_FUNC_map_push_elem, 2, MEM_VALUE, 0, false },
	{ BPF_FUNC_map_pop_elem, 2, MEM_VALUE, 0, true },
	{ BPF_FUNC_map_peek_elem, 2, MEM_VALUE, 0, true },
	{ BPF_FUNC_sk_storage_get, 3, MEM_VALUE, 0, false },
	{ BPF_FUNC_task_storage_get, 3, MEM_VALUE, 0, false },
	{ FUNC_CGRP_STORAGE_GET, 3, MEM_VALUE, 0, false },
	{ BPF_FUNC_probe_read, 1, MEM_REG, 2, true },
	{ BPF_FUNC_probe_read_str, 1, MEM_REG, 2, true },
	{ BPF_FUNC_probe_read_user, 1, MEM_REG, 2, true },
	{ BPF_FUNC_probe_read_kernel, 1, MEM_REG, 2, true },
	{ BPF_FUNC_probe_read_user_str, 1, MEM_REG, 2, true },
	{ BPF_FUNC_probe_read_kernel_str, 1, MEM_REG, 2, true },
	{ BPF_FUNC_trace_printk, 1, MEM_REG, 2, false },
	{ BPF_FUNC_trace_vprintk, 1, MEM_REG, 2, false },
	{ BPF_FUNC_trace_vprintk, 3, MEM_REG, 4, false },
	{ BPF_FUNC_snprintf, 1, MEM_REG, 2, true },
	{ BPF_FUNC_snprintf, 4, MEM_REG, 5, false },
	{ BPF_FUNC_snprintf_btf, 1, MEM_REG, 2, true },
	{ BPF_FUNC_snprintf_btf, 3, MEM_REG, 4, false },
	{ BPF_FUNC_get_current_comm, 1, MEM_REG, 2, true },
	{ BPF_FUNC_get_ns_current_pid_tgid, 3, MEM_REG, 4, true },
	{ BPF_FUNC_strtol, 1, MEM_REG, 2, false },
	{ BPF_FUNC_strtol, 4, MEM_SIZE, 8, true },
	{ BPF_FUNC_strtoul, 1, MEM_REG, 2, false },
	{ BPF_FUNC_strtoul, 4, MEM_SIZE, 8, true },
	{ BPF_FUNC_strncmp, 1, MEM_REG, 2, false },
	{ BPF_FUNC_skb_load_bytes, 3, MEM_REG, 4, true },
	{ BPF_FUNC_skb_load_bytes_relative, 3, MEM_REG, 4, true },
	{ BPF_FUNC_skb_store_bytes, 3, MEM_REG, 4, false },
	{ BPF_FUNC_xdp_load_bytes, 3, MEM_REG, 4, true },
	{ BPF_FUNC_xdp_store_bytes, 3, MEM_REG, 4, false },
	{ BPF_FUNC_skb_get_tunnel_key, 2, MEM_REG, 3, true },
	{ BPF_FUNC_skb_set_tunnel_key, 2, MEM_REG, 3, false },
	{ BPF_FUNC_skb_get_tunnel_opt, 2, MEM_REG, 3, true },
	{ BPF_FUNC_skb_set_tunnel_opt, 2, MEM_REG, 3, false },
	{ BPF_FUNC_skb_get_xfrm_state, 3, MEM_REG, 4, true },
	{ BPF_FUNC_fib_lookup, 2, MEM_REG, 3, true },
	{ BPF_FUNC_check_mtu, 3, MEM_SIZE, 4, true },
	{ BPF_FUNC_redirect_neigh, 2, MEM_REG, 3, false },
	{ BPF_FUNC_sk_lookup_tcp, 2, MEM_REG, 3, false },
	{ BPF_FUNC_sk_lookup_udp, 2, MEM_REG, 3, false },
	{ BPF_FUNC_skc_lookup_tcp, 2, MEM_REG, 3, false },
	{ BPF_FUNC_perf_event_output, 4, MEM_REG, 5, false },
	{ BPF_FUNC_ringbuf_output, 2, MEM_REG, 3, false },
	{ BPF_FUNC_dynptr_from_mem, 1, MEM_REG, 2, true },
	{ BPF_FUNC_dynptr_read, 1, MEM_REG, 2, true },
	{ BPF_FUNC_dynptr_write, 3, MEM_REG, 4, false },
	{ BPF_FUNC_csum_diff, 1, MEM_REG, 2, false },
	{ BPF_FUNC_csum_diff, 3, MEM_REG, 4, false },
	{ BPF_FUNC_tcp_check_syncookie, 2, MEM_REG, 3, false },
	{ BPF_FUNC_tcp_check_syncookie, 4, MEM_REG, 5, false },
	{ BPF_FUNC_tcp_gen_syncookie, 2, MEM_REG, 3, false },
	{ BPF_FUNC_tcp_gen_syncookie, 4, MEM_REG, 5, false },
	{ BPF_FUNC_tcp_raw_gen_syncookie_ipv4, 1, MEM_SIZE, 20, false },
	{ BPF_FUNC_tcp_raw_gen_syncookie_ipv4, 2, MEM_REG, 3, false },
	{ BPF_FUNC_tcp_raw_gen_syncookie_ipv6, 1, MEM_SIZE, FORM_IP6_LEN, false },
	{ BPF_FUNC_tcp_raw_gen_syncookie_ipv6, 2, MEM_REG, 3, false },
	{ BPF_FUNC_tcp_raw_check_syncookie_ipv4, 1, MEM_SIZE, 20, false },
	{ BPF_FUNC_tcp_raw_check_syncookie_ipv4, 2, MEM_SIZE, 20, false },
	{ BPF_FUNC_tcp_raw_check_syncookie_ipv6, 1, MEM_SIZE, FORM_IP6_LEN, false },
	{ BPF_FUNC_tcp_raw_check_syncookie_ipv6, 2, MEM_SIZE, 20, false },
};

static struct val unknown_offset(void)
{
	return (struct val){ .t = V_PKT, .var = PKT_ANY };
}

static struct val offset_of(const struct form *form, const struct val *reg,
			    const struct bytes_row *row)
{
	const struct val *start = &reg[row->start_reg];
	struct val v = { .t = V_PKT };
	__u64 lo, hi;

	if (!form || !scalar_range(scalar_low32(reg[BPF_REG_2]), &lo, &hi) || hi > 1 << 20)
		return unknown_offset();
	v.off = lo;
	v.var = lo == hi ? PKT_EXACT : PKT_FROM;
	if (!row->start_reg)
		return v;
	if (!val_is_const(start) || (start->c == HDR_START_MAC && !form->o))
		return unknown_offset();
	if (start->c == HDR_START_NET)
		v.off += form->o;
	return v;
}

bool addr_bytes_of(const struct bpf_insn *i, const struct form *form, const struct val *reg,
		   struct bytes *out)
{
	unsigned int n;
	__u64 lo, hi;

	for (n = 0; n < sizeof(bytes_rows) / sizeof(bytes_rows[0]); n++) {
		const struct bytes_row *row = &bytes_rows[n];

		if (i->src_reg || i->imm != row->helper)
			continue;
		*out = (struct bytes){ .at = offset_of(form, reg, row),
				       .len = row->len,
				       .exact_len = true,
				       .write = row->write };
		if (!row->len_reg)
			return true;
		if (!scalar_range(scalar_low32(reg[row->len_reg]), &lo, &hi))
			hi = ~0U;
		out->len = hi > 1 << 20 ? 1 << 20 : hi;
		out->exact_len = val_is_const(&reg[row->len_reg]);
		return true;
	}
	return false;
}

bool addr_bytes(const struct prog *p, const struct flow *f, const struct form *form, __u32 at,
		struct bytes *out)
{
	return addr_bytes_of(&p->insns[at], form, flow_site(f, at)->reg, out);
}

static const struct mem_row *mem_row_of(const struct bpf_insn *i, __u8 reg)
{
	unsigned int n;

	for (n = 0; !i->src_reg && n < sizeof(mem_rows) / sizeof(mem_rows[0]); n++)
		if (mem_rows[n].helper == i->imm && mem_rows[n].reg == reg)
			return &mem_rows[n];
	return NULL;
}

/* The most bytes that the helper looks at; 0: not known. */
static __u32 mem_size(const struct planner *pr, const struct site *s, const struct mem_row *row)
{
	const struct val *map = &s->reg[BPF_REG_1];
	__u32 key, value;
	__u64 lo, hi;

	switch (row->how) {
	case MEM_SIZE:
		return row->size;
	case MEM_REG:
		if (!scalar_range(s->reg[row->size], &lo, &hi) || !hi || hi > 1 << 20)
			return 0;
		return hi;
	default:
		if (map->t != V_MAP || map->may || !pr->opts->map_sizes ||
		    pr->p->insns[map->c].src_reg != INSN_PSEUDO_MAP_FD ||
		    pr->opts->map_sizes(pr->opts->arg, pr->p->insns[map->c].imm, &key, &value))
			return 0;
		return row->how == MEM_KEY ? key : value;
	}
}

/* Packet pointers among the arguments. Those of kfuncs are not known: any register may be one. */
static int plan_args(struct planner *pr, __u32 at, const char *name)
{
	const struct bpf_insn *i = &pr->p->insns[at];
	const struct site *s = flow_site(pr->f, at);
	__u8 r;

	for (r = BPF_REG_1; r <= BPF_REG_5; r++) {
		const struct mem_row *row = mem_row_of(i, r);
		__u32 size = row ? mem_size(pr, s, row) : 0;
		__u8 where = ACC_BAD;

		if ((!row && !i->src_reg) || (s->reg[r].t != V_PKT && !s->reg[r].var))
			continue;
		if (s->reg[r].t == V_PKT) {
			where = access_where(pr->form, s->reg[r], 0, size ? size : 1,
					     row && row->write);
			if (!size && where != ACC_HIGH)
				where = ACC_BAD;
		}
		if (where == ACC_HIGH && pr->form->shift)
			pr->pl->args[at] |= 1 << r;
		else if (where != ACC_LOW && where != ACC_HIGH)
			return addr_refuse(pr, at, name);
	}
	if (pr->pl->args[at] && !pr->pl->act[at])
		pr->pl->act[at] = ACT_ARGS;
	return 0;
}

/* The destination must be found again behind the call, to be patched. */
static bool can_patch(const struct site *s)
{
	const struct val *to = &s->reg[BPF_REG_3];

	return to->t == V_STK && !to->may && (site_own_stack(s, to) || plan_same(s, BPF_REG_3));
}

static int plan_bytes(struct planner *pr, __u32 at, const struct bytes *b, const char *name)
{
	const struct site *s = flow_site(pr->f, at);
	__u8 where = access_where(pr->form, b->at, 0, b->len, b->write);
	bool spans = b->at.var == PKT_EXACT && b->at.off >= 0 && b->at.off < pr->form->l4 &&
		     b->at.off + b->len > pr->form->l4 && pr->form->shift;

	if (where == ACC_LOW || (where == ACC_HIGH && !pr->form->shift))
		return 0;
	if (where == ACC_HIGH) {
		pr->pl->args[at] |= 1 << BPF_REG_2;
		pr->pl->act[at] = ACT_ARGS;
		return 0;
	}
	if (b->write || !b->exact_len || !can_patch(s) || (where != ACC_PATCH && !spans))
		return addr_refuse(pr, at, name);
	/* The second part needs the context in the first argument of a call again. */
	if (spans && (s->reg[BPF_REG_1].t != V_CTX || s->reg[BPF_REG_1].may))
		return addr_refuse(pr, at, name);
	pr->pl->act[at] = spans ? ACT_SPLIT : ACT_BYTES;
	return 0;
}

static int refuse_helper(struct planner *pr, __u32 at, const char *name, const char *what)
{
	return reason_set(
		pr->why, BIGTCP_TWIN_HELPER, at, pr->p->insns[at].imm, name,
		"instruction %u calls %s, which %s; there is no twin by addressing of such "
		"a program",
		at, name, what);
}

/* Calls with an offset or a length that has no bytes to itself. */
static int plan_offset(struct planner *pr, __u32 at, const struct effect_row *row)
{
	struct bytes b;

	if (addr_bytes(pr->p, pr->f, pr->form, at, &b))
		return plan_bytes(pr, at, &b, row->name);
	if (row->cuts && pr->form->shift)
		return refuse_helper(pr, at, row->name,
				     "makes the packet shorter, with its jumbo header in it");
	if (!row->cuts && pr->form->shift)
		pr->pl->act[at] = ACT_OFFSET;
	return 0;
}

static int plan_effect(struct planner *pr, __u32 at, const struct effect_row *row)
{
	const __s32 id = pr->p->insns[at].imm;

	switch (row->effect) {
	case EFF_OFFSET:
	case EFF_OFFSET_NZ:
		return plan_offset(pr, at, row);
	case EFF_AROUND:
		if (id == BPF_FUNC_skb_vlan_push || id == BPF_FUNC_skb_vlan_pop)
			return refuse_helper(pr, at, row->name, "changes where the headers are");
		return 0;
	case EFF_HEAD:
		return refuse_helper(pr, at, row->name, "changes where the headers are");
	case EFF_TAIL_CALL:
		/*
		 * Kernels before 6.18 take what stands behind such a call for all that the subprogram can
		 * return; with what is constant here they would drop live code.
		 */
		if (pr->p->sub_of[at])
			return refuse_helper(pr, at, row->name,
					     "leaves a subprogram for another program");
		return 0;
	case EFF_TAIL:
		if (pr->form->shift)
			return refuse_helper(
				pr, at, row->name,
				"may make the packet shorter, with its jumbo header in it");
		return 0;
	case EFF_HASH:
		if (pr->form->shift)
			return refuse_helper(pr, at, row->name, "hashes the jumbo header");
		return 0;
	case EFF_DYNPTR:
		return refuse_helper(pr, at, row->name, "makes a dynptr of the whole packet");
	case EFF_LENGTH:
		if (pr->form->shift)
			pr->pl->act[at] = ACT_LENGTH;
		return 0;
	case EFF_REFUSE:
		pr->pl->act[at] = ACT_UNRESIZED;
		return 0;
	case EFF_SEGS:
		return pr->form->shift ? plan_segs(pr, at, row) : 0;
	case EFF_NO_CTX:
		return plan_no_ctx(pr, at, row);
	default:
		return 0;
	}
}

int addr_plan_call(struct planner *pr, __u32 at)
{
	const struct bpf_insn *i = &pr->p->insns[at];
	const struct effect_row *row;
	int err;

	if (insn_is_subcall(i) || call_is_poison(i) || !flow_site(pr->f, at)->seen)
		return 0;
	err = call_effect(pr->opts, i, at, &row, pr->why);
	if (!err)
		err = plan_effect(pr, at, row);
	return err ? err : plan_args(pr, at, row->name);
}
