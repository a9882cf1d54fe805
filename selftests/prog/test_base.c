// SPDX-License-Identifier: GPL-2.0
/* Namespaces, rtnetlink and bpf(2) of loader/base, each in a private namespace. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bpf.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/rtnl.h"

#define LIMIT_MS 60000

/* Runs fn in a private namespace; a failed check in there comes back as -EDOM and a sentence. */
#define CHECK(cond)                                                                      \
	do {                                                                             \
		if (!(cond)) {                                                           \
			const char *why = bt_err_text();                                 \
			char copy[256];                                                  \
			snprintf(copy, sizeof(copy), "%s", why ? why : "");              \
			bt_err_clear();                                                  \
			return bt_err(-EDOM, "line %d: %s (%s)", __LINE__, #cond, copy); \
		}                                                                        \
	} while (0)

static void in_private(int (*fn)(void *arg, void *res))
{
	int ret = bt_netns_run(fn, NULL, NULL, 0, LIMIT_MS);

	cr_assert_eq(ret, 0, "%d: %s", ret, bt_err_text());
}

static __u64 inode_of_self(void)
{
	__u64 ino = 0;
	int fd = bt_netns_self();

	bt_netns_inode(fd, &ino);
	close(fd);
	return ino;
}

/* --- netns ------------------------------------------------------------------- */

static int tell_inode(void *arg, void *res)
{
	*(__u64 *)res = inode_of_self();
	return *(int *)arg;
}

Test(netns, run_gives_result)
{
	__u64 ino = 0, here = inode_of_self();
	int ret = 7;

	cr_assert_eq(bt_netns_run(tell_inode, &ret, &ino, sizeof(ino), LIMIT_MS), 7);
	cr_assert_neq(ino, 0);
	cr_assert_neq(ino, here);
	cr_assert_eq(inode_of_self(), here, "the caller was moved");
}

static int refuse(void *arg, void *res)
{
	(void)arg;
	memset(res, 1, 4);
	return bt_err(-ENODEV, "no such thing");
}

Test(netns, run_gives_error_and_leaves_result)
{
	__u32 res = 0;

	cr_assert_eq(bt_netns_run(refuse, NULL, &res, sizeof(res), LIMIT_MS), -ENODEV);
	cr_assert_str_eq(bt_err_text(), "no such thing");
	cr_assert_eq(res, 0);
}

static int sleep_on(void *arg, void *res)
{
	(void)arg;
	(void)res;
	while (pause() < 0)
		;
	return 0;
}

Test(netns, run_has_a_time_limit, .timeout = 5)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	cr_assert_eq(bt_netns_run(sleep_on, NULL, NULL, 0, 150), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &b);
	cr_assert_lt((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000, 1500);
}

static int die(void *arg, void *res)
{
	(void)arg;
	(void)res;
	return raise(SIGKILL);
}

Test(netns, run_survives_a_crash)
{
	cr_assert_eq(bt_netns_run(die, NULL, NULL, 0, LIMIT_MS), -ECHILD);
}

Test(netns, open_refuses_what_is_none)
{
	cr_assert_eq(bt_netns_open("bt-no-such-namespace"), -ENOENT);
	cr_assert_eq(bt_netns_open("/proc/self/ns/mnt"), -EINVAL);
	cr_assert_eq(bt_netns_open("/proc/version"), -EINVAL);
	cr_assert_eq(bt_netns_open(""), -EINVAL);
	int fd = bt_netns_open("/proc/self/ns/net");

	cr_assert_geq(fd, 0);
	close(fd);
}

/* --- rtnl --------------------------------------------------------------------- */

static int veth_life(void *arg, void *res)
{
	struct bt_link a, b, *links = NULL;
	unsigned int n = 0;

	(void)arg;
	(void)res;
	CHECK(!bt_veth_add("va", "vb", -1));
	CHECK(!bt_link_get_name("va", &a) && !bt_link_get_name("vb", &b));
	CHECK(!strcmp(a.kind, "veth") && a.peer == b.ifindex && b.peer == a.ifindex);
	CHECK(!a.peer_elsewhere && !(a.flags & IFF_UP) && a.mtu == 1500);
	CHECK(!bt_link_set_mtu(a.ifindex, 1400) && !bt_link_set_up(a.ifindex));
	CHECK(!bt_link_get(a.ifindex, &a) && a.mtu == 1400 && a.flags & IFF_UP);
	CHECK(!bt_link_list(&links, &n) && n == 3); /* lo and the two */
	free(links);
	CHECK(bt_veth_add("va", "vc", -1) == -EEXIST);
	bt_err_clear();
	CHECK(!bt_link_del(a.ifindex));
	CHECK(bt_link_get_name("vb", &b) == -ENODEV && strstr(bt_err_text(), "no device 'vb'"));
	bt_err_clear();
	return 0;
}

Test(rtnl, veth_life)
{
	in_private(veth_life);
}

static int peer_elsewhere(void *arg, void *res)
{
	int first = bt_netns_self(), second;
	struct bt_link a, b;

	(void)arg;
	(void)res;
	CHECK(!bt_netns_new());
	second = bt_netns_self();
	CHECK(!bt_netns_set(first) && !bt_veth_add("va", "vb", second));
	CHECK(!bt_link_get_name("va", &a) && a.peer_elsewhere);
	CHECK(bt_link_get_name("vb", &b) == -ENODEV);
	bt_err_clear();
	CHECK(!bt_netns_set(second) && !bt_link_get_name("vb", &b) && b.peer_elsewhere);
	return 0;
}

Test(rtnl, peer_in_another_namespace)
{
	in_private(peer_elsewhere);
}

static int sizes(void *arg, void *res)
{
	struct bt_sizes s = { .gso = 185000, .gro = 190000 };
	struct bt_link a;

	(void)arg;
	(void)res;
	CHECK(!bt_veth_add("va", "vb", -1) && !bt_link_get_name("va", &a));
	CHECK(a.sizes.gso == 65536 && a.sizes.gro == 65536 && a.sizes.tso_max == 524280);
	if (a.sizes.gso_ipv4) {
		s.gso_ipv4 = 170000;
		s.gro_ipv4 = 175000;
	}
	CHECK(!bt_link_set_sizes(a.ifindex, &s) && !bt_link_get(a.ifindex, &a));
	s.tso_max = 524280;
	CHECK(!memcmp(&s, &a.sizes, sizeof(s)));
	s = (struct bt_sizes){ .gso = 524281 };
	CHECK(bt_link_set_sizes(a.ifindex, &s) == -EINVAL);
	CHECK(strstr(bt_err_text(), "gso_max_size"));
	bt_err_clear();
	return 0;
}

Test(rtnl, sizes)
{
	in_private(sizes);
}

/* --- bpf ------------------------------------------------------------------------ */

static int next_prog(const char *name)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, name, "GPL", insns, 2, NULL);
}

static __u32 prog_id(int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static int tcx_order(void *arg, void *res)
{
	int one = next_prog("one"), two = next_prog("two"), three = next_prog("three");
	struct bt_place first = { .flags = BT_F_BEFORE }, after = { .flags = BT_F_AFTER };
	struct bt_hook hook = {};
	struct bt_link_info info;
	int l1, l2, l3;

	(void)arg;
	(void)res;
	CHECK(one >= 0 && two >= 0 && three >= 0);
	CHECK(!bt_prog_query(1, BT_TCX_INGRESS, &hook) && hook.n == 0);
	l1 = bt_link_create(one, 1, BT_TCX_INGRESS, NULL);
	l2 = bt_link_create(two, 1, BT_TCX_INGRESS, &first);
	CHECK(l1 >= 0 && l2 >= 0);
	after.relative = (__u32)two;
	after.revision = 1;
	CHECK(bt_link_create(three, 1, BT_TCX_INGRESS, &after) == -ESTALE);
	CHECK(!bt_prog_query(1, BT_TCX_INGRESS, &hook));
	after.revision = hook.revision;
	l3 = bt_link_create(three, 1, BT_TCX_INGRESS, &after);
	CHECK(l3 >= 0);
	CHECK(bt_link_create(three, 1, BT_TCX_INGRESS, NULL) == -EEXIST);
	CHECK(!bt_prog_query(1, BT_TCX_INGRESS, &hook) && hook.n == 3);
	CHECK(hook.progs[0].prog_id == prog_id(two) && hook.progs[1].prog_id == prog_id(three) &&
	      hook.progs[2].prog_id == prog_id(one));
	CHECK(!bt_link_info(l3, &info) && info.type == BT_LINK_TYPE_TCX && info.ifindex == 1);
	CHECK(info.attach_type == BT_TCX_INGRESS && info.prog_id == prog_id(three));
	CHECK(info.id == hook.progs[1].link_id && info.id);
	CHECK(bt_link_update(l3, one, two) == -EPERM);
	close(l1);
	CHECK(!bt_link_update(l3, one, three));
	CHECK(!bt_prog_query(1, BT_TCX_INGRESS, &hook) && hook.n == 2);
	CHECK(hook.progs[1].prog_id == prog_id(one));
	close(l2);
	close(l3);
	CHECK(!bt_prog_query(1, BT_TCX_INGRESS, &hook) && hook.n == 0);
	CHECK(!bt_prog_query(1, BT_TCX_EGRESS, &hook) && hook.n == 0);
	return 0;
}

Test(bpf, tcx_order_and_info)
{
	if (!bt_have_tcx())
		cr_skip_test("no tcx in this kernel");
	in_private(tcx_order);
}

static int no_such_hook(void *arg, void *res)
{
	struct bt_hook hook = { .n = 77 };

	(void)arg;
	(void)res;
	CHECK(bt_prog_query(1, 250, &hook) == -EINVAL && hook.n == 77);
	CHECK(bt_prog_query(4711, BT_TCX_EGRESS, &hook) < 0 && hook.n == 77);
	CHECK(bt_prog_by_id(0x7ffffff0) == -ENOENT && bt_link_by_id(0x7ffffff0) == -ENOENT);
	return 0;
}

Test(bpf, errors_leave_outputs)
{
	in_private(no_such_hook);
}
