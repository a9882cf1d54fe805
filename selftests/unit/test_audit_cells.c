// SPDX-License-Identifier: GPL-2.0
/* What audit takes for the same treatment, and what for another one. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/audit_cells.h"

#define N 6

/* Lengths and order as audit runs them; the jumbo packet comes fifth. */
static const __u32 lens[N] = { 1400, 2600, 1400, 3000, 65590, 1400 };
static const unsigned int seqs[N] = { 1, 2, 3, 4, 5, 7 };
#define JUMBO_LEN 66148
#define JUMBO_SEQ 6

/* Runs that leave old[i] -> new[i]; the last ones are the jumbo packet's. */
static int check(const void *old, const void *new, unsigned int size)
{
	struct bt_sample s[N], h;

	for (unsigned int i = 0; i < N; i++)
		s[i] = (struct bt_sample){ (const __u8 *)old + i * size,
					   (const __u8 *)new + i *size, lens[i], lens[i] > 65536,
					   seqs[i] };
	h = (struct bt_sample){ (const __u8 *)old + N * size, (const __u8 *)new + N *size,
				JUMBO_LEN, true, JUMBO_SEQ };
	return bt_cells_check(s, N, &h, size);
}

static const __u64 zero64[N + 1];
static const __u32 zero32[N + 1];
static const __u16 zero16[N + 1];

Test(cells, constant)
{
	__u32 v[N + 1] = { 7, 7, 7, 7, 7, 7, 7 };

	cr_assert_eq(check(zero32, v, 4), -1);
	v[N] = 0;
	cr_assert_eq(check(zero32, v, 4), 0);
}

Test(cells, packet_counter)
{
	__u64 old[N + 1] = { 10, 11, 12, 13, 14, 16, 15 }, new[N + 1];

	for (unsigned int i = 0; i <= N; i++)
		new[i] = old[i] + 1;
	cr_assert_eq(check(old, new, 8), -1);
	new[N] = old[N] + 2;
	cr_assert_neq(check(old, new, 8), -1);
	new[N] = old[N];
	cr_assert_neq(check(old, new, 8), -1);
}

Test(cells, byte_counter_with_or_without_the_header)
{
	__u64 old[N + 1] = {}, new[N + 1];

	for (unsigned int i = 0; i < N; i++)
		new[i] = old[i] + lens[i] - 54;
	new[N] = JUMBO_LEN - 54;
	cr_assert_eq(check(old, new, 8), -1);
	new[N] = JUMBO_LEN - 54 - 8;
	cr_assert_eq(check(old, new, 8), -1);
	new[N] = 0; /* payload_len */
	cr_assert_neq(check(old, new, 8), -1);
	new[N] = (JUMBO_LEN - 54) & 0xffff;
	cr_assert_neq(check(old, new, 8), -1);
}

Test(cells, length_cut_to_16_bits)
{
	__u16 v[N + 1];

	for (unsigned int i = 0; i < N; i++)
		v[i] = lens[i];
	v[N] = (__u16)JUMBO_LEN;
	cr_assert_neq(check(zero16, v, 2), -1);
}

Test(cells, length_capped)
{
	__u16 v[N + 1];

	for (unsigned int i = 0; i < N; i++)
		v[i] = lens[i] > 65535 ? 65535 : lens[i];
	v[N] = 65535;
	cr_assert_eq(check(zero16, v, 2), -1);
}

Test(cells, time_at_a_rate)
{
	__u64 v[N + 1];

	for (unsigned int i = 0; i < N; i++)
		v[i] = lens[i] * 1000ull / 7;
	v[N] = JUMBO_LEN * 1000ull / 7;
	cr_assert_eq(check(zero64, v, 8), -1);
	v[N] = 0;
	cr_assert_neq(check(zero64, v, 8), -1);
}

Test(cells, clock)
{
	__u64 old[N + 1] = { 900, 1000, 2000, 3500, 4700, 7100, 5300 };
	__u64 new[N + 1] = { 1000, 2000, 3500, 4700, 5300, 8000, 7100 };

	cr_assert_eq(check(old, new, 8), -1);
	new[N] = old[N];
	cr_assert_neq(check(old, new, 8), -1, "not written");
	new[N] = 0;
	cr_assert_neq(check(old, new, 8), -1, "written with 0");
}

Test(cells, noise_does_not_hide_its_neighbour)
{
	struct {
		__u32 random;
		__u16 port[2];
	} old[N + 1] = {}, new[N + 1] = {
		{ 0x12345678, { 443 } }, { 0x9abcdef0, { 443 } }, { 0x0fedcba9, { 443 } },
		{ 0x87654321, { 443 } }, { 0x13579bdf, { 443 } }, { 0x2468ace0, { 443 } },
		{ 0xfdb97531, { 443 } },
	};

	cr_assert_eq(check(old, new, 8), -1);
	new[N].port[0] = 0;
	cr_assert_eq(check(old, new, 8), 4);
}

Test(cells, what_long_packets_do_and_the_jumbo_packet_leaves_alone)
{
	/* random, written by every run but the jumbo packet's: it still has the long one's value */
	__u32 old[N + 1] = { 0,		 0x11111111, 0x2a2b2c2d, 0x33435363,
			     0x48494a4b, 0x5f6f7f8f, 0x5f6f7f8f };
	__u32 new[N + 1] = { 0x11111111, 0x2a2b2c2d, 0x33435363, 0x48494a4b,
			     0x5f6f7f8f, 0x6172839a, 0x5f6f7f8f };

	cr_assert_neq(check(old, new, 4), -1);
}

Test(cells, network_order)
{
	__u32 v[N + 1];

	for (unsigned int i = 0; i < N; i++)
		v[i] = __builtin_bswap32(lens[i]);
	v[N] = __builtin_bswap32(JUMBO_LEN);
	cr_assert_eq(check(zero32, v, 4), -1);
	v[N] = 0;
	cr_assert_neq(check(zero32, v, 4), -1);
}

Test(cells, odd_sizes)
{
	__u8 old[7 * (N + 1)] = {}, new[7 * (N + 1)];

	memset(new, 5, sizeof(new));
	cr_assert_eq(check(old, new, 7), -1);
	new[7 * N + 6] = 6;
	cr_assert_eq(check(old, new, 7), 6);
}
