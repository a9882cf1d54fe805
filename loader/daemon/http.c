// SPDX-License-Identifier: GPL-2.0
#include "daemon/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"

/* Of each of the two sockets. Those that come when all are in use wait in the backlog. */
#define CLIENTS	     16U
#define BACKLOG	     16
#define CLIENT_SECS  10U /* without a byte from or to a client */
#define CLIENT_BYTES 8192U /* for a request and the head of its answer */

/* Scrapes within this time get the same text: collecting it is what costs. */
#define KEEP_MS 250
/* Turns of MHD_run() in one call: it may have more to do than it did. */
#define TURNS	     8

#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { AT_UNIX, AT_TCP, SOCKETS };

struct bt_http {
	struct bt_http_opts o;
	struct MHD_Daemon *mhd[SOCKETS];
	int epoll; /* of their two */
	unsigned int port;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)]; /* "": no UNIX socket */
	dev_t dev; /* and inode: is the file at path still ours? */
	ino_t ino;
	struct MHD_Response *text;
	long long made_ms;
};

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- answers ------------------------------------------------------------------------------------ */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *fmt, ...)
{
	struct MHD_Response *r;
	enum MHD_Result ret;
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return MHD_NO;
	n = (size_t)n < sizeof(text) ? n : (int)sizeof(text) - 1;
	r = MHD_create_response_from_buffer((size_t)n, text, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	ret = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ret;
}

static void drop_text(struct bt_http *h)
{
	if (h->text)
		MHD_destroy_response(h->text); /* lives on while it is being sent */
	h->text = NULL;
}

/* The text goes into a file in memory: thousands of devices make megabytes of it, which would be the daemon's
 * while its slowest client reads.
 */
static int make_text(struct bt_http *h)
{
	int fd __close = memfd_create("metrics", MFD_CLOEXEC);
	FILE *to __fclose = NULL;
	off_t len;
	int err;

	if (fd < 0)
		return -errno;
	to = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), "w");
	if (!to)
		return -errno;
	err = h->o.metrics(h->o.arg, to);
	if (err)
		return err;
	if (fflush(to))
		return -errno;
	len = lseek(fd, 0, SEEK_END);
	if (len < 0)
		return -errno;
	drop_text(h);
	h->text = MHD_create_response_from_fd64((uint64_t)len, fd);
	if (!h->text)
		return -ENOMEM;
	TAKE_FD(fd);
	MHD_add_response_header(h->text, "Content-Type", CONTENT_TYPE);
	h->made_ms = now_ms();
	return 0;
}

static enum MHD_Result answer_metrics(struct bt_http *h, struct MHD_Connection *c)
{
	int err = 0;

	if (!h->text || now_ms() - h->made_ms >= KEEP_MS)
		err = make_text(h);
	if (err)
		return answer(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "cannot collect metrics: %s\n",
			      strerror(-err));
	return MHD_queue_response(c, MHD_HTTP_OK, h->text);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct bt_http *h = arg;
	char why[400] = "";

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(h, c);
	if (!strcmp(url, "/healthz")) {
		bool ok = h->o.healthy(h->o.arg, why, sizeof(why));

		return answer(c, ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, "%s\n", why);
	}
	return answer(c, MHD_HTTP_NOT_FOUND, "there are /metrics and /healthz\n");
}

/* --- sockets ------------------------------------------------------------------------------------ */

/* Does somebody listen there? */
static bool is_alive(const struct sockaddr_un *a)
{
	int fd __close = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 || !connect(fd, (const struct sockaddr *)a, sizeof(*a)) ||
	       errno != ECONNREFUSED;
}

/* A socket file that a daemon which was killed has left. */
static int remove_stale(const struct sockaddr_un *a)
{
	struct stat st;

	if (lstat(a->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return bt_err(-EEXIST, "%s is there, and is no socket: it is left alone",
			      a->sun_path);
	if (is_alive(a))
		return bt_err(-EADDRINUSE, "somebody listens at %s: is another bigtcpd running?",
			      a->sun_path);
	return unlink(a->sun_path) ? -errno : 0;
}

static int listen_unix(struct bt_http *h, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const struct sockaddr *sa = (const struct sockaddr *)&a;
	int fd __close = -1;
	struct stat st;
	int err;

	if (strlen(path) >= sizeof(a.sun_path))
		return bt_err(-ENAMETOOLONG, "the path of a socket has at most %zu bytes: %s",
			      sizeof(a.sun_path) - 1, path);
	strcpy(a.sun_path, path);
	err = remove_stale(&a);
	if (err)
		return bt_err(err, "cannot make the socket %s: %s", path, strerror(-err));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The file gets this mode less the umask: at no time more people can open it than after chmod(). */
	if (fd < 0 || fchmod(fd, 0660) || bind(fd, sa, sizeof(a)))
		return bt_err(-errno, "cannot make the socket %s: %s", path, strerror(errno));
	strcpy(h->path, path);
	if (chmod(path, 0660) || stat(path, &st) || listen(fd, BACKLOG))
		return bt_err(-errno, "cannot listen at %s: %s", path, strerror(errno));
	h->dev = st.st_dev;
	h->ino = st.st_ino;
	return TAKE_FD(fd);
}

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	socklen_t len;
};

static bool is_loopback(const struct address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

static bool parse_host(char *host, __u16 port, struct address *a)
{
	size_t len = strlen(host);

	if (*host == '[' && host[len - 1] == ']') {
		host[len - 1] = 0;
		a->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
		a->len = sizeof(a->v6);
		return inet_pton(AF_INET6, host + 1, &a->v6.sin6_addr) == 1;
	}
	a->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	a->len = sizeof(a->v4);
	return inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
			 &a->v4.sin_addr) == 1;
}

static int parse_listen(const char *listen, struct address *a)
{
	char host[64];
	char *colon;
	__u64 port;

	snprintf(host, sizeof(host), "%s", listen);
	colon = strrchr(host, ':');
	if (colon)
		*colon = 0;
	if (!colon || strlen(listen) >= sizeof(host) || !*host ||
	    !bt_number(colon + 1, 65535, &port) || !parse_host(host, (__u16)port, a))
		return bt_err(-EINVAL,
			      "'%s' is not ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464",
			      listen);
	if (!is_loopback(a))
		return bt_err(
			-EINVAL,
			"%s is not of this host alone (127.0.0.0/8, [::1], localhost): metrics are "
			"not encrypted and not protected by a password; to have them elsewhere, put a "
			"proxy in front, or use node_exporter's textfile collector",
			listen);
	return 0;
}

int bt_http_check_listen(const char *listen)
{
	struct address a;

	return parse_listen(listen, &a);
}

static int listen_tcp(struct bt_http *h, const char *where)
{
	struct address a;
	int fd __close = -1;
	int one = 1;
	int err = parse_listen(where, &a);

	if (err)
		return err;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &a.any, a.len) || listen(fd, BACKLOG) || getsockname(fd, &a.any, &a.len))
		return bt_err(-errno, "cannot listen at %s: %s", where, strerror(errno));
	h->port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	return TAKE_FD(fd);
}

/* --- the server --------------------------------------------------------------------------------- */

/* Takes @fd. */
static int serve(struct bt_http *h, int at, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	const union MHD_DaemonInfo *info;

	if (fd < 0)
		return fd;
	h->mhd[at] = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT, CLIENT_SECS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES, MHD_OPTION_END);
	if (!h->mhd[at]) {
		close(fd);
		return bt_err(-ENOMEM, "libmicrohttpd does not start");
	}
	info = MHD_get_daemon_info(h->mhd[at], MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || epoll_ctl(h->epoll, EPOLL_CTL_ADD, info->epoll_fd, &ev))
		return bt_err(-errno, "cannot wait for libmicrohttpd: %s", strerror(errno));
	return 0;
}

int bt_http_new(const struct bt_http_opts *opts, struct bt_http **out)
{
	struct bt_http *h __cleanup(bt_http_free) = calloc(1, sizeof(*h));
	int err = 0;

	if (!h)
		return -ENOMEM;
	h->o = *opts;
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0)
		return -errno;
	/* A client that goes away is no reason to end; sendfile() has no flag to say so. */
	signal(SIGPIPE, SIG_IGN);
	if (opts->socket)
		err = serve(h, AT_UNIX, listen_unix(h, opts->socket));
	if (!err && opts->listen)
		err = serve(h, AT_TCP, listen_tcp(h, opts->listen));
	if (err)
		return err;
	*out = TAKE_PTR(h);
	return 0;
}

int bt_http_fd(const struct bt_http *h)
{
	return h->epoll;
}

int bt_http_timeout(const struct bt_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms, least = INT32_MAX;
	bool any = false;

	for (int i = 0; i < SOCKETS; i++) {
		if (!h->mhd[i] || MHD_get_timeout(h->mhd[i], &ms) != MHD_YES)
			continue;
		any = true;
		least = ms < least ? ms : least;
	}
	return any ? (int)least : -1;
}

void bt_http_run(struct bt_http *h)
{
	int turns = 0;

	do {
		for (int i = 0; i < SOCKETS; i++) {
			if (h->mhd[i])
				MHD_run(h->mhd[i]);
		}
	} while (!bt_http_timeout(h) && ++turns < TURNS);
}

unsigned int bt_http_port(const struct bt_http *h)
{
	return h->port;
}

static void remove_socket(const struct bt_http *h)
{
	struct stat st;

	if (h->path[0] && !lstat(h->path, &st) && st.st_dev == h->dev && st.st_ino == h->ino)
		unlink(h->path);
}

void bt_http_free(struct bt_http **hp)
{
	struct bt_http *h = *hp;

	if (!h)
		return;
	/* First, so that nobody finds a socket at which nobody answers. */
	remove_socket(h);
	for (int i = 0; i < SOCKETS; i++) {
		if (h->mhd[i])
			MHD_stop_daemon(h->mhd[i]);
	}
	drop_text(h);
	if (h->epoll >= 0)
		close(h->epoll);
	free(h);
	*hp = NULL;
}
