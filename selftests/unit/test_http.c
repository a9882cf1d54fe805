// SPDX-License-Identifier: GPL-2.0
/* The metrics endpoint: what it answers, whom it listens to, and that no client can hold it up. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "daemon/http.h"

#define LIMIT_MS 30000

static char dir[] = "/tmp/bt-http-XXXXXX", path[64];
static struct bt_http *http;
static unsigned int asked; /* how often for metrics */
static int metrics_err;
static size_t metrics_len = 12;
static bool is_healthy = true;

static int metrics(void *arg, FILE *to)
{
	cr_assert_eq(arg, &asked);
	asked++;
	if (metrics_err)
		return metrics_err;
	fputs("a_metric 1\n", to);
	for (size_t n = 11; n < metrics_len; n++)
		putc('x', to);
	return 0;
}

static bool healthy(void *arg, char *why, size_t len)
{
	(void)arg;
	snprintf(why, len, is_healthy ? "all is well" : "d0 has sizes of 65536");
	return is_healthy;
}

static int start(const char *sock, const char *listen)
{
	struct bt_http_opts o = { sock, listen, metrics, healthy, &asked };

	return bt_http_new(&o, &http);
}

static void setup(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
}

static void teardown(void)
{
	bt_http_free(&http);
	unlink(path);
	rmdir(dir);
}

TestSuite(http, .init = setup, .fini = teardown, .timeout = 60);

static int dial_unix(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(a.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0, "%s", strerror(errno));
	return fd;
}

static int dial_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(bt_http_port(http)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0, "%s", strerror(errno));
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* One turn of an event loop that has nothing else to do. */
static void turn(int client)
{
	struct pollfd p[2] = { { .fd = bt_http_fd(http), .events = POLLIN },
			       { .fd = client, .events = POLLIN } };
	int ms = bt_http_timeout(http);

	poll(p, client < 0 ? 1 : 2, ms < 0 || ms > 100 ? 100 : ms);
	bt_http_run(http);
}

/* Everything that comes until the server closes, as a string: free(). */
static char *read_all(int fd, size_t *len)
{
	long long end = now_ms() + LIMIT_MS;
	size_t cap = 1 << 16, n = 0;
	char *buf = malloc(cap);

	for (;;) {
		ssize_t got = read(fd, buf + n, cap - n - 1);

		if (!got)
			break;
		if (got > 0)
			n += got;
		if (n + 1 == cap)
			buf = realloc(buf, cap *= 2);
		if (got < 0) {
			cr_assert_eq(errno, EAGAIN, "%s", strerror(errno));
			cr_assert_lt(now_ms(), end, "no answer");
			turn(fd);
		}
	}
	buf[n] = 0;
	if (len)
		*len = n;
	close(fd);
	return buf;
}

static void ask(int fd, const char *method, const char *url)
{
	char req[128];
	int n = snprintf(req, sizeof(req), "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			 method, url);

	cr_assert_eq(write(fd, req, n), n);
}

/* @want: what must be in the answer, each a string, ends with NULL. */
static void expect(int fd, const char *method, const char *url, const char *const *want)
{
	char *text;

	ask(fd, method, url);
	text = read_all(fd, NULL);
	for (; *want; want++)
		cr_assert(strstr(text, *want), "%s %s: no '%s' in: %s", method, url, *want, text);
	free(text);
}

#define EXPECT(fd, method, url, ...) \
	expect(fd, method, url, (const char *const[]){ __VA_ARGS__, NULL })

Test(http, over_a_unix_socket)
{
	struct stat st;

	umask(0);
	cr_assert_eq(start(path, NULL), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0660);
	cr_assert_eq(bt_http_port(http), 0);
	EXPECT(dial_unix(), "GET", "/metrics", "HTTP/1.1 200 ", "\r\n\r\na_metric 1\n",
	       "Content-Type: text/plain; version=0.0.4", "Content-Length: 12\r\n");
	bt_http_free(&http);
	cr_assert_neq(access(path, F_OK), 0);
}

Test(http, over_loopback)
{
	char *text;
	int fd;

	cr_assert_eq(start(path, "127.0.0.1:0"), 0);
	cr_assert_neq(bt_http_port(http), 0);
	EXPECT(dial_tcp(), "GET", "/metrics", "HTTP/1.1 200 ", "\r\n\r\na_metric 1\n");
	EXPECT(dial_unix(), "GET", "/metrics", "HTTP/1.1 200 ");
	EXPECT(dial_tcp(), "POST", "/metrics", "HTTP/1.1 405 ", "Allow: GET");
	EXPECT(dial_tcp(), "GET", "/", "HTTP/1.1 404 ");
	EXPECT(dial_tcp(), "GET", "/metricsx", "HTTP/1.1 404 ");
	fd = dial_tcp();
	ask(fd, "HEAD", "/metrics");
	text = read_all(fd, NULL);
	cr_assert(strstr(text, "HTTP/1.1 200 ") && !strstr(text, "a_metric"), "%s", text);
	free(text);
}

Test(http, health)
{
	cr_assert_eq(start(path, NULL), 0);
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 200 ", "all is well\n");
	is_healthy = false;
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 503 ", "d0 has sizes of 65536\n");
	cr_assert_eq(asked, 0);
}

Test(http, what_cannot_be_collected)
{
	cr_assert_eq(start(path, NULL), 0);
	metrics_err = -EPERM;
	EXPECT(dial_unix(), "GET", "/metrics", "HTTP/1.1 500 ", "Operation not permitted");
	metrics_err = 0;
	EXPECT(dial_unix(), "GET", "/metrics", "HTTP/1.1 200 ");
}

/* Scrapes at once cost one collection. */
Test(http, many_scrapes)
{
	int fd[8];

	cr_assert_eq(start(path, NULL), 0);
	for (int i = 0; i < 8; i++) {
		fd[i] = dial_unix();
		ask(fd[i], "GET", "/metrics");
	}
	for (int i = 0; i < 8; i++) {
		char *text = read_all(fd[i], NULL);

		cr_assert(strstr(text, "a_metric 1"), "%s", text);
		free(text);
	}
	/* More only where the machine took longer than they are kept. */
	cr_assert_lt(asked, 8);
}

/* Idle clients fill one socket: the other answers, and nobody waits. */
Test(http, idle_clients)
{
	int idle[40];
	long long t0;

	cr_assert_eq(start(path, "127.0.0.1:0"), 0);
	for (int i = 0; i < 16; i++) {
		idle[i] = dial_unix();
		turn(-1);
	}
	for (int i = 16; i < 24; i++)
		idle[i] = dial_unix();
	t0 = now_ms();
	for (int i = 0; i < 50; i++)
		bt_http_run(http);
	cr_assert_lt(now_ms() - t0, 5000);
	cr_assert_geq(bt_http_timeout(http), 0);
	cr_assert_leq(bt_http_timeout(http), 10000);
	EXPECT(dial_tcp(), "GET", "/healthz", "HTTP/1.1 200 ");
	for (int i = 0; i < 24; i++)
		close(idle[i]);
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 200 ");
}

/* Megabytes to a client that does not read: the others get theirs, and it gets its own in the end. */
Test(http, slow_reader)
{
	size_t len = 0;
	char *text, *body;
	int fd;

	metrics_len = 5000000;
	cr_assert_eq(start(path, NULL), 0);
	fd = dial_unix();
	ask(fd, "GET", "/metrics");
	for (int i = 0; i < 20; i++)
		turn(-1);
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 200 ");
	text = read_all(fd, &len);
	body = strstr(text, "\r\n\r\n");
	cr_assert(body);
	cr_assert_eq(len - (body + 4 - text), metrics_len);
	free(text);
	/* One that goes away in the middle. */
	fd = dial_unix();
	ask(fd, "GET", "/metrics");
	for (int i = 0; i < 20; i++)
		turn(-1);
	close(fd);
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 200 ");
}

Test(http, addresses)
{
	static const char *const good[] = { "127.0.0.1:9464", "127.1.2.3:1", "[::1]:9464",
					    "localhost:0" };
	static const char *const bad[] = {
		"0.0.0.0:9464",	   "[::]:9464",	 "10.0.0.1:80",
		"[fe80::1]:80",	   "127.0.0.1",	 "9464",
		":9464",	   "127.0.0.1:", "127.0.0.1:x",
		"127.0.0.1:65536", "::1:9464",	 "[::1]",
		"example.org:80",  "",		 "[::ffff:10.0.0.1]:80",
	};

	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert_eq(bt_http_check_listen(good[i]), 0, "%s", good[i]);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(bt_http_check_listen(bad[i]), -EINVAL, "%s", bad[i]);
		cr_assert(bt_err_text());
		bt_err_clear();
	}
	cr_assert_eq(start(path, "0.0.0.0:0"), -EINVAL);
	cr_assert_neq(access(path, F_OK), 0, "the socket is left");
}

Test(http, stale_socket)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct bt_http *first;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(a.sun_path, path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	cr_assert_eq(start(path, NULL), 0);
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 200 ");
	/* A second daemon leaves the first alone. */
	first = http;
	http = NULL;
	cr_assert_eq(start(path, NULL), -EADDRINUSE);
	bt_err_clear();
	http = first;
	EXPECT(dial_unix(), "GET", "/healthz", "HTTP/1.1 200 ");
	/* Not its own any more: it stays. */
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	bt_http_free(&http);
	cr_assert_eq(access(path, F_OK), 0);
	close(fd);
}

Test(http, files_are_left_alone)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	cr_assert_eq(write(fd, "mine", 4), 4);
	close(fd);
	cr_assert_eq(start(path, NULL), -EEXIST);
	cr_assert(strstr(bt_err_text(), "no socket"));
	bt_err_clear();
	cr_assert_eq(access(path, F_OK), 0);
}
