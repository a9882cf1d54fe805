// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/ethtool.h"
#include "core/judge.h"
#include "core/kbtf.h"
#include "core/preflight_int.h"

#include <bpf/btf.h>

#define KERNEL_MAX (8U * 65535) /* GSO_MAX_SIZE, GRO_MAX_SIZE */
#define STACK_MAX  64

static const struct {
	const char *code;
	void (*look)(struct bt_pf *pf);
} checks[] = {
#define CHECK(code, fn, looks_at) { code, fn },
#include "core/preflight.tab.h"
#undef CHECK
};

const struct bt_check_kind bt_check_kinds[] = {
#define CHECK(code, fn, looks_at) { code, looks_at },
#include "core/preflight.tab.h"
#undef CHECK
	{ NULL },
};

const char *bt_level_name(enum bt_level level)
{
	static const char *const names[] = { "ok", "note", "warning", "refuse" };

	return names[level];
}

__u32 bt_size_max(const struct bt_link *link)
{
	__u32 max = link->sizes.tso_max;

	if (max <= BT_PF_LEGACY)
		return 0;
	return max < KERNEL_MAX ? max : KERNEL_MAX;
}

struct bt_check *bt_pf_row(struct bt_pf *pf, enum bt_level level, const struct bt_link *about)
{
	struct bt_check *c = &pf->spare;

	if (pf->n == pf->cap) {
		struct bt_check *more = reallocarray(pf->rows, pf->cap * 2 + 16, sizeof(*more));

		if (more) {
			pf->rows = more;
			pf->cap = pf->cap * 2 + 16;
		} else {
			pf->err = -ENOMEM;
		}
	}
	if (!pf->err)
		c = &pf->rows[pf->n++];
	*c = (struct bt_check){ .code = pf->code, .level = level };
	if (about) {
		c->ifindex = about->ifindex;
		memcpy(c->dev, about->name, sizeof(c->dev));
	}
	return c;
}

void bt_say(char (*text)[256], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(*text, sizeof(*text), fmt, ap);
	va_end(ap);
}

/* --- the kernel, live ----------------------------------------------------------------------------- */

/* A hint only: vendors port parts of what took the header away. */
static bool btf_says_hbh(void)
{
	const struct btf *btf = bt_kbtf();

	return !btf || btf__find_by_name_kind(btf, "hop_jumbo_hdr", BTF_KIND_STRUCT) > 0;
}

static bool uses_hbh(const struct bt_live *live)
{
	const enum bt_form send = live->looks[BT_LIVE_SEND].form,
			   recv = live->looks[BT_LIVE_RECV].form;

	if (send == BT_FORM_HBH || recv == BT_FORM_HBH)
		return true;
	return (send == BT_FORM_UNKNOWN || recv == BT_FORM_UNKNOWN) && btf_says_hbh();
}

static void say_form(struct bt_pf *pf, unsigned int i, const char *which)
{
	const struct bt_look *look = &pf->live->looks[i];
	bool v4 = i == BT_LIVE_SEND4 || i == BT_LIVE_RECV4;
	struct bt_check *c;

	switch (look->form) {
	case BT_FORM_HBH:
	case BT_FORM_NO_HEADER:
		c = bt_pf_row(pf, BT_LEVEL_NOTE, NULL);
		bt_say(&c->found, "%s: %s", which,
		       look->form == BT_FORM_HBH ? "the hop-by-hop jumbo header is in use"
						 : "no header is added, the length field is 0");
		bt_say(&c->why, "%s", bt_look_means(i, look->form));
		bt_say(&c->advice, "see what is said of programs in rows 'unsafe-program'");
		return;
	case BT_FORM_NO_BIG_TCP:
		c = bt_pf_row(pf, BT_LEVEL_REFUSE, NULL);
		bt_say(&c->found, "%s: this kernel makes no such packets", which);
		bt_say(&c->why, "%s", look->why);
		bt_say(&c->advice, "use Linux %s or newer", v4 ? "6.3" : "5.19");
		return;
	case BT_FORM_UNKNOWN:
		c = bt_pf_row(pf, BT_LEVEL_WARNING, NULL);
		bt_say(&c->found, "%s: no such packet was seen", which);
		bt_say(&c->why, "%s", look->why);
		bt_say(&c->advice, "look again with bigtcp probe%s",
		       pf->hbh && !v4 ? "; until then the jumbo header counts as in use" : "");
		return;
	}
}

/* Both directions of an IP version, in one row if they are alike. */
static void say_both(struct bt_pf *pf, unsigned int send, unsigned int recv)
{
	char both[64];

	if (pf->live->looks[send].form != pf->live->looks[recv].form) {
		say_form(pf, send, bt_look_name(send));
		say_form(pf, recv, bt_look_name(recv));
		return;
	}
	snprintf(both, sizeof(both), "%s and %s", bt_look_name(send), bt_look_name(recv));
	say_form(pf, send, both);
}

void bt_pf_hbh(struct bt_pf *pf)
{
	struct bt_check *c;

	if (!pf->live) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, NULL);
		bt_say(&c->found, "not looked at");
		bt_say(&c->why, "%s", pf->no_live);
		bt_say(&c->advice, "the jumbo header counts as %s: BTF %s it",
		       pf->hbh ? "in use" : "not in use", pf->hbh ? "has" : "lacks");
		return;
	}
	if (pf->size)
		say_both(pf, BT_LIVE_SEND, BT_LIVE_RECV);
	if (pf->size_ipv4)
		say_both(pf, BT_LIVE_SEND4, BT_LIVE_RECV4);
	if (!pf->size) {
		c = bt_pf_row(pf, BT_LEVEL_OK, NULL);
		bt_say(&c->found, "IPv6 packets stay at 64 KiB: no jumbo header");
	}
}

/* --- the device ----------------------------------------------------------------------------------- */

void bt_pf_tso_max(struct bt_pf *pf)
{
	const __u32 max = bt_size_max(&pf->dev);
	const char *by = pf->driver[0] ? pf->driver : "unknown";
	struct bt_check *c;

	if (!max) {
		c = bt_pf_row(pf, BT_LEVEL_REFUSE, &pf->dev);
		bt_say(&c->found, "tso_max_size is %u (driver %s)", pf->dev.sizes.tso_max, by);
		bt_say(&c->why,
		       pf->dev.sizes.tso_max
			       ? "the driver takes no packet above 64 KiB for sending"
			       : "this kernel does not tell what the driver takes: it is older "
				 "than Linux 5.19");
		bt_say(&c->advice,
		       !strcmp(pf->dev.kind, "bridge")
			       ? "enable the ports of the bridge: bridged packets keep "
				 "their size"
			       : "use a device whose driver takes more; 'ip -d link' shows "
				 "tso_max_size");
		return;
	}
	if (pf->wanted > max) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, &pf->dev);
		bt_say(&c->found, "tso_max_size is %u (driver %s), %u is wanted",
		       pf->dev.sizes.tso_max, by, pf->wanted);
		bt_say(&c->why, "neither driver nor kernel take more than %u", max);
		bt_say(&c->advice, "the size becomes %u", max);
		return;
	}
	c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
	bt_say(&c->found, "tso_max_size is %u (driver %s)", pf->dev.sizes.tso_max, by);
}

/* --- all checks ----------------------------------------------------------------------------------- */

static __u32 capped(__u32 want, __u32 max)
{
	return max && want > max ? max : want;
}

static void look_live(struct bt_pf *pf, const struct bt_preflight *want, struct bt_live *own)
{
	pf->live = want->live;
	if (!pf->live && !bt_probe_live(own))
		pf->live = own;
	if (!pf->live) {
		bt_say(&pf->no_live, "%s", bt_err_text() ? bt_err_text() : "it did not work");
		bt_err_clear();
	}
	pf->hbh = pf->size && (pf->live ? uses_hbh(pf->live) : btf_says_hbh());
}

static int run(struct bt_pf *pf, const struct bt_preflight *want)
{
	struct bt_judge *own = NULL;
	int err;

	pf->judge = want->judge;
	if (!pf->judge) {
		err = bt_judge_new(&own);
		if (err && err != -EPERM)
			return err;
		bt_err_clear(); /* without it the check of programs says so */
		pf->judge = own;
	}
	for (unsigned int i = 0; i < sizeof(checks) / sizeof(checks[0]) && !pf->err; i++) {
		pf->code = checks[i].code;
		checks[i].look(pf);
	}
	bt_judge_free(&own);
	return pf->err ? bt_err(pf->err, "out of memory") : 0;
}

int bt_preflight(const char *dev, const struct bt_preflight *want, struct bt_check **rows,
		 unsigned int *n)
{
	struct bt_live *live __free = calloc(1, sizeof(*live));
	struct bt_pf pf = { .root = want->root ? want->root : "" };
	__u32 max;
	int err;

	if (!live)
		return bt_err(-ENOMEM, "out of memory");
	err = bt_link_get_name(dev, &pf.dev);
	if (err)
		return err;
	max = bt_size_max(&pf.dev);
	pf.size = capped(want->size, max);
	pf.size_ipv4 = capped(want->size_ipv4, max);
	pf.wanted = want->size > want->size_ipv4 ? want->size : want->size_ipv4;
	bt_ethtool_driver(pf.dev.ifindex, pf.driver, sizeof(pf.driver));
	err = bt_stack_list(&pf.dev, STACK_MAX, &pf.stack, &pf.n_stack, &pf.stack_left_out);
	if (err)
		return err;
	look_live(&pf, want, live);
	err = run(&pf, want);
	free(pf.stack);
	if (err) {
		free(pf.rows);
		return err;
	}
	*rows = pf.rows;
	*n = pf.n;
	return 0;
}
