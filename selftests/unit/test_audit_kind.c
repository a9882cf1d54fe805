// SPDX-License-Identifier: GPL-2.0
/* Which verdict is worse than which, by type of program. */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "core/audit_model.h"

/* Plain packets get @plain, the jumbo packet @jumbo: what is that? */
static enum bt_verdict judged(enum bt_kind kind, __u32 plain, __u32 jumbo)
{
	struct bt_obs p[2] = {}, h = {};
	struct bt_diff d;

	for (unsigned int i = 0; i < 2; i++) {
		p[i].run.kind = kind;
		p[i].run.retval = plain;
		p[i].run.in_len = p[i].run.out_len = 1400;
		p[i].run.packet.flow.family = 10;
		p[i].seq = i;
	}
	h = p[0];
	h.seq = 2;
	h.run.retval = jumbo;
	bt_compare(p, 2, &h, false, true, NULL, &d);
	return d.verdict;
}

Test(audit_kind, xdp)
{
	static const __u32 lost[] = { XDP_ABORTED, XDP_DROP, 77 };
	static const __u32 kept[] = { XDP_PASS, XDP_TX, XDP_REDIRECT };

	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int k = 0; k < 3; k++) {
			cr_expect_eq(judged(BT_KIND_XDP, kept[k], lost[i]), BT_VERDICT_DROPS);
			cr_expect_eq(judged(BT_KIND_XDP, lost[i], kept[k]), BT_VERDICT_BYPASSES);
			cr_expect_eq(judged(BT_KIND_XDP, lost[i], lost[k]),
				     i == k ? BT_VERDICT_SAFE : BT_VERDICT_MISREADS);
		}
	}
	cr_expect_eq(judged(BT_KIND_XDP, XDP_TX, XDP_PASS), BT_VERDICT_BYPASSES);
	cr_expect_eq(judged(BT_KIND_XDP, XDP_REDIRECT, XDP_PASS), BT_VERDICT_BYPASSES);
	cr_expect_eq(judged(BT_KIND_XDP, XDP_PASS, XDP_TX), BT_VERDICT_MISREADS);
	cr_expect_eq(judged(BT_KIND_XDP, XDP_TX, XDP_REDIRECT), BT_VERDICT_MISREADS);
	cr_expect_eq(judged(BT_KIND_XDP, XDP_PASS, XDP_PASS), BT_VERDICT_SAFE);
}

Test(audit_kind, tc)
{
	cr_expect_eq(judged(BT_KIND_TC, TC_ACT_OK, TC_ACT_SHOT), BT_VERDICT_DROPS);
	cr_expect_eq(judged(BT_KIND_TC, TC_ACT_SHOT, TC_ACT_OK), BT_VERDICT_BYPASSES);
	cr_expect_eq(judged(BT_KIND_TC, TC_ACT_REDIRECT, TC_ACT_OK), BT_VERDICT_BYPASSES);
	cr_expect_eq(judged(BT_KIND_TC, TC_ACT_OK, TC_ACT_REDIRECT), BT_VERDICT_MISREADS);
	cr_expect_eq(judged(BT_KIND_TC, TC_ACT_OK, (__u32)TC_ACT_UNSPEC), BT_VERDICT_MISREADS);
}

Test(audit_kind, cgroup)
{
	cr_expect_eq(judged(BT_KIND_CGROUP, 1, 0), BT_VERDICT_DROPS);
	cr_expect_eq(judged(BT_KIND_CGROUP, 3, 2), BT_VERDICT_DROPS);
	cr_expect_eq(judged(BT_KIND_CGROUP, 2, 1), BT_VERDICT_BYPASSES);
	cr_expect_eq(judged(BT_KIND_CGROUP, 1, 3), BT_VERDICT_MISREADS);
	cr_expect_eq(judged(BT_KIND_CGROUP, 0, 2), BT_VERDICT_MISREADS);
}

Test(audit_kind, socket)
{
	__u32 all = bt_ret_of_run(BT_KIND_SOCKET, 0xffff, 1400);

	cr_expect_eq(all, BT_KEEP_ALL);
	cr_expect_eq(bt_ret_of_run(BT_KIND_SOCKET, 1400, 1400), all);
	cr_expect_eq(bt_ret_of_run(BT_KIND_SOCKET, 1399, 1400), 1399);
	cr_expect_eq(bt_ret_of_run(BT_KIND_XDP, 1399, 14), 1399);
	cr_expect_eq(judged(BT_KIND_SOCKET, all, 0), BT_VERDICT_DROPS);
	cr_expect_eq(judged(BT_KIND_SOCKET, 0, 96), BT_VERDICT_BYPASSES);
	cr_expect_eq(judged(BT_KIND_SOCKET, all, 96), BT_VERDICT_MISREADS);
}

Test(audit_kind, types)
{
	cr_expect_eq(bt_kind_of(BPF_PROG_TYPE_SCHED_ACT), BT_KIND_TC);
	cr_expect_eq(bt_kind_of(BPF_PROG_TYPE_XDP), BT_KIND_XDP);
	cr_expect_eq(bt_kind_of(BPF_PROG_TYPE_SK_LOOKUP), BT_KIND_LOOKUP);
	cr_expect_eq(bt_kind_of(BPF_PROG_TYPE_LWT_IN), BT_KIND_NONE);
	cr_expect_str_eq(bt_ret_name(BT_KIND_XDP, XDP_TX), "tx");
	cr_expect_str_eq(bt_ret_name(BT_KIND_TC, TC_ACT_SHOT), "drop");
	cr_expect_str_eq(bt_ret_name(BT_KIND_CGROUP, 1), "pass");
	cr_expect(bt_ret_redirects(BT_KIND_XDP, XDP_REDIRECT));
	cr_expect(!bt_ret_redirects(BT_KIND_TC, XDP_REDIRECT));
}
