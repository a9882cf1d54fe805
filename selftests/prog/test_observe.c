// SPDX-License-Identifier: GPL-2.0
/* bpf/observe.bpf.c by BPF_PROG_TEST_RUN: what counts as what, and that it decides nothing. */
#include <bigtcp/parse.bpf.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../bpf/observe.h"
#include "../unit/pktbuild.h"
#include "observe.skel.h"

#define FRAME 1500u
#define LO    1 /* the device of test runs */

static struct observe *skel;

static void setup(void)
{
	skel = observe__open_and_load();
	cr_assert(skel, "observe.bpf.o does not load");
}

static void teardown(void)
{
	observe__destroy(skel);
}

/* Runs the program on @p, filled up to FRAME bytes. */
static void run(const struct pktbuild *p, __u32 gso_size)
{
	struct __sk_buff ctx = { .gso_size = gso_size, .gso_segs = gso_size ? 2 : 0 };
	uint8_t frame[FRAME] = {};

	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));
	memcpy(frame, p->b, p->n);
	cr_assert_eq(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.observe), &opts), 0);
	cr_assert_eq((int)opts.retval, -1, "TC_ACT_UNSPEC, so that the next program runs");
}

static struct observe_stats stats_at(__u32 hook)
{
	int n = libbpf_num_possible_cpus(), fd = bpf_map__fd(skel->maps.observe_stats);
	struct observe_stats *cpu = calloc(n, sizeof(*cpu)), sum = {};
	struct observe_key key = { .ifindex = LO, .hook = hook };

	cr_assert_eq(bpf_map_lookup_elem(fd, &key, cpu), 0);
	for (int i = 0; i < n; i++) {
		sum.packets += cpu[i].packets;
		sum.bytes += cpu[i].bytes;
		sum.jumbo_hbh += cpu[i].jumbo_hbh;
		sum.jumbo_len0 += cpu[i].jumbo_len0;
		sum.jumbo_ipv4 += cpu[i].jumbo_ipv4;
		sum.jumbo_hbh_bytes += cpu[i].jumbo_hbh_bytes;
		sum.jumbo_len0_bytes += cpu[i].jumbo_len0_bytes;
		sum.jumbo_ipv4_bytes += cpu[i].jumbo_ipv4_bytes;
		sum.malformed += cpu[i].malformed;
		sum.unread += cpu[i].unread;
		if (cpu[i].max_len > sum.max_len)
			sum.max_len = cpu[i].max_len;
	}
	free(cpu);
	return sum;
}

static struct observe_stats stats(void)
{
	return stats_at(OBSERVE_INGRESS);
}

static struct observe_last last(void)
{
	int n = libbpf_num_possible_cpus(), fd = bpf_map__fd(skel->maps.observe_last);
	struct observe_last *cpu = calloc(n, sizeof(*cpu)), newest = {};
	__u32 key = 0;

	cr_assert_eq(bpf_map_lookup_elem(fd, &key, cpu), 0);
	for (int i = 0; i < n; i++)
		if (cpu[i].ns > newest.ns)
			newest = cpu[i];
	free(cpu);
	return newest;
}

static void jumbo(struct pktbuild *p, __u32 seg_len)
{
	memset(p, 0, sizeof(*p));
	pb_eth(p, 0x86dd);
	pb_ip6(p, 0, BIGTCP_NEXTHDR_HOP);
	pb_jumbo(p, seg_len);
	pb_tcp(p);
}

TestSuite(observe, .init = setup, .fini = teardown);

Test(observe, kernels_own_form)
{
	struct observe_last l;
	struct observe_stats s;
	struct pktbuild p;

	jumbo(&p, FRAME - 14 - 48);
	run(&p, 1428);
	s = stats();
	cr_assert_eq(s.packets, 1);
	cr_assert_eq(s.bytes, FRAME);
	cr_assert_eq(s.max_len, FRAME);
	cr_assert_eq(s.jumbo_hbh, 1);
	cr_assert_eq(s.jumbo_hbh_bytes, FRAME);
	cr_assert_eq(s.jumbo_len0_bytes + s.jumbo_ipv4_bytes, 0);
	cr_assert_eq(s.malformed + s.jumbo_len0 + s.jumbo_ipv4 + s.unread, 0);
	l = last();
	cr_assert_neq(l.ns, 0);
	cr_assert_eq(l.len, FRAME);
	cr_assert_eq(l.gso_size, 1428);
	cr_assert_eq(l.l3_off, 14);
	cr_assert_eq(l.l4_off, 62);
	cr_assert_eq(l.kind, BIGTCP_JUMBO_HBH);
	cr_assert_arr_eq(l.data, p.b, p.n);
}

Test(observe, forged_forms)
{
	struct observe_stats s;
	struct pktbuild p;

	jumbo(&p, FRAME - 14 - 48);
	run(&p, 0); /* from a wire */
	jumbo(&p, FRAME - 14 - 48 + 1);
	run(&p, 1428); /* not its length */
	jumbo(&p, FRAME - 14 - 48);
	p.b[14 + 5] = 1;
	run(&p, 1428); /* next to a payload length */
	jumbo(&p, FRAME - 14 - 48);
	p.b[14 + 40] = 17;
	run(&p, 1428); /* not TCP */
	s = stats();
	cr_assert_eq(s.packets, 4);
	cr_assert_eq(s.malformed, 4);
	cr_assert_eq(s.jumbo_hbh, 0);
	cr_assert_eq(s.jumbo_hbh_bytes, 0);
	cr_assert_eq(last().ns, 0);
}

Test(observe, ordinary_packets)
{
	struct observe_stats s;
	struct pktbuild p = {};

	pb_eth(&p, 0x86dd);
	pb_ip6(&p, FRAME - 54, BIGTCP_NEXTHDR_TCP);
	pb_tcp(&p);
	run(&p, 0);
	run(&p, 1428);
	memset(&p, 0, sizeof(p)); /* MLD */
	pb_eth(&p, 0x86dd);
	pb_ip6(&p, 36, BIGTCP_NEXTHDR_HOP);
	pb_bytes(&p, "\x3a\x00\x05\x02\x00\x00\x01\x00", 8);
	run(&p, 0);
	memset(&p, 0, sizeof(p)); /* ARP */
	pb_eth(&p, 0x0806);
	run(&p, 0);
	s = stats();
	cr_assert_eq(s.packets, 4);
	cr_assert_eq(s.malformed + s.jumbo_hbh + s.jumbo_len0 + s.jumbo_ipv4 + s.unread, 0);
	cr_assert_eq(last().ns, 0);
}

/* As `bigtcp observe` loads it: knows its hook, and keeps no packet. */
Test(observe, egress_without_the_last_packet)
{
	struct observe_stats s;
	struct pktbuild p;

	observe__destroy(skel);
	skel = observe__open();
	cr_assert(skel);
	skel->rodata->observe_hook = OBSERVE_EGRESS;
	skel->rodata->observe_keep = 0;
	cr_assert_eq(observe__load(skel), 0);
	jumbo(&p, FRAME - 14 - 48);
	run(&p, 1428);
	s = stats_at(OBSERVE_EGRESS);
	cr_assert_eq(s.packets, 1);
	cr_assert_eq(s.jumbo_hbh, 1);
	cr_assert_eq(last().ns, 0);
}

/* What the short way out must not let pass. */
Test(observe, tagged)
{
	struct observe_stats s;
	struct pktbuild p = {};

	pb_eth(&p, 0x8100);
	pb_vlan(&p, 5, 0x86dd);
	pb_ip6(&p, 0, BIGTCP_NEXTHDR_HOP);
	pb_jumbo(&p, FRAME - 18 - 48);
	pb_tcp(&p);
	run(&p, 1428);
	s = stats();
	cr_assert_eq(s.jumbo_hbh, 1);
	cr_assert_eq(s.jumbo_hbh_bytes, FRAME);
	cr_assert_eq(s.malformed, 0);
}
