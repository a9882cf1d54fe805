// SPDX-License-Identifier: GPL-2.0
/*
 * A wire between two tun devices, which it makes: a link of devices without link-layer header, between
 * two network namespaces. With -g the devices do GRO (IFF_NAPI).
 *
 * Prints "ready" when the devices are there, and how many packets went each way when it ends: at its time
 * limit, or by SIGTERM. The devices go with it.
 */
#include "base/cleanup.h"
#include "base/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define MAX_PACKET 65536
#define BURST	   64 /* packets one way before the other way is looked at */
#define STEP_MS	   100
#define MAX_SECS   600

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/* A tun device in a namespace; an fd, or -1 with a sentence on stderr. */
static int make_tun(const char *ns, const char *dev, bool gro)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI | (gro ? IFF_NAPI : 0) };
	int fd __close = -1, err = bt_netns_enter(ns);

	if (err) {
		fprintf(stderr, "tunrelay: %s: %s\n", ns, strerror(-err));
		return -1;
	}
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	strncpy(ifr.ifr_name, dev, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr)) {
		fprintf(stderr, "tunrelay: tun %s: %s\n", dev, strerror(errno));
		return -1;
	}
	return TAKE_FD(fd);
}

/* What waits at @from, to @to. A packet that a device does not take (it is down) is dropped. */
static unsigned int relay(int from, int to)
{
	static char packet[MAX_PACKET];
	unsigned int n = 0;
	ssize_t len;

	for (int i = 0; i < BURST; i++) {
		len = read(from, packet, sizeof(packet));
		if (len <= 0)
			break;
		n += write(to, packet, len) == len;
	}
	return n;
}

static int usage(void)
{
	fprintf(stderr, "usage: tunrelay [-g] [-t SECONDS] NS1 DEV1 NS2 DEV2\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_term };
	int a __close = -1, b __close = -1, o, secs = 60;
	uint64_t there = 0, back = 0, end;
	bool gro = false;

	while ((o = getopt(argc, argv, "gt:")) != -1) {
		if (o == 'g')
			gro = true;
		else if (o == 't')
			secs = atoi(optarg);
		else
			return usage();
	}
	if (argc - optind != 4 || secs < 1 || secs > MAX_SECS)
		return usage();
	argv += optind;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	a = make_tun(argv[0], argv[1], gro);
	if (a < 0)
		return 2;
	b = make_tun(argv[2], argv[3], gro);
	if (b < 0)
		return 2;
	printf("ready\n");
	fflush(stdout);

	end = now_ms() + secs * 1000ull;
	while (!stop && now_ms() < end) {
		struct pollfd p[2] = { { a, POLLIN, 0 }, { b, POLLIN, 0 } };

		/* Down: an error at once, and no packet. */
		if (poll(p, 2, STEP_MS) > 0 && !((p[0].revents | p[1].revents) & POLLIN))
			usleep(STEP_MS * 1000);
		there += relay(a, b);
		back += relay(b, a);
	}
	printf("{\"there\":%llu,\"back\":%llu}\n", (unsigned long long)there,
	       (unsigned long long)back);
	return 0;
}
