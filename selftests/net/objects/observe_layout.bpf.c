// SPDX-License-Identifier: GPL-2.0
/* The observer of a build that counts something else where this one counts malformed packets. */
#define malformed wellformed
#include "../../../bpf/observe.bpf.c"
