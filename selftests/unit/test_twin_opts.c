// SPDX-License-Identifier: GPL-2.0
/* The options about how twins are made. */
#include "cmd/twin_opts.h"

#include <criterion/criterion.h>
#include <string.h>

static int opt(struct bigtcp_twin_opts *o, int c, const char *arg)
{
	bt_err_clear();
	return twin_opt(o, c, arg);
}

Test(twin_opts, each_sets_its_own)
{
	struct bigtcp_twin_opts o = { 0 };

	cr_assert_eq(opt(&o, OPT_BY_ADDRESS, NULL), 0);
	cr_assert(o.by_address && !o.length && !o.max_payload_len && !o.resize_fails);
	cr_assert_eq(opt(&o, OPT_RESIZE_FAILS, NULL), 0);
	cr_assert_eq(opt(&o, OPT_MAX_PAYLOAD_LEN, NULL), 0);
	cr_assert(o.resize_fails && o.max_payload_len);
}

Test(twin_opts, a_length_goes_by_address)
{
	struct bigtcp_twin_opts o = { 0 };

	cr_assert_eq(opt(&o, OPT_LENGTH, "65535"), 0);
	cr_assert_eq(o.length, 65535);
	cr_assert(o.by_address);
	cr_assert_eq(opt(&o, OPT_LENGTH, "1"), 0);
	cr_assert_eq(o.length, 1);
}

Test(twin_opts, lengths_that_are_none)
{
	static const char *const bad[] = { "0", "65536", "-1", "", "1x", "0x10", "99999999999" };
	struct bigtcp_twin_opts o = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(opt(&o, OPT_LENGTH, bad[i]), BT_EXIT_USAGE, "'%s'", bad[i]);
		cr_assert_not_null(strstr(bt_err_text(), "1 to 65535"));
	}
	cr_assert(!o.length && !o.by_address);
}

Test(twin_opts, one_length_only)
{
	struct bigtcp_twin_opts a = { 0 }, b = { 0 };

	cr_assert_eq(opt(&a, OPT_MAX_PAYLOAD_LEN, NULL), 0);
	cr_assert_eq(opt(&a, OPT_LENGTH, "65535"), BT_EXIT_USAGE);
	cr_assert_not_null(strstr(bt_err_text(), "one of them"));
	cr_assert_eq(opt(&b, OPT_LENGTH, "1500"), 0);
	cr_assert_eq(opt(&b, OPT_MAX_PAYLOAD_LEN, NULL), BT_EXIT_USAGE);
}

Test(twin_opts, others_are_not_taken)
{
	struct bigtcp_twin_opts o = { 0 };

	cr_assert_eq(opt(&o, 'x', NULL), BT_EXIT_USAGE);
	cr_assert_null(bt_err_text());
}
