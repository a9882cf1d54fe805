// SPDX-License-Identifier: GPL-2.0
/* An XDP program that does nothing: what generic XDP costs by itself. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
