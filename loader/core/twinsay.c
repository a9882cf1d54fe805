// SPDX-License-Identifier: GPL-2.0
#include "core/twinload_int.h"
#include "core/twintype.h"
#include "core/vlog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *bt_say_prog(const struct bt_twin_report *rep, char *buf, size_t len)
{
	if (rep->prog_name[0])
		snprintf(buf, len, "program %s", rep->prog_name);
	else
		snprintf(buf, len, "the program");
	return buf;
}

void bt_say_system(struct bt_twin_report *rep, const char *what, int err)
{
	char why[512], name[64];

	if (err == -EPERM)
		bt_eperm_text(why, sizeof(why));
	else if (err == -ENOMEM)
		snprintf(why, sizeof(why),
			 "the kernel has no memory for it (or the memory limit of "
			 "this control group or RLIMIT_MEMLOCK is reached)");
	else if (err == -EMFILE || err == -ENFILE)
		snprintf(why, sizeof(why), "no file handle is left (ulimit -n)");
	else
		snprintf(why, sizeof(why), "%s", strerror(-err));
	snprintf(rep->text, sizeof(rep->text), "cannot load %s%s: %s",
		 bt_say_prog(rep, name, sizeof(name)), what, why);
}

/* What the log or, without one, the error number says, and what may be behind it. */
static void verifier_cause(const struct bt_twin_report *rep, int err, char *buf, size_t len)
{
	const char *hint = "";
	char line[256];

	bt_vlog_cause(rep->log, line, sizeof(line));
	if (err == -E2BIG && !*line) {
		snprintf(buf, len,
			 "it is larger than the kernel takes (1,000,000 instructions), or "
			 "the load call has fields that this kernel does not know");
		return;
	}
	if (bt_lacks_perfmon() && (rep->status == BT_TWIN_VERIFIER || strstr(rep->log, "!root")))
		hint = " (this process lacks CAP_PERFMON, without which the verifier is stricter: "
		       "grant CAP_PERFMON)";
	snprintf(buf, len, "%s%s%s", err == -E2BIG ? "it is too complex: " : "",
		 *line ? line : strerror(-err), hint);
}

void bt_say_bad_prog(struct bt_twin_report *rep, int err)
{
	char cause[450], name[64];

	verifier_cause(rep, err, cause, sizeof(cause));
	snprintf(rep->text, sizeof(rep->text),
		 "the kernel's verifier refuses %s as it is, before any rewriting: %s",
		 bt_say_prog(rep, name, sizeof(name)), cause);
}

void bt_say_verifier(struct bt_twin_report *rep, int err)
{
	char cause[450], name[64];

	verifier_cause(rep, err, cause, sizeof(cause));
	snprintf(rep->text, sizeof(rep->text),
		 "the kernel's verifier accepts %s but not its twin: %s; fix it at source with "
		 "<bigtcp/parse.bpf.h>, or load it unchanged with --refused=plain",
		 bt_say_prog(rep, name, sizeof(name)), cause);
}

void bt_say_refused(struct bt_twin_report *rep)
{
	char name[64];

	snprintf(rep->text, sizeof(rep->text), "no twin for %s: %s%s%s%s",
		 bt_say_prog(rep, name, sizeof(name)), rep->reason.text, rep->source[0] ? " (" : "",
		 rep->source, rep->source[0] ? ")" : "");
}

void bt_say_not_needed(struct bt_twin_report *rep, const char *why)
{
	char name[64];

	snprintf(rep->text, sizeof(rep->text), "%s (%s) needs no twin: %s",
		 bt_say_prog(rep, name, sizeof(name)), bt_twin_type(rep->prog_type)->name, why);
}
