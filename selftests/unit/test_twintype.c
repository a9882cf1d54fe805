// SPDX-License-Identifier: GPL-2.0
/* Which programs get twins. */
#include "core/twintype.h"

#include <criterion/criterion.h>
#include <string.h>

/* Every type of Debian's headers (6.1) is known, by a name of its own or of its group. */
Test(twintype, every_type_has_a_name)
{
	const char *unknown = bt_twin_type(4711)->name;

	for (int t = BPF_PROG_TYPE_SOCKET_FILTER; t <= BPF_PROG_TYPE_SYSCALL; t++) {
		cr_assert_not_null(bt_twin_type(t)->name);
		cr_assert_str_neq(bt_twin_type(t)->name, unknown, "type %d", t);
	}
	cr_assert_str_eq(bt_twin_type(BPF_PROG_TYPE_UNSPEC)->name, unknown);
	cr_assert_str_eq(bt_twin_type((enum bpf_prog_type) - 1)->name, unknown);
}

/* A type that nobody has looked at may see packets. */
Test(twintype, an_unknown_type_is_not_called_unaffected)
{
	cr_assert_null(bt_twin_type(4711)->unaffected);
	cr_assert_null(bt_twin_type(BPF_PROG_TYPE_UNSPEC)->unaffected);
	cr_assert_not(bt_twin_type_has(4711));
}

Test(twintype, what_gets_twins)
{
	static const enum bpf_prog_type has[] = { BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_SCHED_ACT,
						  BPF_PROG_TYPE_XDP, BPF_PROG_TYPE_CGROUP_SKB,
						  BPF_PROG_TYPE_SOCKET_FILTER };
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(has) / sizeof(has[0]); i++) {
		cr_assert(bt_twin_type_has(has[i]));
		cr_assert_null(bt_twin_type(has[i])->unaffected);
	}
	for (int t = 0; t < 64; t++)
		n += bt_twin_type_has(t);
	cr_assert_eq(n, sizeof(has) / sizeof(has[0]));
	cr_assert_eq(bt_twin_type(BPF_PROG_TYPE_SCHED_CLS)->group,
		     bt_twin_type(BPF_PROG_TYPE_SCHED_ACT)->group);
	cr_assert_neq(bt_twin_type(BPF_PROG_TYPE_SCHED_CLS)->group,
		      bt_twin_type(BPF_PROG_TYPE_XDP)->group);
}

Test(twintype, unaffected_says_why)
{
	cr_assert_not_null(strstr(bt_twin_type(BPF_PROG_TYPE_SK_LOOKUP)->unaffected,
				  "addresses and ports, never a packet"));
	cr_assert_not_null(bt_twin_type(BPF_PROG_TYPE_CGROUP_SOCK_ADDR)->unaffected);
	cr_assert_not_null(bt_twin_type(BPF_PROG_TYPE_TRACING)->unaffected);
	/* These have packets with all their headers, and no twin. */
	cr_assert_null(bt_twin_type(BPF_PROG_TYPE_LWT_XMIT)->unaffected);
	cr_assert_null(bt_twin_type(BPF_PROG_TYPE_FLOW_DISSECTOR)->unaffected);
}

/* Without a target there is nothing that a freplace program could be. */
Test(twintype, freplace_without_a_target)
{
	cr_assert_eq(bt_twin_type_of(BPF_PROG_TYPE_EXT, -1), BPF_PROG_TYPE_EXT);
	cr_assert_eq(bt_twin_type_of(BPF_PROG_TYPE_XDP, -1), BPF_PROG_TYPE_XDP);
	cr_assert_not_null(bt_twin_type(BPF_PROG_TYPE_EXT)->unaffected);
}
