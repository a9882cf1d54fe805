/* SPDX-License-Identifier: GPL-2.0 */
/* Kernels with known faults in BIG TCP, where no live look shows them. */
#ifndef CORE_KERNELS_H
#define CORE_KERNELS_H

#include <linux/types.h>
#include <stdbool.h>

#include "core/preflight.h"

/* A version that compares as a number: 6.12.91 is 6012091. */
#define BT_VERSION(major, minor, patch) ((major)*1000000U + (minor)*1000U + (patch))

/*
 * The upstream version of a kernel; 0: it can't be told. Distributions hide it behind a number of their own: Ubuntu
 * tells it in @signature (/proc/version_signature, "" if there is none), Debian in @version (of uname -v). Others as @release.
 */
__u32 bt_kernel_version(const char *release, const char *version, const char *signature);

/* What a fault hangs on, besides the version. */
struct bt_kernel_facts {
	__u32 version;
	bool ipv6, ipv4; /* sizes above 64 KiB are wanted for */
	bool hbh; /* the jumbo header is in use */
	bool ipv6_csum; /* a device offloads checksums of plain IPv6 only (NETIF_F_IPV6_CSUM) */
	bool ice; /* the device, or one below it, has this driver */
	bool bridge_filter; /* it is at a bridge whose packets ip6tables sees */
	bool ovs; /* it is a port of Open vSwitch */
};

struct bt_kernel_fault {
	const char *reference; /* commit or mail */
	enum bt_level level;
	const char *found, *why, *advice;
	struct {
		__u32 first, fixed; /* from the one, to before the other; 0: ends the list */
	} ranges[6];
	bool (*concerns)(const struct bt_kernel_facts *f);
};

/* The fault after @prev (NULL: the first) that @facts have; NULL: no more. */
const struct bt_kernel_fault *bt_kernel_fault(const struct bt_kernel_facts *facts,
					      const struct bt_kernel_fault *prev);

#endif
