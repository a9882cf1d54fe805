// SPDX-License-Identifier: GPL-2.0
#include <criterion/criterion.h>

#include "base/number.h"

Test(number, takes_digits_up_to_the_limit)
{
	__u64 v = 1;

	cr_assert(bt_number("0", 0, &v) && !v);
	cr_assert(bt_number("65535", 65535, &v) && v == 65535);
	cr_assert_not(bt_number("65536", 65535, &v));
	cr_assert(bt_number("18446744073709551615", -1, &v) && v == (__u64)-1);
	cr_assert_not(bt_number("18446744073709551616", -1, &v), "more than 64 bits");
}

Test(number, takes_nothing_else)
{
	static const char *const words[] = { "", " 1", "1 ", "+1", "-1", "0x10", "1a", "a" };
	__u64 v;

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cr_assert_not(bt_number(words[i], -1, &v), "'%s'", words[i]);
}
