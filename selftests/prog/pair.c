// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "core/audit_run.h"
#include "pair.h"

#define FAKE_NOW    1000000000000ULL
#define FAKE_RANDOM 0x5eed1234u
#define LOOPBACK    1 /* its ifindex in every network namespace */
#define OUTPUT_MAX  (PACKET_MAX + 512)

/* What differs between program types in a test run. */
struct pair_kind {
	enum bpf_prog_type type;
	struct packet_form form;
	/* Stands for 64 KiB: shorter than every jumbo packet of the generator; XDP, where programs cut
	 * packets: longer than what they cut them to.
	 */
	__u32 min_len;
	bool xdp; /* struct xdp_md, metadata, packets above 64 KiB */
	/* May not write packets. The test run gives what the program saw behind 14 bytes of zeros, and
	 * what it returns, where it is a number of bytes to keep, counts the jumbo header in.
	 */
	bool reads, keeps;
	int lost; /* verdict for a packet whose header can't be put back */
};

static const struct pair_kind kinds[] = {
	{ BPF_PROG_TYPE_SCHED_CLS, { .tags = 2, .gso = true }, 80, .lost = 2 /* TC_ACT_SHOT */ },
	{ BPF_PROG_TYPE_XDP, { .tags = 2 }, 200, .xdp = true, .lost = 0 /* XDP_ABORTED */ },
	{ BPF_PROG_TYPE_CGROUP_SKB, { .gso = true }, 60, .reads = true, .lost = -1 },
	{ BPF_PROG_TYPE_SOCKET_FILTER,
	  { .tags = 1, .outer = true, .gso = true },
	  80,
	  .reads = true,
	  .keeps = true,
	  .lost = -1 },
};

static const struct pair_kind *kind_of(enum bpf_prog_type type)
{
	size_t n;

	for (n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++)
		if (kinds[n].type == type)
			return &kinds[n];
	return NULL;
}

/* Sets @name in the object's constants, if it has it: a BTF walk would need the type of .rodata. */
static void set_const(struct bpf_object *obj, const char *name, const void *val, size_t size)
{
	struct bpf_map *m;
	const struct btf *btf = bpf_object__btf(obj);
	const struct btf_type *t;
	size_t len;
	char *data;
	__s32 id;
	int k;

	/* libbpf names the map after the object: fw_naive.rodata */
	bpf_object__for_each_map(m, obj)
		if (strstr(bpf_map__name(m), ".rodata"))
			break;
	if (!m || !btf)
		return;
	id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	data = (char *)bpf_map__initial_value(m, &len);
	if (id < 0 || !data)
		return;
	t = btf__type_by_id(btf, id);
	for (k = 0; k < btf_vlen(t); k++) {
		const struct btf_var_secinfo *v = &btf_var_secinfos(t)[k];
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		if (!strcmp(btf__name_by_offset(btf, var->name_off), name) && v->size == size &&
		    v->offset + size <= len)
			memcpy(data + v->offset, val, size);
	}
}

static int prepare(struct bpf_object *obj, void *arg)
{
	__u64 now = FAKE_NOW;
	__u32 rnd = FAKE_RANDOM;

	(void)arg;
	set_const(obj, "bt_fake_now", &now, sizeof(now));
	set_const(obj, "bt_fake_random", &rnd, sizeof(rnd));
	return 0;
}

static int fill(struct bpf_object *obj, const struct statement *st)
{
	unsigned int n;

	for (n = 0; n < st->nfills; n++) {
		int map = bpf_object__find_map_fd_by_name(obj, st->fill[n].map);
		struct bpf_program *prog;
		int fd;

		prog = bpf_object__find_program_by_name(obj, st->fill[n].prog);
		if (map < 0 || !prog)
			return -ENOENT;
		fd = bpf_program__fd(prog);
		if (bpf_map_update_elem(map, &st->fill[n].index, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Half of each device map, so that both answers of a lookup come up. */
static int fill_devices(struct bpf_object *obj)
{
	struct bpf_map *m;
	__u32 key, dev = LOOPBACK;

	bpf_object__for_each_map(m, obj) {
		if (bpf_map__type(m) != BPF_MAP_TYPE_DEVMAP)
			continue;
		for (key = 0; key < bpf_map__max_entries(m); key += 2)
			if (bpf_map_update_elem(bpf_map__fd(m), &key, &dev, BPF_ANY))
				return -errno;
	}
	return 0;
}

static int setup(struct bpf_object *obj)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "bt_setup");
	char data[128] = {};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = data, .data_size_in = sizeof(data));

	if (!prog)
		return 0;
	if (bpf_prog_test_run_opts(bpf_program__fd(prog), &o))
		return -errno;
	return o.retval ? -EIO : 0;
}

static int open_one(const char *path, const struct statement *st, bool plain,
		    const struct bigtcp_twin_opts *opts, struct bt_object **out, int *fd, char *why,
		    size_t len)
{
	struct bt_object_opts o = {
		.plain = plain, .no_pins = true, .prepare = prepare, .twin = *opts
	};
	const struct bt_twin_report *reps;
	struct bpf_program *prog;
	unsigned int n, k;
	int err;

	bt_err_clear();
	err = bt_object_load(path, &o, out);
	if (err) {
		snprintf(why, len, "%s: %s", path, bt_err_text() ?: strerror(-err));
		return err;
	}
	prog = bpf_object__find_program_by_name(bt_object_bpf(*out), st->prog);
	if (!prog)
		return -ENOENT;
	*fd = bpf_program__fd(prog);
	n = bt_object_reports(*out, &reps);
	for (k = 0; !plain && k < n; k++)
		if (reps[k].status != BT_TWIN_MADE) {
			snprintf(why, len, "%s: %s", reps[k].prog_name, reps[k].text);
			return -ENOTSUP;
		}
	err = fill(bt_object_bpf(*out), st);
	if (!err)
		err = fill_devices(bt_object_bpf(*out));
	if (!err)
		err = setup(bt_object_bpf(*out));
	if (err)
		snprintf(why, len, "%s: set-up failed: %s", path, strerror(-err));
	return err;
}

/* The twin's state map is not in the object: look through the program's maps. */
static int find_state(int prog_fd)
{
	__u32 ids[64] = {}, n, len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = { .nr_map_ids = 64, .map_ids = (__u64)(unsigned long)ids };

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	for (n = 0; n < info.nr_map_ids && n < 64; n++) {
		struct bpf_map_info mi = {};
		__u32 mlen = sizeof(mi);
		int fd = bpf_map_get_fd_by_id(ids[n]);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &mi, &mlen) &&
		    !strcmp(mi.name, BIGTCP_TWIN_STATE_NAME))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

static int find_kind(struct pair *p, bool whole, char *why, size_t len)
{
	struct bpf_program *prog;

	prog = bpf_object__find_program_by_name(bt_object_bpf(p->plain), p->st->prog);
	p->kind = kind_of(bpf_program__type(prog));
	if (!p->kind) {
		snprintf(why, len, "%s: programs of its type are not tested here", p->st->prog);
		return -EPROTOTYPE;
	}
	p->min_len = whole ? BIGTCP_TWIN_MIN_LEN : p->kind->min_len;
	p->form = p->kind->form;
	/* More than a program takes off that stays with TCP. */
	if (whole || p->kind->xdp)
		p->form.at_least = p->min_len + 64;
	return 0;
}

int pair_open(struct pair *p, const struct statement *st, const char *clang,
	      const struct bigtcp_twin_opts *opts, bool whole, char *why, size_t len)
{
	struct bigtcp_twin_opts o = *opts;
	char path[256];
	int err;

	memset(p, 0, sizeof(*p));
	p->st = st;
	p->state_fd = -1;
	p->max_payload_len = opts->max_payload_len;
	statement_object(st, clang, path, sizeof(path));
	err = open_one(path, st, true, opts, &p->plain, &p->plain_fd, why, len);
	if (!err)
		err = find_kind(p, whole, why, len);
	o.min_len = p->min_len;
	if (opts->any_len)
		p->min_len = 0;
	if (!err)
		err = open_one(path, st, false, &o, &p->twin, &p->twin_fd, why, len);
	if (err)
		return err;
	p->state_fd = find_state(p->twin_fd);
	if (p->state_fd < 0)
		snprintf(why, len, "%s: the twin has no state map", st->prog);
	return p->state_fd < 0 ? p->state_fd : 0;
}

bool pair_sees_bytes(const struct pair *p)
{
	struct bt_runner *r;
	bool direct;

	if (p->kind->type != BPF_PROG_TYPE_CGROUP_SKB || bt_runner_open(&r))
		return true;
	direct = bt_runner_direct(r);
	bt_runner_close(r);
	return direct;
}

void pair_close(struct pair *p)
{
	if (p->state_fd >= 0)
		close(p->state_fd);
	bt_object_free(p->plain);
	bt_object_free(p->twin);
}

int pair_state(const struct pair *p, struct bigtcp_twin_state *s)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(p->state_fd, &zero, s) ? -errno : 0;
}

struct outcome {
	int err;
	__u32 verdict;
	__u32 meta; /* bytes of metadata in front of the packet */
	__u32 len; /* of the packet */
	const __u8 *packet;
	__u8 data[OUTPUT_MAX];
	union {
		struct __sk_buff skb;
		struct xdp_md xdp;
	} ctx;
};

static void run(const struct pair *pair, int fd, const struct packet *p, struct outcome *o)
{
	struct __sk_buff in = { .gso_size = p->gso_size,
				.gso_segs = p->gso_segs,
				.mark = p->mark,
				.priority = p->priority };
	/* Since 6.18 the context says how much is linear; before it must be told so much. */
	struct xdp_md xdp_in = { .data_end = p->len };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->data, .data_size_in = p->len,
		    .data_out = o->data, .data_size_out = sizeof(o->data), .ctx_out = &o->ctx);
	__u32 front = pair->kind->reads ? ETH_HLEN : 0;

	if (pair->kind->xdp) {
		opts.ctx_in = &xdp_in;
		opts.ctx_size_in = sizeof(xdp_in);
		opts.ctx_size_out = sizeof(o->ctx.xdp);
	} else {
		opts.ctx_in = &in;
		opts.ctx_size_in = sizeof(in);
		opts.ctx_size_out = sizeof(o->ctx.skb);
	}
	o->err = bpf_prog_test_run_opts(fd, &opts) ? -errno : 0;
	if (o->err)
		return;
	o->verdict = opts.retval;
	o->meta = pair->kind->xdp ? o->ctx.xdp.data : 0;
	o->packet = o->data + o->meta + front;
	o->len = opts.data_size_out - o->meta - front;
}

static struct packet last;

const struct packet *pair_last(void)
{
	return &last;
}

static int differ_skb(const struct __sk_buff *a, const struct __sk_buff *b, char *why, size_t len)
{
	if (a->mark != b->mark || a->priority != b->priority)
		snprintf(why, len, "mark %x priority %x, the twin's %x %x", a->mark, a->priority,
			 b->mark, b->priority);
	else if (memcmp(a->cb, b->cb, sizeof(a->cb)))
		snprintf(why, len, "cb differs");
	else if (a->tstamp != b->tstamp)
		snprintf(why, len, "tstamp %llu, the twin's %llu", (unsigned long long)a->tstamp,
			 (unsigned long long)b->tstamp);
	else
		return 0;
	return 1;
}

static int differ_ctx(const struct pair *p, const struct outcome *a, const struct outcome *b,
		      char *why, size_t len)
{
	if (!p->kind->xdp)
		return differ_skb(&a->ctx.skb, &b->ctx.skb, why, len);
	if (a->meta == b->meta && !memcmp(a->data, b->data, a->meta))
		return 0;
	snprintf(why, len, "metadata of %u bytes, the twin's %u, or they differ", a->meta, b->meta);
	return 1;
}

static int differ_bytes(const __u8 *a, __u32 alen, const __u8 *b, __u32 blen, char *why, size_t len)
{
	__u32 n;

	if (alen != blen) {
		snprintf(why, len, "packet of %u bytes, the twin's %u", alen, blen);
		return 1;
	}
	if (!memcmp(a, b, blen))
		return 0;
	for (n = 0; n < blen && a[n] == b[n]; n++)
		;
	snprintf(why, len, "byte %u of the packet is %02x, the twin's %02x", n, a[n], b[n]);
	return 1;
}

static int differ_verdict(const struct pair *p, const struct outcome *a, const struct outcome *b,
			  bool jumbo, char *why, size_t len)
{
	__u32 l4 = last.l3 + 40 - ETH_HLEN, keep = a->verdict < a->len ? a->verdict : a->len;
	__u32 want = a->verdict, got = b->verdict;

	/* Bytes to keep: the same ones, and the jumbo header if any are behind it. */
	if (p->kind->keeps && jumbo) {
		want = keep > l4 ? keep + HBH_LEN : keep;
		got = b->verdict < b->len ? b->verdict : b->len;
	}
	if (want == got)
		return 0;
	snprintf(why, len, "verdict %d, the twin's %d instead of %d", (int)a->verdict,
		 (int)b->verdict, (int)want);
	return 1;
}

/*
 * May the twin leave it without a jumbo header? What the program has cut to 64 KiB; where any length is taken
 * for jumbo, what is no TCP any more.
 */
static bool may_be_bare(const struct pair *p, const struct outcome *a, const struct outcome *b)
{
	if (b->len != a->len || p->kind->reads)
		return false;
	if (!p->kind->xdp)
		return !a->ctx.skb.gso_segs && !b->ctx.skb.gso_segs;
	return p->min_len ? a->len <= p->min_len : !packet_is_tcp6(a->packet, a->len);
}

/* @hbh: what the twin was given. */
static int compare(const struct pair *p, const struct outcome *a, const struct outcome *b,
		   const struct packet *hbh, bool jumbo, char *why, size_t len)
{
	__u16 payload_len = p->max_payload_len ? 0xffff : 0;
	static __u8 stripped[OUTPUT_MAX];

	if (a->err != b->err) {
		snprintf(why, len, "run gives %d, the twin's %d", a->err, b->err);
		return 1;
	}
	if (a->err)
		return 0;
	if (differ_verdict(p, a, b, jumbo, why, len) || differ_ctx(p, a, b, why, len))
		return 1;
	if (p->kind->reads)
		return differ_bytes(hbh->data + ETH_HLEN, hbh->len - ETH_HLEN, b->packet, b->len,
				    why, len);
	if (!jumbo || may_be_bare(p, a, b))
		return differ_bytes(a->packet, a->len, b->packet, b->len, why, len);
	if (!packet_strip_hbh(b->packet, b->len, payload_len, stripped)) {
		snprintf(why, len, "the jumbo header is not back in its place");
		return 1;
	}
	return differ_bytes(a->packet, a->len, stripped, b->len - HBH_LEN, why, len);
}

/* The twin counted a lost packet: is it one that can't be a jumbo packet any more? */
static int lost(struct pair *p, const struct outcome *a, const struct outcome *b, bool jumbo,
		char *why, size_t len)
{
	if (!p->st->loses || !jumbo || a->err || packet_is_tcp6(a->packet, a->len)) {
		snprintf(why, len, "the twin lost the packet");
		return 1;
	}
	if ((int)b->verdict != p->kind->lost) {
		snprintf(why, len, "the twin's verdict on a lost packet is %d", (int)b->verdict);
		return 1;
	}
	p->lost++;
	return 0;
}

int pair_run(struct pair *p, struct rng *r, bool jumbo, char *why, size_t len)
{
	struct bigtcp_twin_state before, after;
	static struct packet with_hbh;
	const struct packet *hbh = &last;
	static struct outcome a, b;
	int err;

	if (jumbo) {
		packet_jumbo(r, &p->form, p->st, p->max_payload_len ? 0xffff : 0, &last);
		packet_add_hbh(&last, &with_hbh);
		hbh = &with_hbh;
	} else {
		packet_other(r, &p->form, p->st, &last);
	}
	err = pair_state(p, &before);
	if (err)
		return err;
	run(p, p->plain_fd, &last, &a);
	run(p, p->twin_fd, hbh, &b);
	err = pair_state(p, &after);
	if (err)
		return err;
	if (!b.err && after.jumbo != before.jumbo + (jumbo ? 1 : 0)) {
		snprintf(why, len,
			 jumbo ? "the packet did not take the jumbo path"
			       : "the packet took the jumbo path");
		return 1;
	}
	if (after.lost != before.lost)
		return lost(p, &a, &b, jumbo, why, len);
	return compare(p, &a, &b, hbh, jumbo, why, len);
}
