// SPDX-License-Identifier: GPL-2.0
/*
 * raw MODE: the odd cases. Those marked * print what happened, to be compared with a run that
 * nobody supervises.
 *
 * log       * errno and log of a program that the verifier refuses; buffers too small; none
 * args      * errno of calls with broken arguments
 * emfile    * errno when the process has no descriptor left
 * refused     a program that has no twin; its errno is the status (0: loaded)
 * syscall     a program of type SYSCALL, as light skeletons load
 * compat      a load by the 32-bit system call (int 0x80)
 * signals     loads while a timer signal comes every 100 us
 * daemon      ends at once; a child that it leaves behind loads, and says "loaded" in file $1
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "raw.h"

static const struct bpf_insn ret0[] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

/* R0 is not set: the verifier says so in the last lines of its log. */
static const struct bpf_insn bad[] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 7),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

/* Attributes with the fields of 6.4. */
struct attr {
	union {
		union bpf_attr a;
		struct {
			char skip[140];
			__u32 log_true_size;
			char rest[116];
		};
	};
};

static struct attr prog_attr(const struct bpf_insn *insns, unsigned int cnt)
{
	struct attr a;

	memset(&a, 0, sizeof(a));
	a.a.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	a.a.insns = (__u64)(unsigned long)insns;
	a.a.insn_cnt = cnt;
	a.a.license = (__u64)(unsigned long)"GPL";
	return a;
}

static void try_log(__u32 level, __u32 size, int with_buf)
{
	struct attr a = prog_attr(bad, 2);
	char buf[4096] = "untouched";
	int ret;

	a.a.log_level = level;
	a.a.log_size = size;
	a.a.log_buf = with_buf ? (__u64)(unsigned long)buf : 0;
	ret = raw_bpf(BPF_PROG_LOAD, &a.a, 144);
	printf("level %u size %u buf %d: %d, true size %u, log:\n%s\n", level, size, with_buf, ret,
	       a.log_true_size, buf);
}

static int logs(void)
{
	try_log(0, 0, 0);
	try_log(1, 4096, 1);
	try_log(2, 4096, 1);
	try_log(1, 128, 1);
	try_log(2, 150, 1);
	try_log(2 | 8, 150, 1);
	try_log(1, 0, 1); /* not allowed */
	try_log(1, 4096, 0);
	try_log(0, 4096, 1);
	return 0;
}

static void show(const char *what, struct attr *a, unsigned int size)
{
	printf("%s: %d\n", what, raw_bpf(BPF_PROG_LOAD, &a->a, size));
}

static int args(void)
{
	size_t page = 4096;
	char *edge =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bpf_insn map_fd[] = { INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, 999),
				     INSN(0, 0, 0, 0, 0), ret0[0], ret0[1] };
	struct bpf_insn half[] = { ret0[0], INSN(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, 0) };
	struct attr a = prog_attr(ret0, 2), *big;
	static char huge[8192];

	munmap(edge + page, page);
	show("good", &a, sizeof(a.a));
	show("short", &a, 48);
	show("shorter", &a, 20);
	show("size 0", &a, 0);
	printf("null: %d\n", raw_bpf(BPF_PROG_LOAD, NULL, 64));
	printf("kernel address: %d\n", raw_bpf(BPF_PROG_LOAD, (void *)-4096L, 64));
	printf("edge: %d\n", raw_bpf(BPF_PROG_LOAD, (void *)(edge + page - 32), 64));
	memcpy(huge, &a, sizeof(a));
	big = (struct attr *)huge;
	show("page", big, 4096);
	show("above a page", big, 4097);
	huge[4000] = 1;
	show("unknown field", big, 4096);
	a.a.insn_cnt = 0;
	show("no instructions", &a, sizeof(a.a));
	a.a.insn_cnt = 2000000;
	show("too many", &a, sizeof(a.a));
	a = prog_attr((void *)(edge + page - 8), 2);
	show("instructions over the edge", &a, sizeof(a.a));
	a = prog_attr(ret0, 2);
	memcpy(edge + page - 4, "GPL", 4);
	a.a.license = (__u64)(unsigned long)(edge + page - 4);
	show("license at the edge", &a, sizeof(a.a));
	a.a.license = 1;
	show("license nowhere", &a, sizeof(a.a));
	a = prog_attr(ret0, 2);
	a.a.attach_prog_fd = 999;
	show("bad attach_prog_fd", &a, sizeof(a.a));
	a = prog_attr(ret0, 2);
	a.a.prog_btf_fd = 999;
	show("unused prog_btf_fd", &a, sizeof(a.a));
	a.a.func_info_cnt = 1;
	a.a.func_info_rec_size = 8;
	a.a.func_info = (__u64)(unsigned long)edge;
	show("bad prog_btf_fd", &a, sizeof(a.a));
	a = prog_attr(map_fd, 4);
	show("bad map fd", &a, sizeof(a.a));
	map_fd[0].imm = 1;
	show("not a map", &a, sizeof(a.a));
	map_fd[0].src_reg = BPF_PSEUDO_MAP_IDX;
	show("index without array", &a, sizeof(a.a));
	a = prog_attr(half, 2);
	show("half an instruction", &a, sizeof(a.a));
	a = prog_attr(ret0, 2);
	a.a.prog_type = 9999;
	show("no such type", &a, sizeof(a.a));
	return 0;
}

static int emfile(void)
{
	struct rlimit lim = { 32, 32 };
	struct attr a = prog_attr(ret0, 2);

	if (setrlimit(RLIMIT_NOFILE, &lim))
		return 2;
	while (dup(0) >= 0)
		;
	show("no descriptor left", &a, sizeof(a.a));
	close(31);
	printf("the last one: %d\n", raw_bpf(BPF_PROG_LOAD, &a.a, sizeof(a.a)));
	return 0;
}

static int refused(void)
{
	/* From IPv4 to IPv6 inside the program: no twin can keep its 8 bytes apart. */
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0x0800),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_skb_change_proto),
		ret0[0],
		ret0[1],
	};
	int ret = raw_load(BPF_PROG_TYPE_SCHED_CLS, insns, 5, "proto_change");

	return ret < 0 ? -ret : 0;
}

static int syscall_prog(void)
{
	struct attr a = prog_attr(ret0, 2);
	int ret;

	a.a.prog_type = BPF_PROG_TYPE_SYSCALL;
	a.a.prog_flags = BPF_F_SLEEPABLE;
	ret = raw_bpf(BPF_PROG_LOAD, &a.a, sizeof(a.a));
	return ret < 0 ? -ret : 0;
}

#if defined(__x86_64__)
/* Everything below 4 GiB, as a 32-bit process has it. */
struct low {
	struct bpf_insn insns[4];
	char license[8];
	union bpf_attr attr;
};

static int compat(void)
{
	struct low *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int map = raw_array();
	long ret;

	if (l == MAP_FAILED)
		return 2;
	l->insns[0] = INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
	l->insns[2] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 5);
	l->insns[3] = ret0[1];
	strcpy(l->license, "GPL");
	l->attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	l->attr.insn_cnt = 4;
	l->attr.insns = (__u64)(unsigned long)l->insns;
	l->attr.license = (__u64)(unsigned long)l->license;
	strcpy(l->attr.prog_name, "compat");
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(357), "b"(BPF_PROG_LOAD), "c"(&l->attr), "d"(sizeof(l->attr))
			 : "memory", "r8", "r9", "r10", "r11");
	if ((int)ret < 0) {
		fprintf(stderr, "raw: int 0x80: %s\n", strerror(-(int)ret));
		return (int)ret == -ENOSYS ? 77 : 2;
	}
	return raw_run((int)ret) == 5 ? 0 : 3;
}
#else
static int compat(void)
{
	return 77;
}
#endif

static volatile int alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* A load of many times the timer's period: were the call restarted by each signal, it would never end. */
static int signals(void)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 100 }, { 0, 100 } };
	static struct bpf_insn insns[20000];
	unsigned int n = sizeof(insns) / sizeof(insns[0]);
	int first = -1;

	for (unsigned int i = 0; i < n; i++)
		insns[i] = ret0[i == n - 1];
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 20; i++) {
		int prog = raw_load(BPF_PROG_TYPE_SCHED_CLS, insns, n, "long_one");

		/* A load that was done twice leaves a descriptor behind and moves the next one. */
		first = first < 0 ? prog : first;
		if (prog < 0 || prog != first) {
			fprintf(stderr, "raw: load %d gave %d, not %d\n", i, prog, first);
			return 2;
		}
		close(prog);
	}
	return alarms ? 0 : 3;
}

static int leave_daemon(const char *file)
{
	int fd;

	if (fork())
		return 0;
	setsid();
	for (int i = 0; i < 3; i++)
		close(i);
	usleep(1500000);
	if (raw_load(BPF_PROG_TYPE_SCHED_CLS, ret0, 2, "late") < 0)
		return 2;
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	return write(fd, "loaded\n", 7) != 7;
}

int more_main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "log"))
		return logs();
	if (!strcmp(mode, "args"))
		return args();
	if (!strcmp(mode, "emfile"))
		return emfile();
	if (!strcmp(mode, "refused"))
		return refused();
	if (!strcmp(mode, "syscall"))
		return syscall_prog();
	if (!strcmp(mode, "compat"))
		return compat();
	if (!strcmp(mode, "signals"))
		return signals();
	if (!strcmp(mode, "daemon") && argc > 2)
		return leave_daemon(argv[2]);
	fprintf(stderr, "raw: no such mode: '%s'\n", mode);
	return 1;
}
