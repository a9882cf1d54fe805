// SPDX-License-Identifier: GPL-2.0
/* Checks of the device, and of the devices that its packets also pass. */
#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/kbtf.h"
#include "core/preflight_int.h"
#include "core/xdp_notes.h"

/* --- stack ---------------------------------------------------------------------------------------- */

/* What it means that a device has smaller sizes; the phrases follow "NAME: SIZES". */
static const struct {
	const char *is; /* "below", as in "below eth0" */
	bool receives; /* its gro sizes matter as well */
	const char *small;
} relations[BT_RELATIONS] = {
	[BT_LOWER] = { "below", true,
		       "what is larger is cut in software there, and what comes in is not put together "
		       "to more" },
	[BT_UPPER] = { "above", false, "what is sent through it stays as small as that" },
	[BT_PEER] = { "opposite", false, "what the other end sends stays as small as that" },
	[BT_BESIDE] = { "beside", false,
			"larger packets that leave the bridge there are cut in software" },
};

static bool too_small(const struct bt_pf *pf, const struct bt_related *r)
{
	const struct bt_sizes *s = &r->link.sizes;

	if ((pf->size && s->gso < pf->size) || (pf->size_ipv4 && s->gso_ipv4 < pf->size_ipv4))
		return true;
	return relations[r->relation].receives &&
	       ((pf->size && s->gro < pf->size) || (pf->size_ipv4 && s->gro_ipv4 < pf->size_ipv4));
}

static void say_sizes(const struct bt_pf *pf, const struct bt_related *r, struct bt_check *c)
{
	const struct bt_sizes *s = &r->link.sizes;
	char v4[64] = "";

	if (pf->size_ipv4)
		snprintf(v4, sizeof(v4), ", IPv4 %u and %u", s->gso_ipv4, s->gro_ipv4);
	bt_say(&c->found, "%s %s: %s%s, gso_max_size %u, gro_max_size %u%s",
	       relations[r->relation].is, pf->dev.name, r->link.kind[0] ? r->link.kind : "a device",
	       r->elsewhere ? " in another namespace" : "", s->gso, s->gro, v4);
}

static void say_enable(const struct bt_related *r, struct bt_check *c)
{
	char ns[256];

	if (!r->elsewhere)
		bt_say(&c->advice, "enable it too: bigtcp enable %s", r->link.name);
	else if (!bt_netns_find(r->nsid, ns, sizeof(ns)))
		bt_say(&c->advice, "enable it too: bigtcp -n %s enable %s", ns, r->link.name);
	else
		bt_say(&c->advice,
		       "enable it too, in its namespace: here it has the id %d, see 'ip netns'",
		       r->nsid);
}

static struct bt_check *related_row(struct bt_pf *pf, enum bt_level level,
				    const struct bt_related *r)
{
	struct bt_check *c = bt_pf_row(pf, level, &r->link);

	if (r->elsewhere)
		c->ifindex = 0; /* it means nothing here */
	return c;
}

static void of_related(struct bt_pf *pf, const struct bt_related *r)
{
	struct bt_check *c;
	bool can;

	if (!r->readable) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, NULL);
		c->ifindex = r->elsewhere ? 0 : r->link.ifindex;
		bt_say(&c->found, "%s %s: device %d of another namespace, which cannot be read",
		       relations[r->relation].is, pf->dev.name, r->link.ifindex);
		bt_say(&c->why, "if its sizes are small, %s", relations[r->relation].small);
		bt_say(&c->advice, "run bigtcp preflight in that namespace too");
		return;
	}
	if (!too_small(pf, r)) {
		say_sizes(pf, r, related_row(pf, BT_LEVEL_OK, r));
		return;
	}
	can = bt_size_max(&r->link) && !(pf->hbh && bt_is_tunnel(&r->link));
	c = related_row(pf, can ? BT_LEVEL_WARNING : BT_LEVEL_NOTE, r);
	say_sizes(pf, r, c);
	bt_say(&c->why, "%s", relations[r->relation].small);
	if (can)
		say_enable(r, c);
	else if (bt_size_max(&r->link))
		bt_say(&c->advice, "leave it so: see row 'tunnel'");
	else
		bt_say(&c->advice, "it takes no larger ones (tso_max_size %u)",
		       r->link.sizes.tso_max);
}

void bt_pf_stack(struct bt_pf *pf)
{
	struct bt_check *c;

	for (unsigned int i = 0; i < pf->n_stack; i++)
		of_related(pf, &pf->stack[i]);
	if (!pf->n_stack) {
		c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
		bt_say(&c->found, "nothing below, above or opposite it");
	}
	if (pf->stack_left_out) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, &pf->dev);
		bt_say(&c->found, "%u more devices below, above or beside it", pf->stack_left_out);
		bt_say(&c->why, "they are too many: neither their sizes nor their programs were "
				"looked at");
		bt_say(&c->advice, "run bigtcp preflight on them");
	}
}

/* --- tunnels -------------------------------------------------------------------------------------- */

static void of_tunnel(struct bt_pf *pf, const struct bt_link *link, bool self)
{
	const __u32 gso = self ? pf->size : link->sizes.gso;
	struct bt_check *c;

	if (pf->hbh && (self || gso > BT_PF_LEGACY)) {
		c = bt_pf_row(pf, BT_LEVEL_REFUSE, link);
		bt_say(&c->found, "%s is a tunnel (%s)%s", link->name, link->kind,
		       self ? "" : " with sizes above 64 KiB");
		bt_say(&c->why, "once a packet is wrapped no driver takes the jumbo header out of "
				"it: it would go on the wire, or the packet be lost");
		bt_say(&c->advice,
		       self ? "leave tunnels at 64 KiB on this kernel"
			    : "set it back: ip link set %s gso_max_size 65536",
		       link->name);
		return;
	}
	c = bt_pf_row(pf, BT_LEVEL_NOTE, link);
	bt_say(&c->found, "%s is a tunnel (%s)", link->name, link->kind);
	bt_say(&c->why, "what goes through it %s",
	       gso > BT_PF_LEGACY ? "has no jumbo header on this kernel and may be that large"
				  : "stays at 64 KiB, inside and outside");
	bt_say(&c->advice, "there is nothing to do");
}

void bt_pf_tunnel(struct bt_pf *pf)
{
	const unsigned int before = pf->n;

	if (bt_is_tunnel(&pf->dev))
		of_tunnel(pf, &pf->dev, true);
	for (unsigned int i = 0; i < pf->n_stack; i++) {
		if (bt_is_tunnel(&pf->stack[i].link))
			of_tunnel(pf, &pf->stack[i].link, false);
	}
	if (pf->n == before)
		bt_say(&bt_pf_row(pf, BT_LEVEL_OK, &pf->dev)->found, "no tunnel");
}

/* --- XDP ------------------------------------------------------------------------------------------ */

/* Returns how many rows it made. */
static unsigned int xdp_of(struct bt_pf *pf, const struct bt_link *link)
{
	struct bt_xdp_note *notes __free = NULL;
	unsigned int n = 0;
	struct bt_check *c;

	if (bt_xdp_notes(link->name, &notes, &n)) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, link);
		bt_say(&c->found, "not looked at");
		bt_say(&c->why, "%s", bt_err_text() ? bt_err_text() : "it cannot be read");
		bt_say(&c->advice, "see 'ip link show %s'", link->name);
		bt_err_clear();
		return 1;
	}
	for (unsigned int i = 0; i < n; i++) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, link);
		bt_say(&c->found, "%s", notes[i].found);
		bt_say(&c->why, "%s", notes[i].why);
		bt_say(&c->advice, "%s", notes[i].advice);
	}
	return n;
}

/* Of the device, and of those below it, where its packets are put together and cut. */
void bt_pf_xdp(struct bt_pf *pf)
{
	unsigned int n = xdp_of(pf, &pf->dev);

	for (unsigned int i = 0; i < pf->n_stack; i++) {
		if (pf->stack[i].relation == BT_LOWER && !pf->stack[i].elsewhere)
			n += xdp_of(pf, &pf->stack[i].link);
	}
	if (!n)
		bt_say(&bt_pf_row(pf, BT_LEVEL_OK, &pf->dev)->found,
		       "no XDP program that switches offloads off");
}

/* --- fragments ------------------------------------------------------------------------------------ */

#define COPY_FRAG \
	32768U /* bytes that a send by copying puts into a fragment: SKB_FRAG_PAGE_ORDER */
#define TCP_BYTES 72 /* IPv6 and TCP with timestamps, of the MTU */

/* What skb_shared_info has room for; 0: unknown. */
static __u32 frags_by_btf(void)
{
	const struct btf *btf = bt_kbtf();
	const struct btf_type *t;
	const struct btf_member *m;
	__s32 id;

	id = btf ? btf__find_by_name_kind(btf, "skb_shared_info", BTF_KIND_STRUCT) : -1;
	t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	for (int i = 0; t && i < btf_vlen(t); i++) {
		m = &btf_members(t)[i];
		if (strcmp(btf__name_by_offset(btf, m->name_off), "frags") != 0)
			continue;
		t = btf__type_by_id(btf, m->type);
		return t && btf_is_array(t) ? btf_array(t)->nelems : 0;
	}
	return 0;
}

/* What sends are limited to; the first namespace alone shows it. 0: unknown. */
static __u32 frags_by_sysctl(void)
{
	FILE *f __fclose = fopen("/proc/sys/net/core/max_skb_frags", "re");
	__u32 n;

	return f && fscanf(f, "%u", &n) == 1 ? n : 0;
}

void bt_pf_frags(struct bt_pf *pf)
{
	const __u32 built = frags_by_btf(), set = frags_by_sysctl(), size = bt_pf_size(pf);
	const __u32 n = set && (!built || set < built) ? set : built, page = sysconf(_SC_PAGESIZE);
	const __u32 mss = pf->dev.mtu > TCP_BYTES ? pf->dev.mtu - TCP_BYTES : pf->dev.mtu;
	const __u32 one = mss < page ? mss : page;
	struct bt_check *c;

	if (!n) {
		c = bt_pf_row(pf, BT_LEVEL_NOTE, NULL);
		bt_say(&c->found,
		       "the number of fragments of a packet (MAX_SKB_FRAGS) is not known");
		bt_say(&c->why, "neither BTF nor net.core.max_skb_frags can be read");
		bt_say(&c->advice, "see CONFIG_MAX_SKB_FRAGS of the kernel; 17 if it has none");
	} else if (n * COPY_FRAG < size) {
		c = bt_pf_row(pf, BT_LEVEL_WARNING, &pf->dev);
		bt_say(&c->found, "packets of %u fragments at most", n);
		bt_say(&c->why,
		       "a fragment takes 32 KiB of what is sent: packets get no larger than %u",
		       n * COPY_FRAG);
		bt_say(&c->advice, "set net.core.max_skb_frags to %u",
		       built ? built : (size + COPY_FRAG - 1) / COPY_FRAG);
	} else if (n * one < size) {
		c = bt_pf_row(pf, BT_LEVEL_NOTE, &pf->dev);
		bt_say(&c->found, "packets of %u fragments at most, %u bytes each at an MTU of %u",
		       n, one, pf->dev.mtu);
		bt_say(&c->why,
		       "received packets, and sent ones without copying, are %u bytes in one piece; "
		       "larger ones are chains, which zero-copy receive does not take",
		       n * one);
		bt_say(&c->advice, "where that matters: a larger MTU, or a kernel with "
				   "CONFIG_MAX_SKB_FRAGS=45");
	} else {
		c = bt_pf_row(pf, BT_LEVEL_OK, &pf->dev);
		bt_say(&c->found, "packets of %u fragments, %u bytes each at an MTU of %u", n, one,
		       pf->dev.mtu);
	}
}
