// SPDX-License-Identifier: GPL-2.0
#include "base/number.h"

#include <errno.h>
#include <stdlib.h>

bool bt_number(const char *s, __u64 max, __u64 *val)
{
	char *end;

	/* strtoull takes signs and blanks. */
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*val = strtoull(s, &end, 10);
	return !errno && !*end && *val <= max;
}
