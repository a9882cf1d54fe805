// SPDX-License-Identifier: GPL-2.0
/*
 * raw MODE ...: a loader that only works with its own code: no object file, no library.
 *
 * one            a program that counts into a private map; checks that it does
 * index          the same, with the map named through fd_array
 * many N         N such programs, all held open; then waits for the end of stdin if WAIT is set
 * forever        loads without end, a dot after each (to be killed)
 * threads N M    N threads, M programs each
 * time N         loads and closes N programs: nanoseconds for each on stdout
 * calls N        N calls of getppid(): nanoseconds for each on stdout
 * and those of raw_more.c. Status 0: as expected; otherwise a word on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "raw.h"

int raw_bpf(int cmd, union bpf_attr *attr, unsigned int size)
{
	long ret = syscall(SYS_bpf, cmd, attr, size);

	return ret < 0 ? -errno : (int)ret;
}

int raw_array(void)
{
	union bpf_attr a = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1
	};

	return raw_bpf(BPF_MAP_CREATE, &a, sizeof(a));
}

__u64 raw_value(int map)
{
	__u64 val = 0;
	__u32 key = 0;
	union bpf_attr a = { .map_fd = (__u32)map,
			     .key = (__u64)(unsigned long)&key,
			     .value = (__u64)(unsigned long)&val };

	raw_bpf(BPF_MAP_LOOKUP_ELEM, &a, sizeof(a));
	return val;
}

static int load(union bpf_attr *a, const struct bpf_insn *insns, unsigned int cnt)
{
	a->insns = (__u64)(unsigned long)insns;
	a->insn_cnt = cnt;
	a->license = (__u64)(unsigned long)"GPL";
	return raw_bpf(BPF_PROG_LOAD, a, sizeof(*a));
}

int raw_load(enum bpf_prog_type type, const struct bpf_insn *insns, unsigned int cnt,
	     const char *name)
{
	union bpf_attr a = { .prog_type = type };

	strncpy(a.prog_name, name, sizeof(a.prog_name) - 1);
	return load(&a, insns, cnt);
}

int raw_counter(int map, int by_index)
{
	int fds[3] = { -7, -7, map }; /* only slot 2 is used: the others may be anything */
	struct bpf_insn insns[] = {
		INSN(BPF_ST | BPF_W | BPF_MEM, 10, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1,
		     by_index ? BPF_PSEUDO_MAP_IDX : BPF_PSEUDO_MAP_FD, 0, by_index ? 2 : map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1),
		INSN(BPF_STX | BPF_DW | BPF_ATOMIC, 0, 1, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr a = { .prog_type = BPF_PROG_TYPE_SCHED_CLS, .prog_name = "raw_counter" };

	if (by_index)
		a.fd_array = (__u64)(unsigned long)fds;
	return load(&a, insns, sizeof(insns) / sizeof(insns[0]));
}

int raw_run(int prog)
{
	char pkt[64] = { 0 };
	union bpf_attr a = { .test = { .prog_fd = (__u32)prog,
				       .data_in = (__u64)(unsigned long)pkt,
				       .data_size_in = sizeof(pkt) } };
	int err = raw_bpf(BPF_PROG_TEST_RUN, &a, sizeof(a));

	return err ? err : (int)a.test.retval;
}

static int fail(const char *what, int val)
{
	fprintf(stderr, "raw: %s (%d)\n", what, val);
	return 2;
}

static int one(int by_index)
{
	int map = raw_array(), prog, flags;

	prog = raw_counter(map, by_index);
	if (prog < 0)
		return fail(strerror(-prog), prog);
	/* The lowest free number, closed on exec: as bpf() gives it. */
	flags = fcntl(prog, F_GETFD);
	if (prog != map + 1 || !(flags & FD_CLOEXEC))
		return fail("not the fd that bpf() gives", prog);
	if (raw_run(prog) || raw_value(map) != 1)
		return fail("the map did not count", (int)raw_value(map));
	close(prog);
	close(map);
	return 0;
}

static int many(int n)
{
	char c;

	for (int i = 0; i < n; i++) {
		int map = raw_array(), prog = raw_counter(map, 0);

		if (prog < 0)
			return fail(strerror(-prog), i);
		if (raw_run(prog) || raw_value(map) != 1)
			return fail("the map did not count", i);
		close(map); /* the program holds it */
	}
	if (getenv("WAIT")) {
		puts("ready");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	}
	return 0;
}

static int forever(void)
{
	for (;;) {
		int map = raw_array(), prog = raw_counter(map, 0);

		if (prog < 0)
			return fail(strerror(-prog), prog);
		if (write(1, ".", 1) != 1)
			return 0;
		close(prog);
		close(map);
	}
}

static int loads_each;

static void *thread(void *arg)
{
	for (int i = 0; i < loads_each; i++) {
		int map = raw_array(), prog = raw_counter(map, i & 1);

		if (prog < 0 || raw_run(prog) || raw_value(map) != 1)
			return arg;
		close(prog);
		close(map);
	}
	return NULL;
}

static int threads(int n)
{
	pthread_t id[64];
	void *bad = NULL, *ret;

	if (n < 1 || n > 64)
		return fail("1 to 64 threads", n);
	for (int i = 0; i < n; i++)
		pthread_create(&id[i], NULL, thread, &loads_each);
	for (int i = 0; i < n; i++) {
		pthread_join(id[i], &ret);
		bad = ret ? ret : bad;
	}
	return bad ? fail("a thread's load failed", n) : 0;
}

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static int time_loads(int n)
{
	int map = raw_array();
	long t0 = now_ns();

	for (int i = 0; i < n; i++) {
		int prog = raw_counter(map, 0);

		if (prog < 0)
			return fail(strerror(-prog), i);
		close(prog);
	}
	printf("%ld\n", (now_ns() - t0) / (n ? n : 1));
	return 0;
}

static int time_calls(int n)
{
	long t0 = now_ns();

	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
	printf("%ld\n", (now_ns() - t0) / (n ? n : 1));
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "one"))
		return one(0);
	if (!strcmp(mode, "index"))
		return one(1);
	if (!strcmp(mode, "many"))
		return many(n);
	if (!strcmp(mode, "forever"))
		return forever();
	if (!strcmp(mode, "time"))
		return time_loads(n);
	if (!strcmp(mode, "calls"))
		return time_calls(n);
	if (!strcmp(mode, "threads") && argc > 3) {
		loads_each = atoi(argv[3]);
		return threads(n);
	}
	return more_main(argc, argv);
}
