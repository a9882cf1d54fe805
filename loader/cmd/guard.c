// SPDX-License-Identifier: GPL-2.0
/* bigtcp guard: jumbo and hop-by-hop headers from the wire, counted and dropped at a device. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/number.h"
#include "base/print.h"
#include "cmd/cmd.h"
#include "cmd/hook.h"
#include "core/guard.h"

enum {
	OPT_HOOK = 0x100,
	OPT_MODE,
	OPT_LEGACY,
	OPT_DROP,
	OPT_COUNT,
	OPT_EVENTS,
	OPT_SHOW,
	OPT_WATCH,
	OPT_OFF
};

const struct bt_opt guard_opts[] = {
	{ "hook", OPT_HOOK, "tc|xdp",
	  "tc (default): at ingress, before other programs; xdp: earlier, and for packets that no tc program "
	  "sees" },
	{ "mode", OPT_MODE, "native|skb",
	  "of xdp: native or skb (default: native if the driver has it, skb on a veth)" },
	{ "legacy", OPT_LEGACY, NULL,
	  "a cls_bpf filter, as is done anyway where the kernel has no tcx" },
	{ "drop", OPT_DROP, "CLASS,...",
	  "drop these (default: what breaks a rule); all: everything that breaks a rule" },
	{ "count", OPT_COUNT, "CLASS,...", "count these and let them pass; all: drop nothing" },
	{ "events", OPT_EVENTS, "RATE",
	  "events a second that --watch can show (default 10); more are counted as suppressed; 0: none" },
	{ "show", OPT_SHOW, NULL, "what the guards of a device, or of all, have counted" },
	{ "watch", OPT_WATCH, NULL,
	  "show events as they come, until interrupted; one reader at a time" },
	{ "off", OPT_OFF, NULL, "take the guards off a device (with --hook: that one)" },
	{ NULL },
};

#define NOTE(sym, name, kind, rule, help) "\n" name " (" rule "): " help "; " GUARD_NOTE_##kind
#define GUARD_NOTE_0			  "never dropped"
#define GUARD_NOTE_1			  "counted"
#define GUARD_NOTE_2			  "dropped"
/* The kinds have to be expanded before they are pasted. */
#define NOTE_ROW(sym, name, kind, rule, help) NOTE(sym, name, kind, rule, help)

const char guard_notes[] =
	"A line without --show, --watch and --off says how the guard is to be; one that is there is changed. "
	"Classes, the rule they are from, and what is done with them by default:" GUARD_CLASSES(
		NOTE_ROW);

enum what { SET, SHOW, WATCH, OFF };

struct args {
	struct bt_guard_opts o;
	enum what what;
	bool hook_given;
};

/* --- the line ----------------------------------------------------------------------------------- */

/* The classes of a list, as a mask. Returns 0, or BT_EXIT_USAGE with a sentence. */
static int parse_classes(const char *opt, const char *list, __u32 all, __u32 *mask)
{
	__u32 m = 0;

	for (;;) {
		size_t len = strcspn(list, ",");
		int class = bt_guard_class(list, len);

		if (len == 3 && !memcmp(list, "all", 3))
			m |= all;
		else if (class < 0)
			return bt_err(
				BT_EXIT_USAGE,
				"--%s: there is no class '%.*s': 'bigtcp guard --help' lists them",
				opt, (int)len, list);
		else
			m |= 1u << class;
		if (!list[len])
			break;
		list += len + 1;
	}
	*mask = m;
	return 0;
}

static int parse_drop(struct args *a, const char *list)
{
	__u32 mask;
	int ret = parse_classes("drop", list, GUARD_WRONG_MASK, &mask);

	if (ret)
		return ret;
	if (mask & GUARD_OWN_MASK)
		return bt_err(
			BT_EXIT_USAGE,
			"--drop: own-hbh and own-len0 are BIG TCP itself: to be without such packets, set "
			"the sizes to 65536 ('ip link set dev DEV gso_max_size 65536 gro_max_size 65536')");
	a->o.conf.drop |= mask;
	return 0;
}

static int parse_count(struct args *a, const char *list)
{
	__u32 mask;
	int ret = parse_classes("count", list, ~0u, &mask);

	if (!ret)
		a->o.conf.drop &= ~mask;
	return ret;
}

static int parse_events(struct args *a, const char *arg)
{
	__u64 rate;

	if (!bt_number(arg, 1000000, &rate))
		return bt_err(BT_EXIT_USAGE,
			      "--events is a number of events a second, up to 1000000, not '%s'",
			      arg);
	a->o.conf.interval = rate ? 1000000000 / rate : GUARD_NO_EVENTS;
	a->o.conf.burst = rate ? 2 * rate : 1;
	return 0;
}

static int parse_mode(struct args *a, const char *arg)
{
	if (!strcmp(arg, "native"))
		a->o.mode = BT_XDP_NATIVE;
	else if (!strcmp(arg, "skb"))
		a->o.mode = BT_XDP_SKB;
	else
		return bt_err(BT_EXIT_USAGE, "--mode is native or skb, not '%s'", arg);
	return 0;
}

static int parse_guard_hook(struct args *a, const char *arg)
{
	a->hook_given = true;
	if (!strcmp(arg, "tc"))
		a->o.hook = BT_HOOK_INGRESS;
	else if (!strcmp(arg, "xdp"))
		a->o.hook = BT_HOOK_XDP;
	else
		return bt_err(BT_EXIT_USAGE, "--hook is tc or xdp, not '%s'", arg);
	return 0;
}

static int parse_one(struct args *a, int c)
{
	switch (c) {
	case OPT_HOOK:
		return parse_guard_hook(a, optarg);
	case OPT_MODE:
		return parse_mode(a, optarg);
	case OPT_LEGACY:
		a->o.legacy = true;
		return 0;
	case OPT_DROP:
		return parse_drop(a, optarg);
	case OPT_COUNT:
		return parse_count(a, optarg);
	case OPT_EVENTS:
		return parse_events(a, optarg);
	case OPT_SHOW:
	case OPT_WATCH:
	case OPT_OFF:
		if (a->what != SET)
			return bt_err(BT_EXIT_USAGE, "one of --show, --watch and --off");
		a->what = c == OPT_SHOW ? SHOW : c == OPT_WATCH ? WATCH : OFF;
		return 0;
	default:
		return BT_EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct args *a)
{
	const struct bt_cmd *cmd = bt_cmd_find("guard");
	bool setting = false;
	int c;

	while ((c = bt_getopt(argc, argv, cmd)) != -1) {
		setting |= c >= OPT_MODE && c <= OPT_EVENTS;
		if (parse_one(a, c))
			return BT_EXIT_USAGE;
	}
	if (setting && a->what != SET)
		return bt_usage(cmd, "--show, --watch and --off take no option but --hook");
	if (a->o.mode != BT_XDP_ANY && a->o.hook != BT_HOOK_XDP)
		return bt_usage(cmd, "--mode is of --hook xdp");
	if (a->o.legacy && a->o.hook == BT_HOOK_XDP)
		return bt_usage(cmd, "--legacy is of --hook tc");
	if (argc - optind > 1 || (argc == optind && (a->what == SET || a->what == OFF)))
		return bt_usage(cmd, "guard wants one device");
	a->o.dev = argc > optind ? argv[optind] : NULL;
	return 0;
}

/* --- what is printed ------------------------------------------------------------------------------ */

static const char *hook_word(const struct bt_attached *at)
{
	return at->pin.hook == BT_HOOK_XDP ? "xdp" : "tc";
}

static void print_classes(const char *key, const char *fmt, __u32 mask)
{
	char list[512] = "";

	bt_arr_open(key);
	for (int i = 0; i < GUARD_NR; i++) {
		if (!(mask >> i & 1))
			continue;
		bt_print_str(NULL, NULL, bt_guard_classes[i].name);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? "," : "",
			 bt_guard_classes[i].name);
	}
	bt_arr_close();
	bt_text(fmt, *list ? list : "nothing");
}

static void print_conf(const struct guard_conf *conf)
{
	bool events = conf->interval != GUARD_NO_EVENTS;

	print_classes("drop", "  drops %s\n", conf->drop & ~GUARD_OWN_MASK);
	bt_print_uint("events_per_second", NULL,
		      events ? (1000000000 + conf->interval / 2) / conf->interval : 0);
	bt_print_uint("events_burst", NULL, events ? conf->burst : 0);
}

static const struct bt_column columns[] = {
	{ "class", "CLASS" },  { "action", "ACTION" },	 { "packets", "PACKETS" },
	{ "bytes", "BYTES" },  { "dropped", "DROPPED" }, { "rule", "RULE" },
	{ "violation", NULL }, { "help", NULL },
};

static const char *action(const struct guard_conf *conf, int class)
{
	if (bt_guard_classes[class].kind == GUARD_OWN)
		return "pass";
	return conf->drop >> class & 1 ? "drop" : "count";
}

static void print_table(const struct bt_guard *g, const struct guard_counts *n)
{
	struct bt_table *t;

	bt_arr_open("classes");
	t = bt_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < GUARD_NR; i++) {
		bt_row(t);
		bt_cell_str(t, "class", bt_guard_classes[i].name);
		bt_cell_str(t, "action", action(&g->conf, i));
		bt_cell_uint(t, "packets", n->class[i].packets);
		bt_cell_uint(t, "bytes", n->class[i].bytes);
		bt_cell_uint(t, "dropped", n->class[i].dropped);
		bt_cell_str(t, "rule", bt_guard_classes[i].rule);
		bt_cell_bool(t, "violation", bt_guard_classes[i].kind == GUARD_WRONG);
		bt_cell_str(t, "help", bt_guard_classes[i].help);
	}
	bt_table_end(t);
	bt_arr_close();
}

static int show_one(const struct bt_guard *g)
{
	struct guard_counts n;
	int err = bt_guard_counts(g, &n);

	if (err)
		return bt_err(err, "cannot read the counters of the guard at %s: %s", g->dev,
			      strerror(-err));
	bt_obj_open(NULL);
	print_attachment(g->dev, &g->at);
	bt_print_uint("violations", "  %u packets broke a rule", n.wrong);
	bt_print_uint("dropped", ", %u were dropped\n", n.dropped);
	bt_print_uint("events", "  events: %u written", n.events);
	bt_print_uint("suppressed", ", %u over the rate", n.suppressed);
	bt_print_uint("lost", ", %u not read in time\n", n.lost);
	print_conf(&g->conf);
	print_table(g, &n);
	bt_obj_close();
	return 0;
}

static int no_guard(const char *dev)
{
	return bt_err(BT_EXIT_REFUSED, "there is no guard at %s: 'bigtcp guard %s' makes one",
		      dev ? dev : "any device here", dev ? dev : "DEV");
}

/* The guards that the line is about, at least one; else BT_EXIT_REFUSED with a sentence. */
static int find(const struct args *a, struct bt_guard **list, unsigned int *n)
{
	struct bt_guard *l;
	unsigned int i, k = 0;

	if (bt_guard_list(a->o.dev, &l, n))
		return BT_EXIT_REFUSED;
	for (i = 0; i < *n; i++) {
		if (a->hook_given && l[i].at.pin.hook != a->o.hook)
			bt_guard_close(&l[i]);
		else
			l[k++] = l[i];
	}
	*n = k;
	*list = l;
	if (k)
		return 0;
	bt_guard_list_free(l, 0);
	return no_guard(a->o.dev);
}

static int show(const struct args *a)
{
	struct bt_guard *list;
	unsigned int n;
	int ret = find(a, &list, &n);

	if (ret)
		return ret;
	bt_obj_open(NULL);
	bt_arr_open("guards");
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = show_one(&list[i]);
	bt_arr_close();
	bt_obj_close();
	bt_guard_list_free(list, n);
	return ret ? BT_EXIT_REFUSED : BT_EXIT_OK;
}

/* --- events --------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;
static struct guard_counts *seen; /* what each guard had suppressed at the last tick */

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void print_time(__u64 ns)
{
	struct timespec mono, real;
	char buf[64], frac[16];
	__u64 now, at;
	struct tm tm;
	time_t secs;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	now = mono.tv_sec * 1000000000ULL + mono.tv_nsec;
	at = real.tv_sec * 1000000000ULL + real.tv_nsec - (now - ns);
	secs = at / 1000000000;
	snprintf(frac, sizeof(frac), "%06u", (unsigned int)(at % 1000000000 / 1000));
	gmtime_r(&secs, &tm);
	strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%S.", &tm);
	strcat(buf, frac);
	strcat(buf, "Z");
	bt_print_str("time", "%s", buf);
}

static void print_event(const struct bt_guard *g, const struct guard_event *e)
{
	char addr[INET6_ADDRSTRLEN], hex[2 * GUARD_EVENT_EXT + 1] = "-";
	unsigned int n = e->ext_len <= GUARD_EVENT_EXT ? e->ext_len : GUARD_EVENT_EXT;

	bt_obj_open(NULL);
	print_time(e->ns);
	bt_print_str("dev", " %s", g->dev);
	bt_print_uint("ifindex", NULL, e->ifindex);
	bt_print_str("hook", " %s", hook_word(&g->at));
	bt_print_str("action", " %s", e->dropped ? "dropped" : "counted");
	print_classes("classes", " %s", e->found);
	inet_ntop(AF_INET6, e->ip6 + 8, addr, sizeof(addr));
	bt_print_str("src", " %s", addr);
	inet_ntop(AF_INET6, e->ip6 + 24, addr, sizeof(addr));
	bt_print_str("dst", " > %s", addr);
	bt_print_uint("len", " length %u", e->len);
	bt_print_uint("gso_size", NULL, e->gso_size);
	bt_print_uint("l3_off", NULL, e->l3_off);
	bt_print_hex("ip6", e->ip6, sizeof(e->ip6));
	bt_print_hex("ext", e->ext, n);
	for (unsigned int i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", e->ext[i]);
	bt_text(" payload_len %u next %u: %s\n", e->ip6[4] << 8 | e->ip6[5], e->ip6[6], hex);
	bt_obj_close();
	fflush(stdout);
}

/* Says what there were more events of. */
static void on_tick(struct bt_guard *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		__u64 suppressed = seen[i].suppressed, lost = seen[i].lost;
		bool first = !seen[i].class[0].packets;

		if (bt_guard_counts(&list[i], &seen[i]))
			continue;
		seen[i].class[0].packets = 1; /* read at least once */
		if (first || (seen[i].suppressed == suppressed && seen[i].lost == lost))
			continue;
		bt_obj_open(NULL);
		bt_print_str("dev", "... %s", list[i].dev);
		bt_print_str("hook", " %s:", hook_word(&list[i].at));
		bt_print_uint("suppressed", " %u more", seen[i].suppressed - suppressed);
		bt_print_uint("lost", ", %u lost\n", seen[i].lost - lost);
		bt_obj_close();
		fflush(stdout);
	}
}

static int watch(const struct args *a)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct bt_guard *list;
	unsigned int n;
	int ret = find(a, &list, &n);

	if (ret)
		return ret;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	seen = calloc(n, sizeof(*seen));
	bt_print_stream();
	if (!seen || bt_guard_watch(list, n, &stopped, print_event, on_tick))
		ret = BT_EXIT_REFUSED;
	else if (!stopped)
		bt_note("the guard is gone");
	free(seen);
	bt_guard_list_free(list, n);
	return ret;
}

/* --- on and off ----------------------------------------------------------------------------------- */

static int set(struct args *a)
{
	struct bt_guard g;
	bool changed;

	if (bt_guard_set(&a->o, &g, &changed))
		return BT_EXIT_REFUSED;
	bt_obj_open(NULL);
	if (bt_global.dry_run)
		bt_text(changed ? "would be changed: " : "would be attached: ");
	else if (changed)
		bt_text("changed: ");
	print_attachment(g.dev, &g.at);
	print_conf(&g.conf);
	bt_print_bool("changed", NULL, changed);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	bt_guard_close(&g);
	return BT_EXIT_OK;
}

static void print_off(const struct bt_attached *at, void *arg)
{
	bt_obj_open(NULL);
	bt_text(bt_global.dry_run ? "would be taken off: " : "taken off: ");
	print_attachment(arg, at);
	bt_obj_close();
}

static int off(const struct args *a)
{
	static const enum bt_hook_id hooks[] = { BT_HOOK_XDP, BT_HOOK_INGRESS };
	char dev[IFNAMSIZ];
	int n, count = 0;

	snprintf(dev, sizeof(dev), "%s", a->o.dev);
	bt_obj_open(NULL);
	bt_arr_open("off");
	for (unsigned int i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (a->hook_given && hooks[i] != a->o.hook)
			continue;
		n = bt_detach(dev, hooks[i], BT_PIN_GUARD, bt_global.dry_run, print_off, dev);
		if (n < 0 && n != -ENOENT)
			return BT_EXIT_REFUSED;
		if (n < 0)
			bt_err_clear();
		else
			count += n;
	}
	bt_arr_close();
	if (!count)
		return no_guard(dev);
	bt_print_bool("dry_run", NULL, bt_global.dry_run);
	bt_obj_close();
	return BT_EXIT_OK;
}

int cmd_guard(int argc, char **argv)
{
	struct args a = {
		.o.hook = BT_HOOK_INGRESS,
		.o.conf = { .drop = GUARD_WRONG_MASK,
			    .burst = GUARD_BURST,
			    .interval = GUARD_INTERVAL },
	};
	int ret;

	ret = parse(argc, argv, &a);
	if (ret)
		return ret;
	a.o.dry_run = bt_global.dry_run;
	switch (a.what) {
	case SHOW:
		return show(&a);
	case WATCH:
		return watch(&a);
	case OFF:
		return off(&a);
	default:
		return set(&a);
	}
}
