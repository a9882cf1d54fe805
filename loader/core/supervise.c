// SPDX-License-Identifier: GPL-2.0
/* Starting the supervisor: the filter, the process, the handshake between the two sides. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/supervise_int.h"

/*
 * A 32-bit process makes the same call by another number: union bpf_attr is laid out alike for
 * both, so its loads are handled and not refused. x32's is the native number with bit 30 set.
 */
#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define OTHER_NR    (__NR_bpf | 0x40000000)
#define COMPAT_ARCH AUDIT_ARCH_I386
#define COMPAT_NR   357
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define OTHER_NR    __NR_bpf
#define COMPAT_ARCH AUDIT_ARCH_ARM
#define COMPAT_NR   386
#else
#error "the number of bpf() on this architecture has to be stated here"
#endif

/*
 * The kernel runs this once for every call number when it is installed and keeps a bitmap of
 * those that it allows whatever their arguments are (5.11): only bpf() itself pays for it later.
 */
static const struct sock_filter filter[] = {
	/* 0 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	/* 1 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 0, 4),
	/* 2 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	/* 3 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 5, 0),
	/* 4 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OTHER_NR, 4, 0),
	/* 5 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	/* 6 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COMPAT_ARCH, 0, 4),
	/* 7 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	/* 8 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COMPAT_NR, 0, 2),
	/* 9: cmd is an int, so the kernel too looks at the low half only (little endian: first) */
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	/* 10 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_LOAD, 1, 0),
	/* 11 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	/* 12 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

/* Messages of the handshake: an error and its sentence, or err 0 and what this step is about. */
struct msg {
	int err;
	pid_t pid;
	char text[512];
};

/* Read through /proc in a trial before the loader is started: it must be seen there unchanged. */
static volatile __u64 trial_word = 0x626967746370ULL;

static int say(int sock, int err, pid_t pid)
{
	struct msg m = { .err = err, .pid = pid };

	if (err && bt_err_text())
		snprintf(m.text, sizeof(m.text), "%s", bt_err_text());
	return send(sock, &m, sizeof(m), MSG_NOSIGNAL) == sizeof(m) ? 0 : -errno;
}

/* The other side's answer: its error becomes ours, with its sentence. */
static int hear(int sock, struct msg *m)
{
	ssize_t n;

	do {
		n = recv(sock, m, sizeof(*m), 0);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*m))
		return bt_err(-EPIPE, "the supervisor ended before the command was started");
	m->text[sizeof(m->text) - 1] = '\0';
	return m->err ? bt_err(m->err, "%s", m->text) : 0;
}

static int send_fd(int sock, int fd)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl,
		.msg_controllen = sizeof(ctl),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&mh);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(sock, &mh, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int recv_fd(int sock)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl,
		.msg_controllen = sizeof(ctl),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &mh, MSG_CMSG_CLOEXEC) != 1)
		return -EPIPE;
	c = CMSG_FIRSTHDR(&mh);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/* --- the supervisor's side ------------------------------------------------------------------- */

/* Whatever else our caller has open must not be kept open by us: a pipe's reader waits for its end. */
static void keep_only(int a, int b)
{
	int lo = a < b ? a : b, hi = a < b ? b : a, null;

	if (lo < 0)
		lo = hi; /* there is no report */
	if (lo > 3)
		close_range(3, (unsigned int)lo - 1, 0);
	if (hi > lo + 1)
		close_range((unsigned int)lo + 1, (unsigned int)hi - 1, 0);
	close_range((unsigned int)hi + 1, ~0U, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null); /* it is above them: all three are open */
}

/* Can we look into the loader? Better found out now than at its first load. */
static int trial(const struct bt_supervisor *s, pid_t cmd, int sock)
{
	struct bt_remote r;
	int fd __close = -1;
	__u64 word = 0;
	int err = bt_remote_open(s->procfs, cmd, &r);

	if (err) {
		bt_remote_close(&r);
		return bt_err(err, "%s", r.why);
	}
	err = bt_remote_read(&r, (__u64)(unsigned long)&trial_word, &word, sizeof(word));
	fd = bt_remote_getfd(&r, sock);
	bt_remote_close(&r);
	if (err || word != trial_word)
		return bt_err(-EPERM, "cannot read the memory of another process here");
	if (fd < 0)
		return bt_err(fd, "cannot duplicate descriptors of another process here: %s",
			      strerror(-fd));
	return 0;
}

static int prepare(struct bt_supervisor *s, pid_t cmd)
{
	struct rlimit lim;
	sigset_t all;

	/* It outlives terminals and services' stop signals; it ends when its work does. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "bigtcp-exec");
	if (chdir("/"))
		return bt_err(-errno, "cannot change to /: %s", strerror(errno));
	if (!getrlimit(RLIMIT_NOFILE, &lim)) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	s->procfs = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->procfs < 0)
		return bt_err(-errno, "cannot open /proc: %s", strerror(errno));
	s->cmd = pidfd_open(cmd, 0);
	if (s->cmd < 0)
		return bt_err(-errno, "cannot watch process %d: %s", cmd, strerror(errno));
	return 0;
}

static int supervisor(struct bt_supervisor *s, pid_t cmd, int sock, int cmd_sock)
{
	struct msg m;
	int err;

	keep_only(sock, s->report.fd);
	err = prepare(s, cmd);
	say(sock, err, getpid());
	if (err || hear(sock, &m))
		return 1;
	err = trial(s, cmd, cmd_sock);
	say(sock, err, 0);
	if (err)
		return 1;
	s->listener = recv_fd(sock);
	if (s->listener < 0)
		return 1;
	say(sock, 0, 0);
	close(sock);
	return bt_supervise_loop(s) != 0;
}

/* --- the loader's side ----------------------------------------------------------------------- */

/* Forked twice: the loader must not find a child that it did not make. */
static int fork_supervisor(struct bt_supervisor *s, int sock[2])
{
	pid_t cmd = getpid(), mid;

	fflush(NULL);
	mid = fork();
	if (mid < 0)
		return bt_err(-errno, "cannot start the supervisor: %s", strerror(errno));
	if (!mid) {
		pid_t pid = fork();

		if (pid)
			_exit(pid < 0);
		close(sock[0]);
		_exit(supervisor(s, cmd, sock[1], sock[0]));
	}
	/* ECHILD: our caller ignores SIGCHLD and the kernel has taken it away already. */
	while (waitpid(mid, NULL, 0) < 0 && errno == EINTR)
		;
	close(sock[1]);
	sock[1] = -1;
	return 0;
}

static int filter_error(void)
{
	switch (errno) {
	case EBUSY:
		return bt_err(-EBUSY, "this process already has a seccomp supervisor (bigtcp exec "
				      "inside bigtcp exec, or a container engine's): the kernel "
				      "allows one");
	case EACCES:
	case EPERM:
		return bt_err(-EPERM, "may not install a seccomp filter: this takes CAP_SYS_ADMIN "
				      "or no_new_privs");
	default:
		return bt_err(-errno, "cannot install the seccomp filter: %s", strerror(errno));
	}
}

/* Returns the listener. */
static int install_filter(void)
{
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), (void *)filter };
	unsigned int flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/* Once we have seen a call only a deadly signal ends it: without, each signal a Go runtime
	 * sends to its threads restarts the load (5.19).
	 */
	unsigned int killable = flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, killable, &prog);

	if (fd < 0 && errno == EACCES) {
		/* No CAP_SYS_ADMIN. Set-user-id programs lose their privilege by it, so not else. */
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			return filter_error();
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, killable, &prog);
	}
	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	return fd < 0 ? filter_error() : fd;
}

static int handshake(int sock)
{
	int listener __close = -1;
	struct msg m;
	int err = hear(sock, &m);

	if (err)
		return err;
	/* For yama's restricted mode, where a process without CAP_SYS_PTRACE may look into its
	 * descendants only. EINVAL where there is no yama.
	 */
	prctl(PR_SET_PTRACER, (unsigned long)m.pid, 0, 0, 0);
	err = say(sock, 0, 0);
	if (!err)
		err = hear(sock, &m);
	if (err)
		return err;
	listener = install_filter();
	if (listener < 0)
		return listener;
	err = send_fd(sock, listener);
	if (err)
		return bt_err(err, "cannot hand the filter to the supervisor: %s", strerror(-err));
	return hear(sock, &m);
}

/* The command may be started with standard files closed: what is opened here must not take their
 * numbers. What fills them goes away when the command is executed.
 */
static void fill_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	cleanup_fd(&fd);
}

int bt_supervise_start(const struct bt_supervise_opts *opts)
{
	struct bt_supervisor s = { .opts = *opts, .procfs = -1, .listener = -1, .cmd = -1 };
	int sock[2], err;

	fill_standard_files();
	err = bt_report_open(&s.report, opts->report);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		err = bt_err(-errno, "cannot make a socket pair: %s", strerror(errno));
	if (!err) {
		err = fork_supervisor(&s, sock);
		if (!err)
			err = handshake(sock[0]);
		cleanup_fd(&sock[0]);
		cleanup_fd(&sock[1]);
	}
	cleanup_fd(&s.report.fd);
	return err;
}
