// SPDX-License-Identifier: GPL-2.0
#include "core/audit_flows.h"
#include "base/cleanup.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

/* Ports that clients take theirs from; each flow has its own, so that it is new to a connection
 * table.
 */
#define EPHEMERAL   40000

#define MAP_ENTRIES 1024 /* tables with more than that are not searched for hints */
#define HINTS_MAX   24

static const char doc_src6[16] = "\x20\x01\x0d\xb8\x00\x01\0\0\0\0\0\0\0\0\0\x01";
static const char doc_dst6[16] = "\x20\x01\x0d\xb8\x00\x02\0\0\0\0\0\0\0\0\0\x02";
static const char doc_src4[4] = "\xc0\x00\x02\x01"; /* 192.0.2.1 */
static const char doc_dst4[4] = "\xc6\x33\x64\x02"; /* 198.51.100.2 */

/* Addresses and ports that the program's maps hold. */
struct hints {
	__u16 ports[HINTS_MAX];
	unsigned int n_ports;
	__u8 addrs6[HINTS_MAX][16];
	unsigned int n_addrs6;
	__u8 addrs4[HINTS_MAX][4];
	unsigned int n_addrs4;
};

static void hint_port(struct hints *h, __u16 port)
{
	if (!port)
		return;
	for (unsigned int i = 0; i < h->n_ports; i++) {
		if (h->ports[i] == port)
			return;
	}
	if (h->n_ports < HINTS_MAX)
		h->ports[h->n_ports++] = port;
}

/* Two bytes of a key may be a port in either byte order. */
static void hint_ports(struct hints *h, const __u8 *p, __u32 len)
{
	for (__u32 i = 0; i + 2 <= len; i += 2) {
		hint_port(h, p[i] << 8 | p[i + 1]);
		hint_port(h, p[i + 1] << 8 | p[i]);
	}
}

static void hint_addr(__u8 *list, unsigned int *n, const __u8 *addr, unsigned int size)
{
	for (unsigned int i = 0; i < *n; i++) {
		if (!memcmp(list + i * size, addr, size))
			return;
	}
	if (*n < HINTS_MAX)
		memcpy(list + (*n)++ * size, addr, size);
}

/* Global unicast or unique local, and not just a word of small numbers. */
static bool addr6_like(const __u8 *p)
{
	return ((p[0] >= 0x20 && p[0] <= 0x3f) || p[0] == 0xfc || p[0] == 0xfd) && p[1];
}

static bool zero(const __u8 *p, unsigned int len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

/* Addresses at multiples of four; returns the end of the last one. */
static __u32 hint_addrs(struct hints *h, const __u8 *p, __u32 len)
{
	__u32 end = 0;

	for (__u32 i = 0; i + 16 <= len; i += 4) {
		if (addr6_like(p + i)) {
			hint_addr(h->addrs6[0], &h->n_addrs6, p + i, 16);
			i += 12;
			end = i + 4;
		} else if (!zero(p + i, 1) && zero(p + i + 4, 12)) {
			hint_addr(h->addrs4[0], &h->n_addrs4, p + i, 4); /* IPv4 in a wide field */
			i += 12;
			end = i + 4;
		}
	}
	return end;
}

static void hint_entry(void *arg, const __u8 *key, __u32 key_len, const __u8 *val, __u32 val_len)
{
	struct hints *h = arg;
	__u32 end = hint_addrs(h, key, key_len), first = 0;

	if (end) {
		hint_ports(h, key + end, key_len - end);
	} else if (key_len >= 2 && key_len <= 8) {
		if (key_len >= 4)
			memcpy(&first, key, 4);
		/* a prefix length and an IPv4 address, or the address alone */
		if (key_len == 8 && first <= 32)
			hint_addr(h->addrs4[0], &h->n_addrs4, key + 4, 4);
		else if (key_len == 4 && first > 0xffffff)
			hint_addr(h->addrs4[0], &h->n_addrs4, key, 4);
		hint_ports(h, key, key_len);
	}
	if (val_len <= 256)
		hint_addrs(h, val, val_len);
}

void bt_host_ports(struct bt_host *h)
{
	static const char *const files[] = { "/proc/net/tcp6", "/proc/net/tcp" };
	unsigned int port, state;
	char line[512];

	h->n_ports = 0;
	for (unsigned int i = 0; i < 2; i++) {
		FILE *f __fclose = fopen(files[i], "re");

		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &port, &state) ==
				    2 &&
			    state == 0x0a && h->n_ports < sizeof(h->ports) / sizeof(h->ports[0]))
				h->ports[h->n_ports++] = port;
		}
	}
}

void bt_host_addrs(struct bt_host *h, const char *name)
{
	struct ifaddrs *all, *a;

	h->n_addrs = 0;
	if (getifaddrs(&all))
		return;
	for (a = all; a && h->n_addrs < sizeof(h->addrs) / sizeof(h->addrs[0]); a = a->ifa_next) {
		struct bt_flow *f = &h->addrs[h->n_addrs];

		if (!a->ifa_addr || strcmp(a->ifa_name, name))
			continue;
		f->family = a->ifa_addr->sa_family;
		if (f->family == AF_INET6)
			memcpy(f->daddr, &((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr, 16);
		else if (f->family == AF_INET)
			memcpy(f->daddr, &((struct sockaddr_in *)a->ifa_addr)->sin_addr, 4);
		else
			continue;
		h->n_addrs++;
	}
	freeifaddrs(all);
}

static struct bt_flow doc_flow(int family, __u16 sport, __u16 dport)
{
	struct bt_flow f = { .family = family, .sport = sport, .dport = dport };

	memcpy(f.saddr, family == AF_INET6 ? doc_src6 : doc_src4, family == AF_INET6 ? 16 : 4);
	memcpy(f.daddr, family == AF_INET6 ? doc_dst6 : doc_dst4, family == AF_INET6 ? 16 : 4);
	return f;
}

static void put(struct bt_flows *f, struct bt_flow flow, unsigned int limit)
{
	if (f->n < limit && f->n < BT_FLOWS_MAX)
		f->v[f->n++] = flow;
}

/* To a port, from a port that no other flow has. */
static void put_port(struct bt_flows *f, int family, __u16 dport, unsigned int limit)
{
	for (unsigned int i = 0; i < f->n; i++) {
		if (f->v[i].family == family && f->v[i].dport == dport)
			return;
	}
	put(f, doc_flow(family, EPHEMERAL + f->n, dport), limit);
}

static void put_addr(struct bt_flows *f, int family, const __u8 *addr, const struct hints *h,
		     unsigned int limit)
{
	__u16 port = h->n_ports ? h->ports[0] : 80;
	struct bt_flow flow = doc_flow(family, EPHEMERAL + f->n, port);
	unsigned int size = family == AF_INET6 ? 16 : 4;

	memcpy(flow.daddr, addr, size);
	put(f, flow, limit);
	for (unsigned int i = 0; i < h->n_ports && i < 6; i++) {
		flow.sport = EPHEMERAL + f->n;
		flow.dport = h->ports[i];
		if (i)
			put(f, flow, limit);
	}
	/* and what comes from there */
	flow = doc_flow(family, port, EPHEMERAL + f->n);
	memcpy(flow.saddr, addr, size);
	put(f, flow, limit);
}

static void build_family(struct bt_flows *f, int family, const struct bt_host *host,
			 const struct bt_prog_facts *facts, const struct hints *h,
			 unsigned int limit)
{
	static const __u16 usual[] = { 443, 80, 22, 8080 };
	unsigned int half = f->n + (limit - f->n) / 2; /* leave room for ports */

	for (unsigned int i = 0; i < h->n_addrs6 && family == AF_INET6 && i < 8; i++)
		put_addr(f, family, h->addrs6[i], h, half);
	for (unsigned int i = 0; i < h->n_addrs4 && family == AF_INET && i < 4; i++)
		put_addr(f, family, h->addrs4[i], h, half);
	for (unsigned int i = 0; i < host->n_addrs; i++) {
		if (host->addrs[i].family == family)
			put_addr(f, family, host->addrs[i].daddr, h, half);
	}
	for (unsigned int i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		put_port(f, family, usual[i], limit);
	put(f, doc_flow(family, 443, EPHEMERAL + f->n), limit); /* an answer */
	for (unsigned int i = 0; i < h->n_ports; i++)
		put_port(f, family, h->ports[i], limit);
	for (unsigned int i = 0; i < facts->n_ports; i++)
		put_port(f, family, facts->ports[i], limit);
	for (unsigned int i = 0; i < host->n_ports; i++)
		put_port(f, family, host->ports[i], limit);
}

/* Constants of the code: IPv4 addresses, or the first and last word of IPv6 addresses. */
static void hint_words(struct hints *h, const struct bt_prog_facts *facts)
{
	for (unsigned int i = 0; i < facts->n_words; i++) {
		const __u8 *w = (const __u8 *)&facts->words[i];

		if (w[0] && w[0] < 224 && w[0] != 127)
			hint_addr(h->addrs4[0], &h->n_addrs4, w, 4);
		for (unsigned int k = 0; k < facts->n_words && addr6_like(w); k++) {
			__u8 addr[16] = {};

			memcpy(addr, w, 4);
			memcpy(addr + 12, &facts->words[k], 4);
			if (k != i)
				hint_addr(h->addrs6[0], &h->n_addrs6, addr, 16);
		}
	}
	for (unsigned int i = 0; i < facts->n_ports; i++)
		hint_port(h, facts->ports[i]);
}

void bt_flows_build(struct bt_flows *f, const struct bt_flow *user, unsigned int n_user,
		    const struct bt_host *host, const struct bt_prog_facts *facts,
		    const struct bt_maps *maps)
{
	struct hints h = {};

	*f = (struct bt_flows){};
	bt_maps_each(maps, MAP_ENTRIES, hint_entry, &h);
	hint_words(&h, facts);
	for (unsigned int i = 0; i < n_user; i++)
		put(f, user[i], 32);
	put(f, doc_flow(AF_INET6, EPHEMERAL + f->n, 5201), BT_FLOWS_MAX);
	put(f, doc_flow(AF_INET, EPHEMERAL + f->n, 5201), BT_FLOWS_MAX);
	f->n_first = f->n;
	build_family(f, AF_INET6, host, facts, &h, f->n + 44);
	build_family(f, AF_INET, host, facts, &h, f->n + 16);
}
