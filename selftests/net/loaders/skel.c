// SPDX-License-Identifier: GPL-2.0
/*
 * skel THREADS TIMES: a loader made of a libbpf skeleton. Each thread loads the object that often,
 * runs its program and checks that it counts into its own maps and no other thread's.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "count.skel.h"

static int times;
static pthread_barrier_t all_here;

static int once(unsigned int runs)
{
	unsigned char pkt[100] = { [12] = 0x86, [13] = 0xdd, [14] = 0x60, [20] = 6 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = pkt, .data_size_in = sizeof(pkt),
		    .repeat = (int)runs);
	struct count *skel = count__open_and_load();
	__u64 n = 0;
	__u32 key = 0;
	int ok;

	if (!skel)
		return -1;
	ok = !bpf_prog_test_run_opts(bpf_program__fd(skel->progs.count), &run) &&
	     !bpf_map_lookup_elem(bpf_map__fd(skel->maps.seen), &key, &n) && n == runs &&
	     skel->bss->all == runs;
	if (!ok)
		fprintf(stderr, "skel: counted %llu packets, not %u\n", (unsigned long long)n,
			runs);
	count__destroy(skel);
	return ok ? 0 : -1;
}

static void *thread(void *arg)
{
	long bad = 0;

	pthread_barrier_wait(&all_here);
	for (int i = 0; i < times; i++)
		bad += once((unsigned int)(long)arg + 1) != 0;
	return (void *)bad;
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	pthread_t id[64];
	long bad = 0;

	if (threads < 1 || threads > 64)
		return 1;
	times = atoi(argv[2]);
	pthread_barrier_init(&all_here, NULL, (unsigned int)threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&id[i], NULL, thread, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *ret;

		pthread_join(id[i], &ret);
		bad += (long)ret;
	}
	return bad ? 2 : 0;
}
