// SPDX-License-Identifier: GPL-2.0
/* The observer of another build: other instructions, the same counters. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define bpf_ktime_get_ns() (bpf_ktime_get_ns() + 1)
#include "../../../bpf/observe.bpf.c"
