// SPDX-License-Identifier: GPL-2.0
/* What freplace puts into the host of hooks.bpf.c. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

SEC("freplace/part")
int part(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;

	return (void *)(eth + 1) <= end && eth->h_dest[0] & 1 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
