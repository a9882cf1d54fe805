/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What every program of the corpus includes: UAPI headers, libbpf's helpers, the licence, and
 * the hooks that make a program deterministic for property tests. Packet parsing is left out on
 * purpose: each program has its own, as third-party code does, right or wrong.
 */
#ifndef BT_CORPUS_H
#define BT_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/icmpv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#ifndef AF_INET
#define AF_INET 2
#endif
#ifndef AF_INET6
#define AF_INET6 10
#endif

#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif

#define BT_NSEC_PER_SEC 1000000000ULL

char _license[] SEC("license") = "GPL";

/*
 * Time (ns) and randomness as the program sees them. A test that compares two runs sets these
 * before it loads the object; 0, the default, means the real thing.
 */
const volatile __u64 bt_fake_now = 0;
const volatile __u32 bt_fake_random = 0;

static __always_inline __u64 bt_now(void)
{
	return bt_fake_now ? bt_fake_now : bpf_ktime_get_ns();
}

static __always_inline __u32 bt_random(void)
{
	return bt_fake_random ? bt_fake_random : bpf_get_prandom_u32();
}

#endif
