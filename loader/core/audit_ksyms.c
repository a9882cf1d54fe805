// SPDX-License-Identifier: GPL-2.0
#include "core/audit_ksyms.h"
#include "base/cleanup.h"

#include <stdbool.h>
#include <string.h>

struct sym {
	__u64 addr;
	char name[48];
};

static struct sym *syms;
static size_t n_syms;
static __u64 call_base; /* what the kernel counts helper addresses from */

static int by_addr(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void add(__u64 addr, const char *name)
{
	static size_t cap;

	if (n_syms == cap) {
		size_t want = cap ? cap * 2 : 4096;
		struct sym *p = realloc(syms, want * sizeof(*p));

		if (!p)
			return;
		syms = p;
		cap = want;
	}
	syms[n_syms].addr = addr;
	snprintf(syms[n_syms].name, sizeof(syms[n_syms].name), "%.47s", name);
	n_syms++;
}

/* Helpers and kfuncs are text of vmlinux or of modules; map helpers become the map type's own. */
static bool wanted(const char *line)
{
	static const char *const parts[] = { " bpf_",	      "__bpf_call_base", "_map_lookup",
					     "_map_redirect", "_map_update",	 "_map_delete" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(line, parts[i]))
			return true;
	}
	return false;
}

static void load(void)
{
	FILE *f __fclose = fopen("/proc/kallsyms", "re");
	char line[512], type, name[256];
	unsigned long long addr;

	while (f && fgets(line, sizeof(line), f)) {
		if (!wanted(line))
			continue;
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) != 3 || !addr)
			continue;
		if (!strcmp(name, "__bpf_call_base"))
			call_base = addr;
		else if (type == 't' || type == 'T')
			add(addr, name);
	}
	qsort(syms, n_syms, sizeof(*syms), by_addr);
}

const char *bt_ksym_of_call(__s32 imm)
{
	static bool loaded;
	struct sym key = {}, *hit;

	if (!loaded)
		load();
	loaded = true;
	if (!call_base || !imm)
		return NULL;
	key.addr = call_base + (__s64)imm;
	hit = bsearch(&key, syms, n_syms, sizeof(*syms), by_addr);
	return hit ? hit->name : "other";
}

unsigned int bt_ksym_args(const char *name)
{
	static const struct {
		const char *part;
		unsigned int args;
	} known[] = {
		{ "lookup_elem", 2 },
		{ "delete_elem", 2 },
		{ "update_elem", 4 },
		{ "bpf_ktime_get", 0 },
		{ "prandom", 0 },
		{ "smp_processor_id", 0 },
		{ "bpf_get_socket_cookie", 1 },
		{ "bpf_get_socket_uid", 1 },
		{ "sk_fullsock", 1 },
		{ "bpf_tcp_sock", 1 },
		{ "cgroup_id", 1 },
		{ "bpf_skb_load_bytes_rel", 5 },
		{ "bpf_skb_load_bytes", 4 },
		{ "ringbuf_reserve", 3 },
		{ "ringbuf_submit", 2 },
		{ "ringbuf_discard", 2 },
		{ "ringbuf_output", 4 },
		{ "bpf_redirect", 2 },
		{ "map_redirect", 3 },
		{ "bpf_xdp_redirect", 2 },
		{ "trace_printk", 0 },
		{ "trace_vprintk", 0 },
		{ "bpf_spin_", 1 },
		{ "buff_len", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strstr(name, known[i].part))
			return known[i].args;
	}
	return 5;
}
