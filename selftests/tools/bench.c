// SPDX-License-Identifier: GPL-2.0
/*
 * What a packet costs in a program, in its twin, and in the same program repaired at source (if there is one): tc,
 * XDP or cgroup_skb, by BPF_PROG_TEST_RUN with many repeats, the variants one after the other in each round, medians of the rounds and of the ratios
 * within a round. CPU time of the thread is what is measured, so that other work on the host counts less. The
 * programs are loaded anew a few times: where the kernel places a program's code in memory changes its speed.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "core/packets.h"
#include "core/twinload.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#define MAX_ROUNDS 1001
/* What the kernel takes as input for tc. As real packets' heads are, whatever their length. */
#define PACKET_LEN 1514

struct variant {
	const char *name;
	bool left_out;
	struct bt_object *obj;
	int fd;
	double ns[MAX_ROUNDS];
};

struct input {
	__u8 data[PACKET_LEN];
	union {
		struct __sk_buff skb;
		struct xdp_md xdp;
	} ctx;
};

/* Of the original's type, which all have. */
static const struct type {
	enum bpf_prog_type type;
	__u32 pass; /* verdict of a packet that passes */
	__u32 ctx_size;
} types[] = {
	{ BPF_PROG_TYPE_SCHED_CLS, 0, sizeof(struct __sk_buff) },
	{ BPF_PROG_TYPE_XDP, XDP_PASS, sizeof(struct xdp_md) },
	{ BPF_PROG_TYPE_CGROUP_SKB, 1, sizeof(struct __sk_buff) },
};
static const struct type *type;

/* Ordinary packets: the program, its twin as it is loaded for real. Jumbo packets are test run packets with
 * the header, so the twin for them is one that asks no packet for its length.
 */
enum { EMPTY, ORIG, TWIN, FIXED, JUMBO_TWIN, JUMBO_MOVED, JUMBO_FIXED, VARIANTS };

static struct variant variants[VARIANTS] = {
	[EMPTY] = { .name = "empty" },
	[ORIG] = { .name = "original" },
	[TWIN] = { .name = "twin" },
	[FIXED] = { .name = "fixed" },
	[JUMBO_TWIN] = { .name = "jumbo-twin" },
	/* tc, where a twin changes offsets if that will do: with the headers moved all the same */
	[JUMBO_MOVED] = { .name = "jumbo-moved" },
	[JUMBO_FIXED] = { .name = "jumbo-fixed" },
};

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int make_input(enum bt_shape shape, struct input *in)
{
	struct bt_packet p = { .shape = shape, .flags = BT_TCP_ACK, .len = PACKET_LEN };
	int err;

	memset(in, 0, sizeof(*in));
	err = bt_flow_parse("src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=5201", &p.flow);
	if (err)
		return err;
	err = bt_packet_head(&p, in->data);
	if (err < 0)
		return err;
	if (type->type == BPF_PROG_TYPE_XDP) {
		in->ctx.xdp.data_end = PACKET_LEN;
	} else {
		in->ctx.skb.gso_size = 1428;
		in->ctx.skb.gso_segs = 1;
	}
	return 0;
}

/* ns a run; < 0: -errno, or the packet does not pass: a program that drops it early would be the fastest. */
static double run(const struct variant *v, struct input *in, int repeat)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in->data, .data_size_in = sizeof(in->data),
		    .ctx_in = &in->ctx, .ctx_size_in = type->ctx_size, .repeat = repeat);
	double t0 = cpu_ns();
	int err = bpf_prog_test_run_opts(v->fd, &opts);

	if (!err && opts.retval != type->pass)
		err = -EBADMSG;
	if (err) {
		fprintf(stderr, "bench: %s: %s\n", v->name, strerror(-err));
		return err;
	}
	return (cpu_ns() - t0) / repeat;
}

static int load_empty(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = type->pass },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(type->type, "empty", "GPL", insns, 2, NULL);
}

/* Fills the program's maps, where the object has a program that does. */
static int setup(struct bt_object *obj)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(bt_object_bpf(obj), "bt_setup");
	char data[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data));
	int err;

	if (!prog)
		return 0;
	err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
	return err ? err : opts.retval ? -EIO : 0;
}

/* @what: FILE:PROG */
static int load(struct variant *v, const char *what, const struct bt_object_opts *opts)
{
	char *file __free = strdup(what);
	char *colon = file ? strrchr(file, ':') : NULL;
	struct bpf_program *prog;
	int err;

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	err = bt_object_load(file, opts, &v->obj);
	if (err)
		return err;
	prog = bpf_object__find_program_by_name(bt_object_bpf(v->obj), colon + 1);
	if (!prog)
		return -ENOENT;
	v->fd = bpf_program__fd(prog);
	for (size_t i = 0; !type && i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == bpf_program__type(prog))
			type = &types[i];
	return type ? setup(v->obj) : -EPROTOTYPE;
}

static void unload_all(void)
{
	for (int i = 0; i < VARIANTS; i++) {
		bt_object_free(variants[i].obj);
		variants[i].obj = NULL;
	}
	if (variants[EMPTY].fd > 0)
		close(variants[EMPTY].fd);
	variants[EMPTY].fd = -1;
}

static int load_all(const char *orig, const char *fixed)
{
	const struct bt_object_opts plain = { .plain = true }, twin = { 0 },
				    any_len = { .twin.any_len = true },
				    moved = { .twin.any_len = true, .twin.move = true };

	unload_all();
	variants[FIXED].left_out = variants[JUMBO_FIXED].left_out = !fixed;
	if (load(&variants[ORIG], orig, &plain) || load(&variants[TWIN], orig, &twin) ||
	    load(&variants[JUMBO_TWIN], orig, &any_len) ||
	    (fixed && load(&variants[FIXED], fixed, &plain)))
		return -EINVAL;
	variants[JUMBO_MOVED].left_out = type->type != BPF_PROG_TYPE_SCHED_CLS;
	if (!variants[JUMBO_MOVED].left_out && load(&variants[JUMBO_MOVED], orig, &moved))
		return -EINVAL;
	variants[JUMBO_FIXED].fd = variants[FIXED].fd;
	variants[EMPTY].fd = load_empty();
	return variants[EMPTY].fd < 0 ? -errno : 0;
}

static int measure(int first, int rounds, int repeat)
{
	struct input plain, jumbo;

	if (make_input(BT_SHAPE_PLAIN, &plain) || make_input(BT_SHAPE_HBH, &jumbo))
		return -EINVAL;
	for (int r = first - 1; r < first + rounds; r++) { /* the first one warms up */
		for (int i = 0; i < VARIANTS; i++) {
			/* There and back, for what changes in the course of a round. */
			struct variant *v = &variants[r & 1 ? VARIANTS - 1 - i : i];
			struct input *in = v - variants < JUMBO_TWIN ? &plain : &jumbo;
			double ns = v->left_out ? 0 : run(v, in, repeat);

			if (ns < 0)
				return ns;
			if (r >= first)
				v->ns[r] = ns;
		}
	}
	return 0;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The value that the share @q of @values is below: 0.5 for the median. */
static double quantile(const double *values, int n, double q)
{
	double v[MAX_ROUNDS], at = q * (n - 1);
	int i = at;

	memcpy(v, values, n * sizeof(*v));
	qsort(v, n, sizeof(*v), cmp_double);
	return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[i];
}

/* (a - empty) / (b - empty) within a round: what the test run itself costs is in neither. */
static double ratio(int a, int b, int n, double q)
{
	double r[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		r[i] = (variants[a].ns[i] - variants[EMPTY].ns[i]) /
		       (variants[b].ns[i] - variants[EMPTY].ns[i]);
	return quantile(r, n, q);
}

/* a - b within a round, ns. */
static double diff(int a, int b, int n)
{
	double d[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		d[i] = variants[a].ns[i] - variants[b].ns[i];
	return quantile(d, n, 0.5);
}

static void print_variant(const struct variant *v, int rounds)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(v->fd, &info, &len))
		memset(&info, 0, sizeof(info));
	printf("\"%s\":{\"ns\":%.2f,\"net_ns\":%.2f,\"insns\":%u,\"jited_bytes\":%u,"
	       "\"verified_insns\":%u},",
	       v->name, quantile(v->ns, rounds, 0.5), diff(v - variants, EMPTY, rounds),
	       info.xlated_prog_len / 8, info.jited_prog_len, info.verified_insns);
}

static void print_all(int rounds, int repeat)
{
	printf("{\"rounds\":%d,\"repeat\":%d,\"packet_bytes\":%d,", rounds, repeat, PACKET_LEN);
	for (int i = 0; i < VARIANTS; i++)
		if (!variants[i].left_out)
			print_variant(&variants[i], rounds);
	if (!variants[FIXED].left_out)
		printf("\"fixed_ordinary_ratio\":%.4f,\"fixed_jumbo_ratio\":%.4f,",
		       ratio(FIXED, ORIG, rounds, 0.5), ratio(JUMBO_FIXED, ORIG, rounds, 0.5));
	printf("\"twin_ordinary_extra_ns\":%.3f,\"twin_ordinary_ratio\":%.4f,"
	       "\"twin_ordinary_ratio_low\":%.4f,\"twin_ordinary_ratio_high\":%.4f,"
	       "\"twin_jumbo_extra_ns\":%.3f,\"twin_jumbo_ratio\":%.4f}\n",
	       diff(TWIN, ORIG, rounds), ratio(TWIN, ORIG, rounds, 0.5),
	       ratio(TWIN, ORIG, rounds, 0.25), ratio(TWIN, ORIG, rounds, 0.75),
	       diff(JUMBO_TWIN, ORIG, rounds), ratio(JUMBO_TWIN, ORIG, rounds, 0.5));
}

static int usage(void)
{
	fprintf(stderr, "usage: bench [-r ROUNDS] [-l LOADS] [-n REPEATS] ORIGINAL.o:PROG "
			"[FIXED.o:PROG]\n");
	return 1;
}

int main(int argc, char **argv)
{
	int o, rounds = 15, loads = 7, repeat = 100000;

	while ((o = getopt(argc, argv, "r:l:n:")) != -1) {
		if (o == 'r')
			rounds = atoi(optarg);
		else if (o == 'l')
			loads = atoi(optarg);
		else if (o == 'n')
			repeat = atoi(optarg);
		else
			return usage();
	}
	if (argc - optind < 1 || argc - optind > 2 || rounds < 1 || loads < 1 ||
	    rounds * loads > MAX_ROUNDS || repeat < 1)
		return usage();
	for (int l = 0; l < loads; l++) {
		if (load_all(argv[optind], argv[optind + 1])) {
			fprintf(stderr, "bench: cannot load: %s\n",
				bt_err_text() ? bt_err_text() : strerror(errno));
			return 2;
		}
		if (measure(l * rounds, rounds, repeat))
			return 2;
	}
	print_all(rounds * loads, repeat);
	unload_all();
	return 0;
}
