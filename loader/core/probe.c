// SPDX-License-Identifier: GPL-2.0
/* What the kernel offers, as far as it can be told without trying. */
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "core/kbtf.h"
#include "core/probe.h"

#define BPFFS "/sys/fs/bpf"

/* CAP_PERFMON and CAP_BPF are of 5.8: there in every header this is built with. */
static const struct {
	unsigned int bit;
	const char *name;
} caps[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
};

const char *bt_form_name(enum bt_form form)
{
	static const char *const names[] = {
		[BT_FORM_UNKNOWN] = "unknown",
		[BT_FORM_HBH] = "hbh",
		[BT_FORM_NO_HEADER] = "no-header",
		[BT_FORM_NO_BIG_TCP] = "no-big-tcp",
	};

	return names[form];
}

const char *bt_look_name(unsigned int look)
{
	static const char *const names[BT_LIVE_N] = { "send", "receive", "send-ipv4",
						      "receive-ipv4" };

	return names[look];
}

const char *bt_look_means(unsigned int look, enum bt_form form)
{
	bool v4 = look == BT_LIVE_SEND4 || look == BT_LIVE_RECV4;

	switch (form) {
	case BT_FORM_HBH:
		return "TCP starts 8 bytes later than programs expect, and payload_len is 0";
	case BT_FORM_NO_HEADER:
		return v4 ? "TCP is where programs expect it, but tot_len is 0"
			  : "TCP is where programs expect it, but payload_len is 0";
	case BT_FORM_NO_BIG_TCP:
		return "no packets above 64 KiB: programs see nothing new";
	default:
		return "not seen: take nothing for granted";
	}
}

/* --- gathering ---------------------------------------------------------------- */

struct list {
	struct bt_feature *f;
	unsigned int n;
};

static struct bt_feature *add(struct list *l, const char *name, const char *value,
			      const char *means)
{
	struct bt_feature *f = &l->f[l->n++];

	f->name = name;
	f->means = means;
	snprintf(f->value, sizeof(f->value), "%s", value);
	return f;
}

static void add_yes_no(struct list *l, const char *name, bool yes, const char *if_yes,
		       const char *if_no)
{
	add(l, name, yes ? "yes" : "no", yes ? if_yes : if_no);
}

static void add_uint(struct list *l, const char *name, __u32 val, const char *means)
{
	char num[16];

	snprintf(num, sizeof(num), "%u", val);
	add(l, name, num, means);
}

static bool btf_has(const char *name, __u32 kind)
{
	const struct btf *btf = bt_kbtf();

	return btf && btf__find_by_name_kind(btf, name, kind) > 0;
}

/* Does an enum of the kernel's BTF have this value? */
static bool btf_has_enum(const char *type, const char *value)
{
	const struct btf *btf = bt_kbtf();
	__s32 id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_ENUM) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (__u32 i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(t)[i].name_off);

		if (name && !strcmp(name, value))
			return true;
	}
	return false;
}

/* An integer from a file of one line; -1: not there. */
static long read_long(const char *path)
{
	FILE *f __fclose = fopen(path, "re");
	long val;

	return f && fscanf(f, "%ld", &val) == 1 ? val : -1;
}

/* --- groups of features --------------------------------------------------------- */

static void add_size(struct list *l, const char *name, __u32 val)
{
	if (val == BT_NO_LIMIT)
		add(l, name, "any", "this kernel checks no limit: stay at 524280 or below");
	else
		add_uint(l, name, val, "the largest a veth takes, in bytes");
}

static void live_sizes(struct list *l, const struct bt_live *live)
{
	add_size(l, "gso_max_size", live->max.gso);
	add_size(l, "gro_max_size", live->max.gro);
	add_uint(l, "tso_max_size", live->tso_max,
		 "of a veth: the ceiling of its gso sizes; other drivers have their own");
	if (!live->max.gso_ipv4) {
		add(l, "ipv4_sizes", "no", "no BIG TCP for IPv4 (it came with 6.3)");
		return;
	}
	add_size(l, "gso_ipv4_max_size", live->max.gso_ipv4);
	add_size(l, "gro_ipv4_max_size", live->max.gro_ipv4);
}

/* Seen at work where that was possible, else asked for, or unknown: the kernel's types have the
 * names of what it is configured without.
 */
static void attach_ways(struct list *l, const struct bt_live *live)
{
	bool tcx = live ? live->by_tcx : bt_have_tcx();
	bool named = btf_has_enum("bpf_attach_type", "BPF_NETKIT_PRIMARY");

	if (!tcx && !live && btf_has_enum("bpf_attach_type", "BPF_TCX_INGRESS")) {
		add(l, "tcx", "unknown",
		    "this kernel is new enough; asking it takes CAP_NET_ADMIN");
	} else {
		add_yes_no(l, "tcx", tcx,
			   "attach uses tcx links: ordered, pinnable, no qdisc needed",
			   "attach uses cls_bpf: filters that stay until deleted (tcx: 6.6)");
	}
	if (named && !live)
		add(l, "netkit", "unknown", "this kernel is new enough; a live probe would tell");
	else
		add_yes_no(l, "netkit", live && live->netkit, "audit looks at netkit devices too",
			   "no netkit devices here (6.7, CONFIG_NETKIT)");
}

static void add_switch(struct list *l, const char *name, enum bt_switch is, const char *if_on,
		       const char *if_off)
{
	static const char *const values[] = { "unknown", "on", "off" };
	const char *const means[] = { "not seen: take nothing for granted", if_on, if_off };

	add(l, name, values[is], means[is]);
}

/* What a program does to BIG TCP by being there. */
static void xdp(struct list *l, const struct bt_live *live)
{
	add_switch(l, "xdp_native_tso", live->native_tso,
		   "native XDP on a veth leaves the other end's TSO alone: jumbo packets come",
		   "native XDP on a veth switches the other end's TSO off: no BIG TCP from there");
	add_switch(l, "xdp_generic_gro", live->generic_gro,
		   "generic XDP leaves GRO alone: the program sees what it builds",
		   "generic XDP switches GRO off: no BIG TCP is built on receive");
}

static void struct_ops(struct list *l)
{
	/* 6.12 built without modules knows no struct module, and then registers nothing. */
	bool ops = btf_has("bpf_struct_ops_tcp_congestion_ops", BTF_KIND_STRUCT) &&
		   btf_has("module", BTF_KIND_STRUCT);
	bool link = btf_has_enum("bpf_link_type", "BPF_LINK_TYPE_STRUCT_OPS");

	add_yes_no(l, "struct_ops_tcp", ops, "TCP congestion control can be a BPF program",
		   "no BPF congestion control");
	add_yes_no(l, "struct_ops_link", ops && link, "and be held by a link",
		   "not held by a link (6.4)");
}

static void kfuncs(struct list *l)
{
	static const char *const cubic[] = {
		"cubictcp_init",  "cubictcp_cong_avoid", "cubictcp_recalc_ssthresh",
		"cubictcp_state", "cubictcp_cwnd_event", "cubictcp_acked",
	};
	unsigned int n = 0, all = sizeof(cubic) / sizeof(cubic[0]);
	char val[32];

	add_yes_no(l, "bpf_dynptr_from_skb", bt_kfunc_id("bpf_dynptr_from_skb") > 0,
		   "programs may read packets by dynptr", "no packet dynptrs (6.4)");
	add_yes_no(l, "bpf_dynptr_adjust", bt_kfunc_id("bpf_dynptr_adjust") > 0,
		   "programs with packet dynptrs can have twins",
		   "programs with packet dynptrs have no twins (6.5)");
	for (unsigned int i = 0; i < all; i++)
		n += bt_kfunc_id(cubic[i]) > 0;
	snprintf(val, sizeof(val), n == all ? "yes" : "%u of %u", n, all);
	add(l, "cubictcp_kfuncs", n ? val : "no",
	    n == all ? "BPF congestion control can call the kernel's CUBIC"
		     : "CUBIC's functions are not all callable (a module?)");
}

static void btf_rows(struct list *l)
{
	bool btf = bt_kbtf() != NULL;

	add_yes_no(l, "btf", btf, "kfuncs and source lines can be named",
		   "no kernel BTF: programs that need kfuncs or CO-RE cannot be loaded");
	if (btf)
		add_yes_no(l, "hop_jumbo_hdr", btf_has("hop_jumbo_hdr", BTF_KIND_STRUCT),
			   "the kernel's types know the jumbo header: a hint, no proof",
			   "the kernel's types know no jumbo header: a hint, no proof");
}

static void runtime(struct list *l)
{
	long jit = read_long("/proc/sys/net/core/bpf_jit_enable");
	long unpriv = read_long("/proc/sys/kernel/unprivileged_bpf_disabled");
	struct statfs fs;
	bool bpffs = !statfs(BPFFS, &fs) && fs.f_type == BPF_FS_MAGIC;

	/* Only the first network namespace shows the switch. */
	if (jit < 0)
		add(l, "jit", "unknown", "this network namespace does not show it");
	else
		add_yes_no(l, "jit", jit > 0, "programs run as machine code",
			   "programs are interpreted: slow (net.core.bpf_jit_enable)");
	add_yes_no(l, "bpffs", bpffs, "links and programs can be pinned",
		   "nothing can be pinned: mount -t bpf bpf " BPFFS);
	if (unpriv >= 0)
		add_yes_no(l, "unprivileged_bpf", !unpriv, "ordinary users can load programs",
			   "ordinary users cannot load programs");
}

/* CAP_SYS_ADMIN includes the other two BPF ones. -errno when it cannot be told. */
int bt_missing_caps(char *buf, size_t len)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	bool admin;

	if (syscall(SYS_capget, &hdr, data))
		return -errno;
	admin = data[0].effective & (1U << CAP_SYS_ADMIN);
	*buf = '\0';
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		size_t at = strlen(buf);

		if (data[caps[i].bit / 32].effective & (1U << caps[i].bit % 32))
			continue;
		if (admin && caps[i].bit != CAP_NET_ADMIN)
			continue;
		snprintf(buf + at, len - at, "%s%s", at ? " " : "", caps[i].name);
	}
	return 0;
}

static void privileges(struct list *l)
{
	char missing[64];

	if (bt_missing_caps(missing, sizeof(missing)))
		add(l, "missing_caps", "unknown", "capget was refused");
	else if (missing[0])
		add(l, "missing_caps", missing,
		    "load takes BPF and NET_ADMIN; audit and a live probe SYS_ADMIN too");
	else
		add(l, "missing_caps", "none", "every command can work");
}

unsigned int bt_probe_features(const struct bt_live *live,
			       struct bt_feature features[BT_FEATURES_MAX])
{
	struct list l = { features, 0 };

	if (live)
		live_sizes(&l, live);
	attach_ways(&l, live);
	if (live)
		xdp(&l, live);
	struct_ops(&l);
	kfuncs(&l);
	btf_rows(&l);
	runtime(&l);
	privileges(&l);
	return l.n;
}
