// SPDX-License-Identifier: GPL-2.0
#include "daemon/daemon.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "daemon/events.h"
#include "daemon/export.h"
#include "daemon/http.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/notify.h"
#include "daemon/reconcile.h"

/* After an event: so that a device that is made, named and moved in one go is looked at once. */
#define SETTLE_MS 50
/* After a round that could not list the devices, since they changed meanwhile. */
#define AGAIN_MS 500
/* Of the time at most this share is spent on rounds that events ask for. */
#define EVENT_SHARE 10

/* Observers are put on for so long at a time. */
#define DRESS_MS 200

/* The buffer of events, in bytes, for tests that want it to be full. */
#define ENV_RCVBUF "BIGTCPD_RCVBUF"

struct daemon {
	const struct bt_daemon_opts *opts;
	struct bt_config *cfg;
	struct bt_loop *loop;
	struct bt_nlevents *events;
	struct bt_http *http;
	struct bt_reconciler *rec;
	struct bt_round round; /* the last */
	int tick, soon, alive, dress, http_timer; /* timers */
	bool soon_set;
	long long ended_ms; /* of the last round, monotonic */
	struct bt_totals totals;
	struct bt_said said_round, said_file;
	int lock;
};

static void status(const struct bt_round *r, char *buf, size_t len)
{
	snprintf(buf, len, "%u device%s: %u as wanted, %u held back, %u left alone, %u failed",
		 r->devices, r->devices == 1 ? "" : "s", r->fit, r->held_back, r->left_alone,
		 r->failed);
}

/* --- metrics ------------------------------------------------------------------------------ */

static struct bt_samples *samples(const struct daemon *d)
{
	return bt_export(&d->totals, &d->round, bt_reconciler_devs(d->rec));
}

static int metrics(void *arg, FILE *to)
{
	struct bt_samples *s __cleanup(bt_samples_free) = samples(arg);

	return s ? bt_samples_write(s, to) : -ENOMEM;
}

/* The endpoints say that they work, or that they do not; not what they were asked. */
static bool healthy(void *arg, char *why, size_t len)
{
	const struct daemon *d = arg;
	const struct bt_round *r = &d->round;

	if (!d->totals.rounds) {
		snprintf(why, len, "no round has ended yet");
		return false;
	}
	if (d->said_round.hash) {
		snprintf(why, len, "the devices could not be listed");
		return false;
	}
	status(r, why, len);
	return !r->failed;
}

static void textfile(struct daemon *d)
{
	struct bt_samples *s __cleanup(bt_samples_free) = NULL;

	if (!d->cfg->textfile[0])
		return;
	s = samples(d);
	if (!s)
		return;
	if (bt_samples_textfile(s, d->cfg->textfile))
		bt_log_once(&d->said_file, BT_LOG_ERR, "metrics", "%s",
			    bt_err_text() ? bt_err_text() : "cannot write the textfile");
	else
		d->said_file.hash = 0;
	bt_err_clear();
}

static void set_http_timer(struct daemon *d)
{
	bt_loop_set(d->loop, d->http_timer, bt_http_timeout(d->http));
}

static void on_http(void *arg)
{
	struct daemon *d = arg;

	if (!d->http)
		return;
	bt_http_run(d->http);
	set_http_timer(d);
}

static void http_close(struct daemon *d)
{
	if (!d->http)
		return;
	bt_loop_del(d->loop, bt_http_fd(d->http));
	bt_http_free(&d->http);
}

static int http_open(struct daemon *d, const struct bt_config *cfg)
{
	const struct bt_http_opts o = {
		.socket = cfg->metrics_socket[0] ? cfg->metrics_socket : NULL,
		.listen = cfg->metrics_listen[0] ? cfg->metrics_listen : NULL,
		.metrics = metrics,
		.healthy = healthy,
		.arg = d,
	};
	int err;

	if (!o.socket && !o.listen)
		return 0;
	err = bt_http_new(&o, &d->http);
	if (!err)
		err = bt_loop_add(d->loop, bt_http_fd(d->http), on_http, d);
	if (err) {
		bt_http_free(&d->http);
		return bt_err(err, "cannot serve metrics: %s", strerror(-err));
	}
	if (bt_http_port(d->http))
		bt_log(BT_LOG_INFO, "metrics at %s, port %u", cfg->metrics_listen,
		       bt_http_port(d->http));
	set_http_timer(d);
	return 0;
}

/* --- rounds --------------------------------------------------------------------------------- */

static void count_round(struct daemon *d)
{
	d->totals.rounds++;
	d->totals.errors += d->round.failed != 0;
	d->totals.size_resets += d->round.size_resets;
}

static void round_now(struct daemon *d)
{
	char words[128];
	int err;

	err = bt_reconcile(d->rec, &d->round);
	d->ended_ms = bt_now_ms();
	d->soon_set = false;
	bt_loop_set(d->loop, d->soon, -1);
	bt_loop_set(d->loop, d->tick, d->round.postponed ? 0 : (long)d->cfg->interval * 1000);
	bt_loop_set(d->loop, d->dress, 0);
	if (err == -EAGAIN) {
		/* They came and went all the time that they were listed. */
		bt_log(BT_LOG_DEBUG, "devices change faster than they can be listed");
		bt_err_clear();
		bt_loop_set(d->loop, d->soon, AGAIN_MS);
		d->soon_set = true;
		return;
	}
	if (err) {
		d->totals.errors++;
		bt_log_once(&d->said_round, BT_LOG_ERR, "round", "%s",
			    bt_err_text() ? bt_err_text() : strerror(-err));
		bt_err_clear();
		return;
	}
	count_round(d);
	d->said_round.hash = 0;
	status(&d->round, words, sizeof(words));
	bt_log(BT_LOG_DEBUG, "round %lu: %s, %u changes, %.1f ms", d->totals.rounds, words,
	       d->round.changes, (double)d->round.duration_ns / 1e6);
	bt_notify_status(words);
	textfile(d);
}

static void on_tick(void *arg)
{
	round_now(arg);
}

static void on_dress(void *arg)
{
	struct daemon *d = arg;

	if (bt_reconciler_dress(d->rec, DRESS_MS))
		bt_loop_set(d->loop, d->dress, 0);
}

/* A round for an event: not at once, and not so often that a storm of events takes the machine. */
static void round_soon(struct daemon *d)
{
	long long at = bt_now_ms() + SETTLE_MS;
	long long next = d->ended_ms + EVENT_SHARE * (long long)(d->round.duration_ns / 1000000);

	if (d->soon_set)
		return;
	d->soon_set = true;
	bt_loop_set(d->loop, d->soon, (long)((at > next ? at : next) - bt_now_ms()));
}

static int events_open(struct daemon *d)
{
	const char *words = getenv(ENV_RCVBUF);
	__u64 size = 0;
	int err;

	if (words && !bt_number(words, 1 << 30, &size))
		return bt_err(-EINVAL, ENV_RCVBUF " is a number of bytes, not '%s'", words);
	err = bt_nlevents_new((unsigned int)size, &d->events);
	return err;
}

static void on_events(void *arg)
{
	struct daemon *d = arg;
	int seen = bt_nlevents_read(d->events);

	if (seen == BT_EVENT_LOST) {
		d->totals.events_lost++;
		bt_log(BT_LOG_INFO,
		       "more changes than could be told one by one: looking at all devices");
	}
	if (seen < 0) {
		/* Without events the timer still is there. */
		bt_log(BT_LOG_ERR, "events of devices have ended: %s", strerror(-seen));
		bt_loop_del(d->loop, bt_nlevents_fd(d->events));
		bt_nlevents_free(&d->events);
	}
	if (seen != BT_EVENT_NONE)
		round_soon(d);
}

/* --- configuration and signals ---------------------------------------------------------------- */

static void config_error(void *arg, unsigned int line, const char *text)
{
	bt_log(BT_LOG_ERR, "%s:%u: %s", (const char *)arg, line, text);
}

static int read_config(const struct daemon *d, struct bt_config **cfg)
{
	return bt_config_read(d->opts->config, d->opts->run_dir, config_error,
			      (void *)d->opts->config, cfg);
}

static bool same_http(const struct bt_config *a, const struct bt_config *b)
{
	return !strcmp(a->metrics_socket, b->metrics_socket) &&
	       !strcmp(a->metrics_listen, b->metrics_listen);
}

/* The endpoints of the old configuration come back if those of the new one can't be had. */
static int change_http(struct daemon *d, const struct bt_config *cfg)
{
	int err;

	if (same_http(d->cfg, cfg))
		return 0;
	http_close(d);
	err = http_open(d, cfg);
	if (!err)
		return 0;
	bt_log(BT_LOG_ERR, "%s", bt_err_text());
	bt_err_clear();
	if (http_open(d, d->cfg)) {
		bt_log(BT_LOG_ERR, "%s", bt_err_text());
		bt_err_clear();
	}
	return err;
}

static void reload(struct daemon *d)
{
	struct bt_config *cfg = NULL, *old = d->cfg;
	int err;

	bt_notify_reloading();
	err = read_config(d, &cfg);
	if (err && bt_err_text())
		bt_log(BT_LOG_ERR, "%s", bt_err_text());
	bt_err_clear();
	if (!err)
		err = change_http(d, cfg);
	if (err) {
		bt_config_free(&cfg);
		bt_log(BT_LOG_ERR, "%s is not taken: the configuration from before stays",
		       d->opts->config);
	} else {
		d->cfg = cfg;
		bt_reconciler_config(d->rec, cfg);
		bt_config_free(&old);
		bt_log(BT_LOG_NOTICE, "%s was read again: %u device section%s", d->opts->config,
		       cfg->n_rules, cfg->n_rules == 1 ? "" : "s");
		round_now(d);
	}
	bt_notify_ready(err ? "configuration not taken" : "configuration read");
}

static void on_signal(void *arg, int sig)
{
	struct daemon *d = arg;

	if (sig == SIGHUP) {
		reload(d);
		return;
	}
	bt_log(BT_LOG_NOTICE, "ends, and leaves everything as it is");
	bt_notify_stopping();
	bt_loop_stop(d->loop);
}

static void on_alive(void *arg)
{
	struct daemon *d = arg;

	bt_notify_alive();
	bt_loop_set(d->loop, d->alive, bt_notify_interval());
}

/* --- start and end ------------------------------------------------------------------------------ */

static int set_up_loop(struct daemon *d)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	err = bt_loop_new(&d->loop);
	if (!err)
		err = bt_loop_signals(d->loop, &set, on_signal, d);
	if (err)
		return err;
	d->tick = bt_loop_timer(d->loop, true, on_tick, d);
	d->soon = bt_loop_timer(d->loop, false, on_tick, d);
	d->alive = bt_loop_timer(d->loop, false, on_alive, d);
	d->dress = bt_loop_timer(d->loop, false, on_dress, d);
	d->http_timer = bt_loop_timer(d->loop, false, on_http, d);
	if (d->tick < 0 || d->soon < 0 || d->alive < 0 || d->dress < 0 || d->http_timer < 0)
		return -ENFILE;
	return 0;
}

static int run(struct daemon *d)
{
	char words[128];
	int err;

	err = events_open(d);
	if (!err)
		err = bt_loop_add(d->loop, bt_nlevents_fd(d->events), on_events, d);
	if (!err)
		err = http_open(d, d->cfg);
	if (err)
		return err;
	round_now(d);
	status(&d->round, words, sizeof(words));
	bt_log(BT_LOG_NOTICE, "bigtcpd %s: %s", BIGTCP_VERSION, words);
	bt_notify_ready(words);
	if (bt_notify_interval())
		on_alive(d);
	return bt_loop_run(d->loop);
}

static int once(struct daemon *d)
{
	char words[128];
	int err;

	do {
		err = bt_reconcile(d->rec, &d->round);
		if (err)
			return err;
		count_round(d);
		bt_reconciler_dress(d->rec, UINT_MAX);
	} while (d->round.postponed);
	status(&d->round, words, sizeof(words));
	bt_log(BT_LOG_NOTICE, "%s", words);
	textfile(d);
	return d->round.failed ? bt_err(-EIO, "not all could be done, see above") : 0;
}

static void tear_down(struct daemon *d)
{
	if (d->loop)
		http_close(d);
	bt_nlevents_free(&d->events);
	bt_reconciler_free(&d->rec);
	bt_loop_free(&d->loop);
	bt_config_free(&d->cfg);
	if (d->lock >= 0)
		close(d->lock);
}

int bt_daemon(const struct bt_daemon_opts *opts)
{
	struct daemon d __cleanup(tear_down) = { .opts = opts, .lock = -1 };
	int err;

	err = read_config(&d, &d.cfg);
	if (err)
		return err;
	d.lock = bt_daemon_lock(opts->run_dir);
	if (d.lock < 0)
		return d.lock;
	err = bt_reconciler_new(d.cfg, &d.rec);
	if (!err && !opts->once)
		err = set_up_loop(&d);
	if (err)
		return bt_err(err, "cannot start: %s", strerror(-err));
	return opts->once ? once(&d) : run(&d);
}
