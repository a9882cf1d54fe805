// SPDX-License-Identifier: GPL-2.0
/*
 * Sends IPv6 packets that break the rules of the guard (bpf/guard.h), each in one way or a few, from a raw
 * socket: forge [OPTION...] NETNS DEV FRAME|all. What a guard at the other end has to count is printed, one
 * "CLASS PACKETS" a line, and "total PACKETS".
 *   -c N      each frame N times (1)
 *   -l BYTES  all but the first BYTES of a frame are outside of the skb's linear part
 *   -3        from the IPv6 header on, for devices without a link header
 *   -L        list the frames
 */
#include "base/netns.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../bpf/guard.h"
#include "../unit/pktbuild.h"

#define MAX 66014
#define M   GUARD_M

struct frame {
	__u8 data[MAX];
	__u32 len;
};

/* A frame's link and IPv6 header; what follows the latter is @room bytes long. */
static void start(struct pktbuild *p, __u16 plen, __u8 nexthdr)
{
	memset(p, 0, sizeof(*p));
	pb_eth(p, 0x86dd);
	pb_ip6(p, plen, nexthdr);
	memcpy(p->b + 22, "\x20\x01\x0d\xb8\0\x66", 6); /* a source to be found again */
}

static void finish(const struct pktbuild *p, struct frame *f, __u32 len)
{
	memset(f->data, 0, sizeof(f->data));
	memcpy(f->data, p->b, p->n);
	f->len = len;
}

/* A hop-by-hop header of 8 bytes with these options; the IPv6 packet has 100 bytes after its header. */
static void hop(struct frame *f, __u16 plen, const void *opts)
{
	struct pktbuild p;

	start(&p, plen, 0);
	pb_bytes(&p, "\x06\x00", 2);
	pb_bytes(&p, opts, 6);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void forged(struct frame *f)
{
	hop(f, 0, "\xc2\x04\x00\x00\x00\x64");
}

static void whole(struct frame *f)
{
	hop(f, 0, "\xc2\x04\x00\x01\x01\xa8");
	f->len = 54 + 0x101a8;
}

static void absent(struct frame *f)
{
	hop(f, 0, "\x05\x02\x00\x00\x01\x00");
}

static void plen(struct frame *f)
{
	hop(f, 100, "\xc2\x04\x00\x01\x00\x00");
}

static void beyond(struct frame *f)
{
	hop(f, 0, "\xc2\x04\x00\x01\x00\x00");
}

static void trail(struct frame *f)
{
	hop(f, 0, "\xc2\x04\x00\x00\x00\x63");
}

static void optlen(struct frame *f)
{
	hop(f, 100, "\xc2\x02\x00\x00\x01\x00");
}

static void cut(struct frame *f)
{
	hop(f, 100, "\x05\x05\x00\x00\x01\x00");
}

static void frag(struct frame *f)
{
	struct pktbuild p;

	start(&p, 0, 0);
	pb_bytes(&p, "\x2c\x00\xc2\x04\x00\x01\x00\x00", 8);
	pb_frag(&p, 6, 1);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void align(struct frame *f)
{
	struct pktbuild p;

	start(&p, 100, 0);
	pb_bytes(&p, "\x06\x01\x01\x00\xc2\x04\x00\x01\x00\x00\x01\x04\0\0\0\0", 16);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void twice(struct frame *f)
{
	struct pktbuild p;

	start(&p, 100, 0);
	pb_bytes(&p, "\x06\x01\xc2\x04\x00\x01\x00\x00\x01\x00\xc2\x04\x00\x01\x00\x00", 16);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void place(struct frame *f)
{
	struct pktbuild p;

	start(&p, 100, 60);
	pb_bytes(&p, "\x06\x00\xc2\x04\x00\x01\x00\x00", 8);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void late(struct frame *f)
{
	struct pktbuild p;

	start(&p, 100, 60);
	pb_bytes(&p, "\x00\x00\x01\x04\0\0\0\0", 8);
	pb_bytes(&p, "\x06\x00\x05\x02\x00\x00\x01\x00", 8);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void len0(struct frame *f)
{
	struct pktbuild p;

	start(&p, 0, 6);
	pb_tcp(&p);
	finish(&p, f, 154);
}

static void many(struct frame *f)
{
	struct pktbuild p;

	start(&p, 200, 0);
	pb_bytes(&p, "\x06\x0e", 2);
	memset(p.b + p.n, 0, 118);
	p.n += 118;
	pb_tcp(&p);
	finish(&p, f, 254);
}

static void tagged(struct frame *f)
{
	forged(f);
	memmove(f->data + 20, f->data + 12, f->len - 12);
	memcpy(f->data + 12, "\x88\xa8\x00\x07\x81\x00\x00\x05", 8);
	f->len += 8;
}

/* Ended by a next header that nobody has, so that nobody answers. */
static void mld(struct frame *f)
{
	hop(f, 100, "\x05\x02\x00\x00\x01\x00");
	f->data[54] = 59;
}

/* An ordinary packet with a harmless extension header. */
static void dst(struct frame *f)
{
	struct pktbuild p;

	start(&p, 100, 60);
	pb_bytes(&p, "\x3b\x00\x01\x04\0\0\0\0", 8);
	finish(&p, f, 154);
}

static void deep(struct frame *f)
{
	struct pktbuild p;

	start(&p, 200, 60);
	for (int i = 9; i; i--)
		pb_bytes(&p, (__u8[]){ i > 1 ? 60 : 59, 0, 1, 4, 0, 0, 0, 0 }, 8);
	finish(&p, f, 254);
}

/* Larger than a page, for -l. */
static void large(struct frame *f)
{
	hop(f, 0, "\xc2\x04\x00\x00\x17\x70");
	f->len = 54 + 6000;
}

static const struct forgery {
	const char *name;
	void (*make)(struct frame *f);
	__u32 classes;
	bool alone; /* not of "all" */
} forgeries[] = {
	{ "forged", forged, M(FORGED) | M(SHORT) },
	{ "absent", absent, M(ABSENT) },
	{ "plen", plen, M(PLEN) },
	{ "beyond", beyond, M(BEYOND) },
	{ "trail", trail, M(SHORT) | M(TRAIL) },
	{ "optlen", optlen, M(OPTLEN) | M(PLEN) },
	{ "cut", cut, M(CUT) },
	{ "frag", frag, M(FRAG) | M(BEYOND) },
	{ "align", align, M(ALIGN) | M(PLEN) },
	{ "twice", twice, M(TWICE) | M(PLEN) },
	{ "place", place, M(PLACE) },
	{ "late", late, M(LATE) },
	{ "len0", len0, M(LEN0) },
	{ "many", many, M(MANY) },
	{ "tagged", tagged, M(FORGED) | M(SHORT) },
	{ "mld", mld, M(HBH) },
	{ "dst", dst, 0 },
	{ "deep", deep, M(DEEP) },
	{ "large", large, M(FORGED) | M(SHORT), .alone = true },
	{ "whole", whole, M(FORGED), .alone = true },
};
#define N (sizeof(forgeries) / sizeof(forgeries[0]))

static const char *const names[] = {
#define NAME(sym, name, kind, rule, help) name,
	GUARD_CLASSES(NAME)
#undef NAME
};

static int count = 1, linear, no_link;

/* A device that is coming up may lose packets: only what was taken counts. */
static int send_frame(int fd, const struct frame *f)
{
	struct {
		struct virtio_net_hdr h;
		__u8 data[MAX];
	} __attribute__((packed)) out = { .h.hdr_len = linear };
	const void *from = f->data;
	size_t len = f->len;

	if (no_link) {
		from = f->data + 14;
		len -= 14;
	}
	if (linear) {
		memcpy(out.data, from, len);
		from = &out;
		len += sizeof(out.h);
	}
	return send(fd, from, len, 0) == (ssize_t)len ? 0 : -errno;
}

static int open_device(const char *netns, const char *dev)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET };
	int fd, one = 1;

	if (bt_netns_enter(netns)) {
		fprintf(stderr, "forge: there is no namespace %s\n", netns);
		return -1;
	}
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	sll.sll_ifindex = if_nametoindex(dev);
	/* What a device without link header is told of a packet's type. */
	sll.sll_protocol = htons(ETH_P_IPV6);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sll, sizeof(sll)) ||
	    (linear && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))) {
		perror(dev);
		return -1;
	}
	return fd;
}

static int forge(int fd, const char *which)
{
	static struct frame f;
	int sum[GUARD_NR] = {}, total = 0, err;
	bool all = !strcmp(which, "all");

	for (size_t i = 0; i < N; i++) {
		const struct forgery *g = &forgeries[i];

		if (all ? g->alone : strcmp(which, g->name) != 0)
			continue;
		g->make(&f);
		if (no_link && f.data[12] != 0x86)
			continue;
		for (int k = 0; k < count; k++, total++) {
			err = send_frame(fd, &f);
			if (err) {
				fprintf(stderr, "forge: %s: %s\n", g->name, strerror(-err));
				return 1;
			}
			for (int c = 0; c < GUARD_NR; c++)
				sum[c] += g->classes >> c & 1;
		}
	}
	for (int c = 0; c < GUARD_NR; c++) {
		if (sum[c])
			printf("%s %d\n", names[c], sum[c]);
	}
	printf("total %d\n", total);
	return !total;
}

int main(int argc, char **argv)
{
	int c, fd;

	while ((c = getopt(argc, argv, "c:l:3L")) != -1) {
		switch (c) {
		case 'c':
			count = atoi(optarg);
			break;
		case 'l':
			linear = atoi(optarg);
			break;
		case '3':
			no_link = 1;
			break;
		case 'L':
			for (size_t i = 0; i < N; i++)
				puts(forgeries[i].name);
			return 0;
		default:
			return 2;
		}
	}
	if (argc - optind != 3) {
		fputs("usage: forge [-c N] [-l BYTES] [-3] NETNS DEV FRAME|all\n", stderr);
		return 2;
	}
	fd = open_device(argv[optind], argv[optind + 1]);
	return fd < 0 ? 2 : forge(fd, argv[optind + 2]);
}
