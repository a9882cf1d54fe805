// SPDX-License-Identifier: GPL-2.0
/*
 * Bounded TCP traffic between two network namespaces, every byte of which is compared at its
 * receiver. One process is both ends, so nothing has to be waited for and nothing stays behind.
 *
 * The stream is a pseudo-random pattern made from a seed, again and again; its length is a prime, so a
 * lost, doubled or exchanged packet shifts the stream against the pattern. Comparing costs a small part
 * of what the copy into the receiver's buffer costs; a hash over the bytes would be what is measured.
 *
 * One JSON line on stdout. Exit: 0 all bytes sent have arrived and are right; 1 not so; 2 no traffic.
 */
#include "base/cleanup.h"
#include "base/netns.h"
#include "conn.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PERIOD	  1048573 /* a prime */
#define MAX_WRITE (4u << 20)
#define STEP_MS	  100 /* how long a call may block: deadlines are looked at this often */
#define ACK_WAIT  5000000000ULL /* ns for the last acknowledgement, once the receiver has all */

struct config {
	struct conn_args conn;
	double secs; /* of sending */
	double drain; /* seconds for what is still on its way after that */
	uint64_t bytes; /* 0: no limit but the time */
	uint64_t seed;
	unsigned int write_size;
	bool both;
};

/* One direction. */
struct flow {
	const struct config *cfg;
	const uint8_t *pattern; /* PERIOD bytes and the first write_size of them again */
	int tx, rx; /* sockets */
	uint64_t start, stop; /* ns; stop: no byte is sent after it */
	uint64_t sent;
	uint64_t in_time; /* bytes received until in_time_at, which is about stop */
	uint64_t in_time_at;
	uint64_t received;
	uint64_t bad_at; /* offset of the first wrong byte, or UINT64_MAX */
	bool eof;
	int tx_err, rx_err; /* errno, 0 */
	uint64_t retrans, bytes_retrans; /* segments as the kernel counts them; bytes */
	pthread_t tx_thread, rx_thread;
};

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint8_t *make_pattern(uint64_t seed, unsigned int extra)
{
	uint8_t *p = malloc(PERIOD + extra + 8);
	size_t i;

	if (!p)
		return NULL;
	for (i = 0; i < PERIOD; i += 8) {
		uint64_t r = next_random(&seed);

		memcpy(p + i, &r, 8);
	}
	for (i = 0; i < extra; i++)
		p[PERIOD + i] = p[i % PERIOD];
	return p;
}

/* Once all is acknowledged, or @end is over: up to then the sender may send some of it again (a loss
 * probe, when the acknowledgement of the last bytes is late).
 */
static void keep_info(struct flow *f, uint64_t end)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	for (;;) {
		if (getsockopt(f->tx, IPPROTO_TCP, TCP_INFO, &info, &len))
			return;
		if (!info.tcpi_unacked || now_ns() >= end)
			break;
		usleep(1000);
	}
	f->retrans = info.tcpi_total_retrans;
	f->bytes_retrans = info.tcpi_bytes_retrans;
}

static void *sender(void *arg)
{
	struct flow *f = arg;

	while (now_ns() < f->stop) {
		uint64_t left = f->cfg->bytes ? f->cfg->bytes - f->sent : UINT64_MAX;
		size_t len = left < f->cfg->write_size ? left : f->cfg->write_size;
		ssize_t n;

		if (!len)
			break;
		n = send(f->tx, f->pattern + f->sent % PERIOD, len, MSG_NOSIGNAL);
		if (n > 0) {
			f->sent += n;
		} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
			f->tx_err = errno;
			break;
		}
	}
	shutdown(f->tx, SHUT_WR);
	return NULL;
}

static void compare(struct flow *f, const uint8_t *buf, size_t n)
{
	const uint8_t *want = f->pattern + f->received % PERIOD;
	size_t i;

	if (f->bad_at != UINT64_MAX || !memcmp(buf, want, n))
		return;
	for (i = 0; buf[i] == want[i]; i++)
		;
	f->bad_at = f->received + i;
}

static void reset_at_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void *receiver(void *arg)
{
	struct flow *f = arg;
	uint64_t end = f->stop + f->cfg->drain * 1e9, now;
	uint8_t *buf __free = malloc(f->cfg->write_size);
	ssize_t n;

	if (!buf) {
		f->rx_err = ENOMEM;
		return NULL;
	}
	do {
		n = recv(f->rx, buf, f->cfg->write_size, 0);
		now = now_ns();
		if (n > 0) {
			compare(f, buf, n);
			f->received += n;
		} else if (!n) {
			f->eof = true;
		} else if (errno != EAGAIN && errno != EINTR) {
			f->rx_err = errno;
		}
		if (!f->in_time_at && (now >= f->stop || f->eof || f->rx_err)) {
			f->in_time = f->received;
			f->in_time_at = now;
		}
	} while (!f->eof && !f->rx_err && now < end);
	/* What did not arrive must not be sent again when the process is gone: a later flow would be blamed. */
	if (!f->eof) {
		reset_at_close(f->tx);
		reset_at_close(f->rx);
	}
	keep_info(f, f->eof ? now + ACK_WAIT : now);
	return NULL;
}

static int run_flows(struct flow *flows, int n)
{
	uint64_t start = now_ns();

	for (int i = 0; i < n; i++) {
		flows[i].start = start;
		flows[i].stop = start + flows[i].cfg->secs * 1e9;
		flows[i].bad_at = UINT64_MAX;
		if (pthread_create(&flows[i].rx_thread, NULL, receiver, &flows[i]) ||
		    pthread_create(&flows[i].tx_thread, NULL, sender, &flows[i])) {
			errno = EAGAIN;
			return conn_die("pthread_create");
		}
	}
	for (int i = 0; i < n; i++) {
		pthread_join(flows[i].tx_thread, NULL);
		pthread_join(flows[i].rx_thread, NULL);
	}
	return 0;
}

static bool complete(const struct flow *f)
{
	return f->eof && f->received == f->sent && !f->tx_err && !f->rx_err;
}

static double gbps(const struct flow *f)
{
	return f->in_time * 8.0 / (f->in_time_at - f->start + 1);
}

static bool report(const struct flow *flows, int n, double cpu)
{
	bool ok = true, all = true;
	double sum = 0;

	for (int i = 0; i < n; i++) {
		ok = ok && flows[i].bad_at == UINT64_MAX;
		all = all && complete(&flows[i]);
		sum += gbps(&flows[i]);
	}
	printf("{\"gbps\":%.4f,\"ok\":%s,\"complete\":%s,\"cpu_seconds\":%.6f,\"flows\":[", sum,
	       ok ? "true" : "false", all ? "true" : "false", cpu);
	for (int i = 0; i < n; i++) {
		const struct flow *f = &flows[i];

		printf("%s{\"gbps\":%.4f,\"seconds\":%.3f,\"sent\":%llu,\"received\":%llu,"
		       "\"bad_at\":%lld,\"retrans\":%llu,\"bytes_retrans\":%llu,\"error\":%d}",
		       i ? "," : "", gbps(f), (f->in_time_at - f->start) / 1e9,
		       (unsigned long long)f->sent, (unsigned long long)f->received,
		       (long long)f->bad_at, (unsigned long long)f->retrans,
		       (unsigned long long)f->bytes_retrans, f->tx_err ? f->tx_err : f->rx_err);
	}
	printf("]}\n");
	return ok && all;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: traffic -c CLIENT_NS -s SERVER_NS -a SERVER_ADDR [-p PORT] [-l LISTEN_PORT]\n"
		"               [-t SECONDS] [-n BYTES] [-d DRAIN_SECONDS] [-w WRITE_SIZE] [-S SEED]\n"
		"               [-b (both directions at once)]\n");
	return 2;
}

static int parse(int argc, char **argv, struct config *c)
{
	int o;

	while ((o = getopt(argc, argv, "c:s:a:p:l:t:n:d:w:S:b")) != -1) {
		switch (o) {
		case 'c':
			c->conn.client_ns = optarg;
			break;
		case 's':
			c->conn.server_ns = optarg;
			break;
		case 'a':
			c->conn.addr = optarg;
			break;
		case 'p':
			c->conn.port = atoi(optarg);
			break;
		case 'l':
			c->conn.listen_port = atoi(optarg);
			break;
		case 't':
			c->secs = atof(optarg);
			break;
		case 'n':
			c->bytes = strtoull(optarg, NULL, 0);
			break;
		case 'd':
			c->drain = atof(optarg);
			break;
		case 'w':
			c->write_size = strtoul(optarg, NULL, 0);
			break;
		case 'S':
			c->seed = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			c->both = true;
			break;
		default:
			return usage();
		}
	}
	if (!c->conn.listen_port)
		c->conn.listen_port = c->conn.port;
	if (!c->conn.client_ns || !c->conn.server_ns || !c->conn.addr || optind != argc ||
	    c->secs <= 0 || !c->write_size || c->write_size > MAX_WRITE)
		return usage();
	return 0;
}

int main(int argc, char **argv)
{
	struct config cfg = {
		.conn = { .port = 5201 }, .secs = 1, .drain = 5, .write_size = 128 << 10, .seed = 1
	};
	struct flow flows[2] = { { 0 } };
	double cpu;
	int fds[2];

	if (parse(argc, argv, &cfg))
		return 2;
	if (make_connection(&cfg.conn, STEP_MS, fds))
		return 2;
	for (int i = 0; i < 2; i++) {
		flows[i].cfg = &cfg;
		flows[i].tx = fds[i];
		flows[i].rx = fds[!i];
		flows[i].pattern = make_pattern(cfg.seed + i, cfg.write_size);
		if (!flows[i].pattern)
			return 2;
	}
	cpu = cpu_secs();
	if (run_flows(flows, cfg.both ? 2 : 1))
		return 2;
	return report(flows, cfg.both ? 2 : 1, cpu_secs() - cpu) ? 0 : 1;
}
