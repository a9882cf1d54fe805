// SPDX-License-Identifier: GPL-2.0
/* What runs on a device by XDP, as libxdp knows it. */
#include "core/sandwich.h"
#include "core/audit_prog.h"
#include "core/sandwich_int.h"
#include "core/sandwich_verdicts.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if_arp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <xdp/libxdp.h>

static char warning[256];

static int print(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	va_list copy;

	if (level == LIBXDP_WARN) {
		va_copy(copy, ap);
		vsnprintf(warning, sizeof(warning), fmt, copy);
		va_end(copy);
		warning[strcspn(warning, "\n")] = '\0';
	}
	if (bt_verbose > (level == LIBXDP_DEBUG))
		return vfprintf(stderr, fmt, ap);
	return 0;
}

void bt_libxdp_quiet(void)
{
	libxdp_set_print(print);
	warning[0] = '\0';
}

const char *bt_libxdp_warning(void)
{
	return warning;
}

/* Adds up the CPUs' counters, which are all __u64. */
static int read_stats(int map_fd, struct sandwich_stats *out)
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *vals __free = NULL, *sum = (__u64 *)out;
	unsigned int n = sizeof(*out) / sizeof(__u64);
	__u32 key = 0;

	if (cpus < 0)
		return cpus;
	vals = calloc((size_t)cpus, sizeof(*out));
	if (!vals)
		return -ENOMEM;
	if (bpf_map_lookup_elem(map_fd, &key, vals))
		return -errno;
	for (unsigned int i = 0; i < n * (unsigned int)cpus; i++)
		sum[i % n] += vals[i];
	return 0;
}

/* Ours, if it has the name and the map: anybody can give a program that name. */
static void find_ours(const struct bt_prog_facts *f, struct bt_chain_prog *p)
{
	bool strip = !strcmp(p->name, BIGTCP_STRIP_PROG);

	if (!strip && strcmp(p->name, BIGTCP_RESTORE_PROG))
		return;
	for (unsigned int i = 0; i < f->n_map_ids; i++) {
		struct bpf_map_info info = {};
		__u32 len = sizeof(info);
		int fd __close = bpf_map_get_fd_by_id(f->map_ids[i]);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ||
		    strcmp(info.name, BIGTCP_SANDWICH_STATS) ||
		    info.value_size != sizeof(struct sandwich_stats) || read_stats(fd, &p->stats))
			continue;
		p->role = strip ? BT_ROLE_STRIP : BT_ROLE_RESTORE;
	}
}

static int read_prog(const struct xdp_program *xp, struct bt_chain_prog *out)
{
	struct bt_chain_prog p = { .id = xdp_program__id(xp), .prio = xdp_program__run_prio(xp) };
	struct bt_prog_facts facts = {};
	int err, fd = xdp_program__fd(xp);

	err = bt_prog_facts(fd, &facts);
	if (!err)
		err = bt_verdicts(fd, &p.verdicts);
	if (err) {
		bt_prog_facts_free(&facts);
		return bt_err(err, "program %u (%s) can't be looked at: %s", p.id,
			      xdp_program__name(xp),
			      err == -EPERM ? "that takes CAP_SYS_ADMIN" : strerror(-err));
	}
	snprintf(p.name, sizeof(p.name), "%s", facts.name);
	for (unsigned int a = XDP_ABORTED; a <= XDP_REDIRECT; a++) {
		if (xdp_program__chain_call_enabled(xp, a))
			p.actions |= 1U << a;
	}
	p.role = facts.twin ? BT_ROLE_TWIN : BT_ROLE_PROGRAM;
	find_ours(&facts, &p);
	bt_prog_facts_free(&facts);
	*out = p;
	return 0;
}

static int read_progs(const struct xdp_multiprog *mp, struct bt_chain *c)
{
	struct xdp_program *xp = NULL, *mainp = xdp_multiprog__main_prog(mp);
	int err = 0;

	switch (xdp_multiprog__attach_mode(mp)) {
	case XDP_MODE_SKB:
		c->mode = BT_XDP_SKB;
		break;
	case XDP_MODE_HW:
		c->mode = BT_XDP_HW;
		break;
	default:
		c->mode = BT_XDP_NATIVE;
	}
	/* A program that runs on the card leaves none here. */
	c->alone = xdp_multiprog__is_legacy(mp);
	if (!mainp) {
		mainp = xdp_multiprog__hw_prog(mp);
		c->mode = BT_XDP_HW;
	}
	if (!mainp)
		return 0;
	c->main_id = xdp_program__id(mainp);
	if (c->alone)
		return read_prog(mainp, &c->progs[c->n++]);
	while (!err && (xp = xdp_multiprog__next_prog(xp, mp))) {
		if (c->n == BT_CHAIN_MAX)
			return bt_err(-E2BIG, "%s has a chain of more than %d programs", c->dev,
				      BT_CHAIN_MAX);
		err = read_prog(xp, &c->progs[c->n++]);
	}
	return err;
}

static bool is_ethernet(const char *dev)
{
	struct ifreq req = {};
	int fd __close = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", dev);
	return fd >= 0 && !ioctl(fd, SIOCGIFHWADDR, &req) &&
	       req.ifr_hwaddr.sa_family == ARPHRD_ETHER;
}

int bt_chain_read(const char *dev, struct bt_chain *out)
{
	struct bt_chain c = { .ifindex = (int)if_nametoindex(dev) };
	struct xdp_multiprog *mp;
	long err;

	if (!c.ifindex)
		return bt_err(-ENODEV, "there is no device %s", dev);
	snprintf(c.dev, sizeof(c.dev), "%s", dev);
	c.ethernet = is_ethernet(dev);
	bt_libxdp_quiet();
	mp = xdp_multiprog__get_from_ifindex(c.ifindex);
	err = libxdp_get_error(mp);
	if (err && err != -ENOENT)
		return bt_err((int)err, "the XDP programs of %s can't be read: %s%s%s%s", dev,
			      strerror((int)-err), *warning ? " (libxdp: " : "", warning,
			      *warning ? ")" : "");
	err = err ? 0 : read_progs(mp, &c);
	if (!libxdp_get_error(mp))
		xdp_multiprog__close(mp);
	if (!err)
		*out = c;
	return (int)err;
}
