// SPDX-License-Identifier: GPL-2.0
/* bigtcp probe: what this kernel does with jumbo packets and what it offers. */
#include <string.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "core/probe.h"

enum { OPT_NO_LIVE = 256 };

const struct bt_opt probe_opts[] = {
	{ "no-live", OPT_NO_LIVE, NULL, "no traffic in private namespaces: needs no privileges" },
	{ NULL },
};

static const struct bt_column look_cols[] = {
	{ "name", "BIG TCP" },
	{ "form", "FORM" },
	{ "means", "MEANS" },
};

static const struct bt_column feature_cols[] = {
	{ "name", "FEATURE" },
	{ "value", "VALUE" },
	{ "means", "MEANS" },
};

static void json_look(unsigned int i, const struct bt_look *look)
{
	bt_obj_open(bt_look_name(i));
	bt_print_str("form", NULL, bt_form_name(look->form));
	bt_print_str("means", NULL, bt_look_means(i, look->form));
	bt_print_str("why", NULL, look->why);
	bt_print_uint("packets", NULL, look->packets);
	bt_print_uint("max_len", NULL, look->max_len);
	if (look->n_bytes)
		bt_print_hex("bytes", look->bytes, look->n_bytes);
	else
		bt_print_null("bytes");
	bt_obj_close();
}

static void text_bytes(const __u8 *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		bt_text(" %02x", p[i]);
}

/* The bytes that decide: IPv6's length and next header, what follows the header; IPv4's length. */
static void text_evidence(unsigned int i, const struct bt_look *look)
{
	bt_text("%s: %s\n", bt_look_name(i), look->why);
	if (look->n_bytes < 48)
		return;
	if (look->bytes[0] >> 4 == 6) {
		bt_text("    payload_len");
		text_bytes(look->bytes + 4, 2);
		bt_text(", nexthdr");
		text_bytes(look->bytes + 6, 1);
		bt_text(", after the IPv6 header");
		text_bytes(look->bytes + 40, 8);
	} else {
		bt_text("    tot_len");
		text_bytes(look->bytes + 2, 2);
	}
	bt_text("\n    largest packet %u bytes\n", look->max_len);
}

static void show_live(const struct bt_live *live)
{
	struct bt_table *t;

	if (bt_print_json()) {
		bt_obj_open("big_tcp");
		for (unsigned int i = 0; i < BT_LIVE_N; i++)
			json_look(i, &live->looks[i]);
		bt_obj_close();
		return;
	}
	t = bt_table_new(look_cols, 3);
	for (unsigned int i = 0; i < BT_LIVE_N; i++) {
		bt_row(t);
		bt_cell_str(t, "name", bt_look_name(i));
		bt_cell_str(t, "form", bt_form_name(live->looks[i].form));
		bt_cell_str(t, "means", bt_look_means(i, live->looks[i].form));
	}
	bt_table_end(t);
	bt_text("\n");
	for (unsigned int i = 0; i < BT_LIVE_N; i++)
		text_evidence(i, &live->looks[i]);
	bt_text("\n");
}

static void show_features(const struct bt_live *live)
{
	struct bt_feature features[BT_FEATURES_MAX];
	unsigned int n = bt_probe_features(live, features);
	struct bt_table *t = bt_table_new(feature_cols, 3);

	bt_arr_open("features");
	for (unsigned int i = 0; i < n; i++) {
		bt_row(t);
		bt_cell_str(t, "name", features[i].name);
		bt_cell_str(t, "value", features[i].value);
		bt_cell_str(t, "means", features[i].means);
	}
	bt_table_end(t);
	bt_arr_close();
}

int cmd_probe(int argc, char **argv)
{
	const struct bt_cmd *cmd = bt_cmd_find(argv[0]);
	bool want_live = true, have_live = false;
	struct bt_live live;
	struct utsname uts;
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c != OPT_NO_LIVE)
			return BT_EXIT_USAGE;
		want_live = false;
	}
	if (optind < argc)
		return bt_usage(cmd, "no word '%s'", argv[optind]);
	if (want_live)
		have_live = !bt_probe_live(&live);
	uname(&uts);
	bt_obj_open(NULL);
	bt_print_str("kernel", "kernel %s\n\n", uts.release);
	if (have_live)
		show_live(&live);
	show_features(have_live ? &live : NULL);
	/* Closed by main, which may have an error to put into it. */
	return want_live && !have_live ? BT_EXIT_REFUSED : BT_EXIT_OK;
}
