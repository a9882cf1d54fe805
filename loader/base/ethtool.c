// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/ethtool.h"

#define FEATURES_MAX 256 /* there are some 70 */

static int call(int ifindex, void *what)
{
	int fd __close = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_data = what };

	if (fd < 0 || !if_indextoname((unsigned int)ifindex, ifr.ifr_name))
		return -errno;
	return ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
}

static int count(int ifindex, __u32 *n)
{
	struct {
		struct ethtool_sset_info info;
		__u32 len;
	} q = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES } };
	int err = call(ifindex, &q);

	if (err)
		return err;
	if (!q.info.sset_mask || !q.len || q.len > FEATURES_MAX)
		return -EOPNOTSUPP;
	*n = q.len;
	return 0;
}

/* Number of the feature: its bit. */
static int find(int ifindex, const char *name, __u32 n)
{
	struct ethtool_gstrings *s __free = calloc(1, sizeof(*s) + n * ETH_GSTRING_LEN);
	int err;

	if (!s)
		return -ENOMEM;
	s->cmd = ETHTOOL_GSTRINGS;
	s->string_set = ETH_SS_FEATURES;
	s->len = n;
	err = call(ifindex, s);
	if (err)
		return err;
	for (__u32 i = 0; i < n && i < s->len; i++) {
		if (!strncmp((char *)s->data + i * ETH_GSTRING_LEN, name, ETH_GSTRING_LEN))
			return (int)i;
	}
	return -ENOENT;
}

int bt_ethtool_feature(int ifindex, const char *name, struct bt_feature_state *state)
{
	struct {
		struct ethtool_gfeatures head;
		struct ethtool_get_features_block block[FEATURES_MAX / 32];
	} q = { .head = { .cmd = ETHTOOL_GFEATURES } };
	const struct ethtool_get_features_block *b;
	__u32 n = 0, bit;
	int err, at;

	err = count(ifindex, &n);
	if (err)
		return err;
	at = find(ifindex, name, n);
	if (at < 0)
		return at;
	q.head.size = (n + 31) / 32;
	err = call(ifindex, &q);
	if (err)
		return err;
	b = &q.block[at / 32];
	bit = 1u << at % 32;
	state->on = b->active & bit;
	state->fixed = !(b->available & bit) || (b->never_changed & bit);
	return 0;
}

int bt_ethtool_set(int ifindex, __u32 cmd, bool on)
{
	struct ethtool_value val = { .cmd = cmd, .data = on };
	int err = call(ifindex, &val);

	if (err)
		return err;
	val.cmd = cmd - 1; /* ETHTOOL_G... */
	err = call(ifindex, &val);
	if (err)
		return err;
	return !val.data == !on ? 0 : -EOPNOTSUPP;
}

void bt_ethtool_driver(int ifindex, char *buf, size_t len)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	buf[0] = 0;
	if (!call(ifindex, &info))
		snprintf(buf, len, "%.*s", (int)sizeof(info.driver), info.driver);
}
