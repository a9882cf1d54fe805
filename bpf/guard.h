/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: what it counts and drops, and the maps in which it says so. Shared by its programs
 * (guard_tc.bpf.c, guard_xdp.bpf.c), by `bigtcp guard` and by the tests.
 *
 * A hop-by-hop jumbo header on this host is either the kernel's own (BIG TCP, 5.19 to 6.19; see
 * <bigtcp/jumbo.h>) or has come from a wire, where no link that Linux drives can carry a packet
 * which needs one. The guard tells them apart by what only the kernel can make:
 *
 *	tc	a GSO packet of more than 65535 bytes after IPv6, with exactly the kernel's header. Only the local
 *		stack, a virtual machine behind a tap device and GRO make GSO packets, and GRO does not
 *		take a packet whose payload_len is not its length.
 *	XDP	a packet of that length with exactly the kernel's header. Native XDP runs
 *		before GRO and never sees one; generic XDP sees the whole packets of a veth's peer.
 *
 * Only IPv6 right behind the link header (and VLAN tags) is looked at, not what tunnels carry.
 * Lengths and offsets below are those of the IPv6 packet: "the packet" ends with skb->len or the
 * XDP buffer, less a payload_len that is shorter. A packet can be of several classes: each counts
 * it, and one that says drop is enough.
 */
#ifndef BIGTCP_GUARD_H
#define BIGTCP_GUARD_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* What a class stands for. */
#define GUARD_OWN   0 /* the kernel's: never dropped */
#define GUARD_KNOWN 1 /* breaks no rule; counted, dropped only if told so */
#define GUARD_WRONG 2 /* breaks a rule; dropped unless told otherwise, and reported as an event */

/*
 * X(SYMBOL, "name", kind, "rule", "what it is"). The position is the bit in masks: append only.
 *
 * RFC 2675 section 3 lists four errors that a node must detect (PLEN, SHORT, FRAG, ABSENT); section 2 says
 * how the option looks, RFC 8200 how headers and options do. The kernel's receiver is
 * net/ipv6/exthdrs.c:ipv6_hop_jumbo() and ip6_parse_tlv().
 */
#define GUARD_CLASSES(X)                                                                          \
	X(OWN_HBH, "own-hbh", GUARD_OWN, "BIG TCP",                                               \
	  "the kernel's own jumbo packet, with its hop-by-hop header")                            \
	X(OWN_LEN0, "own-len0", GUARD_OWN, "BIG TCP",                                             \
	  "the kernel's own jumbo packet, without a header (kernel 7.0 and later)")               \
	X(HBH, "hbh", GUARD_KNOWN, "RFC 8200 4.3", "another hop-by-hop header: MLD, RSVP ...")    \
	X(FOREIGN, "foreign", GUARD_KNOWN, "RFC 2675 2",                                          \
	  "a jumbo packet as the RFC has it, but not as the kernel writes it")                    \
	X(DEEP, "deep", GUARD_KNOWN, "-", "more headers or options than the guard looks at")      \
	X(FORGED, "forged", GUARD_WRONG, "BIG TCP",                                               \
	  "the kernel's header byte for byte, on a packet that is not the kernel's")              \
	X(LEN0, "len0", GUARD_WRONG, "RFC 8200 3",                                                \
	  "payload_len 0 without a hop-by-hop header, though a header follows")                   \
	X(ABSENT, "absent", GUARD_WRONG, "RFC 2675 3",                                            \
	  "payload_len 0 and a hop-by-hop header without a jumbo option")                         \
	X(PLEN, "plen", GUARD_WRONG, "RFC 2675 3", "a jumbo option beside a payload_len")         \
	X(SHORT, "short", GUARD_WRONG, "RFC 2675 3", "a jumbo length below 65536")                \
	X(FRAG, "frag", GUARD_WRONG, "RFC 2675 3", "a jumbo option and a fragment header")        \
	X(BEYOND, "beyond", GUARD_WRONG, "RFC 2675 2", "a jumbo length longer than the packet")   \
	X(TRAIL, "trail", GUARD_WRONG, "RFC 2675 2", "a jumbo length shorter than the packet")    \
	X(OPTLEN, "optlen", GUARD_WRONG, "RFC 2675 2",                                            \
	  "a jumbo option whose length field is not 4")                                           \
	X(ALIGN, "align", GUARD_WRONG, "RFC 2675 2", "a jumbo option that is not at 4n+2")        \
	X(TWICE, "twice", GUARD_WRONG, "RFC 2675 2", "more than one jumbo option")                \
	X(PLACE, "place", GUARD_WRONG, "RFC 2675 2",                                              \
	  "a jumbo option elsewhere: destination options, a later hop-by-hop header")             \
	X(LATE, "late", GUARD_WRONG, "RFC 8200 4.1", "a hop-by-hop header that is not the first") \
	X(CUT, "cut", GUARD_WRONG, "RFC 8200 4.2",                                                \
	  "a hop-by-hop header that ends behind the packet, or an option behind its header")      \
	X(MANY, "many", GUARD_WRONG, "RFC 8504 5.3",                                              \
	  "a hop-by-hop header of more options than the kernel takes by default, and more than 80")

enum guard_class {
#define GUARD_ENUM(sym, name, kind, rule, help) GUARD_##sym##_CLASS,
	GUARD_CLASSES(GUARD_ENUM)
#undef GUARD_ENUM
		GUARD_NR
};

/* GUARD_M(SHORT): the class's bit in a mask. */
#define GUARD_M(sym)				    (1u << GUARD_##sym##_CLASS)

#define GUARD_OR_WRONG(sym, name, kind, rule, help) | ((kind) == GUARD_WRONG ? GUARD_M(sym) : 0)
#define GUARD_OR_OWN(sym, name, kind, rule, help)   | ((kind) == GUARD_OWN ? GUARD_M(sym) : 0)
/* The violations. They are what is dropped at a device that has no struct guard_conf. */
#define GUARD_WRONG_MASK (0u GUARD_CLASSES(GUARD_OR_WRONG))
#define GUARD_OWN_MASK	 (0u GUARD_CLASSES(GUARD_OR_OWN))

/*
 * How far the guard looks: extension headers of a packet, options of a header, both of a packet. In a
 * hop-by-hop header the kernel takes at most 8 options (net.ipv6.max_hbh_opts_number), with up to 7 bytes
 * of padding before, between and behind them.
 */
#define GUARD_MAX_HDRS	8
#define GUARD_MAX_OPTS	80
#define GUARD_MAX_STEPS 200

/* --- maps ---------------------------------------------------------------------------------- */

/* Names of the maps. All but the ring buffer have the device's ifindex (__u32) as key. */
#define GUARD_MAP_CONF	 "guard_conf" /* hash of struct guard_conf, written by userspace */
#define GUARD_MAP_COUNTS "guard_counts" /* per-CPU hash of struct guard_counts */
#define GUARD_MAP_LIMIT	 "guard_limit" /* hash of struct guard_limit: leave it alone */
#define GUARD_MAP_EVENTS "guard_events" /* ring buffer of struct guard_event */

#define GUARD_MAX_DEVS	 1024

struct guard_conf {
	__u32 drop; /* mask of the classes to drop; bits of GUARD_OWN classes mean nothing */
	__u32 burst; /* events that may come at once, at least 1 */
	__u64 interval; /* ns between events in the long run; GUARD_NO_EVENTS */
};

#define GUARD_NO_EVENTS (~0ULL)
/* Without a struct guard_conf. */
#define GUARD_BURST    20
#define GUARD_INTERVAL 100000000ULL /* 10 a second */

struct guard_count {
	__u64 packets;
	__u64 bytes; /* from the link header on */
	__u64 dropped; /* packets, for whatever class */
};

/* Add them up over the CPUs. */
struct guard_counts {
	struct guard_count class[GUARD_NR];
	__u64 wrong; /* packets of at least one GUARD_WRONG class */
	__u64 dropped; /* packets */
	__u64 events; /* written to the ring buffer */
	__u64 suppressed; /* not written: the device's rate is used up */
	__u64 lost; /* not written: the ring buffer is full, nobody reads it */
};

/* The device's token bucket, kept as the time at which it will be full again. */
struct guard_limit {
	__u64 full_at; /* ns, CLOCK_MONOTONIC */
};

enum guard_hook { GUARD_HOOK_TC, GUARD_HOOK_XDP };

#define GUARD_EVENT_IP6 40
#define GUARD_EVENT_EXT 24

/* A packet of a GUARD_WRONG class, or one that was dropped. Host byte order but for the packet. */
struct guard_event {
	__u64 ns; /* CLOCK_MONOTONIC */
	__u32 ifindex;
	__u32 len; /* of the packet, from the link header on */
	__u32 found; /* mask of its classes */
	__u32 gso_size; /* tc */
	__u16 l3_off; /* of the IPv6 header */
	__u8 hook; /* enum guard_hook */
	__u8 dropped;
	__u8 ext_len; /* bytes of ext[] that are there */
	__u8 pad[3];
	__u8 ip6[GUARD_EVENT_IP6];
	__u8 ext[GUARD_EVENT_EXT]; /* what follows the IPv6 header */
};

/* Global variable guard_link, to be set before the program is loaded. */
enum guard_link {
	GUARD_LINK_UNKNOWN, /* tc finds it out for each packet; XDP takes it for Ethernet */
	GUARD_LINK_ETHER,
	GUARD_LINK_NONE, /* tun, WireGuard: packets start with the IP header */
};

#endif /* BIGTCP_GUARD_H */
