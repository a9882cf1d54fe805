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

static void load(void)
{
	FILE *f __fclose = fopen("/proc/kallsyms", "re");
	char line[512], type, name[256];
	unsigned long long addr;

	while (f && fgets(line, sizeof(line), f)) {
		/* helpers and kfuncs are text of vmlinux or of modules */
		if (!strstr(line, " bpf_") && !strstr(line, "__bpf_call_base"))
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
