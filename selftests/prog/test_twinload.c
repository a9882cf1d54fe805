// SPDX-License-Identifier: GPL-2.0
/* bt_twin_prog_load() as its callers use it: statuses, logs, descriptors, unknown attributes. */
#include "base/cleanup.h"
#include "core/kbtf.h"
#include "core/twinload.h"

#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define INSN(c, d, s, o, i)                                                         \
	{                                                                           \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) \
	}
#define MOV_IMM(d, i)	  INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define LOAD(sz, d, s, o) INSN(BPF_LDX | BPF_MEM | (sz), d, s, o, 0)
#define CALL(id)	  INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT()		  INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static const struct bpf_insn good[] = { MOV_IMM(0, 0), EXIT() };
static const struct bpf_insn one[] = { MOV_IMM(0, 1), EXIT() };
static const struct bpf_insn reads_data[] = { LOAD(BPF_W, 0, 1, 0), LOAD(BPF_W, 1, 1, 4),
					      MOV_IMM(0, 2), EXIT() };
/* The packet without a look at its end. */
static const struct bpf_insn unsafe[] = { LOAD(BPF_W, 1, 1, 76), LOAD(BPF_B, 0, 1, 0), EXIT() };
/* bpf_skb_adjust_room, of which there is no twin. */
static const struct bpf_insn no_twin[] = { MOV_IMM(2, 8), MOV_IMM(3, 0), MOV_IMM(4, 0),
					   CALL(50),	  MOV_IMM(0, 0), EXIT() };
/* An unknown opcode: bad for the engine and for the verifier. */
static const struct bpf_insn broken[] = { INSN(0xff, 0, 0, 0, 0), EXIT() };

/* As a newer caller's union is: longer than ours. */
struct call {
	union {
		union bpf_attr attr;
		unsigned char raw[256];
	};
	char log[64 << 10];
};

static struct call *new_call(const struct bpf_insn *insns, size_t cnt)
{
	struct call *c = calloc(1, sizeof(*c));

	cr_assert_not_null(c);
	c->attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	c->attr.insns = (__u64)(unsigned long)insns;
	c->attr.insn_cnt = cnt;
	c->attr.license = (__u64)(unsigned long)"GPL";
	strcpy(c->attr.prog_name, "bt_test");
	return c;
}
#define CALL_OF(insns) new_call(insns, sizeof(insns) / sizeof(insns[0]))

static void want_log(struct call *c, __u32 size)
{
	c->attr.log_level = 1;
	c->attr.log_buf = (__u64)(unsigned long)c->log;
	c->attr.log_size = size;
}

static int load(struct call *c, enum bt_refused_policy policy, struct bt_twin_report *rep)
{
	struct call before = *c;
	int fd;

	memset(rep, 0xff, sizeof(*rep));
	fd = bt_twin_prog_load(&c->attr, sizeof(c->raw), policy, NULL, rep);
	cr_assert_arr_eq(before.raw, c->raw, sizeof(c->raw), "the attributes were changed");
	cr_assert_eq(rep->err, fd < 0 ? fd : 0);
	cr_assert_gt(rep->ns, 0);
	cr_assert_str_eq(rep->prog_name, "bt_test");
	return fd;
}

static bool uses_map(int prog_fd, const char *name)
{
	struct bpf_prog_info info = { 0 };
	__u32 ids[16], len = sizeof(info);

	info.map_ids = (__u64)(unsigned long)ids;
	info.nr_map_ids = 16;
	cr_assert_eq(bpf_obj_get_info_by_fd(prog_fd, &info, &len), 0);
	for (__u32 i = 0; i < info.nr_map_ids && i < 16; i++) {
		int fd __close = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info map = { 0 };

		len = sizeof(map);
		if (!bpf_obj_get_info_by_fd(fd, &map, &len) && !strcmp(map.name, name))
			return true;
	}
	return false;
}

Test(twinload, a_twin_has_its_maps)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;
	int fd __close = load(c, BT_REFUSED_FAIL, &rep);

	cr_assert_geq(fd, 3, "%s", rep.text);
	cr_assert_eq(rep.status, BT_TWIN_MADE);
	cr_assert_eq(rep.insns_before, 2);
	cr_assert_gt(rep.insns_after, 10);
	cr_assert(uses_map(fd, BIGTCP_TWIN_STATE_NAME));
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(twinload, other_types_are_left_alone)
{
	struct call *c __free = CALL_OF(one);
	struct bt_twin_report rep;
	int fd __close = -1;

	c->attr.prog_type = BPF_PROG_TYPE_SK_LOOKUP;
	c->attr.expected_attach_type = BPF_SK_LOOKUP;
	fd = load(c, BT_REFUSED_FAIL, &rep);
	cr_assert_geq(fd, 3);
	cr_assert_eq(rep.status, BT_TWIN_NOT_NEEDED);
	cr_assert_not_null(strstr(rep.text, "(sk_lookup) needs no twin: it sees"));
	cr_assert_null(bt_twin_form_name(&rep));
	cr_assert_not(uses_map(fd, BIGTCP_TWIN_STATE_NAME));
}

Test(twinload, an_xdp_program_has_a_twin)
{
	struct call *c __free = CALL_OF(reads_data);
	struct bt_twin_report rep;
	int fd __close = -1;

	c->attr.prog_type = BPF_PROG_TYPE_XDP;
	fd = load(c, BT_REFUSED_FAIL, &rep);
	cr_assert_geq(fd, 3, "%s", rep.text);
	cr_assert_eq(rep.status, BT_TWIN_MADE);
	cr_assert_str_eq(bt_twin_form_name(&rep), "moves headers");
	cr_assert(uses_map(fd, BIGTCP_TWIN_STATE_NAME));
}

/* A dispatcher, say: the programs that are put into it want the packet as it is. */
Test(twinload, an_xdp_program_without_packet_access_is_left_alone)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;
	int fd __close = -1;

	c->attr.prog_type = BPF_PROG_TYPE_XDP;
	fd = load(c, BT_REFUSED_FAIL, &rep);
	cr_assert_geq(fd, 3, "%s", rep.text);
	cr_assert_eq(rep.status, BT_TWIN_NOT_NEEDED);
	cr_assert_not(uses_map(fd, BIGTCP_TWIN_STATE_NAME));
}

/* Headers that packets in a type without a twin have: said, not passed over. */
Test(twinload, a_type_that_sees_packets_is_refused)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;
	int fd __close = -1;

	c->attr.prog_type = BPF_PROG_TYPE_LWT_IN;
	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -ENOTSUP);
	cr_assert_eq(rep.status, BT_TWIN_REFUSED);
	cr_assert_eq(rep.reason.why, BIGTCP_TWIN_PROG_TYPE);
	fd = load(c, BT_REFUSED_PLAIN, &rep);
	cr_assert_geq(fd, 3);
}

Test(twinload, refused_by_the_engine)
{
	struct call *c __free = CALL_OF(no_twin);
	struct bt_twin_report rep;
	int fd __close = -1;

	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -ENOTSUP);
	cr_assert_eq(rep.status, BT_TWIN_REFUSED);
	cr_assert_eq(rep.reason.why, BIGTCP_TWIN_HELPER);
	cr_assert_eq(rep.reason.insn, 3);
	cr_assert_not_null(strstr(rep.text, "bpf_skb_adjust_room"));
	fd = load(c, BT_REFUSED_PLAIN, &rep);
	cr_assert_geq(fd, 3);
	cr_assert_eq(rep.status, BT_TWIN_REFUSED);
	cr_assert_eq(rep.insns_after, rep.insns_before);
	cr_assert_not(uses_map(fd, BIGTCP_TWIN_STATE_NAME));
}

/* All that a loader shows its user is the log. */
Test(twinload, a_refusal_is_in_the_callers_log)
{
	struct call *c __free = CALL_OF(no_twin);
	struct bt_twin_report rep;

	want_log(c, 100);
	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -ENOTSUP);
	cr_assert_eq(strncmp(c->log, "bigtcp: no twin for", 19), 0);
	cr_assert_eq(strlen(c->log), 99, "cut to the buffer");
	cr_assert_eq(c->log[100], 0);
}

Test(twinload, a_bad_program_is_not_the_twins_fault)
{
	struct call *c __free = CALL_OF(unsafe);
	struct bt_twin_report rep;

	for (int policy = BT_REFUSED_FAIL; policy <= BT_REFUSED_PLAIN; policy++) {
		cr_assert_eq(load(c, policy, &rep), -EACCES);
		cr_assert_eq(rep.status, BT_TWIN_BAD_PROG);
		cr_assert_not_null(strstr(rep.text, "outside of the packet"), "%s", rep.text);
		cr_assert_not_null(strstr(rep.log, "invalid access to packet"));
		cr_assert_null(strstr(rep.log, "processed"));
	}
}

/* It must be the log of the original: the twin's means nothing to the program's author. */
Test(twinload, a_bad_programs_log_is_its_own)
{
	struct call *c __free = CALL_OF(unsafe);
	struct bt_twin_report rep;

	want_log(c, sizeof(c->log));
	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -EACCES);
	cr_assert_not_null(strstr(c->log, "1: (71) r0 = *(u8 *)(r1 +0)"), "%s", c->log);
}

Test(twinload, broken_for_both)
{
	struct call *c __free = CALL_OF(broken);
	struct bt_twin_report rep;

	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -EINVAL);
	cr_assert_eq(rep.status, BT_TWIN_BAD_PROG);
	c->attr.insn_cnt = 0;
	cr_assert_lt(load(c, BT_REFUSED_PLAIN, &rep), 0);
	cr_assert_eq(rep.status, BT_TWIN_BAD_PROG);
	c->attr.insn_cnt = 2000000;
	cr_assert_eq(load(c, BT_REFUSED_PLAIN, &rep), -E2BIG);
	cr_assert_eq(rep.status, BT_TWIN_BAD_PROG);
}

Test(twinload, a_log_of_what_loads)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;
	int fd __close = -1;

	want_log(c, sizeof(c->log));
	fd = load(c, BT_REFUSED_FAIL, &rep);
	cr_assert_geq(fd, 3);
	cr_assert_not_null(strstr(c->log, "processed"));
}

/* A twin's log is longer than the original's: that alone must not make the load fail. */
Test(twinload, a_log_that_is_too_small)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;
	int fd __close = -1;

	want_log(c, 128);
	fd = load(c, BT_REFUSED_FAIL, &rep);
	cr_assert_geq(fd, 3, "%d %s", fd, rep.text);
	cr_assert_eq(rep.status, BT_TWIN_MADE);
}

/* Fields the system's headers do not have yet go to the kernel, which refuses what it does not know. */
Test(twinload, unknown_attributes_are_passed_on)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;

	c->raw[255] = 1;
	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -E2BIG);
	cr_assert_eq(bt_twin_prog_load(&c->attr, 4097, BT_REFUSED_FAIL, NULL, &rep), -E2BIG);
}

/* attr.signature, from 6.18 on. */
Test(twinload, a_signed_program_has_no_twin)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_report rep;

	memcpy(c->raw + 152, &(__u64){ 1 }, sizeof(__u64));
	cr_assert_eq(load(c, BT_REFUSED_FAIL, &rep), -EOPNOTSUPP);
	cr_assert_eq(rep.status, BT_TWIN_REFUSED);
	cr_assert_not_null(strstr(rep.text, "signed"));
}

static unsigned int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

Test(twinload, no_descriptor_is_left)
{
	struct call *calls[] = { CALL_OF(good), CALL_OF(no_twin), CALL_OF(unsafe),
				 CALL_OF(broken) };
	struct bt_twin_report rep;
	unsigned int before;

	bt_kbtf();
	before = open_fds();
	for (int i = 0; i < 40; i++) {
		int fd __close =
			load(calls[i % 4], i & 4 ? BT_REFUSED_PLAIN : BT_REFUSED_FAIL, &rep);
	}
	cr_assert_eq(open_fds(), before);
	for (int i = 0; i < 4; i++)
		free(calls[i]);
}

Test(twinload, what_the_twin_is_made_of_can_be_kept)
{
	struct call *c __free = CALL_OF(good);
	struct bt_twin_kept keep;
	struct bt_twin_report rep;
	int fd __close = bt_twin_prog_load_keep(&c->attr, sizeof(c->raw), BT_REFUSED_FAIL, NULL,
						&rep, &keep);

	cr_assert_geq(fd, 3);
	cr_assert(keep.made);
	cr_assert_geq(keep.state_fd, 0);
	cr_assert_geq(keep.buf_fd, 0);
	cr_assert_eq(keep.twin.insn_cnt, rep.insns_after);
	bt_twin_kept_free(&keep);
	cr_assert_not(keep.made);
	free(c);
	c = CALL_OF(no_twin);
	cr_assert_lt(bt_twin_prog_load_keep(&c->attr, sizeof(c->raw), BT_REFUSED_FAIL, NULL, &rep,
					    &keep),
		     0);
	cr_assert_not(keep.made);
	bt_twin_kept_free(&keep);
}

Test(twinload, plain)
{
	struct call *c __free = CALL_OF(no_twin);
	struct bt_twin_report rep;
	int fd __close = bt_plain_prog_load(&c->attr, sizeof(c->raw), &rep);

	cr_assert_geq(fd, 3);
	cr_assert_eq(rep.status, BT_TWIN_PLAIN);
	cr_assert_eq(rep.insns_after, rep.insns_before);
}

Test(kbtf, names_and_ids_of_kfuncs)
{
	char name[64];
	__s32 id;

	if (!bt_kbtf())
		cr_skip_test("this kernel has no BTF");
	cr_assert_eq(bt_kfunc_id("no_such_function_at_all"), -ENOENT);
	cr_assert_eq(bt_kfunc_id("no_such_function_at_all"), -ENOENT, "the second time");
	id = bt_kfunc_id("tcp_sendmsg");
	cr_assert_gt(id, 0);
	cr_assert_eq(bt_kfunc_id("tcp_sendmsg"), id);
	cr_assert_eq(bt_kfunc_name(id, 0, NULL, name, sizeof(name)), 0);
	cr_assert_str_eq(name, "tcp_sendmsg");
	cr_assert_eq(bt_kfunc_name(0, 0, NULL, name, sizeof(name)), -ENOENT);
	cr_assert_eq(bt_kfunc_name(1, 0, NULL, name, sizeof(name)), -ENOENT,
		     "a type, not a function");
	cr_assert_eq(bt_kfunc_name(INT_MAX, 0, NULL, name, sizeof(name)), -ENOENT);
	cr_assert_lt(bt_kfunc_name(id, 1, NULL, name, sizeof(name)), 0);
	cr_assert_lt(bt_kfunc_name(id, 1, (int[]){ -1, -1 }, name, sizeof(name)), 0);
}
