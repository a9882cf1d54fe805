// SPDX-License-Identifier: GPL-2.0
/*
 * The live look: two private namespaces, a veth pair, BIG TCP sizes, a TCP transfer of a few MB,
 * and an observer at the sender's egress or the receiver's ingress. Everything lives and dies with
 * one child process.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bigtcp/jumbo.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/ethtool.h"
#include "base/netns.h"
#include "base/progress.h"
#include "core/observer.h"
#include "core/probe.h"
#include "core/transfer.h"

#define SIZE	   185000 /* asked of the devices: well above 64 KiB, well below the limit */
#define LEGACY_MAX 65536
#define BYTES	   (16UL << 20) /* a transfer ends before that as soon as it has shown enough */
#define ENOUGH	   4 /* jumbo packets that settle the matter */
/* For when something is wrong: a look takes 0.1 s, and all of them 5 s on an emulated machine. */
#define LOOK_MS 2000
#define RUN_MS	20000
/* A poll takes 64 packets at most: of 1500 bytes, GRO would rarely build 64 KiB from them. */
#define GRO_MTU 9000

/* fd00:b16::1, ::2 and 192.0.2.1, .2 (documentation) */
#define TX6	  "fd00:b16::1"
#define RX6	  "fd00:b16::2"
#define TX4	  "192.0.2.1"
#define RX4	  "192.0.2.2"
#define PORT	  5001

#define XDP_MTU	  1500 /* what a veth takes native XDP at */
#define XDP_BYTES (4UL << 20)

#define LOOKING	  "looking at BIG TCP"

/* The stage: what the four looks have in common. */
struct stage {
	int tx_ns, rx_ns;
	int tx_if, rx_if; /* ifindex, each in its namespace */
	bool tcx;
	bool big; /* sizes above 64 KiB were accepted */
	bool big4;
};

static int addr_add(int ifindex, const char *six, const char *four)
{
	__u8 a6[16], a4[4];
	int err;

	inet_pton(AF_INET6, six, a6);
	inet_pton(AF_INET, four, a4);
	err = bt_addr_add(ifindex, AF_INET6, a6, 64);
	return err ? err : bt_addr_add(ifindex, AF_INET, a4, 24);
}

/* An end of the pair, in the namespace the caller is in. */
static int end_up(const char *name, const char *six, const char *four, int *ifindex)
{
	struct bt_link l;
	int err = bt_link_get_name(name, &l);

	if (err)
		return err;
	err = bt_link_set_mtu(l.ifindex, GRO_MTU);
	if (err)
		return err;
	err = addr_add(l.ifindex, six, four);
	if (err)
		return err;
	*ifindex = l.ifindex;
	return bt_link_set_up(l.ifindex);
}

static bool takes(int ifindex, size_t field, __u32 size)
{
	struct bt_sizes s = {};

	*(__u32 *)((char *)&s + field) = size;
	return !bt_link_set_sizes(ifindex, &s);
}

/* Largest value the kernel takes for one of the sizes; the field is left at one it takes. */
static __u32 largest(int ifindex, size_t field)
{
	__u32 lo = 0, hi = 1U << 20;

	/* 6.1 checks gro_max_size against nothing. */
	if (takes(ifindex, field, hi)) {
		bt_err_clear();
		return BT_NO_LIMIT;
	}

	/* The limit of all kernels so far, and that of old ones: no need to search. */
	if (takes(ifindex, field, BIGTCP_MAX_SIZE))
		lo = BIGTCP_MAX_SIZE;
	else if (takes(ifindex, field, LEGACY_MAX))
		lo = LEGACY_MAX;
	if (lo && !takes(ifindex, field, lo + 1))
		hi = lo + 1;
	while (hi - lo > 1) {
		__u32 mid = lo + (hi - lo) / 2;

		if (takes(ifindex, field, mid))
			lo = mid;
		else
			hi = mid;
	}
	bt_err_clear();
	return lo;
}

static int try_sizes(int ifindex, struct bt_live *live)
{
	struct bt_link l;
	int err = bt_link_get(ifindex, &l);

	if (err)
		return err;
	live->tso_max = l.sizes.tso_max;
	live->max.gso = largest(ifindex, offsetof(struct bt_sizes, gso));
	live->max.gro = largest(ifindex, offsetof(struct bt_sizes, gro));
	if (!l.sizes.gso_ipv4)
		return 0;
	live->max.gso_ipv4 = largest(ifindex, offsetof(struct bt_sizes, gso_ipv4));
	live->max.gro_ipv4 = largest(ifindex, offsetof(struct bt_sizes, gro_ipv4));
	return 0;
}

static int set_sizes(int ifindex, const struct stage *st)
{
	struct bt_sizes s = { .gso = SIZE, .gro = SIZE };

	if (st->big4)
		s.gso_ipv4 = s.gro_ipv4 = SIZE;
	return st->big ? bt_link_set_sizes(ifindex, &s) : 0;
}

/* Where the sender cuts its packets up, it is the receiver's GRO that builds large ones. */
static int let_gro_build(const struct stage *st, bool gro)
{
	int err = bt_netns_set(st->tx_ns);

	if (!err)
		err = bt_ethtool_set(st->tx_if, ETHTOOL_STSO, !gro);
	if (!err)
		err = bt_ethtool_set(st->tx_if, ETHTOOL_SGSO, !gro);
	if (!err)
		err = bt_netns_set(st->rx_ns);
	if (!err)
		err = bt_ethtool_set(st->rx_if, ETHTOOL_SGRO, gro);
	return err;
}

static int build(struct stage *st, struct bt_live *live)
{
	struct bt_link nk;
	int err;

	st->tx_ns = bt_netns_self();
	err = bt_netns_new();
	st->rx_ns = bt_netns_self();
	if (st->tx_ns < 0 || err || st->rx_ns < 0)
		return bt_err(-EPERM, "cannot make a second private network namespace");
	err = bt_netns_set(st->tx_ns);
	if (!err)
		err = bt_veth_add("bt0", "bt1", st->rx_ns);
	if (!err)
		err = end_up("bt0", TX6, TX4, &st->tx_if);
	if (!err)
		err = try_sizes(st->tx_if, live);
	st->big = live->max.gso > LEGACY_MAX && live->max.gro > LEGACY_MAX;
	st->big4 = live->max.gso_ipv4 > LEGACY_MAX && live->max.gro_ipv4 > LEGACY_MAX;
	if (!err)
		err = set_sizes(st->tx_if, st);
	if (err)
		return err;
	live->netkit = !bt_link_add("nk0", "netkit") && !bt_link_get_name("nk0", &nk) &&
		       !bt_link_del(nk.ifindex);
	bt_err_clear();
	err = bt_netns_set(st->rx_ns);
	if (!err)
		err = end_up("bt1", RX6, RX4, &st->rx_if);
	return err ? err : set_sizes(st->rx_if, st);
}

static int seen_enough(void *arg)
{
	struct bt_seen seen;

	return !bt_observer_read(arg, &seen) && seen.hbh + seen.len0 + seen.ipv4 >= ENOUGH;
}

/* What was seen, and what became of the transfer (0 or -errno), as an answer. */
static void judge(const struct bt_seen *seen, int err, bool v4, struct bt_look *look)
{
	unsigned long long with = v4 ? 0 : seen->hbh, without = v4 ? seen->ipv4 : seen->len0;
	const char *fmt;

	look->packets = with + without;
	look->max_len = seen->max_len;
	look->n_bytes = seen->n_bytes;
	memcpy(look->bytes, seen->bytes, sizeof(look->bytes));
	if (!look->packets) {
		look->form = BT_FORM_UNKNOWN;
		snprintf(look->why, sizeof(look->why),
			 "no packet above 64 KiB among the %llu of a transfer%s%s",
			 (unsigned long long)seen->packets, err ? " that ended early: " : "",
			 err ? strerror(-err) : "");
		return;
	}
	if ((with && without) || seen->malformed) {
		look->form = BT_FORM_UNKNOWN;
		snprintf(
			look->why, sizeof(look->why),
			"a mixture: %llu packets with the jumbo header, %llu without, %llu odd ones",
			with, without, (unsigned long long)seen->malformed);
		return;
	}
	look->form = with ? BT_FORM_HBH : BT_FORM_NO_HEADER;
	fmt = with ? "seen: %llu packets above 64 KiB, all with the jumbo header"
		   : "seen: %llu packets above 64 KiB, none with a jumbo header";
	snprintf(look->why, sizeof(look->why), fmt, with + without);
}

static int transfer(const struct stage *st, bool v4, unsigned long bytes, int (*enough)(void *arg),
		    struct bt_observer *o)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	struct bt_route r = { .tx_ns = st->tx_ns, .rx_ns = st->rx_ns };

	inet_pton(AF_INET6, RX6, &a6.sin6_addr);
	inet_pton(AF_INET, RX4, &a4.sin_addr);
	r.addr = v4 ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
	r.addr_len = v4 ? sizeof(a4) : sizeof(a6);
	return bt_transfer(&r, bytes, LOOK_MS, enough, o);
}

static int one_look(const struct stage *st, struct bt_observer *o, bool recv, bool v4,
		    struct bt_look *look)
{
	struct bt_seen seen = {};
	int err;

	if (v4 ? !st->big4 : !st->big) {
		look->form = BT_FORM_NO_BIG_TCP;
		snprintf(look->why, sizeof(look->why), "a veth takes no %ssizes above 64 KiB",
			 v4 ? "IPv4 " : "");
		return 0;
	}
	err = let_gro_build(st, recv);
	if (!err)
		err = bt_netns_set(recv ? st->rx_ns : st->tx_ns);
	if (err)
		return bt_err(err, "cannot switch offloads of a veth: %s", strerror(-err));
	err = bt_observer_attach(o, recv ? st->rx_if : st->tx_if, recv);
	if (err)
		return err;
	err = transfer(st, v4, BYTES, seen_enough, o);
	if (bt_observer_read(o, &seen))
		return bt_err(-EIO, "cannot read what the observer saw");
	judge(&seen, err, v4, look);
	return 0;
}

/* --- what XDP does -------------------------------------------------------------- */

/* A program that lets everything pass; its fd. */
static int load_pass(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "bigtcp_pass", "GPL", insns, 2, NULL);

	return fd < 0 ? -errno : fd;
}

static int gro_seen(void *arg)
{
	struct bt_seen seen;

	return !bt_observer_read(arg, &seen) && seen.max_len > GRO_MTU + 100;
}

/* Packets of the MTU come to a device with a generic program, and GRO is switched on: is it? */
static enum bt_switch generic_gro(const struct stage *st, struct bt_observer *o, int prog)
{
	enum bt_switch is = BT_SWITCH_UNKNOWN;
	struct bt_seen seen = {};
	int err = let_gro_build(st, true);

	if (!err)
		err = bt_netns_set(st->rx_ns);
	if (!err)
		err = bpf_xdp_attach(st->rx_if, prog, XDP_FLAGS_SKB_MODE, NULL);
	if (err)
		return is;
	if (!bt_observer_attach(o, st->rx_if, true)) {
		err = transfer(st, false, XDP_BYTES, gro_seen, o);
		if (gro_seen(o))
			is = BT_SWITCH_ON;
		else if (!err && !bt_observer_read(o, &seen) && seen.packets > XDP_BYTES / GRO_MTU)
			is = BT_SWITCH_OFF; /* all of it has come, in small pieces */
	}
	if (!bt_netns_set(st->rx_ns))
		bpf_xdp_detach(st->rx_if, XDP_FLAGS_SKB_MODE, NULL);
	return is;
}

/* TSO of the sender is on; is it still, when the other end gets a native program? */
static enum bt_switch native_tso(const struct stage *st, int prog)
{
	struct bt_feature_state before, after;
	int err = let_gro_build(st, false);

	if (!err)
		err = bt_netns_set(st->rx_ns);
	if (!err)
		err = bt_link_set_mtu(st->rx_if, XDP_MTU);
	if (!err)
		err = bt_netns_set(st->tx_ns);
	if (!err)
		err = bt_link_set_mtu(st->tx_if, XDP_MTU);
	if (!err)
		err = bt_ethtool_feature(st->tx_if, "tx-tcp6-segmentation", &before);
	if (!err)
		err = bt_netns_set(st->rx_ns);
	if (!err)
		err = bpf_xdp_attach(st->rx_if, prog, XDP_FLAGS_DRV_MODE, NULL);
	if (!err)
		err = bt_netns_set(st->tx_ns);
	if (!err)
		err = bt_ethtool_feature(st->tx_if, "tx-tcp6-segmentation", &after);
	if (err || !before.on)
		return BT_SWITCH_UNKNOWN;
	return after.on ? BT_SWITCH_ON : BT_SWITCH_OFF;
}

/* What can't be found out is no failure of the looks. */
static void look_at_xdp(const struct stage *st, struct bt_observer *o, struct bt_live *live)
{
	int prog __close = load_pass();

	if (prog < 0)
		return;
	/* GRO says something only where it was seen at work without a program. */
	if (live->looks[BT_LIVE_RECV].packets)
		live->generic_gro = generic_gro(st, o, prog);
	live->native_tso = native_tso(st, prog);
	bt_err_clear();
}

static int in_child(void *arg, void *res)
{
	struct bt_observer *o __cleanup(bt_observer_free) = NULL;
	struct stage st = { .tx_ns = -1, .rx_ns = -1 };
	struct bt_live *live = res;
	int err;

	(void)arg;
	live->by_tcx = bt_have_tcx();
	err = build(&st, live);
	if (!err)
		err = bt_observer_new(&o);
	for (unsigned int i = 0; !err && i < BT_LIVE_N; i++) {
		bool recv = i == BT_LIVE_RECV || i == BT_LIVE_RECV4;
		bool v4 = i == BT_LIVE_SEND4 || i == BT_LIVE_RECV4;

		bt_progress(LOOKING, i, BT_LIVE_N + 1, bt_look_name(i));
		err = one_look(&st, o, recv, v4, &live->looks[i]);
	}
	bt_progress(LOOKING, BT_LIVE_N, BT_LIVE_N + 1, "XDP");
	if (!err)
		look_at_xdp(&st, o, live);
	return err;
}

int bt_probe_live(struct bt_live *live)
{
	char missing[64];
	int err;

	bt_progress(LOOKING, 0, BT_LIVE_N + 1, NULL);
	err = bt_netns_run(in_child, NULL, live, sizeof(*live), RUN_MS);
	bt_progress_end(); /* the child may have been killed */
	if (err == -EPERM && !bt_missing_caps(missing, sizeof(missing)) && missing[0]) {
		bt_err_clear();
		bt_err(err,
		       "a live look takes CAP_SYS_ADMIN and CAP_NET_ADMIN, and this process "
		       "lacks %s: run it as root, or ask for less with --no-live",
		       missing);
	} else if (err == -ETIMEDOUT) {
		bt_err(err, "the live look took more than %d s", RUN_MS / 1000);
	} else if (err) {
		bt_err(err, "the live look failed: %s", strerror(-err));
	}
	return err;
}
