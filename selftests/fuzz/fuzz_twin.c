// SPDX-License-Identifier: GPL-2.0
/*
 * Any bytes as a program: the engine must never crash or leak, and what it makes must be a program in which every
 * jump stays in its function and every call and record goes where a function starts.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bigtcp/twin.h>

#include "engine/effects.h"
#include "engine/insn.h"
#include "engine/prog.h"

static int kfunc_name(void *arg, __s32 imm, __s16 off, char *buf, size_t len)
{
	(void)arg;
	(void)off;
	if (imm < 0)
		return -ENOENT;
	snprintf(buf, len, "%s", effect_kfunc_row(imm % effect_kfunc_count())->name);
	return 0;
}

static __s32 kfunc_id(void *arg, const char *name)
{
	(void)arg;
	return name[0] ? 4711 : -ENOENT;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "the twin is wrong: %s\n", what);
	abort();
}

static __u32 word_at(const void *recs, __u32 n, __u32 size)
{
	__u32 w;

	memcpy(&w, (const char *)recs + (size_t)n * size, sizeof(w));
	return w;
}

static void check_infos(const struct prog *p, const struct bigtcp_twin *t, __u32 func_size,
			__u32 line_size)
{
	__u32 n;

	for (n = 0; n < t->func_info_cnt; n++) {
		must(prog_sub_at(p, word_at(t->func_info, n, func_size)) >= 0, "func_info");
		must(!n || word_at(t->func_info, n, func_size) >
				     word_at(t->func_info, n - 1, func_size),
		     "order of func_info");
	}
	for (n = 0; n < t->line_info_cnt; n++) {
		__u32 at = word_at(t->line_info, n, line_size);

		must(at < p->cnt && !p->second[at], "line_info");
		must(!n || at > word_at(t->line_info, n - 1, line_size), "order of line_info");
	}
}

static void check_twin(const struct bigtcp_twin *t, __u32 func_size, __u32 line_size)
{
	struct bigtcp_twin_prog again = { .type = BPF_PROG_TYPE_SCHED_CLS,
					  .insns = t->insns,
					  .insn_cnt = t->insn_cnt };
	struct bigtcp_twin_reason why = {};
	struct prog *p = calloc(1, sizeof(*p));

	must(p && !prog_init(p, &again, &why), why.text);
	check_infos(p, t, func_size, line_size);
	prog_free(p);
	free(p);
}

/* Records for some instructions: now and then what a compiler would emit, else whatever comes. */
static __u32 make_infos(const uint8_t *data, size_t size, __u32 cnt, __u32 *recs, __u32 max)
{
	__u32 n, at = 0;

	for (n = 0; n < max && n < size; n++) {
		recs[n * 4] = at;
		at += data[size - 1 - n] % 5 + 1;
		if (at >= cnt && data[0] % 3)
			break;
	}
	return n < size && n < max ? n + 1 : n;
}

static int map_sizes(void *arg, int fd, __u32 *key, __u32 *value)
{
	(void)arg;
	*key = fd & 63;
	*value = fd >> 6 & 63;
	return fd & 1 ? 0 : -1;
}

static const enum bpf_prog_type types[] = { BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_XDP,
					    BPF_PROG_TYPE_CGROUP_SKB, BPF_PROG_TYPE_SOCKET_FILTER };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static __u32 lines[64 * 4], funcs[16 * 4];
	struct bigtcp_twin_prog in = {};
	struct bigtcp_twin_opts opts = { .sz = sizeof(opts),
					 .state_fd = 3,
					 .buf_fd = 4,
					 .kfunc_name = kfunc_name,
					 .kfunc_id = kfunc_id };
	struct bigtcp_twin_reason why;
	struct bigtcp_twin t = {};
	struct bpf_insn *insns;
	__u8 mode;
	int err;

	if (size < 1 + sizeof(*insns))
		return 0;
	mode = data[0];
	opts.any_len = mode & 1;
	opts.direct = mode & 2;
	opts.max_payload_len = mode & 4;
	in.type = types[mode >> 5 & 3];
	in.frags = mode & 128;
	opts.by_address = data[size - 1] & 1;
	opts.length = data[size - 1] & 2 ? 65000 : 0;
	opts.map_sizes = map_sizes;
	in.insn_cnt = (size - 1) / sizeof(*insns);
	insns = malloc(in.insn_cnt * sizeof(*insns));
	if (!insns)
		return 0;
	memcpy(insns, data + 1, in.insn_cnt * sizeof(*insns));
	in.insns = insns;
	if (mode & 8) {
		in.line_info = lines;
		in.line_info_rec_size = 16;
		in.line_info_cnt = make_infos(data, size, in.insn_cnt, lines, 64);
	}
	if (mode & 16) {
		memset(funcs, 0, sizeof(funcs));
		in.func_info = funcs;
		in.func_info_rec_size = 8;
		in.func_info_cnt = 1 + (data[size - 1] & 1);
		funcs[2] = data[size / 2];
	}
	err = bigtcp_twin_make(&in, &opts, &t, &why);
	must(!err || (why.why != BIGTCP_TWIN_OK && why.text[0]) || err == -ENOMEM,
	     "no reason given");
	if (!err)
		check_twin(&t, in.func_info_rec_size, in.line_info_rec_size);
	bigtcp_twin_free(&t);
	free(insns);
	return 0;
}
