// SPDX-License-Identifier: GPL-2.0
/*
 * Answers are kept twice: by what a program is (its code, its constants) and where it is, and by its id. An id that
 * was seen needs no system call at all, which is what a daemon with a thousand devices meets in every
 * round. The kernel gives no id out twice.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bpf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/audit_live.h"
#include "core/judge.h"

#define MAPS_MAX   64
#define CONSTS_MAX 65536 /* bytes of a map with constants */
#define HASH_START 0xcbf29ce484222325ULL /* FNV-1a */
#define HASH_PRIME 0x100000001b3ULL
#define BT_RDONLY  (1U << 7) /* BPF_F_RDONLY_PROG */

/* What makes two programs one: its answer is good for both. */
struct identity {
	__u8 tag[BPF_TAG_SIZE];
	char name[BPF_OBJ_NAME_LEN];
	__u64 consts; /* hash of the maps that it can only read (.rodata): the tag does not cover them */
	__u64 place; /* hash of hook and kind of device */
	__u64 only_id; /* other programs run with it, which can be others elsewhere: of this id alone; or 0 */
};

struct answer {
	struct identity who;
	time_t since;
	enum bt_verdict verdict;
	bool twin, ours;
	char name[64];
	char why[400];
	struct answer *next;
};

/* The answer about a program at a place; sorted by id, then place. */
struct known {
	__u64 place;
	__u32 prog_id;
	struct answer *answer;
};

struct bt_judge {
	struct answer *answers;
	struct known *known;
	unsigned int n_known, cap;
};

/* What one call needs. */
struct round {
	struct bt_judge *j;
	struct bt_auditor *auditor; /* opened when a program has to be run */
	struct bt_host host;
	unsigned int n_new;
};

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec;
}

static __u64 hash(__u64 h, const void *data, size_t len)
{
	const __u8 *p = data;

	while (len--)
		h = (h ^ *p++) * HASH_PRIME;
	return h;
}

static __u64 place_of(const struct bt_attached *at)
{
	const __u8 flags[] = { at->class_id, at->ethernet, !at->ifindex };
	__u64 h = hash(HASH_START, at->hook, strlen(at->hook) + 1);

	h = hash(h, at->kind, strlen(at->kind) + 1);
	return hash(h, flags, sizeof(flags));
}

static int by_id(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->prog_id != y->prog_id)
		return x->prog_id < y->prog_id ? -1 : 1;
	return x->place == y->place ? 0 : x->place < y->place ? -1 : 1;
}

/* --- what a program is -------------------------------------------------------------------------- */

static void look_at_map(__u32 id, struct identity *who, __u32 prog_id)
{
	int fd __close = bpf_map_get_fd_by_id(id);
	__u32 len = sizeof(struct bpf_map_info), key = 0;
	struct bpf_map_info m = {};
	void *val __free = NULL;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &m, &len))
		return;
	if (m.type == BPF_MAP_TYPE_PROG_ARRAY)
		who->only_id = prog_id;
	if (m.type != BPF_MAP_TYPE_ARRAY || !(m.map_flags & BT_RDONLY) || m.value_size > CONSTS_MAX)
		return;
	val = malloc(m.value_size);
	if (val && !bpf_map_lookup_elem(fd, &key, val))
		who->consts = hash(who->consts, val, m.value_size);
	else
		who->only_id = prog_id;
}

static int identify(int fd, __u64 place, struct identity *who)
{
	__u32 maps[MAPS_MAX] = {}, len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.nr_map_ids = MAPS_MAX,
		.map_ids = (__u64)(unsigned long)maps,
	};

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	memset(who, 0, sizeof(*who)); /* it is compared with memcmp() */
	who->place = place;
	who->consts = HASH_START;
	memcpy(who->tag, info.tag, sizeof(who->tag));
	memcpy(who->name, info.name, sizeof(who->name));
	if (info.nr_map_ids > MAPS_MAX)
		who->only_id = info.id;
	for (__u32 i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++)
		look_at_map(maps[i], who, info.id);
	return 0;
}

/* --- answers ------------------------------------------------------------------------------------ */

static struct answer *find_answer(const struct bt_judge *j, const struct identity *who)
{
	struct answer *a = j->answers;

	while (a && memcmp(&a->who, who, sizeof(*who)) != 0)
		a = a->next;
	return a;
}

static struct answer *new_answer(struct bt_judge *j, const struct identity *who,
				 const struct bt_audit_result *res)
{
	struct answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->who = *who;
	a->since = now();
	a->verdict = res->verdict;
	a->twin = res->twin;
	a->ours = res->ours;
	snprintf(a->name, sizeof(a->name), "%s", res->name);
	snprintf(a->why, sizeof(a->why), "%s", res->why);
	if (res->worst >= 0 && res->verdict >= BT_VERDICT_MISREADS)
		snprintf(a->why, sizeof(a->why), "%s", res->forms[res->worst].diff.text);
	a->next = j->answers;
	j->answers = a;
	return a;
}

static const struct known *find_known(const struct bt_judge *j, const struct known *key)
{
	return j->n_known ? bsearch(key, j->known, j->n_known, sizeof(*key), by_id) : NULL;
}

static int remember(struct bt_judge *j, __u32 prog_id, __u64 place, struct answer *a)
{
	const struct known k = { .place = place, .prog_id = prog_id, .answer = a };
	unsigned int at = j->n_known;

	if (j->n_known == j->cap) {
		struct known *more = reallocarray(j->known, j->cap * 2 + 16, sizeof(*more));

		if (!more)
			return -ENOMEM;
		j->known = more;
		j->cap = j->cap * 2 + 16;
	}
	/* ids grow: it is nearly always the last */
	while (at && by_id(&j->known[at - 1], &k) > 0)
		at--;
	memmove(&j->known[at + 1], &j->known[at], (j->n_known - at) * sizeof(k));
	j->known[at] = k;
	j->n_known++;
	return 0;
}

static void tell(struct bt_judged *to, const struct answer *a)
{
	memcpy(to->tag, a->who.tag, sizeof(to->tag));
	memcpy(to->name, a->name, sizeof(to->name));
	memcpy(to->why, a->why, sizeof(to->why));
	to->verdict = a->verdict;
	to->twin = a->twin;
	to->ours = a->ours;
}

/* --- judging ------------------------------------------------------------------------------------ */

static void tell_unknown(struct bt_judged *to, const char *why)
{
	to->verdict = BT_VERDICT_UNKNOWN;
	snprintf(to->why, sizeof(to->why), "%s", why);
}

static int run(struct round *r, const struct bt_judged *to, const enum bt_verdict *whole,
	       struct bt_audit_result *res)
{
	const struct bt_audit_opts base = { .ifindex = 0 };
	int err = 0;

	if (to->at.dispatcher) {
		bt_audit_part(&to->at, whole, res);
		return 0;
	}
	if (!r->auditor) {
		err = bt_auditor_open(&r->auditor);
		if (err)
			return err;
		bt_host_ports(&r->host);
	}
	bt_audit_attached(r->auditor, &to->at, &base, &r->host, false, res);
	r->n_new++;
	return 0;
}

/* @whole: verdict on the dispatcher that runs it, or NULL. */
static int judge_one(struct round *r, struct bt_judged *to, const enum bt_verdict *whole)
{
	const struct known key = { .place = place_of(&to->at), .prog_id = to->at.prog_id };
	const struct known *hit = find_known(r->j, &key);
	struct bt_audit_result *res __free = NULL;
	int fd __close = -1;
	struct identity who;
	struct answer *a;
	int err;

	if (hit) {
		tell(to, hit->answer);
		return 0;
	}
	fd = bt_prog_by_id(to->at.prog_id);
	err = fd < 0 ? fd : identify(fd, key.place, &who);
	if (err) {
		tell_unknown(to, err == -ENOENT ? "it is gone" : "it cannot be looked at");
		return 0;
	}
	if (to->at.dispatcher)
		who.only_id = to->at.prog_id;
	a = find_answer(r->j, &who);
	if (!a) {
		res = malloc(sizeof(*res));
		err = res ? run(r, to, whole, res) : -ENOMEM;
		if (err)
			return err;
		if (res->passing) {
			tell_unknown(to, res->why);
			memcpy(to->tag, who.tag, sizeof(to->tag));
			memcpy(to->name, res->name, sizeof(to->name));
			return 0;
		}
		if (res->parts || res->ours)
			who.only_id = to->at.prog_id;
		a = new_answer(r->j, &who, res);
	}
	if (!a || remember(r->j, key.prog_id, key.place, a))
		return -ENOMEM;
	tell(to, a);
	return 0;
}

static const enum bt_verdict *whole_of(const struct bt_judged *v, unsigned int n, __u32 id)
{
	while (n--) {
		if (v[n].at.prog_id == id)
			return &v[n].verdict;
	}
	return NULL;
}

int bt_judge_dev(struct bt_judge *j, const char *dev, struct bt_judged **list, unsigned int *n,
		 unsigned int *n_new)
{
	struct bt_attached *at __free = NULL;
	struct bt_judged *v __free = NULL;
	struct round r = { .j = j };
	unsigned int n_at = 0;
	int err;

	err = bt_hooks_list(dev, &at, &n_at);
	if (err)
		return err;
	v = calloc(n_at + 1, sizeof(*v));
	if (!v)
		return bt_err(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < n_at && !err; i++) {
		v[i].at = at[i];
		err = judge_one(&r, &v[i],
				at[i].dispatcher ? whole_of(v, i, at[i].dispatcher) : NULL);
	}
	/* Gives the thread its CPUs back. */
	bt_auditor_close(r.auditor);
	if (err)
		return bt_err(err, "out of memory");
	*list = TAKE_PTR(v);
	*n = n_at;
	if (n_new)
		*n_new = r.n_new;
	return 0;
}

int bt_judge_new(struct bt_judge **out)
{
	struct bt_judge *j;
	__u32 id;

	if (bpf_prog_get_next_id(0, &id) && errno == EPERM)
		return bt_err(-EPERM, "judging the programs of others needs CAP_SYS_ADMIN");
	j = calloc(1, sizeof(*j));
	if (!j)
		return bt_err(-ENOMEM, "out of memory");
	*out = j;
	return 0;
}

void bt_judge_free(struct bt_judge **j)
{
	struct answer *a, *next;

	if (!*j)
		return;
	for (a = (*j)->answers; a; a = next) {
		next = a->next;
		free(a);
	}
	free((*j)->known);
	free(*j);
	*j = NULL;
}

void bt_judge_expire(struct bt_judge *j, unsigned int seconds)
{
	const time_t before = now() - seconds;
	struct answer **p = &j->answers, *gone;
	unsigned int n = 0;

	for (unsigned int i = 0; i < j->n_known; i++) {
		if (j->known[i].answer->since > before)
			j->known[n++] = j->known[i];
	}
	j->n_known = n;
	while ((gone = *p)) {
		if (gone->since > before) {
			p = &gone->next;
		} else {
			*p = gone->next;
			free(gone);
		}
	}
}

bool bt_verdict_unsafe(enum bt_verdict verdict)
{
	return verdict >= BT_VERDICT_UNKNOWN;
}
