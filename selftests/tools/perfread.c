// SPDX-License-Identifier: GPL-2.0
/*
 * Reads what programs write with bpf_perf_event_output() to a perf event array, given by its path in bpffs or its
 * id, and prints each sample as a line of hexadecimal digits. Prints "ready" on stderr when samples can
 * come. Ends after SECONDS, after COUNT samples, or by SIGTERM.
 *
 * The last line on stderr is "N samples, N lost".
 */
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define PAGES	 256 /* of ring, a CPU; a power of two */
#define STEP_MS	 100
#define MAX_SECS 600

static volatile sig_atomic_t stop;
static uint64_t n_samples, n_lost, max_samples = 1000000;

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

static void on_sample(void *arg, int cpu, void *data, __u32 size)
{
	const uint8_t *p = data;

	(void)arg;
	(void)cpu;
	if (n_samples >= max_samples)
		return;
	n_samples++;
	for (__u32 i = 0; i < size; i++)
		printf("%02x", p[i]);
	putchar('\n');
}

static void on_lost(void *arg, int cpu, __u64 cnt)
{
	(void)arg;
	(void)cpu;
	n_lost += cnt;
}

static int die(const char *what, int err)
{
	fprintf(stderr, "perfread: %s: %s\n", what, strerror(err));
	return 2;
}

static int usage(void)
{
	fprintf(stderr, "usage: perfread [-t SECONDS] [-n COUNT] MAP_PATH|MAP_ID\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_term };
	int fd __close = -1, o, secs = 10;
	struct perf_buffer *pb;
	uint64_t end;

	while ((o = getopt(argc, argv, "t:n:")) != -1) {
		if (o == 't')
			secs = atoi(optarg);
		else if (o == 'n')
			max_samples = strtoull(optarg, NULL, 0);
		else
			return usage();
	}
	if (optind + 1 != argc || secs < 1 || secs > MAX_SECS)
		return usage();
	fd = argv[optind][0] == '/' ? bpf_obj_get(argv[optind])
				    : bpf_map_get_fd_by_id(strtoul(argv[optind], NULL, 0));
	if (fd < 0)
		return die(argv[optind], errno);
	pb = perf_buffer__new(fd, PAGES, on_sample, on_lost, NULL, NULL);
	if (!pb)
		return die("perf events", errno);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	fprintf(stderr, "ready\n");

	end = now_ms() + secs * 1000ull;
	while (!stop && n_samples < max_samples && now_ms() < end)
		perf_buffer__poll(pb, STEP_MS);
	/* What is in the rings already. */
	perf_buffer__consume(pb);
	perf_buffer__free(pb);
	fprintf(stderr, "%llu samples, %llu lost\n", (unsigned long long)n_samples,
		(unsigned long long)n_lost);
	return 0;
}
