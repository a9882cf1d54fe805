/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rtnetlink: the few requests this tool makes, in the network namespace the caller is in. Every
 * function returns 0 or -errno; on errors the sentence for the user holds the kernel's own words
 * (extack) where it sent some.
 */
#ifndef BASE_RTNL_H
#define BASE_RTNL_H

#include <linux/types.h>
#include <net/if.h>
#include <stdbool.h>

/* Sizes in bytes. As BIG TCP goes, above 65536. */
struct bt_sizes {
	__u32 gso; /* gso_max_size: packets built for sending, IPv6 (and IPv4 before 6.3) */
	__u32 gro; /* gro_max_size: packets built on receive */
	__u32 gso_ipv4; /* 6.3; 0: the kernel does not have it */
	__u32 gro_ipv4;
	__u32 tso_max; /* what the driver takes: ceiling of gso and gso_ipv4; read only */
};

struct bt_link {
	int ifindex;
	char name[IFNAMSIZ];
	char kind[24]; /* "veth", "bridge" ...; "" for hardware */
	__u32 flags; /* IFF_* */
	__u32 mtu;
	int peer; /* IFLA_LINK: the peer of a veth, the lower device of a vlan or vxlan; 0: none */
	bool peer_elsewhere; /* the peer is in another namespace: its index means nothing here */
	int peer_nsid; /* of that namespace, as this one knows it; -1: none or unknown */
	int master; /* bridge, bond, team or vrf that it is a port of; 0: none */
	__u16 arp_type; /* ARPHRD_ETHER, ARPHRD_NONE ... */
	__u32 xdp_prog_id; /* 0: none */
	__u8 xdp_mode; /* XDP_ATTACHED_DRV, _SKB, _HW, _MULTI */
	__u32 xdp_drv_id, xdp_skb_id, xdp_hw_id; /* programs in native and generic mode and in
						    hardware; 0: none */
	struct bt_sizes sizes;
};

int bt_link_list(struct bt_link **links, unsigned int *n); /* free() */
int bt_link_get(int ifindex, struct bt_link *link);
/* In the namespace that this one knows as @nsid (peer_nsid). Says nothing about errors: -EPERM, -ENODEV. */
int bt_link_get_in(int nsid, int ifindex, struct bt_link *link);
int bt_link_get_name(const char *name, struct bt_link *link); /* -ENODEV with a sentence */

/* A pair, both ends down. @peer_netns: fd of the namespace the peer is put in, -1: this one.
 * Their indices: bt_link_get_name() or if_nametoindex(), each in its namespace.
 */
int bt_veth_add(const char *name, const char *peer, int peer_netns);
/* Any kind that needs no parameters ("dummy", "netkit"). */
int bt_link_add(const char *name, const char *kind);
int bt_link_del(int ifindex);
int bt_link_set_up(int ifindex);
int bt_link_set_mtu(int ifindex, __u32 mtu);
/* Sets the sizes that are not 0, IPv6's first: the kernel resets IPv4's when gso gets small. What
 * was set before a failure stays.
 */
int bt_link_set_sizes(int ifindex, const struct bt_sizes *sizes);

/* The id that this namespace has for the one behind @fd. 0, or -ENOENT (it has none), -errno. Says nothing about errors. */
int bt_netns_nsid(int fd, int *nsid);

/* @family AF_INET (4 bytes) or AF_INET6 (16 bytes, usable at once: no duplicate address detection),
 * network byte order.
 */
int bt_addr_add(int ifindex, int family, const void *addr, unsigned int prefix_len);

struct nlmsghdr;
/*
 * A dump of tc objects of a device: @type RTM_GETQDISC, RTM_GETTCLASS or RTM_GETTFILTER (of @parent, which the others ignore).
 * fn is called for each until it returns non-zero, which is then returned. Says nothing about errors: -EINVAL, -ENOENT and
 * -EOPNOTSUPP when there is no such qdisc.
 */
int bt_tc_dump(__u16 type, int ifindex, __u32 parent,
	       int (*fn)(const struct nlmsghdr *nlh, void *arg), void *arg);

#endif
