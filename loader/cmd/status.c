// SPDX-License-Identifier: GPL-2.0
/* bigtcp status: the sizes of devices, whose they are, and what is attached. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/netns.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "cmd/sizes.h"
#include "core/hooks.h"
#include "core/observe.h"
#include "core/sizes.h"

#define WATCH_SECONDS 2

enum { OPT_WATCH = 0x100 };

const struct bt_opt status_opts[] = {
	{ "watch", OPT_WATCH, NULL,
	  "again every 2 seconds until interrupted; as JSON one document a line" },
	{ NULL },
};

const char status_notes[] =
	"Sizes are gso/gro, or one number where they are the same. untouched: bigtcp has set nothing. ours: as "
	"enable (command) or bigtcpd (daemon) set them. changed: somebody else has set other values since. "
	"hands-off: switched off, or set by hand, and bigtcpd keeps off. PROGS counts the BPF programs attached "
	"to the device; 'bigtcp audit' tells which of them misread jumbo packets. JUMBO is how many such packets "
	"came in and went out (in/out), where 'bigtcp observe' counts them.";

/* All that a round of it shows. */
struct view {
	struct bt_link *links;
	unsigned int n;
	struct bt_kept_dev *kept;
	unsigned int n_kept;
	bool have_kept; /* looking there was allowed */
	struct bt_attached *progs;
	unsigned int n_progs;
	bool have_progs; /* listing them was allowed */
	struct bt_observe *seen;
	unsigned int n_seen;
};

static void view_free(struct view *v)
{
	free(v->links);
	free(v->kept);
	free(v->progs);
	free(v->seen);
}

static int get_links(struct view *v, char **devs, unsigned int n)
{
	int err = 0;

	if (!n)
		return bt_link_list(&v->links, &v->n);
	v->links = calloc(n, sizeof(*v->links));
	if (!v->links)
		return bt_err(-ENOMEM, "out of memory");
	for (; v->n < n && !err; v->n += !err)
		err = bt_link_get_name(devs[v->n], &v->links[v->n]);
	return err;
}

static int get_view(struct view *v, char **devs, unsigned int n)
{
	int fd __close = bt_pins_open(true);
	int err;

	/* Without a BPF file system nothing is remembered, and sizes can be read all the same. */
	if (fd < 0 && fd != -ENOENT && fd != -ENODEV && fd != -EACCES)
		return fd;
	v->have_kept = fd != -EACCES;
	if (fd < 0)
		bt_err_clear();
	err = get_links(v, devs, n);
	if (!err && fd >= 0)
		err = bt_kept_list(&v->kept, &v->n_kept);
	if (err)
		return err;
	v->have_progs = !bt_hooks_list(n == 1 ? devs[0] : NULL, &v->progs, &v->n_progs);
	/* What is not allowed, or has gone meanwhile, is not shown. */
	if (fd >= 0 && bt_observe_list(n == 1 ? devs[0] : NULL, &v->seen, &v->n_seen))
		v->n_seen = 0;
	bt_err_clear();
	return 0;
}

static unsigned int progs_of(const struct view *v, int ifindex)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < v->n_progs; i++)
		n += v->progs[i].ifindex == ifindex;
	return n;
}

/* --- what is printed ------------------------------------------------------------------------- */

static const struct bt_column columns[] = {
	{ "dev", "DEV" },     { "ifindex", NULL }, { "kind", "KIND" },
	{ "ipv6", "IPV6" },   { "ipv4", "IPV4" },  { "state", "STATE", true },
	{ "since", "SINCE" }, { "peer", "PEER" },  { "programs", "PROGS" },
	{ "jumbo", "JUMBO" },
};

/* "12 s", "5 min" ...: how long ago. */
static void cell_age(struct bt_table *t, __u64 since)
{
	static const struct {
		long seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	long age = (long)time(NULL) - (long)since;
	unsigned int i = 0;

	age = age < 0 ? 0 : age;
	while (i < 3 && age < 2 * units[i].seconds)
		i++;
	bt_cellf(t, "since", "%ld%s", age / units[i].seconds, units[i].unit);
}

static const struct bt_link *in_view(const struct view *v, int ifindex)
{
	for (unsigned int i = 0; i < v->n; i++) {
		if (v->links[i].ifindex == ifindex)
			return &v->links[i];
	}
	return NULL;
}

/* The other end of a veth, or the device below. false: there is none; *l has an empty name if it can't be seen. */
static bool get_peer(const struct view *v, const struct bt_link *link, struct bt_link *l)
{
	const struct bt_link *seen = in_view(v, link->peer);

	if (!link->peer)
		return false;
	*l = (struct bt_link){ .ifindex = link->peer };
	if (link->peer_elsewhere) {
		if (link->peer_nsid < 0 || bt_link_get_in(link->peer_nsid, link->peer, l))
			*l = (struct bt_link){ .ifindex = link->peer };
	} else if (seen) {
		*l = *seen;
	} else if (bt_link_get(link->peer, l)) {
		bt_err_clear();
	}
	return true;
}

static void json_peer(const struct bt_link *link, const struct bt_link *peer)
{
	bt_obj_open("peer");
	bt_print_int("ifindex", NULL, peer->ifindex);
	bt_print_str("dev", NULL, peer->name[0] ? peer->name : NULL);
	bt_print_bool("elsewhere", NULL, link->peer_elsewhere);
	if (link->peer_elsewhere && link->peer_nsid >= 0)
		bt_print_int("nsid", NULL, link->peer_nsid);
	else
		bt_print_null("nsid");
	if (peer->name[0])
		print_sizes("sizes", &peer->sizes);
	else
		bt_print_null("sizes");
	bt_obj_close();
}

static __u64 jumbo_of(const struct observe_stats *s)
{
	return s->jumbo_hbh + s->jumbo_len0 + s->jumbo_ipv4;
}

static const struct bt_observe *seen_at(const struct view *v, int ifindex, enum bt_hook_id hook)
{
	for (unsigned int i = 0; i < v->n_seen; i++) {
		if (v->seen[i].ifindex == ifindex && v->seen[i].hook == hook && v->seen[i].read)
			return &v->seen[i];
	}
	return NULL;
}

static void json_seen(const char *key, const struct bt_observe *o)
{
	if (!o) {
		bt_print_null(key);
		return;
	}
	bt_obj_open(key);
	bt_print_bool("first", NULL, o->first);
	bt_print_uint("packets", NULL, o->stats.packets);
	bt_print_uint("jumbo", NULL, jumbo_of(&o->stats));
	bt_print_uint("malformed", NULL, o->stats.malformed);
	bt_print_uint("max_len", NULL, o->stats.max_len);
	bt_obj_close();
}

/* "9999", "10k", "3M" */
static const char *count_text(__u64 n, char buf[16])
{
	static const char units[] = " kMGTPE";
	unsigned int i = 0;

	for (; n >= 10000 && units[i + 1]; i++)
		n /= 1000;
	snprintf(buf, 16, i ? "%llu%c" : "%llu", (unsigned long long)n, units[i]);
	return buf;
}

static void row_seen(struct bt_table *t, const struct view *v, int ifindex)
{
	const struct bt_observe *in = seen_at(v, ifindex, BT_HOOK_INGRESS);
	const struct bt_observe *out = seen_at(v, ifindex, BT_HOOK_EGRESS);
	char a[16] = "-", b[16] = "-";

	if (!in && !out)
		return;
	if (in)
		count_text(jumbo_of(&in->stats), a);
	if (out)
		count_text(jumbo_of(&out->stats), b);
	bt_cellf(t, "jumbo", "%s/%s", a, b);
}

static void json_kept(const struct bt_kept *kept)
{
	if (!kept) {
		bt_print_null("setter");
		bt_print_null("since");
		bt_print_null("before");
		bt_print_null("set");
		return;
	}
	bt_print_str("setter", NULL, bt_setter_name(kept->setter));
	bt_print_uint("since", NULL, kept->since);
	print_sizes("before", &kept->before);
	print_sizes("set", &kept->set);
}

static void json_dev(const struct view *v, const struct bt_link *link)
{
	const struct bt_kept *kept = bt_kept_find(v->kept, v->n_kept, link->ifindex);
	struct bt_link peer;

	bt_obj_open(NULL);
	bt_print_str("dev", NULL, link->name);
	bt_print_int("ifindex", NULL, link->ifindex);
	bt_print_str("kind", NULL, link->kind[0] ? link->kind : NULL);
	print_sizes("sizes", &link->sizes);
	bt_print_uint("tso_max", NULL, link->sizes.tso_max);
	bt_print_str("state", NULL,
		     v->have_kept ? bt_sizes_state_name(bt_sizes_compare(link, kept)) : NULL);
	json_kept(kept);
	if (get_peer(v, link, &peer))
		json_peer(link, &peer);
	else
		bt_print_null("peer");
	if (v->have_progs)
		bt_print_uint("programs", NULL, progs_of(v, link->ifindex));
	else
		bt_print_null("programs");
	json_seen("ingress", seen_at(v, link->ifindex, BT_HOOK_INGRESS));
	json_seen("egress", seen_at(v, link->ifindex, BT_HOOK_EGRESS));
	bt_obj_close();
}

static void row_peer(struct bt_table *t, const struct view *v, const struct bt_link *link)
{
	struct bt_link peer;
	char ns[24] = "";

	if (!get_peer(v, link, &peer))
		return;
	if (link->peer_elsewhere && link->peer_nsid >= 0)
		snprintf(ns, sizeof(ns), "@%d", link->peer_nsid);
	else if (link->peer_elsewhere)
		strcpy(ns, "@?");
	if (peer.name[0])
		bt_cellf(t, "peer", "%s%s", peer.name, ns);
	else
		bt_cellf(t, "peer", "%d%s", peer.ifindex, ns);
}

static void row_dev(struct bt_table *t, const struct view *v, const struct bt_link *link)
{
	const struct bt_kept *kept = bt_kept_find(v->kept, v->n_kept, link->ifindex);
	const struct bt_sizes *s = &link->sizes;
	enum bt_sizes_state state = bt_sizes_compare(link, kept);
	char buf[SIZES_TEXT];

	bt_row(t);
	bt_cell_str(t, "dev", link->name);
	bt_cell_str(t, "kind", link->kind);
	bt_cell_str(t, "ipv6", sizes_text(s->gso, s->gro, buf));
	bt_cell_str(t, "ipv4", sizes_text(s->gso_ipv4, s->gro_ipv4, buf));
	if (state == BT_SIZES_OURS)
		bt_cellf(t, "state", "%s (%s)", bt_sizes_state_name(state),
			 bt_setter_name(kept->setter));
	else if (v->have_kept)
		bt_cell_str(t, "state", bt_sizes_state_name(state));
	if (kept)
		cell_age(t, kept->since);
	row_peer(t, v, link);
	if (v->have_progs)
		bt_cell_uint(t, "programs", progs_of(v, link->ifindex));
	row_seen(t, v, link->ifindex);
}

static int show(char **devs, unsigned int n)
{
	struct view v __cleanup(view_free) = { 0 };
	struct bt_table *t;
	int err = get_view(&v, devs, n);

	if (err)
		return BT_EXIT_REFUSED;
	if (!v.have_kept)
		bt_note("what bigtcp has set can be seen by root only");
	bt_obj_open(NULL);
	bt_arr_open("devices");
	t = bt_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned int i = 0; i < v.n; i++) {
		if (bt_print_json())
			json_dev(&v, &v.links[i]);
		else
			row_dev(t, &v, &v.links[i]);
	}
	bt_table_end(t);
	bt_arr_close();
	bt_obj_close();
	return BT_EXIT_OK;
}

/* --- again and again ----------------------------------------------------------------------------- */

/* The signals that end it are taken between the rounds only. */
static int watch(char **devs, unsigned int n)
{
	static const struct timespec pause = { .tv_sec = WATCH_SECONDS };
	sigset_t ends;
	int ret, sig;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	bt_print_stream();
	for (bool first = true;; first = false) {
		if (bt_print_text_on() && isatty(STDOUT_FILENO))
			bt_text("\033[H\033[2J"); /* to the top, and all gone */
		else if (!first)
			bt_text("\n");
		ret = show(devs, n);
		fflush(stdout);
		if (ret || ferror(stdout))
			return ret;
		do {
			sig = sigtimedwait(&ends, NULL, &pause);
		} while (sig < 0 && errno == EINTR);
		if (sig > 0)
			return BT_EXIT_OK;
	}
}

int cmd_status(int argc, char **argv)
{
	const struct bt_cmd *cmd = bt_cmd_find("status");
	bool again = false;
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		if (c != OPT_WATCH)
			return BT_EXIT_USAGE;
		again = true;
	}
	return (again ? watch : show)(argv + optind, (unsigned int)(argc - optind));
}
