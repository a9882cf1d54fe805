// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "pair.h"

#define FAKE_NOW    1000000000000ULL
#define FAKE_RANDOM 0x5eed1234u

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

int pair_open(struct pair *p, const struct statement *st, const char *clang,
	      const struct bigtcp_twin_opts *opts, char *why, size_t len)
{
	char path[256];
	int err;

	memset(p, 0, sizeof(*p));
	p->st = st;
	p->state_fd = -1;
	p->max_payload_len = opts->max_payload_len;
	statement_object(st, clang, path, sizeof(path));
	err = open_one(path, st, true, opts, &p->plain, &p->plain_fd, why, len);
	if (!err)
		err = open_one(path, st, false, opts, &p->twin, &p->twin_fd, why, len);
	if (err)
		return err;
	p->state_fd = find_state(p->twin_fd);
	if (p->state_fd < 0)
		snprintf(why, len, "%s: the twin has no state map", st->prog);
	return p->state_fd < 0 ? p->state_fd : 0;
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
	__u32 verdict, len;
	__u8 data[PACKET_MAX * 2];
	struct __sk_buff ctx;
};

static void run(int fd, const struct packet *p, struct outcome *o)
{
	struct __sk_buff in = { .gso_size = p->gso_size,
				.gso_segs = p->gso_segs,
				.mark = p->mark,
				.priority = p->priority };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->data, .data_size_in = p->len,
		    .data_out = o->data, .data_size_out = sizeof(o->data), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &o->ctx, .ctx_size_out = sizeof(o->ctx));

	o->err = bpf_prog_test_run_opts(fd, &opts) ? -errno : 0;
	o->verdict = opts.retval;
	o->len = opts.data_size_out;
}

static struct packet last;

const struct packet *pair_last(void)
{
	return &last;
}

static int differ_ctx(const struct outcome *a, const struct outcome *b, char *why, size_t len)
{
	if (a->ctx.mark != b->ctx.mark || a->ctx.priority != b->ctx.priority)
		snprintf(why, len, "mark %x priority %x, the twin's %x %x", a->ctx.mark,
			 a->ctx.priority, b->ctx.mark, b->ctx.priority);
	else if (memcmp(a->ctx.cb, b->ctx.cb, sizeof(a->ctx.cb)))
		snprintf(why, len, "cb differs");
	else if (a->ctx.tstamp != b->ctx.tstamp)
		snprintf(why, len, "tstamp %llu, the twin's %llu",
			 (unsigned long long)a->ctx.tstamp, (unsigned long long)b->ctx.tstamp);
	else
		return 0;
	return 1;
}

static int differ_bytes(const struct outcome *a, const __u8 *b, __u32 blen, char *why, size_t len)
{
	__u32 n;

	if (a->len != blen) {
		snprintf(why, len, "packet of %u bytes, the twin's %u", a->len, blen);
		return 1;
	}
	for (n = 0; n < blen && a->data[n] == b[n]; n++)
		;
	if (n == blen)
		return 0;
	snprintf(why, len, "byte %u of the packet is %02x, the twin's %02x", n, a->data[n], b[n]);
	return 1;
}

static int compare(const struct pair *p, struct outcome *a, const struct outcome *b, bool jumbo,
		   char *why, size_t len)
{
	__u16 payload_len = p->max_payload_len ? 0xffff : 0;
	__u8 stripped[PACKET_MAX * 2];

	if (a->err != b->err) {
		snprintf(why, len, "run gives %d, the twin's %d", a->err, b->err);
		return 1;
	}
	if (a->err)
		return 0;
	if (a->verdict != b->verdict) {
		snprintf(why, len, "verdict %d, the twin's %d", (int)a->verdict, (int)b->verdict);
		return 1;
	}
	if (differ_ctx(a, b, why, len))
		return 1;
	/* Cut by the program: no GSO packet any more, and so without a jumbo header. */
	if (!jumbo || (b->len == a->len && !a->ctx.gso_segs && !b->ctx.gso_segs))
		return differ_bytes(a, b->data, b->len, why, len);
	if (!packet_strip_hbh(b->data, b->len, payload_len, stripped)) {
		snprintf(why, len, "the jumbo header is not back in its place");
		return 1;
	}
	return differ_bytes(a, stripped, b->len - HBH_LEN, why, len);
}

int pair_run(struct pair *p, struct rng *r, bool jumbo, char *why, size_t len)
{
	struct bigtcp_twin_state before, after;
	static struct outcome a, b;
	struct packet hbh;
	int err;

	if (jumbo) {
		packet_jumbo(r, p->st, p->max_payload_len ? 0xffff : 0, &last);
		packet_add_hbh(&last, &hbh);
	} else {
		packet_other(r, p->st, &last);
		hbh = last;
	}
	err = pair_state(p, &before);
	if (err)
		return err;
	run(p->plain_fd, &last, &a);
	run(p->twin_fd, &hbh, &b);
	err = pair_state(p, &after);
	if (err)
		return err;
	if (after.lost != before.lost) {
		snprintf(why, len, "the twin lost the packet");
		return 1;
	}
	if (!b.err && after.jumbo != before.jumbo + (jumbo ? 1 : 0)) {
		snprintf(why, len,
			 jumbo ? "the packet did not take the jumbo path"
			       : "the packet took the jumbo path");
		return 1;
	}
	return compare(p, &a, &b, jumbo, why, len);
}
