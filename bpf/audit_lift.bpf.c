// SPDX-License-Identifier: GPL-2.0
/*
 * Lets a program under audit see a packet of more than 64 KiB. BPF_PROG_TEST_RUN takes less than a
 * page of input for tc, but a packet with gso_size set may be grown at its head by any length
 * (bpf_skb_change_head), and a tail call hands it on. Growth by whole multiples of 64 KiB
 * leaves the network header where it has to be: skb->network_header is an offset of 16 bits that
 * moves along with the data, modulo 64 KiB.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define HEAD 128

struct lift_plan {
	__u32 grow; /* bytes, a multiple of 65536 */
	__u32 slot; /* of the program array */
	__u8 head[HEAD]; /* the first bytes of the packet */
};

/* What userspace takes for "the audited program has not run"; plus 1 to 4095: -errno. */
#define LIFT_FAILED 0x7a110000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lift_plan);
} lift_plan SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} lift_prog SEC(".maps");

SEC("tc")
int audit_lift(struct __sk_buff *skb)
{
	static const __u8 zero[HEAD];
	struct lift_plan *plan;
	__u32 key = 0;
	long err;

	plan = bpf_map_lookup_elem(&lift_plan, &key);
	if (!plan)
		return LIFT_FAILED;
	err = bpf_skb_change_head(skb, plan->grow, 0);
	if (err)
		return LIFT_FAILED - (int)err;
	/* What was the Ethernet header of the test run's input is payload now. */
	err = bpf_skb_store_bytes(skb, plan->grow, zero, 54, 0);
	if (!err)
		err = bpf_skb_store_bytes(skb, 0, plan->head, HEAD, 0);
	if (err)
		return LIFT_FAILED - (int)err;
	bpf_tail_call(skb, &lift_prog, plan->slot);
	return LIFT_FAILED;
}

char _license[] SEC("license") = "GPL";
