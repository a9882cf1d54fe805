// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include "core/kernels.h"

#define V BT_VERSION

static __u32 parse(const char *text)
{
	unsigned int a, b, c = 0;

	if (sscanf(text, "%u.%u.%u", &a, &b, &c) < 2 || a > 999 || b > 999 || c > 999)
		return 0;
	return V(a, b, c);
}

__u32 bt_kernel_version(const char *release, const char *version, const char *signature)
{
	const char *at = strrchr(signature, ' ');

	/* "Ubuntu 6.8.0-45.45-generic 6.8.12" */
	if (at && parse(at + 1))
		return parse(at + 1);
	/* "#1 SMP PREEMPT_DYNAMIC Debian 6.1.129-1 (2025-03-06)" */
	at = strstr(version, " Debian ");
	if (at && parse(at + strlen(" Debian ")))
		return parse(at + strlen(" Debian "));
	return parse(release);
}

static bool plain_csum(const struct bt_kernel_facts *f)
{
	return f->hbh && f->ipv6_csum;
}

static bool ipv4_alone(const struct bt_kernel_facts *f)
{
	return f->ipv4 && !f->ipv6;
}

static bool filtered(const struct bt_kernel_facts *f)
{
	return f->hbh && f->bridge_filter;
}

static bool switched(const struct bt_kernel_facts *f)
{
	return f->hbh && f->ovs;
}

static bool by_ice(const struct bt_kernel_facts *f)
{
	return f->hbh && f->ice;
}

static const struct bt_kernel_fault faults[] = {
	{
		.reference = "fixed by 68e068cabd2c",
		.level = BT_LEVEL_WARNING,
		.found = "checksums of packets with the jumbo header are not offloaded",
		.why = "the kernel takes the header for one that stays, checksums in software and "
		       "warns of a bad offload",
		.advice = "use Linux 6.12.9, 6.6.70, 6.1.124 or newer",
		/* 04c20a9356f2 and its backports */
		.ranges = { { V(6, 1, 116), V(6, 1, 124) },
			    { V(6, 6, 60), V(6, 6, 70) },
			    { V(6, 11, 7), V(6, 12, 9) } },
		.concerns = plain_csum,
	},
	{
		.reference = "fixed by e609c959a939",
		.level = BT_LEVEL_WARNING,
		.found = "IPv4 packets are cut in software above gso_max_size, which is IPv6's",
		.why = "gso_features_check() looks at one of the two sizes only: IPv4 alone gains "
		       "nothing",
		.advice = "enable IPv6 too, or use Linux 6.12, 6.11.3, 6.6.55 or newer",
		/* 24ab059d2ebd and its backports */
		.ranges = { { V(6, 6, 9), V(6, 6, 55) },
			    { V(6, 7, 0), V(6, 10, 14) },
			    { V(6, 11, 0), V(6, 11, 3) } },
		.concerns = ipv4_alone,
	},
	{
		.reference = "fixed by eaafdaa3e922",
		.level = BT_LEVEL_REFUSE,
		.found = "ip6tables sees the packets of the bridge",
		.why = "before Linux 6.4 it takes the length 0 of jumbo packets for their length and "
		       "cuts them off",
		.advice = "set net.bridge.bridge-nf-call-ip6tables to 0, or use Linux 6.4 or newer",
		.ranges = { { V(5, 19, 0), V(6, 4, 0) } },
		.concerns = filtered,
	},
	{
		.reference = "fixed by the series of eaafdaa3e922",
		.level = BT_LEVEL_WARNING,
		.found = "it is a port of Open vSwitch",
		.why = "before Linux 6.4 its connection tracking takes the length 0 of jumbo packets "
		       "for their length and cuts them off",
		.advice = "use Linux 6.4 or newer, or no ct() in the flows",
		.ranges = { { V(5, 19, 0), V(6, 4, 0) } },
		.concerns = switched,
	},
	{
		.reference = "8b76102c5e00, reverted",
		.level = BT_LEVEL_REFUSE,
		.found =
			"its driver, or that of a device below it, is ice, which leaves the jumbo header in",
		.why = "these kernels got half of a change: the stack adds the header, the driver "
		       "sends it",
		.advice = "use Linux 6.18.34, 6.12.92, 6.6.142 or newer",
		.ranges = { { V(6, 6, 141), V(6, 6, 142) },
			    { V(6, 12, 91), V(6, 12, 92) },
			    { V(6, 18, 33), V(6, 18, 34) } },
		.concerns = by_ice,
	},
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static bool in_range(const struct bt_kernel_fault *f, __u32 version)
{
	for (unsigned int i = 0; f->ranges[i].fixed; i++) {
		if (version >= f->ranges[i].first && version < f->ranges[i].fixed)
			return true;
	}
	return false;
}

const struct bt_kernel_fault *bt_kernel_fault(const struct bt_kernel_facts *facts,
					      const struct bt_kernel_fault *prev)
{
	for (unsigned int i = prev ? prev - faults + 1 : 0; i < FAULTS; i++) {
		if (in_range(&faults[i], facts->version) && faults[i].concerns(facts))
			return &faults[i];
	}
	return NULL;
}
