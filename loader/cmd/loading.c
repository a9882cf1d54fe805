// SPDX-License-Identifier: GPL-2.0
#include "cmd/loading.h"
#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int loading_opt(struct loading *l, int c)
{
	switch (c) {
	case OPT_PROG:
		l->opts.only = optarg;
		return 0;
	case OPT_PLAIN:
		l->opts.plain = true;
		return 0;
	case OPT_REFUSED:
		if (strcmp(optarg, "fail") && strcmp(optarg, "plain"))
			return bt_err(BT_EXIT_USAGE, "--refused is fail or plain, not '%s'",
				      optarg);
		l->opts.policy = strcmp(optarg, "fail") ? BT_REFUSED_PLAIN : BT_REFUSED_FAIL;
		return 0;
	default:
		return twin_opt(&l->opts.twin, c, optarg);
	}
}

static bool without_twin(const struct bt_twin_report *rep)
{
	return rep->status != BT_TWIN_MADE && rep->status != BT_TWIN_NOT_NEEDED &&
	       rep->status != BT_TWIN_PLAIN;
}

/* The keys are those of the records that `bigtcp exec --report` writes. */
static void print_json(const struct bt_twin_report *rep)
{
	bt_obj_open(NULL);
	bt_print_str("prog_name", NULL, rep->prog_name);
	bt_print_str("type", NULL, libbpf_bpf_prog_type_str(rep->prog_type));
	bt_print_str("status", NULL, bt_twin_status_name(rep->status));
	bt_print_str("form", NULL, bt_twin_form_name(rep));
	bt_print_bool("loaded", NULL, !rep->err);
	bt_print_uint("errno", NULL, -rep->err);
	bt_print_str("why", NULL,
		     rep->status == BT_TWIN_REFUSED ? bigtcp_twin_why_name(rep->reason.why) : NULL);
	bt_print_str("reason", NULL, rep->text[0] ? rep->text : NULL);
	bt_print_str("source", NULL, rep->source[0] ? rep->source : NULL);
	bt_print_str("log", NULL, rep->log[0] ? rep->log : NULL);
	bt_print_uint("insns", NULL, rep->insns_before);
	bt_print_uint("twin_insns", NULL, rep->status == BT_TWIN_MADE ? rep->insns_after : 0);
	bt_print_uint("ns", NULL, rep->ns);
	bt_obj_close();
}

/* The end of the verifier's log, for people; what it means is in the sentence. */
static void print_log(const char *log)
{
	fflush(stdout);
	while (*log) {
		size_t len = strcspn(log, "\n");

		fprintf(stderr, "  | %.*s\n", (int)len, log);
		log += len + !!log[len];
	}
}

static void print_text(const struct bt_twin_report *rep)
{
	const char *status = bt_twin_status_name(rep->status);

	if (rep->status == BT_TWIN_MADE)
		bt_text("%s: twin (%s), %u instructions became %u\n", rep->prog_name,
			bt_twin_form_name(rep), rep->insns_before, rep->insns_after);
	else if (!rep->err && rep->status == BT_TWIN_NOT_NEEDED)
		bt_text("%s: loaded unchanged: %s\n", rep->prog_name, rep->text);
	else if (!rep->err)
		bt_text("%s: loaded unchanged (%s)\n", rep->prog_name, status);
	if (!rep->err && without_twin(rep))
		bt_note("%s", rep->text);
	if (rep->log[0])
		print_log(rep->log);
}

static void print_reports(const struct bt_object *obj)
{
	const struct bt_twin_report *reps;
	unsigned int n = bt_object_reports(obj, &reps);

	bt_arr_open("programs");
	for (unsigned int i = 0; i < n; i++) {
		if (bt_print_json())
			print_json(&reps[i]);
		else
			print_text(&reps[i]);
	}
	bt_arr_close();
}

/* An error that is not the kernel's refusal but a program that is not safe to rewrite. */
static int exit_code(const struct bt_object *obj)
{
	const struct bt_twin_report *reps;
	unsigned int n = obj ? bt_object_reports(obj, &reps) : 0;

	if (n && reps[n - 1].err &&
	    (reps[n - 1].status == BT_TWIN_REFUSED || reps[n - 1].status == BT_TWIN_VERIFIER))
		return BT_EXIT_UNSAFE;
	return BT_EXIT_REFUSED;
}

int loading_run(struct loading *l, const char *file)
{
	int err;

	l->opts.sole = true;
	l->opts.no_pins = bt_global.dry_run;
	err = bt_object_load(file, &l->opts, &l->obj);
	if (l->obj)
		print_reports(l->obj);
	if (err) {
		bt_err(err, "cannot load %s: %s", file, strerror(-err));
		return err == -ENOTUNIQ ? BT_EXIT_USAGE : exit_code(l->obj);
	}
	l->prog = bt_object_prog(l->obj);
	return BT_EXIT_OK;
}

void loading_free(struct loading *l)
{
	bt_object_free(l->obj);
	l->obj = NULL;
}
