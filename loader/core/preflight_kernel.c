// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/ethtool.h"
#include "core/kernels.h"
#include "core/preflight_int.h"

static void read_line(const char *root, const char *path, char *buf, size_t len)
{
	FILE *f __fclose = NULL;
	char full[4096];

	snprintf(full, sizeof(full), "%s%s", root, path);
	f = fopen(full, "re");
	buf[0] = 0;
	if (f && fgets(buf, (int)len, f))
		buf[strcspn(buf, "\n")] = 0;
}

static bool is_on(const struct bt_link *link, const char *feature)
{
	struct bt_feature_state s = {};

	return !bt_ethtool_feature(link->ifindex, feature, &s) && s.on;
}

static void add_device(const struct bt_link *link, struct bt_kernel_facts *f)
{
	char driver[32];

	bt_ethtool_driver(link->ifindex, driver, sizeof(driver));
	f->ice |= !strcmp(driver, "ice");
	f->ipv6_csum |= is_on(link, "tx-checksum-ipv6");
}

static bool bridges_filtered(void)
{
	char line[16];

	read_line("", "/proc/sys/net/bridge/bridge-nf-call-ip6tables", line, sizeof(line));
	return line[0] == '1';
}

static void gather(const struct bt_pf *pf, struct bt_kernel_facts *f)
{
	bool bridge = !strcmp(pf->dev.kind, "bridge");

	f->ipv6 = pf->size;
	f->ipv4 = pf->size_ipv4;
	f->hbh = pf->hbh;
	add_device(&pf->dev, f);
	for (unsigned int i = 0; i < pf->n_stack; i++) {
		const struct bt_related *r = &pf->stack[i];

		if (r->relation == BT_LOWER && !r->elsewhere)
			add_device(&r->link, f);
		bridge |= r->relation == BT_UPPER && !strcmp(r->link.kind, "bridge");
		f->ovs |= r->relation == BT_UPPER && !strcmp(r->link.kind, "openvswitch");
	}
	f->bridge_filter = bridge && bridges_filtered();
}

/* Part of a change came without the other: vendors port patches one by one. */
static bool mixed(const struct bt_live *live)
{
	const enum bt_form send = live->looks[BT_LIVE_SEND].form,
			   recv = live->looks[BT_LIVE_RECV].form;

	return (send == BT_FORM_HBH && recv == BT_FORM_NO_HEADER) ||
	       (send == BT_FORM_NO_HEADER && recv == BT_FORM_HBH);
}

void bt_pf_kernel(struct bt_pf *pf)
{
	const struct bt_kernel_fault *fault = NULL;
	const unsigned int before = pf->n;
	struct bt_kernel_facts facts = {};
	char signature[256];
	struct utsname u;
	struct bt_check *c;

	uname(&u);
	read_line(pf->root, "/proc/version_signature", signature, sizeof(signature));
	facts.version = bt_kernel_version(u.release, u.version, signature);
	gather(pf, &facts);
	if (pf->size && pf->live && mixed(pf->live)) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, NULL);
		bt_say(&c->found,
		       "sent and received packets have different forms: one has the jumbo "
		       "header, the other has not");
		bt_say(&c->why,
		       "part of a change was ported to this kernel without the rest; programs "
		       "meet both forms");
		bt_say(&c->advice, "tell the kernel's maker; use one that has all of it, or none");
	}
	while ((fault = bt_kernel_fault(&facts, fault))) {
		c = bt_pf_row(pf, fault->level, &pf->dev);
		bt_say(&c->found, "%s (%s)", fault->found, fault->reference);
		bt_say(&c->why, "%s", fault->why);
		bt_say(&c->advice, "%s", fault->advice);
	}
	if (!facts.version) {
		c = bt_pf_row(pf, BT_LEVEL_NOTE, NULL);
		bt_say(&c->found, "the version of this kernel, %.64s, tells nothing", u.release);
		bt_say(&c->why, "kernels with known faults are told by it");
		bt_say(&c->advice, "see what the kernel's maker says of BIG TCP");
	} else if (pf->n == before) {
		c = bt_pf_row(pf, BT_LEVEL_OK, NULL);
		bt_say(&c->found, "Linux %u.%u.%u has no known fault that concerns this device",
		       facts.version / 1000000, facts.version / 1000 % 1000, facts.version % 1000);
	}
}
