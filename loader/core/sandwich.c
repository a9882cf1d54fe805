// SPDX-License-Identifier: GPL-2.0
/* Puts strip and restore into a libxdp chain and takes them out, through libxdp. */
#include "core/sandwich.h"
#include "core/sandwich_int.h"
#include "core/vlog.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "xdp_dispatcher.skel.h"
#include "xdp_restore.skel.h"
#include "xdp_strip.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <xdp/libxdp.h>
#include <xdp/prog_dispatcher.h>

static void destroy_strip(struct xdp_strip **s)
{
	xdp_strip__destroy(*s);
}

static void destroy_restore(struct xdp_restore **s)
{
	xdp_restore__destroy(*s);
}

static void destroy_dispatcher(struct xdp_dispatcher **s)
{
	xdp_dispatcher__destroy(*s);
}

/* --- libxdp's dispatcher, replaced by ours ------------------------------------------------- */

void bt_dispatcher_remove(struct bt_dispatcher *d)
{
	if (!*d->dir)
		return;
	unlink(d->file);
	rmdir(d->dir);
	unsetenv(XDP_OBJECT_ENVVAR);
	*d->dir = '\0';
}

int bt_dispatcher_put(struct bt_dispatcher *d)
{
	const char *const parents[] = { "/run", "/tmp", "/dev/shm", "/var/tmp" };
	const char *bytes;
	int fd __close = -1;
	size_t n;

	*d = (struct bt_dispatcher){ "", "" };
	if (getenv(XDP_OBJECT_ENVVAR))
		return 0;
	for (unsigned int i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		snprintf(d->dir, sizeof(d->dir), "%s/bigtcp-xdp.XXXXXX", parents[i]);
		if (mkdtemp(d->dir))
			break;
		*d->dir = '\0';
	}
	if (!*d->dir)
		return bt_err(-errno, "no place for a temporary file: %s", strerror(errno));
	snprintf(d->file, sizeof(d->file), "%s/xdp-dispatcher.o", d->dir);
	bytes = xdp_dispatcher__elf_bytes(&n);
	fd = open(d->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || setenv(XDP_OBJECT_ENVVAR, d->dir, 1)) {
		int err = errno ? -errno : -EIO;

		bt_dispatcher_remove(d);
		return bt_err(err, "a temporary file can't be written: %s", strerror(-err));
	}
	return 0;
}

/* --- would the kernel take it? ----------------------------------------------------------------- */

static struct xdp_dispatcher *load_dispatcher(int *err)
{
	struct xdp_dispatcher *d = xdp_dispatcher__open();
	struct xdp_dispatcher_config conf = {
		.magic = XDP_DISPATCHER_MAGIC,
		.dispatcher_version = XDP_DISPATCHER_VERSION,
		.num_progs_enabled = 2,
	};
	struct bpf_map *map = d ? bpf_object__next_map(d->obj, NULL) : NULL;

	*err = d ? 0 : -errno;
	if (map)
		*err = bpf_map__set_initial_value(map, &conf, sizeof(conf));
	if (!*err && d)
		*err = xdp_dispatcher__load(d);
	if (*err) {
		xdp_dispatcher__destroy(d);
		return NULL;
	}
	return d;
}

static int explain(int err, const char *log)
{
	char tail[512], cause[256];

	if (err == -EPERM || err == -EACCES)
		return bt_err(
			err,
			"this kernel refuses freplace programs (%s), which a libxdp chain is made "
			"of: lockdown or a security module; a twin needs no chain",
			strerror(-err));
	bt_vlog_tail(log, strlen(log), tail, sizeof(tail));
	bt_vlog_cause(tail, cause, sizeof(cause));
	return bt_err(err, "this kernel does not take the sandwich in a libxdp chain: %s",
		      *cause ? cause : strerror(-err));
}

int bt_sandwich_check(void)
{
	struct xdp_dispatcher *d __cleanup(destroy_dispatcher) = NULL;
	struct xdp_strip *s __cleanup(destroy_strip) = NULL;
	char log[4096] = "";
	int err;

	d = load_dispatcher(&err);
	if (!d)
		return err == -EPERM
			       ? bt_err(err, "loading a BPF program was refused: it takes CAP_BPF "
					     "and CAP_NET_ADMIN")
			       : explain(err, log);
	s = xdp_strip__open();
	if (!s)
		return bt_err(-errno, "the strip program can't be opened: %s", strerror(errno));
	bpf_program__set_type(s->progs.bigtcp_strip, BPF_PROG_TYPE_EXT);
	bpf_program__set_expected_attach_type(s->progs.bigtcp_strip, 0);
	bpf_program__set_log_buf(s->progs.bigtcp_strip, log, sizeof(log));
	err = bpf_program__set_attach_target(s->progs.bigtcp_strip,
					     bpf_program__fd(d->progs.xdp_dispatcher), "prog0");
	if (!err)
		err = xdp_strip__load(s);
	return err ? explain(err, log) : 0;
}

/* --- on and off -------------------------------------------------------------------------------- */

static enum xdp_attach_mode mode_of(const struct bt_chain *c)
{
	return c->mode == BT_XDP_SKB ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

/* Settings of one of ours; the chain goes on when it passes a packet. */
static struct xdp_program *prepare(struct bpf_object *obj, __u32 prio, long *err)
{
	struct xdp_program *xp = xdp_program__from_bpf_obj(obj, NULL);

	*err = libxdp_get_error(xp);
	if (*err)
		return NULL;
	*err = xdp_program__set_run_prio(xp, prio);
	for (unsigned int a = XDP_ABORTED; a <= XDP_REDIRECT && !*err; a++)
		*err = xdp_program__set_chain_call_enabled(xp, a, a == XDP_PASS);
	if (!*err)
		*err = xdp_program__set_xdp_frags_support(xp, true);
	if (*err) {
		xdp_program__close(xp);
		return NULL;
	}
	return xp;
}

/* Are @now's programs those of @was, but for ours? */
static bool others_same(const struct bt_chain *was, const struct bt_chain *now)
{
	unsigned int k = 0;

	for (unsigned int i = 0; i < now->n; i++) {
		const struct bt_chain_prog *p = &now->progs[i];

		if (p->role == BT_ROLE_STRIP || p->role == BT_ROLE_RESTORE)
			continue;
		while (k < was->n && (was->progs[k].role == BT_ROLE_STRIP ||
				      was->progs[k].role == BT_ROLE_RESTORE))
			k++;
		if (k == was->n || was->progs[k++].id != p->id)
			return false;
	}
	return true;
}

static int attach(const struct bt_chain *c, struct bpf_object *strip, struct bpf_object *restore,
		  const struct bt_sandwich_plan *plan)
{
	struct bt_dispatcher d __cleanup(bt_dispatcher_remove) = {};
	struct xdp_program *progs[2] = {};
	long err;

	err = bt_dispatcher_put(&d);
	if (err)
		return (int)err;
	bt_libxdp_quiet();
	progs[0] = prepare(strip, plan->strip_prio, &err);
	if (progs[0])
		progs[1] = prepare(restore, plan->restore_prio, &err);
	if (progs[1])
		err = xdp_program__attach_multi(progs, 2, c->ifindex, mode_of(c), 0);
	for (int i = 0; i < 2; i++) {
		if (progs[i])
			xdp_program__close(progs[i]);
	}
	if (err)
		return bt_err(
			(int)err,
			"the sandwich can't be put into the chain of %s: %s%s%s; -v shows more",
			c->dev, strerror((int)-err), *bt_libxdp_warning() ? ": libxdp: " : "",
			bt_libxdp_warning());
	return 0;
}

int bt_sandwich_on(struct bt_chain *chain, const struct bt_sandwich_plan *plan,
		   bool max_payload_len)
{
	struct xdp_restore *r __cleanup(destroy_restore) = xdp_restore__open();
	struct xdp_strip *s __cleanup(destroy_strip) = xdp_strip__open();
	struct bt_sandwich_plan now_plan;
	struct bt_chain now;
	int err;

	if (!s || !r)
		return bt_err(-errno, "the sandwich's programs can't be opened: %s",
			      strerror(errno));
	if (max_payload_len)
		s->rodata->strip_payload_len = 0xffff;
	err = attach(chain, s->obj, r->obj, plan);
	if (!err)
		err = bt_chain_read(chain->dev, &now);
	if (err)
		return err;
	/* Somebody else may have changed the chain since it was judged. */
	if (!others_same(chain, &now) || bt_sandwich_plan(&now, NULL, 0, &now_plan) ||
	    !now_plan.in_place) {
		bt_err_clear();
		err = bt_sandwich_off(&now);
		return err ? err
			   : bt_err(-EAGAIN,
				    "the chain of %s has changed meanwhile: the sandwich was taken "
				    "off; try again",
				    chain->dev);
	}
	*chain = now;
	return 0;
}

int bt_sandwich_off(const struct bt_chain *c)
{
	struct bt_dispatcher d __cleanup(bt_dispatcher_remove) = {};
	struct xdp_program *progs[BT_CHAIN_MAX] = {};
	unsigned int n = 0;
	long err = 0;

	for (unsigned int i = 0; i < c->n && !err; i++) {
		const struct bt_chain_prog *p = &c->progs[i];

		if (p->role != BT_ROLE_STRIP && p->role != BT_ROLE_RESTORE)
			continue;
		progs[n] = xdp_program__from_id(p->id);
		err = libxdp_get_error(progs[n]);
		n += !err;
	}
	if (!err && !n)
		return bt_err(-ENOENT, "there is no sandwich on %s", c->dev);
	if (!err)
		err = bt_dispatcher_put(&d);
	bt_libxdp_quiet();
	if (!err)
		err = xdp_program__detach_multi(progs, n, c->ifindex, mode_of(c), 0);
	for (unsigned int i = 0; i < n; i++)
		xdp_program__close(progs[i]);
	if (err)
		return bt_err(
			(int)err,
			"the sandwich can't be taken out of the chain of %s: %s%s%s; -v shows "
			"more",
			c->dev, strerror((int)-err), *bt_libxdp_warning() ? ": libxdp: " : "",
			bt_libxdp_warning());
	return 0;
}
