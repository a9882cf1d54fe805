// SPDX-License-Identifier: GPL-2.0
/*
 * Requests and responses over TCP between two network namespaces: the client sends a request, the server answers when
 * it has all of it, and the client sends the next when it has all of the answer. The time between is kept
 * of each transaction, so that percentiles are exact. One process is both ends.
 *
 * A message starts and ends with the number of its transaction (as far as it has room for that): what is lost, doubled or
 * exchanged on the way moves the numbers and is seen, as is a byte too many or too few.
 *
 * One JSON line on stdout. Exit: 0 every byte of every transaction has arrived; 1 not so; 2 no traffic.
 */
#include "conn.h"

#include <linux/tcp.h>
#include <pthread.h>
#include <stdbool.h>

#define STEP_MS	    100 /* how long a call may block: deadlines are looked at this often */
#define MAX_CONNS   64
#define MAX_MESSAGE (64u << 20)
#define BUCKETS	    (32 * 16) /* of the histogram: sixteen for each doubling */
#define STALL_NS    10000000000ULL /* without a byte: the peer is gone */

struct config {
	struct conn_args conn;
	double secs;
	uint64_t max; /* transactions of each connection; 0: no limit but the time */
	uint64_t warm; /* transactions before those that count */
	uint64_t close_after; /* the server closes after so many transactions; 0: it does not */
	uint32_t request, response;
	unsigned int conns;
	bool pin; /* clients on the first CPU, servers on the last */
};

enum outcome { GOING, DONE, CLOSED, STALLED, WRONG, FAILED };
static const char *const outcomes[] = { "going",   "done",  "peer closed the connection",
					"stalled", "wrong", "failed" };

/* One end of a connection. */
struct end {
	const struct config *cfg;
	int fd;
	uint64_t n; /* transactions that are complete, the first ones (warm) too */
	uint64_t sent, received; /* bytes */
	enum outcome outcome;
	int err;
	uint8_t *buf;
	/* client: */
	uint64_t stop; /* ns: no transaction begins after it */
	uint64_t first, last; /* ns: start and end of what counts */
	uint32_t *ns; /* of each transaction that counts */
	size_t n_ns, room;
	struct tcp_info info;
	pthread_t thread;
};

static void tag(uint8_t *buf, uint32_t len, uint64_t n)
{
	if (len >= sizeof(n)) {
		memcpy(buf, &n, sizeof(n));
		memcpy(buf + len - sizeof(n), &n, sizeof(n));
	}
}

static bool tagged(const uint8_t *buf, uint32_t len, uint64_t n)
{
	return len < sizeof(n) ||
	       (!memcmp(buf, &n, sizeof(n)) && !memcmp(buf + len - sizeof(n), &n, sizeof(n)));
}

static bool fail(struct end *e, enum outcome outcome)
{
	e->outcome = outcome;
	e->err = outcome == FAILED ? errno : 0;
	return false;
}

/* Did a call that moved nothing end the traffic? @quiet: since when nothing has moved. */
static bool ended(struct end *e, uint64_t quiet)
{
	if (errno == EPIPE || errno == ECONNRESET)
		fail(e, CLOSED);
	else if (errno != EAGAIN && errno != EINTR)
		fail(e, FAILED);
	else if (now_ns() - quiet > STALL_NS)
		fail(e, STALLED);
	return e->outcome != GOING;
}

static bool send_all(struct end *e, uint32_t len)
{
	uint64_t quiet = now_ns();
	uint32_t done = 0;

	while (done < len) {
		ssize_t n = send(e->fd, e->buf + done, len - done, MSG_NOSIGNAL);

		if (n > 0) {
			done += n;
			e->sent += n;
			quiet = now_ns();
		} else if (ended(e, quiet)) {
			return false;
		}
	}
	return true;
}

/* @may_end: the other end may close here, before the first byte. */
static bool recv_all(struct end *e, uint32_t len, bool may_end)
{
	uint64_t quiet = now_ns();
	uint32_t done = 0;

	while (done < len) {
		ssize_t n = recv(e->fd, e->buf + done, len - done, 0);

		if (n > 0) {
			done += n;
			e->received += n;
			quiet = now_ns();
		} else if (!n) {
			return fail(e, may_end && !done ? DONE : CLOSED);
		} else if (ended(e, quiet)) {
			return false;
		}
	}
	return true;
}

static void pin_to(const struct config *cfg, int cpu)
{
	cpu_set_t set;

	if (!cfg->pin)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *server(void *arg)
{
	struct end *e = arg;
	const struct config *c = e->cfg;

	pin_to(c, sysconf(_SC_NPROCESSORS_ONLN) - 1);
	while (recv_all(e, c->request, true)) {
		if (!tagged(e->buf, c->request, e->n)) {
			fail(e, WRONG);
			break;
		}
		if (c->close_after && e->n == c->close_after) {
			fail(e, DONE);
			break;
		}
		tag(e->buf, c->response, e->n);
		if (!send_all(e, c->response))
			break;
		e->n++;
	}
	shutdown(e->fd, SHUT_RDWR);
	return NULL;
}

static bool keep(struct end *e, uint64_t ns)
{
	if (e->n_ns == e->room) {
		uint32_t *p = realloc(e->ns, (e->room * 2 + 4096) * sizeof(*p));

		if (!p)
			return fail(e, FAILED);
		e->ns = p;
		e->room = e->room * 2 + 4096;
	}
	e->ns[e->n_ns++] = ns < UINT32_MAX ? ns : UINT32_MAX;
	return true;
}

static bool transaction(struct end *e)
{
	const struct config *c = e->cfg;
	uint64_t start = now_ns(), end;

	tag(e->buf, c->request, e->n);
	if (!send_all(e, c->request) || !recv_all(e, c->response, false))
		return false;
	end = now_ns();
	if (!tagged(e->buf, c->response, e->n))
		return fail(e, WRONG);
	e->n++;
	if (e->n <= c->warm)
		return true;
	if (!e->n_ns) {
		e->first = start;
		e->stop = start + c->secs * 1e9;
	}
	e->last = end;
	return keep(e, end - start);
}

static void *client(void *arg)
{
	struct end *e = arg;
	const struct config *c = e->cfg;
	socklen_t len = sizeof(e->info);

	pin_to(c, 0);
	while (!c->max || e->n < c->warm + c->max) {
		if (now_ns() >= e->stop || !transaction(e))
			break;
	}
	if (e->outcome == GOING)
		e->outcome = DONE;
	getsockopt(e->fd, IPPROTO_TCP, TCP_INFO, &e->info, &len);
	shutdown(e->fd, SHUT_WR);
	return NULL;
}

static int start(const struct config *cfg, struct end *ends)
{
	for (unsigned int i = 0; i < 2 * cfg->conns; i++) {
		ends[i].stop = UINT64_MAX; /* the time runs from the first one that counts */
		if (pthread_create(&ends[i].thread, NULL, i % 2 ? server : client, &ends[i])) {
			errno = EAGAIN;
			return conn_die("pthread_create");
		}
	}
	for (unsigned int i = 0; i < 2 * cfg->conns; i++)
		pthread_join(ends[i].thread, NULL);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The least time that @percent of all took at most; @ns is sorted. */
static double percentile(const uint32_t *ns, size_t n, double percent)
{
	size_t rank = (size_t)(percent * n / 100.0);

	if (rank < percent * n / 100.0)
		rank++;
	return n ? ns[rank ? rank - 1 : 0] / 1e3 : 0;
}

/* The bucket of a time: its exponent and the four bits below. */
static unsigned int bucket_of(uint32_t ns)
{
	unsigned int e = ns < 16 ? 0 : 27 - __builtin_clz(ns);

	return e * 16 + (ns >> e);
}

/* The first time above a bucket. */
static uint64_t bucket_end(unsigned int b)
{
	unsigned int e = b < 32 ? 0 : b / 16 - 1;

	return ((uint64_t)(b - e * 16) + 1) << e;
}

static void print_times(const uint32_t *ns, size_t n)
{
	static const double percents[] = { 50, 90, 99 };
	static uint64_t counts[BUCKETS];
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += ns[i];
		counts[bucket_of(ns[i])]++;
	}
	printf("\"us\":{\"min\":%.3f,\"mean\":%.3f", percentile(ns, n, 0), n ? sum / n / 1e3 : 0);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		printf(",\"p%.0f\":%.3f", percents[i], percentile(ns, n, percents[i]));
	printf(",\"max\":%.3f},\"histogram\":[", percentile(ns, n, 100));
	for (unsigned int b = 0, some = 0; b < BUCKETS; b++) {
		if (!counts[b])
			continue;
		printf("%s[%.3f,%llu]", some++ ? "," : "", bucket_end(b) / 1e3,
		       (unsigned long long)counts[b]);
	}
	printf("],");
}

/* Both ends have seen the same transactions, and all of their bytes. */
static bool complete(const struct config *c, const struct end *cl, const struct end *sv)
{
	return cl->outcome == DONE && sv->outcome == DONE && cl->n == sv->n &&
	       cl->sent == cl->n * c->request && sv->received == cl->sent &&
	       sv->sent == sv->n * c->response && cl->received == sv->sent;
}

struct total {
	uint32_t *ns; /* sorted */
	size_t n_ns;
	uint64_t n, sent, received, retrans;
	double tps; /* of all connections together */
	double secs; /* of the one that took longest */
	bool complete;
};

static int add_up(const struct config *cfg, const struct end *ends, struct total *t)
{
	*t = (struct total){ .complete = true };
	for (unsigned int i = 0; i < cfg->conns; i++)
		t->n_ns += ends[2 * i].n_ns;
	t->ns = malloc((t->n_ns + 1) * sizeof(*t->ns));
	if (!t->ns)
		return conn_die("malloc");
	t->n_ns = 0;
	for (unsigned int i = 0; i < cfg->conns; i++) {
		const struct end *cl = &ends[2 * i], *sv = &ends[2 * i + 1];
		double secs = (cl->last - cl->first) / 1e9;

		t->complete = t->complete && complete(cfg, cl, sv);
		t->n += cl->n;
		t->sent += cl->sent;
		t->received += sv->received;
		t->retrans += cl->info.tcpi_total_retrans;
		t->tps += secs > 0 ? cl->n_ns / secs : 0;
		t->secs = secs > t->secs ? secs : t->secs;
		if (cl->n_ns)
			memcpy(t->ns + t->n_ns, cl->ns, cl->n_ns * sizeof(*t->ns));
		t->n_ns += cl->n_ns;
	}
	qsort(t->ns, t->n_ns, sizeof(*t->ns), by_value);
	return 0;
}

static void print_ends(const struct config *cfg, const struct end *ends)
{
	printf("\"connections\":[");
	for (unsigned int i = 0; i < cfg->conns; i++) {
		const struct end *cl = &ends[2 * i], *sv = &ends[2 * i + 1];

		printf("%s{\"requests\":%llu,\"answers\":%llu,\"client_sent\":%llu,"
		       "\"server_received\":%llu,\"server_sent\":%llu,\"client_received\":%llu,"
		       "\"client\":\"%s\",\"server\":\"%s\",\"error\":%d}",
		       i ? "," : "", (unsigned long long)cl->n, (unsigned long long)sv->n,
		       (unsigned long long)cl->sent, (unsigned long long)sv->received,
		       (unsigned long long)sv->sent, (unsigned long long)cl->received,
		       outcomes[cl->outcome], outcomes[sv->outcome], cl->err ? cl->err : sv->err);
	}
	printf("]}\n");
}

static int report(const struct config *cfg, const struct end *ends, double cpu)
{
	struct total t;

	if (add_up(cfg, ends, &t))
		return 2;
	/* cpu_us: of all transactions, those that do not count for the times too */
	printf("{\"complete\":%s,\"request\":%u,\"response\":%u,\"transactions\":%zu,"
	       "\"seconds\":%.6f,\"tps\":%.3f,\"cpu_us\":%.3f,\"retrans\":%llu,",
	       t.complete ? "true" : "false", cfg->request, cfg->response, t.n_ns, t.secs, t.tps,
	       t.n ? cpu * 1e6 / t.n : 0, (unsigned long long)t.retrans);
	print_times(t.ns, t.n_ns);
	print_ends(cfg, ends);
	free(t.ns);
	return t.complete ? 0 : 1;
}

static int connect_all(const struct config *cfg, struct end *ends)
{
	size_t len = cfg->request > cfg->response ? cfg->request : cfg->response;
	int fds[2], one = 1;

	for (unsigned int i = 0; i < cfg->conns; i++) {
		if (make_connection(&cfg->conn, STEP_MS, fds))
			return -1;
		for (unsigned int k = 0; k < 2; k++) {
			struct end *e = &ends[2 * i + k];

			e->cfg = cfg;
			e->fd = fds[k];
			e->buf = calloc(1, len);
			if (!e->buf)
				return conn_die("malloc");
			/* The end of a message does not wait for an acknowledgement (Nagle). */
			setsockopt(fds[k], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		}
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: rr -c CLIENT_NS -s SERVER_NS -a SERVER_ADDR [-p PORT] [-l LISTEN_PORT]\n"
		"          [-r REQUEST_BYTES[,RESPONSE_BYTES]] [-t SECONDS] [-n TRANSACTIONS]\n"
		"          [-w TRANSACTIONS before those that count] [-m CONNECTIONS]\n"
		"          [-P (pin the ends to CPUs)] [-x TRANSACTIONS (then the server closes)]\n");
	return 2;
}

static bool take_number(const char *text, uint64_t max, uint64_t *val)
{
	char *end;

	errno = 0;
	*val = strtoull(text, &end, 10);
	return !errno && end != text && !*end && *val <= max;
}

/* "80000" or "80000,100" */
static bool take_sizes(char *text, struct config *c)
{
	char *second = strchr(text, ',');
	uint64_t request, response;

	if (second)
		*second++ = '\0';
	if (!take_number(text, MAX_MESSAGE, &request) ||
	    !take_number(second ? second : text, MAX_MESSAGE, &response))
		return false;
	c->request = request;
	c->response = response;
	return request && response;
}

static bool take(struct config *c, int o)
{
	uint64_t n = 0;
	bool ok = true;

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
		ok = take_number(optarg, 65535, &n);
		c->conn.port = n;
		break;
	case 'l':
		ok = take_number(optarg, 65535, &n);
		c->conn.listen_port = n;
		break;
	case 'r':
		return take_sizes(optarg, c);
	case 't':
		c->secs = atof(optarg);
		ok = c->secs > 0;
		break;
	case 'n':
		ok = take_number(optarg, UINT32_MAX, &c->max);
		break;
	case 'w':
		ok = take_number(optarg, UINT32_MAX, &c->warm);
		break;
	case 'x':
		ok = take_number(optarg, UINT32_MAX, &c->close_after);
		break;
	case 'm':
		ok = take_number(optarg, MAX_CONNS, &n) && n;
		c->conns = n;
		break;
	case 'P':
		c->pin = true;
		break;
	default:
		ok = false;
	}
	return ok;
}

int main(int argc, char **argv)
{
	struct config cfg = {
		.conn = { .port = 5201 },
		.secs = 1,
		.request = 80000,
		.response = 80000,
		.warm = 100,
		.conns = 1,
	};
	struct end *ends;
	double cpu;
	int o, ret;

	while ((o = getopt(argc, argv, "c:s:a:p:l:r:t:n:w:x:m:P")) != -1) {
		if (!take(&cfg, o))
			return usage();
	}
	if (!cfg.conn.client_ns || !cfg.conn.server_ns || !cfg.conn.addr || optind != argc)
		return usage();
	if (!cfg.conn.listen_port)
		cfg.conn.listen_port = cfg.conn.port;
	ends = calloc(2 * cfg.conns, sizeof(*ends));
	if (!ends || connect_all(&cfg, ends))
		return 2;
	cpu = cpu_secs();
	if (start(&cfg, ends))
		return 2;
	ret = report(&cfg, ends, cpu_secs() - cpu);
	for (unsigned int i = 0; i < 2 * cfg.conns; i++) {
		close(ends[i].fd);
		free(ends[i].buf);
		free(ends[i].ns);
	}
	free(ends);
	return ret;
}
