// SPDX-License-Identifier: GPL-2.0
/* Twins by addressing: what the engine makes of small cgroup_skb programs and socket filters. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <bigtcp/twin.h>

#include "engine/insn.h"

#define SKB(field)	       offsetof(struct __sk_buff, field)
#define LEN(a)		       (sizeof(a) / sizeof((a)[0]))
#define JMP(op, d, imm, off)   insn_raw(BPF_JMP | (op) | BPF_K, d, 0, off, imm)
#define JMP_REG(op, d, s, off) insn_raw(BPF_JMP | (op) | BPF_X, d, s, off, 0)
#define ADD_REG(d, s)	       insn_raw(BPF_ALU64 | BPF_ADD | BPF_X, d, s, 0, 0)
#define ABS(size, off)	       insn_raw(BPF_LD | BPF_ABS | (size), 0, 0, 0, off)
/* data and data_end in R2 and R3 */
#define PACKET LDX_MEM(BPF_W, 2, 1, SKB(data)), LDX_MEM(BPF_W, 3, 1, SKB(data_end))
/* R4 = data + n, out of here if that is behind the end; 4 instructions */
#define BOUND(n) MOV64_REG(4, 2), ALU64_IMM(BPF_ADD, 4, n), JMP_REG(BPF_JLE, 4, 3, 1), EXIT()

static struct bigtcp_twin_opts opts;
static enum bpf_prog_type type;

static int map_sizes(void *arg, int fd, __u32 *key, __u32 *value)
{
	(void)arg;
	if (fd != 7)
		return -ENOENT;
	*key = 16;
	*value = 8;
	return 0;
}

static void setup(void)
{
	opts = (struct bigtcp_twin_opts){
		.sz = sizeof(opts), .state_fd = 11, .buf_fd = 12, .map_sizes = map_sizes
	};
	type = BPF_PROG_TYPE_CGROUP_SKB;
}

static int make(const struct bpf_insn *insns, __u32 cnt, struct bigtcp_twin *t,
		struct bigtcp_twin_reason *why)
{
	struct bigtcp_twin_prog p = { .type = type, .insns = insns, .insn_cnt = cnt };

	return bigtcp_twin_make(&p, &opts, t, why);
}

static struct bigtcp_twin made(const struct bpf_insn *insns, __u32 cnt)
{
	struct bigtcp_twin_reason why = {};
	struct bigtcp_twin t = {};
	int err = make(insns, cnt, &t, &why);

	cr_assert_eq(err, 0, "%d: %s", err, why.text);
	cr_assert(t.by_address);
	return t;
}
#define MADE(prog) made(prog, LEN(prog))

static void refused(const struct bpf_insn *insns, __u32 cnt, enum bigtcp_twin_why want, __u32 at)
{
	struct bigtcp_twin_reason why = {};
	struct bigtcp_twin t = {};

	cr_assert_eq(make(insns, cnt, &t, &why), -ENOTSUP);
	cr_assert_eq(why.why, want, "%s: %s", bigtcp_twin_why_name(why.why), why.text);
	cr_assert_eq(why.insn, at, "%s", why.text);
}
#define REFUSED(prog, want, at) refused(prog, LEN(prog), want, at)

/* How often the instructions @want, one behind the other, stand in the twin. */
static unsigned int count(const struct bigtcp_twin *t, const struct bpf_insn *want, __u32 cnt)
{
	unsigned int n = 0;
	__u32 i;

	for (i = 0; i + cnt <= t->insn_cnt; i++)
		n += !memcmp(&t->insns[i], want, cnt * sizeof(*want));
	return n;
}

static void has(const struct bpf_insn *prog, __u32 prog_cnt, const struct bpf_insn *want,
		__u32 want_cnt, unsigned int times)
{
	struct bigtcp_twin t = made(prog, prog_cnt);

	cr_assert_eq(count(&t, want, want_cnt), times, "%u times", count(&t, want, want_cnt));
	bigtcp_twin_free(&t);
}
#define HAS(prog, times, ...)                                   \
	do {                                                    \
		const struct bpf_insn want[] = { __VA_ARGS__ }; \
                                                                \
		has(prog, LEN(prog), want, LEN(want), times);   \
	} while (0)

TestSuite(twin_addr, .init = setup);

Test(twin_addr, behind_ipv6_is_eight_further)
{
	const struct bpf_insn prog[] = {
		PACKET,
		MOV64_IMM(0, 1),
		BOUND(60),
		LDX_MEM(BPF_H, 5, 2, 38),
		LDX_MEM(BPF_B, 5, 2, 39),
		LDX_MEM(BPF_B, 5, 2, 40),
		EXIT(),
	};

	HAS(prog, 1, LDX_MEM(BPF_H, 5, 2, 38), LDX_MEM(BPF_B, 5, 2, 39), LDX_MEM(BPF_B, 5, 2, 48));
	/* the comparison with the packet's end */
	HAS(prog, 1, ALU64_IMM(BPF_ADD, 4, 8));
}

/* Lengths are 32 bits long, and so is the sum that compilers make of the context's two fields. */
Test(twin_addr, a_length_in_32_bits)
{
	const struct bpf_insn prog[] = {
		PACKET,
		ALU32_REG(BPF_SUB, 3, 2),
		MOV64_REG(0, 3),
		EXIT(),
	};
	const struct bpf_insn half[] = {
		PACKET, MOV32_REG(4, 3), ALU32_REG(BPF_SUB, 4, 2), MOV64_REG(0, 4), EXIT(),
	};

	HAS(prog, 1, ALU32_REG(BPF_SUB, 3, 2), ALU32_IMM(BPF_ADD, 3, -8));
	HAS(half, 1, ALU32_REG(BPF_SUB, 4, 2), ALU32_IMM(BPF_ADD, 4, -8));
}

Test(twin_addr, nexthdr_reads_tcp)
{
	const struct bpf_insn byte[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(60), LDX_MEM(BPF_B, 5, 2, 6), EXIT(),
	};
	const struct bpf_insn word[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(60), LDX_MEM(BPF_W, 5, 2, 4), EXIT(),
	};
	const struct bpf_insn dword[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(60), LDX_MEM(BPF_DW, 5, 2, 0), EXIT(),
	};

	HAS(byte, 1, MOV32_IMM(5, 6), EXIT());
	HAS(word, 1, LDX_MEM(BPF_W, 5, 2, 4), ALU64_IMM(BPF_ADD, 5, (__s32)htonl(0x0600)), EXIT());
	HAS(dword, 1, LDX_MEM(BPF_DW, 5, 2, 0), TO_BE(5, 64), ALU64_IMM(BPF_ADD, 5, 0x600),
	    TO_BE(5, 64), EXIT());
}

Test(twin_addr, what_other_packets_do_does_not_matter)
{
	/* IPv4's header length is not known, but this is not IPv4. */
	const struct bpf_insn prog[] = {
		PACKET,
		MOV64_IMM(0, 1),
		BOUND(60),
		LDX_MEM(BPF_W, 5, 1, SKB(protocol)),
		JMP(BPF_JEQ, 5, (__s32)htons(ETH_P_IPV6), 4),
		LDX_MEM(BPF_B, 5, 2, 0),
		ALU64_IMM(BPF_AND, 5, 15),
		ADD_REG(2, 5),
		insn_raw(BPF_JMP | BPF_JA, 0, 0, 1, 0),
		ALU64_IMM(BPF_ADD, 2, 40),
		LDX_MEM(BPF_H, 5, 2, 2),
		EXIT(),
	};

	HAS(prog, 1, LDX_MEM(BPF_H, 5, 2, 10), EXIT());
}

Test(twin_addr, offsets_that_grow_from_a_known_one)
{
	const struct bpf_insn prog[] = {
		PACKET,
		MOV64_IMM(0, 1),
		BOUND(60),
		LDX_MEM(BPF_B, 5, 2, 52),
		ALU64_IMM(BPF_RSH, 5, 4),
		ALU64_IMM(BPF_LSH, 5, 2),
		ALU64_IMM(BPF_ADD, 5, 40),
		ADD_REG(2, 5),
		LDX_MEM(BPF_B, 5, 2, 0),
		EXIT(),
	};

	HAS(prog, 1, LDX_MEM(BPF_B, 5, 2, 8), EXIT());
}

Test(twin_addr, unknown_offsets_are_refused)
{
	const struct bpf_insn prog[] = {
		PACKET,	       MOV64_IMM(0, 1),		BOUND(60), LDX_MEM(BPF_B, 5, 2, 7),
		ADD_REG(2, 5), LDX_MEM(BPF_B, 5, 2, 0), EXIT(),
	};
	const struct bpf_insn both[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(60), LDX_MEM(BPF_DW, 5, 2, 36), EXIT(),
	};

	REFUSED(prog, BIGTCP_TWIN_OFFSET, 9);
	REFUSED(both, BIGTCP_TWIN_OFFSET, 7);
}

Test(twin_addr, a_pointer_that_may_be_another_is_refused)
{
	const struct bpf_insn prog[] = {
		PACKET,
		MOV64_IMM(0, 1),
		BOUND(60),
		LDX_MEM(BPF_B, 5, 2, 50),
		JMP(BPF_JEQ, 5, 0, 2),
		MOV64_REG(2, 10),
		ALU64_IMM(BPF_ADD, 2, -64),
		LDX_MEM(BPF_B, 5, 2, 44),
		EXIT(),
	};

	REFUSED(prog, BIGTCP_TWIN_OFFSET, 11);
}

Test(twin_addr, the_distance_of_the_end)
{
	const struct bpf_insn prog[] = {
		PACKET,
		MOV64_REG(0, 3),
		insn_raw(BPF_ALU64 | BPF_SUB | BPF_X, 0, 2, 0, 0),
		EXIT(),
	};

	HAS(prog, 1, insn_raw(BPF_ALU64 | BPF_SUB | BPF_X, 0, 2, 0, 0), ALU64_IMM(BPF_ADD, 0, -8));
}

#define LOAD_BYTES(off, len)                                                                \
	MOV64_IMM(2, off), MOV64_REG(3, 10), ALU64_IMM(BPF_ADD, 3, -64), MOV64_IMM(4, len), \
		CALL_HELPER(BPF_FUNC_skb_load_bytes)

Test(twin_addr, copied_headers_are_patched)
{
	const struct bpf_insn low[] = { LOAD_BYTES(8, 32), MOV64_IMM(0, 1), EXIT() };
	const struct bpf_insn ip6[] = { LOAD_BYTES(0, 40), MOV64_IMM(0, 1), EXIT() };
	const struct bpf_insn tcp[] = { LOAD_BYTES(40, 20), MOV64_IMM(0, 1), EXIT() };
	const struct bpf_insn both[] = { LOAD_BYTES(0, 60), MOV64_IMM(0, 1), EXIT() };
	struct bigtcp_twin_reason why;
	struct bigtcp_twin t = {};

	cr_assert_eq(make(low, LEN(low), &t, &why), 0);
	cr_assert_eq(t.moved_sites, 0);
	bigtcp_twin_free(&t);
	HAS(ip6, 1, CALL_HELPER(BPF_FUNC_skb_load_bytes), JMP(BPF_JNE, 0, 0, 1),
	    ST_MEM(BPF_B, 10, -64 + 6, 6));
	HAS(tcp, 1, ALU64_IMM(BPF_ADD, 2, 8), CALL_HELPER(BPF_FUNC_skb_load_bytes));
	/* in two parts: 40 bytes, and 20 from 48 on */
	HAS(both, 1, MOV64_IMM(4, 40), CALL_HELPER(BPF_FUNC_skb_load_bytes));
	HAS(both, 1, MOV64_IMM(2, 48), MOV64_REG(3, 10), ALU64_IMM(BPF_ADD, 3, -24),
	    MOV64_IMM(4, 20), CALL_HELPER(BPF_FUNC_skb_load_bytes));
}

#define MAP_FD(d, fd) \
	insn_raw(BPF_LD | BPF_IMM | BPF_DW, d, INSN_PSEUDO_MAP_FD, 0, fd), insn_raw(0, 0, 0, 0, 0)

Test(twin_addr, keys_in_the_packet)
{
	struct bpf_insn prog[] = {
		PACKET,		 MOV64_IMM(0, 1),
		BOUND(70),	 ALU64_IMM(BPF_ADD, 2, 24),
		MAP_FD(1, 7),	 CALL_HELPER(BPF_FUNC_map_lookup_elem),
		MOV64_IMM(0, 1), EXIT(),
	};

	/* saddr or daddr */
	HAS(prog, 2, ALU64_IMM(BPF_ADD, 2, 24), MAP_FD(1, 7),
	    CALL_HELPER(BPF_FUNC_map_lookup_elem));
	/* behind the IPv6 header */
	prog[7].imm = 40;
	HAS(prog, 1, ALU64_IMM(BPF_ADD, 2, 8), CALL_HELPER(BPF_FUNC_map_lookup_elem));
	/* across its end, nexthdr, a map of unknown size */
	prog[7].imm = 25;
	REFUSED(prog, BIGTCP_TWIN_OFFSET, 10);
	prog[7].imm = 0;
	REFUSED(prog, BIGTCP_TWIN_OFFSET, 10);
	prog[7].imm = 8;
	prog[8].imm = 9;
	REFUSED(prog, BIGTCP_TWIN_OFFSET, 10);
}

Test(twin_addr, ld_abs)
{
	const struct bpf_insn prog[] = {
		MOV64_REG(6, 1), ABS(BPF_B, 20), ABS(BPF_W, 18),
		ABS(BPF_H, 64),	 ABS(BPF_B, 21), ABS(BPF_B, SKF_NET_OFF + 6),
		EXIT(),
	};
	struct bigtcp_twin t;

	type = BPF_PROG_TYPE_SOCKET_FILTER;
	t = MADE(prog);
	/* Ethernet, one or two VLAN tags, none: each its way */
	cr_assert_eq(count(&t, (struct bpf_insn[]){ ABS(BPF_H, 72) }, 1), 4);
	cr_assert_eq(
		count(&t, (struct bpf_insn[]){ ABS(BPF_B, SKF_NET_OFF + 6), MOV32_IMM(0, 6) }, 2),
		4);
	cr_assert_eq(count(&t, (struct bpf_insn[]){ ABS(BPF_B, 20), MOV32_IMM(0, 6) }, 2), 1);
	cr_assert_eq(
		count(&t, (struct bpf_insn[]){ ABS(BPF_W, 18), ALU64_IMM(BPF_ADD, 0, 0x600) }, 2),
		1);
	bigtcp_twin_free(&t);
}

Test(twin_addr, a_socket_filter_keeps_eight_bytes_more)
{
	const struct bpf_insn prog[] = { LDX_MEM(BPF_W, 0, 1, SKB(len)), EXIT() };

	type = BPF_PROG_TYPE_SOCKET_FILTER;
	HAS(prog, 4, ALU32_IMM(BPF_ADD, 0, 8), EXIT());
}

Test(twin_addr, lengths_by_form)
{
	const struct bpf_insn prog[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(40), LDX_MEM(BPF_H, 5, 2, 4), EXIT(),
	};
	const struct bpf_insn tot_len[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(40), LDX_MEM(BPF_H, 5, 2, 2), EXIT(),
	};

	/* 0 is what the packet has */
	HAS(prog, 2, LDX_MEM(BPF_H, 5, 2, 4), EXIT());
	opts.length = 65000;
	/* with and without the jumbo header; then IPv4's */
	HAS(prog, 2, MOV32_IMM(5, htons(65000)), EXIT());
	HAS(tot_len, 1, MOV32_IMM(5, htons(65000)), EXIT());
}

Test(twin_addr, tc_on_request)
{
	const struct bpf_insn prog[] = {
		PACKET, MOV64_IMM(0, 1), BOUND(68), LDX_MEM(BPF_H, 5, 2, 64), EXIT(),
	};
	const struct bpf_insn writes[] = {
		PACKET,
		MOV64_IMM(0, 1),
		BOUND(64),
		ST_MEM(BPF_H, 2, 56, 1),
		ST_MEM(BPF_B, 2, 20, 1),
		EXIT(),
	};

	type = BPF_PROG_TYPE_SCHED_CLS;
	opts.by_address = true;
	HAS(prog, 4, LDX_MEM(BPF_H, 5, 2, 72), EXIT());
	/* What is known of a packet must stay true. */
	REFUSED(writes, BIGTCP_TWIN_OFFSET, 8);
}

Test(twin_addr, half_a_pointer_is_good_for_a_difference_only)
{
	const struct bpf_insn prog[] = {
		PACKET,
		MOV32_REG(0, 3),
		ALU32_IMM(BPF_ADD, 0, -54),
		EXIT(),
	};

	REFUSED(prog, BIGTCP_TWIN_AMBIGUOUS, 3);
}
