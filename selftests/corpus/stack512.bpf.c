// SPDX-License-Identifier: GPL-2.0
/*
 * Packet recorder: one record per packet is put together on the stack and sent to a ring buffer;
 * the latest record of each port is kept. With its keys in it the record takes 504 of the 512
 * bytes of stack a program can have. The compiler stops at 504; the last slot, which holds the
 * flags that decide what is recorded, is reached by hand.
 */
/* expect: stack512 audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=5201 */
#include "corpus.h"

#define HEAD_BYTES 144
#define BUCKETS	   64

struct record {
	__u64 time;
	__u32 len;
	__u32 mark;
	__u32 ifindex;
	__u32 payload; /* bytes behind the L4 header's first 20 */
	__u8 src[16];
	__u8 dst[16];
	__u16 port; /* key of the `latest` map: destination, host byte order */
	__u16 sport;
	__u8 version;
	__u8 proto;
	__u8 ttl;
	__u8 tcp_flags;
	__u32 histogram[BUCKETS]; /* of the values of the header's bytes, by value / 4 */
	__u8 head[HEAD_BYTES];
	__u8 opts[32]; /* TCP options, zero behind the end */
	__u32 l4; /* offset of the L4 header */
	__u32 port_count; /* records of this port so far */
};

_Static_assert(sizeof(struct record) == 504, "the record is to fill the stack");

#define F_IP   1
#define F_PORT 2

static __always_inline void set_flags(__u64 flags)
{
	asm volatile("*(u64 *)(r10 - 512) = %0" : : "r"(flags) : "memory");
}

static __always_inline __u64 get_flags(void)
{
	__u64 flags;

	asm volatile("%0 = *(u64 *)(r10 - 512)" : "=r"(flags) : : "memory");
	return flags;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u16);
	__type(value, struct record);
} latest SEC(".maps");

SEC("tc")
int stack512(struct __sk_buff *skb)
{
	struct record r, *last;

	set_flags(0);
	__builtin_memset(&r, 0, sizeof(r));
	r.time = bt_now();
	r.mark = skb->mark;
	r.ifindex = skb->ifindex;
	r.len = skb->len;

	/* short packets leave zeros behind */
	if (bpf_skb_load_bytes(skb, 0, r.head, HEAD_BYTES) &&
	    bpf_skb_load_bytes(skb, 0, r.head, 74) && bpf_skb_load_bytes(skb, 0, r.head, 54))
		return TC_ACT_OK;

	if (r.head[12] == 0x86 && r.head[13] == 0xdd) {
		r.version = 6;
		r.proto = r.head[20];
		r.ttl = r.head[21];
		__builtin_memcpy(r.src, r.head + 22, 16);
		__builtin_memcpy(r.dst, r.head + 38, 16);
		r.l4 = 54;
	} else if (r.head[12] == 0x08 && r.head[13] == 0x00 && r.head[14] == 0x45) {
		r.version = 4;
		r.proto = r.head[23];
		r.ttl = r.head[22];
		__builtin_memcpy(r.src, r.head + 26, 4);
		__builtin_memcpy(r.dst, r.head + 30, 4);
		r.l4 = 34;
	} else {
		return TC_ACT_OK;
	}

	set_flags(F_IP);
	if (r.proto == IPPROTO_TCP) {
		bpf_skb_load_bytes(skb, r.l4 + 13, &r.tcp_flags, 1);
		bpf_skb_load_bytes(skb, r.l4 + 20, r.opts, 12);
	}
	if (r.proto == IPPROTO_TCP || r.proto == IPPROTO_UDP) {
		bpf_skb_load_bytes(skb, r.l4, &r.sport, 2);
		bpf_skb_load_bytes(skb, r.l4 + 2, &r.port, 2);
		r.sport = bpf_ntohs(r.sport);
		r.port = bpf_ntohs(r.port);
		r.payload = r.len - r.l4 - 20;
		set_flags(F_IP | F_PORT);
	}

	for (int i = 0; i < HEAD_BYTES; i++)
		r.histogram[r.head[i] / 4]++;

	if (!(get_flags() & F_PORT))
		r.port = r.proto; /* ports below 256 are shared with protocols: good enough */
	last = bpf_map_lookup_elem(&latest, &r.port);
	r.port_count = last ? last->port_count + 1 : 1;
	bpf_ringbuf_output(&records, &r, sizeof(r), 0);
	bpf_map_update_elem(&latest, &r.port, &r, BPF_ANY);
	return TC_ACT_OK;
}
