// SPDX-License-Identifier: GPL-2.0
/* Telling what became of each load: a line of JSON in a file, or a sentence on stderr. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/supervise_int.h"

int bt_report_open(struct bt_report *r, const char *path)
{
	r->fd = -1;
	r->broken = false;
	r->last[0] = '\0';
	pthread_mutex_init(&r->lock, NULL);
	if (!path)
		return 0;
	r->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	return r->fd < 0 ? bt_err(-errno, "cannot write the report '%s': %s", path, strerror(errno))
			 : 0;
}

/* Names and source lines are whatever the program's author wrote: bytes that are no ASCII text
 * are kept when they are UTF-8's (>= 0x80), the rest is escaped.
 */
static void put_str(FILE *f, const char *key, const char *val)
{
	fprintf(f, ",\"%s\":", key);
	if (!val || !val[0]) {
		fputs("null", f);
		return;
	}
	fputc('"', f);
	for (const unsigned char *p = (const unsigned char *)val; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\u%04x", *p);
		else
			fputc(*p, f);
	}
	fputc('"', f);
}

static void put_uint(FILE *f, const char *key, unsigned long long val)
{
	fprintf(f, ",\"%s\":%llu", key, val);
}

static const char *type_name(enum bpf_prog_type type, char buf[16])
{
	const char *name = libbpf_bpf_prog_type_str(type);

	if (name)
		return name;
	snprintf(buf, 16, "%u", type);
	return buf;
}

static bool has_twin(const struct bt_load_event *ev)
{
	return ev->ret >= 0 && ev->rep->status == BT_TWIN_MADE;
}

/* A sentence about this load, or NULL when nothing has to be said. */
static const char *reason(const struct bt_load_event *ev)
{
	const struct bt_twin_report *rep = ev->rep;

	if (rep->prog_type == BPF_PROG_TYPE_SYSCALL && rep->status == BT_TWIN_NOT_NEEDED)
		return "a program that runs system calls (a light skeleton's loader is one): what "
		       "it loads from inside the kernel cannot be seen and gets no twin";
	/* Its text says why there is no twin, which is not why the kernel refuses it. */
	if (rep->text[0] && !(ev->ret < 0 && rep->status == BT_TWIN_NOT_NEEDED))
		return rep->text;
	return ev->ret < 0 ? strerror(-ev->ret) : NULL;
}

static void put_event(FILE *f, const struct bt_load_event *ev)
{
	const struct bt_twin_report *rep = ev->rep;
	char type[16];

	fprintf(f, "{\"pid\":%d,\"tid\":%d", ev->who->pid, ev->who->tid);
	put_str(f, "comm", ev->who->comm);
	put_str(f, "prog_name", rep->prog_name);
	put_str(f, "type", type_name(rep->prog_type, type));
	put_str(f, "status", bt_twin_status_name(rep->status));
	put_str(f, "form", bt_twin_form_name(rep));
	fprintf(f, ",\"loaded\":%s", ev->ret >= 0 ? "true" : "false");
	put_uint(f, "errno", ev->ret < 0 ? (unsigned long long)-ev->ret : 0);
	put_str(f, "why",
		rep->status == BT_TWIN_REFUSED ? bigtcp_twin_why_name(rep->reason.why) : NULL);
	put_str(f, "reason", has_twin(ev) ? NULL : reason(ev));
	put_str(f, "source", rep->source);
	put_str(f, "log", has_twin(ev) ? NULL : rep->log);
	put_uint(f, "insns", rep->insns_before);
	put_uint(f, "twin_insns", rep->status == BT_TWIN_MADE ? rep->insns_after : 0);
	put_uint(f, "ns", rep->ns);
	put_uint(f, "total_ns", ev->total_ns);
	fputs("}\n", f);
}

/* One write() for the line; half a line (a full disk) is taken back. */
static int write_line(int fd, const char *buf, size_t len)
{
	ssize_t n = write(fd, buf, len);
	off_t end;
	int err = n < 0 ? -errno : -ENOSPC;

	if (n == (ssize_t)len)
		return 0;
	end = lseek(fd, 0, SEEK_END);
	if (n > 0 && end >= n && ftruncate(fd, end - n))
		return -errno;
	return err;
}

static void report_line(struct bt_report *r, const struct bt_load_event *ev)
{
	char *buf __free = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&buf, &len);
	int err = -ENOMEM;

	if (f) {
		put_event(f, ev);
		err = fclose(f) ? -errno : write_line(r->fd, buf, len);
	}
	if (err && !r->broken) {
		r->broken = true;
		bt_note("the report is not complete: %s", strerror(-err));
	}
}

/* Without a report only what the user would not expect: a program that has no twin though a
 * jumbo packet can reach it. A program the verifier does not accept is its loader's to talk about.
 */
static bool worth_a_note(const struct bt_load_event *ev)
{
	switch (ev->rep->status) {
	case BT_TWIN_NOT_NEEDED:
		return ev->rep->prog_type == BPF_PROG_TYPE_SYSCALL && ev->ret >= 0;
	case BT_TWIN_REFUSED:
	case BT_TWIN_VERIFIER:
	case BT_TWIN_SYSTEM:
		return true;
	default:
		return false;
	}
}

/* Loaders try a failed load again to get its log: that is not said twice. */
static void report_note(struct bt_report *r, const struct bt_load_event *ev)
{
	const struct bt_twin_report *rep = ev->rep;
	char note[sizeof(r->last)];

	if (!worth_a_note(ev))
		return;
	snprintf(note, sizeof(note), "%s: %s%s: %s", ev->who->comm[0] ? ev->who->comm : "?",
		 rep->prog_name[0] ? rep->prog_name : "a program without a name",
		 ev->ret < 0 ? " is not loaded" : " is loaded without a twin", reason(ev));
	if (!strcmp(note, r->last) && ev->who->pid == r->last_pid)
		return;
	bt_note("%s", note);
	memcpy(r->last, note, sizeof(note));
	r->last_pid = ev->who->pid;
}

void bt_report_load(struct bt_report *r, const struct bt_load_event *ev)
{
	pthread_mutex_lock(&r->lock);
	if (r->fd >= 0)
		report_line(r, ev);
	else
		report_note(r, ev);
	pthread_mutex_unlock(&r->lock);
}
