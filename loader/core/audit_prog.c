// SPDX-License-Identifier: GPL-2.0
#include "core/audit_prog.h"
#include "core/audit_ksyms.h"
#include "core/audit_parts.h"
#include "core/kbtf.h"
#include "base/cleanup.h"

#include <bigtcp/twin.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>

#define NEXTHDR_OFF  6 /* of IPv6 */
#define ETH_LEN	     14
#define SANDWICH_MAP "bigtcp_sandwich" /* bpf/xdp_strip.bpf.c, bpf/xdp_restore.bpf.c */
#define PROGS_MAX    64 /* that are followed through program arrays */
#define MAPS_MAX     512

/* One loaded program's instructions and debug information. */
struct image {
	struct bpf_prog_info info;
	struct bpf_insn *insns;
	unsigned int n;
	void *lines, *funcs;
	__u32 *maps;
	int btf_fd;
};

static void image_free(struct image *im)
{
	free(im->insns);
	free(im->lines);
	free(im->funcs);
	free(im->maps);
	if (im->btf_fd >= 0)
		close(im->btf_fd);
}

static int image_read(int fd, struct image *im)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	*im = (struct image){ .btf_fd = -1 };
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	im->insns = calloc(1, info.xlated_prog_len + 1);
	im->maps = calloc(info.nr_map_ids + 1, sizeof(__u32));
	im->lines = calloc(info.nr_line_info + 1, info.line_info_rec_size + 1);
	im->funcs = calloc(info.nr_func_info + 1, info.func_info_rec_size + 1);
	if (!im->insns || !im->maps || !im->lines || !im->funcs) {
		image_free(im);
		return -ENOMEM;
	}
	im->info = (struct bpf_prog_info){
		.xlated_prog_len = info.xlated_prog_len,
		.xlated_prog_insns = (unsigned long)im->insns,
		.nr_map_ids = info.nr_map_ids,
		.map_ids = (unsigned long)im->maps,
		.nr_line_info = info.nr_line_info,
		.line_info_rec_size = info.line_info_rec_size,
		.line_info = (unsigned long)im->lines,
		.nr_func_info = info.nr_func_info,
		.func_info_rec_size = info.func_info_rec_size,
		.func_info = (unsigned long)im->funcs,
	};
	len = sizeof(im->info);
	if (bpf_obj_get_info_by_fd(fd, &im->info, &len)) {
		image_free(im);
		return -errno;
	}
	/* Without the right to see them the kernel leaves the instructions out. */
	im->n = im->info.xlated_prog_insns ? im->info.xlated_prog_len / sizeof(*im->insns) : 0;
	if (im->info.btf_id)
		im->btf_fd = bpf_btf_get_fd_by_id(im->info.btf_id);
	return 0;
}

static void full_name(const struct image *im, char *buf, size_t len)
{
	const struct bpf_func_info *main_func = im->funcs;
	const struct btf_type *t;
	const char *name = NULL;
	struct btf *btf = NULL;

	/* a name that was cut has BPF_OBJ_NAME_LEN - 1 characters */
	if (im->btf_fd >= 0 && im->info.nr_func_info &&
	    strlen(im->info.name) == BPF_OBJ_NAME_LEN - 1)
		btf = bt_btf_from_fd(im->btf_fd, NULL);
	t = btf ? btf__type_by_id(btf, main_func->type_id) : NULL;
	if (t)
		name = btf__name_by_offset(btf, t->name_off);
	snprintf(buf, len, "%s", name && *name ? name : im->info.name);
	btf__free(btf);
}

/* Helpers by what they do that matters here; kallsyms names, which are those of the functions. */
static const struct {
	const char *name;
	size_t off; /* of the field of struct bt_prog_facts */
} helpers[] = {
#define F(field) offsetof(struct bt_prog_facts, field)
	{ "bpf_redirect", F(redirects) },	  { "bpf_redirect_peer", F(redirects) },
	{ "bpf_redirect_neigh", F(redirects) },	  { "bpf_clone_redirect", F(sends) },
	{ "bpf_skb_adjust_room", F(resizes) },	  { "bpf_skb_change_proto", F(resizes) },
	{ "bpf_skb_change_tail", F(resizes) },	  { "bpf_skb_change_head", F(resizes) },
	{ "bpf_xdp_adjust_head", F(resizes) },	  { "bpf_xdp_adjust_tail", F(resizes) },
	{ "bpf_xdp_redirect", F(redirects) },	  { "bpf_xdp_redirect_map", F(map_redirects) },
	{ "dev_map_redirect", F(map_redirects) }, { "dev_hash_map_redirect", F(map_redirects) },
	{ "cpu_map_redirect", F(map_redirects) }, { "xsk_map_redirect", F(map_redirects) },
	{ "bpf_skb_vlan_push", F(hidden) },	  { "bpf_skb_vlan_pop", F(hidden) },
	{ "bpf_skb_set_tunnel_key", F(hidden) },  { "bpf_skb_set_tunnel_opt", F(hidden) },
	{ "bpf_skb_change_type", F(hidden) },	  { "bpf_set_hash", F(hidden) },
	{ "bpf_sk_assign", F(hidden) },		  { "bpf_sk_storage_get", F(hidden) },
	{ "bpf_sk_storage_delete", F(hidden) },	  { "bpf_ct_insert_entry", F(hidden) },
	{ "bpf_ct_set_nat_info", F(hidden) },	  { "bpf_ct_set_timeout", F(hidden) },
	{ "bpf_ct_change_timeout", F(hidden) },	  { "bpf_ct_set_status", F(hidden) },
	{ "bpf_ct_change_status", F(hidden) },	  { "bpf_skb_set_fou_encap", F(hidden) },
	{ "bpf_skb_set_xfrm_info", F(hidden) },	  { "bpf_sk_assign_tcp_reqsk", F(hidden) },
#undef F
};

static bool is_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src_reg != BPF_PSEUDO_CALL;
}

static bool jumped_to(const struct image *im, unsigned int at)
{
	for (unsigned int i = 0; i < im->n; i++) {
		const struct bpf_insn *in = &im->insns[i];
		__u8 class = BPF_CLASS(in->code), op = BPF_OP(in->code);

		if (in->code == (BPF_LD | BPF_IMM | BPF_DW)) {
			i++;
			continue;
		}
		if ((class != BPF_JMP && class != BPF_JMP32) || op == BPF_CALL || op == BPF_EXIT)
			continue;
		/* a jump by 32 bits has its distance in imm */
		if (i + 1 + (in->code == (BPF_JMP32 | BPF_JA) ? in->imm : in->off) == at)
			return true;
	}
	return false;
}

/* Is register @reg at instruction @at a constant set shortly before, on the same straight line? A map is
 * a constant too: its address.
 */
static bool const_arg(const struct image *im, unsigned int at, unsigned int reg, __s32 *val)
{
	for (unsigned int back = 0; back < 16 && at > 0 && !jumped_to(im, at); back++) {
		const struct bpf_insn *i = &im->insns[--at];
		__u8 class = BPF_CLASS(i->code);

		if (class == BPF_JMP || class == BPF_JMP32)
			return false;
		if (i->dst_reg != reg || class == BPF_ST || class == BPF_STX)
			continue;
		*val = i->imm; /* of a map, its id */
		return i->code == (BPF_ALU64 | BPF_MOV | BPF_K) ||
		       i->code == (BPF_ALU | BPF_MOV | BPF_K) ||
		       i->code == (BPF_LD | BPF_IMM | BPF_DW);
	}
	return false;
}

struct scan {
	struct bt_prog_facts *f;
	const struct image *im;
	bool target_known, target_varies;
	__s32 target[2]; /* arguments of a redirect: device, or map and key */
	unsigned int branches; /* on the next header */
	bool sandwich; /* bigtcp's own strip or restore, which put the size back together */
};

/* All redirects go to one place if their arguments are constants, and the same. */
static void scan_redirect(struct scan *s, unsigned int at, bool by_map)
{
	__s32 target[2] = {};
	bool known = const_arg(s->im, at, BPF_REG_1, &target[0]) &&
		     (!by_map || const_arg(s->im, at, BPF_REG_2, &target[1]));

	if (!known || (s->target_known && memcmp(target, s->target, sizeof(target)) != 0))
		s->target_varies = true;
	s->target_known = true;
	memcpy(s->target, target, sizeof(target));
}

static void scan_call(struct scan *s, unsigned int at)
{
	const char *name = bt_ksym_of_call(s->im->insns[at].imm);
	char *field;

	if (!name) {
		s->f->calls_unknown = true;
		return;
	}
	for (unsigned int h = 0; h < sizeof(helpers) / sizeof(helpers[0]); h++) {
		if (strcmp(helpers[h].name, name))
			continue;
		field = (char *)s->f + helpers[h].off;
		if (field == s->f->resizes && s->sandwich)
			return;
		snprintf(field, sizeof(s->f->hidden), "%s", name);
		if (field == s->f->redirects || field == s->f->map_redirects)
			scan_redirect(s, at, field == s->f->map_redirects);
	}
}

static void add_port(struct bt_prog_facts *f, __u16 port)
{
	for (unsigned int i = 0; i < f->n_ports; i++) {
		if (f->ports[i] == port)
			return;
	}
	if (f->n_ports < BT_PROG_PORTS)
		f->ports[f->n_ports++] = port;
}

static void add_word(struct bt_prog_facts *f, __u32 word)
{
	for (unsigned int i = 0; i < f->n_words; i++) {
		if (f->words[i] == word)
			return;
	}
	if (f->n_words < BT_PROG_WORDS)
		f->words[f->n_words++] = word;
}

static bool cond_jump(const struct bpf_insn *i)
{
	__u8 class = BPF_CLASS(i->code), op = BPF_OP(i->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA && op != BPF_CALL &&
	       op != BPF_EXIT;
}

static void scan_compare(struct bt_prog_facts *f, const struct bpf_insn *i)
{
	__u16 v = i->imm, swapped = __builtin_bswap16(v);
	__u8 op = BPF_OP(i->code);

	if (BPF_SRC(i->code) != BPF_K)
		return;
	if (i->imm <= 0 || i->imm > 0xffff) {
		if (i->imm && i->imm != -1 && (op == BPF_JEQ || op == BPF_JNE))
			add_word(f, i->imm);
		return;
	}
	if ((op == BPF_JEQ || op == BPF_JNE) && (v == IPPROTO_TCP || v == IPPROTO_UDP))
		f->by_proto = true;
	/* protocol numbers, EtherTypes and header lengths are no ports */
	if (v < 20 || v == 58 || v == 0x86dd || v == 0xdd86 || v == 0x0800 || v == 0x0008)
		return;
	add_port(f, v);
	add_port(f, swapped);
}

/* The branch on the next header of IPv6, at offset 20 of the packet behind an Ethernet header. */
static void scan_branch(struct scan *s, unsigned int at)
{
	const struct image *im = s->im;
	const struct bpf_insn *load = &im->insns[at];
	int reg = load->dst_reg, off = NEXTHDR_OFF + (s->f->kind == BT_KIND_CGROUP ? 0 : ETH_LEN);

	if (load->code != (BPF_LDX | BPF_MEM | BPF_B) || load->off != off ||
	    load->src_reg == BPF_REG_10)
		return;
	s->branches++;
	s->f->by_proto = true;
	for (unsigned int i = at + 1; i < im->n && i < at + 12; i++) {
		const struct bpf_insn *in = &im->insns[i];

		if (cond_jump(in) && in->dst_reg == reg) {
			if (im->btf_fd >= 0)
				bt_insn_source(im->btf_fd, im->lines, im->info.nr_line_info,
					       im->info.line_info_rec_size, i, s->f->branch,
					       sizeof(s->f->branch));
			return;
		}
	}
}

static bool is_magic(const struct bpf_insn *i)
{
	return i->imm == (__s32)BIGTCP_TWIN_MAGIC && BPF_CLASS(i->code) != BPF_JMP;
}

/* What it does with the length, and the source line that shows it. */
static void scan_len(struct scan *s)
{
	const struct image *im = s->im;
	struct bt_len_facts len;

	bt_len_scan(im->insns, im->n, s->f->kind, &len);
	s->f->direct |= len.direct;
	if (len.use <= s->f->len_use)
		return;
	s->f->len_use = len.use;
	s->f->len_line[0] = 0;
	if (im->btf_fd >= 0)
		bt_insn_source(im->btf_fd, im->lines, im->info.nr_line_info,
			       im->info.line_info_rec_size, len.at, s->f->len_line,
			       sizeof(s->f->len_line));
}

static void scan(struct scan *s, bool first)
{
	const struct image *im = s->im;
	bool magic = false;

	if (!im->n)
		s->f->calls_unknown = true;
	for (unsigned int i = 0; i < im->n; i++) {
		const struct bpf_insn *in = &im->insns[i];

		magic |= is_magic(in);
		if (is_call(in))
			scan_call(s, i);
		else if (cond_jump(in))
			scan_compare(s->f, in);
		else
			scan_branch(s, i);
		if (in->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	if (first)
		s->f->twin = magic;
	s->f->n_twins += magic;
	if (s->f->kind != BT_KIND_TC && s->f->kind != BT_KIND_NONE)
		scan_len(s);
	s->f->redirect_const = s->target_known && !s->target_varies;
	if (s->branches != 1)
		s->f->branch[0] = 0;
}

/* Programs and maps that are reached from the first program. */
struct reach {
	int progs[PROGS_MAX];
	__u32 prog_ids[PROGS_MAX];
	unsigned int n_progs;
	__u32 *maps;
	unsigned int n_maps;
	bool twin_map;
	char empty_array[BPF_OBJ_NAME_LEN];
};

static void reach_prog(struct reach *r, __u32 id)
{
	for (unsigned int i = 0; i < r->n_progs; i++) {
		if (r->prog_ids[i] == id)
			return;
	}
	if (r->n_progs == PROGS_MAX)
		return;
	r->progs[r->n_progs] = bpf_prog_get_fd_by_id(id);
	r->prog_ids[r->n_progs] = id;
	if (r->progs[r->n_progs] >= 0)
		r->n_progs++;
}

static bool map_named(__u32 id, const char *name)
{
	int fd __close = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name);
}

static void reach_map(struct reach *r, __u32 id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), key, prog_id;
	bool found = false;
	int fd __close = -1;

	for (unsigned int i = 0; i < r->n_maps; i++) {
		if (r->maps[i] == id)
			return;
	}
	if (r->n_maps == MAPS_MAX)
		return;
	r->maps[r->n_maps++] = id;
	fd = bpf_map_get_fd_by_id(id);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return;
	if (!strcmp(info.name, BIGTCP_TWIN_STATE_NAME))
		r->twin_map = true;
	if (info.type != BPF_MAP_TYPE_PROG_ARRAY)
		return;
	for (key = 0; key < info.max_entries; key++) {
		if (bpf_map_lookup_elem(fd, &key, &prog_id))
			continue;
		reach_prog(r, prog_id);
		found = true;
	}
	if (!found)
		memcpy(r->empty_array, info.name, sizeof(r->empty_array));
}

/* The programs that replace functions of this one: those of a dispatcher. */
static unsigned int reach_parts(struct reach *r, __u32 id)
{
	unsigned int n = 0, n_parts = 0;
	struct bt_part *parts __free = NULL;

	if (bt_parts_list(&parts, &n))
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		if (parts[i].of != id)
			continue;
		reach_prog(r, parts[i].prog_id);
		n_parts++;
	}
	return n_parts;
}

int bt_prog_facts(int prog_fd, struct bt_prog_facts *out)
{
	struct bt_prog_facts f = {};
	struct reach r = { .maps = calloc(MAPS_MAX, sizeof(__u32)) };
	struct scan s = { .f = &f };
	struct image im;
	int err = 0;

	if (!r.maps)
		return -ENOMEM;
	r.progs[0] = prog_fd;
	r.n_progs = 1;
	for (unsigned int i = 0; i < r.n_progs && !err; i++) {
		err = image_read(r.progs[i], &im);
		if (err)
			break;
		if (!i) {
			f.id = r.prog_ids[0] = im.info.id;
			f.type = im.info.type;
			f.kind = bt_kind_of(f.type);
			f.n_parts = reach_parts(&r, f.id);
			full_name(&im, f.name, sizeof(f.name));
		}
		s.sandwich = false;
		for (__u32 m = 0; m < im.info.nr_map_ids; m++) {
			reach_map(&r, im.maps[m]);
			s.sandwich |= im.info.type == BPF_PROG_TYPE_EXT &&
				      map_named(im.maps[m], SANDWICH_MAP);
		}
		s.im = &im;
		scan(&s, !i);
		image_free(&im);
	}
	for (unsigned int i = 1; i < r.n_progs; i++)
		close(r.progs[i]);
	if (err) {
		free(r.maps);
		return err;
	}
	f.twin = f.twin && r.twin_map;
	memcpy(f.empty_array, r.empty_array, sizeof(f.empty_array));
	f.map_ids = r.maps;
	f.n_map_ids = r.n_maps;
	f.n_progs = r.n_progs;
	*out = f;
	return 0;
}

void bt_prog_facts_free(struct bt_prog_facts *f)
{
	free(f->map_ids);
	f->map_ids = NULL;
}
