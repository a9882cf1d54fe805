// SPDX-License-Identifier: GPL-2.0
#include "core/vlog.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lines the verifier ends its log with, whatever it found. */
static const char *const stats[] = { "processed ", "verification time ", "stack depth ",
				     "max_states_per_insn ", "insn_cnt " };

static bool informative(const char *line, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
		if (len >= strlen(stats[i]) && !memcmp(line, stats[i], strlen(stats[i])))
			return false;
	for (i = 0; i < len; i++)
		if (!strchr(" \t\r", line[i]))
			return true;
	return false;
}

void bt_vlog_tail(const char *log, size_t len, char *out, size_t outlen)
{
	struct {
		const char *p;
		size_t len;
	} keep[BT_VLOG_LINES];
	unsigned int n = 0;
	size_t room = outlen - 1, pos = 0;
	const char *nul = memchr(log, 0, len);
	const char *end = nul ? nul : log + len;

	/* From the end backwards, so that 16 MB of log cost no more than its last lines. */
	while (end > log && n < BT_VLOG_LINES && room) {
		const char *nl = memrchr(log, '\n', end - log);
		const char *p = nl ? nl + 1 : log;
		size_t l = end - p;

		if (l && informative(p, l)) {
			if (l + 1 > room && n)
				break;
			keep[n].p = p;
			keep[n].len = l < room ? l : room;
			room -= keep[n].len;
			room -= room ? 1 : 0;
			n++;
		}
		end = nl ? nl : log;
	}
	while (n--) {
		memcpy(out + pos, keep[n].p, keep[n].len);
		pos += keep[n].len;
		if (n)
			out[pos++] = '\n';
	}
	out[pos] = 0;
}

static bool is_cause(const char *line)
{
	const char *end = line + strspn(line, "0123456789");

	/* "12: (61) r2 = ..." is an instruction, "; ..." a line of source. */
	return *line != ';' && strncmp(line, "cur state:", 10) && strncmp(line, "old state:", 10) &&
	       (end == line || *end != ':') && strncmp(line, "from ", 5);
}

void bt_vlog_cause(const char *tail, char *buf, size_t len)
{
	const char *best = "";

	while (*tail) {
		size_t l = strcspn(tail, "\n");

		if (is_cause(tail))
			best = tail;
		tail += l + !!tail[l];
	}
	snprintf(buf, len, "%.*s", (int)strcspn(best, "\n"), best);
}

/* In the order in which a user would grant them. */
static const struct {
	int cap;
	const char *name;
} wanted[] = { { CAP_BPF, "CAP_BPF" }, { CAP_NET_ADMIN, "CAP_NET_ADMIN" } };

/* Effective capabilities of this process; CAP_SYS_ADMIN stands in for the ones that came out of it
 * (kernel/bpf/syscall.c, bpf_token_capable; include/linux/capability.h, perfmon_capable).
 */
static bool has_cap(int cap)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &hdr, data))
		return true;
	return data[cap / 32].effective & (1u << cap % 32) ||
	       data[0].effective & (1u << CAP_SYS_ADMIN);
}

bool bt_lacks_perfmon(void)
{
	return !has_cap(CAP_PERFMON);
}

void bt_eperm_text(char *buf, size_t len)
{
	char missing[64] = "";
	size_t i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (has_cap(wanted[i].cap))
			continue;
		snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%s",
			 *missing ? " and " : "", wanted[i].name);
	}
	if (*missing)
		snprintf(buf, len,
			 "loading a tc program needs CAP_BPF and CAP_NET_ADMIN, and this "
			 "process lacks %s: run it as root or grant it",
			 missing);
	else
		snprintf(buf, len,
			 "not permitted although this process has CAP_BPF and CAP_NET_ADMIN: "
			 "it runs in a user namespace of its own, or a security module, "
			 "kernel lockdown or a seccomp filter forbids it");
}
