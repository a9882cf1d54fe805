/* SPDX-License-Identifier: GPL-2.0 */
/* Was a jumbo packet treated as plain packets of the same kind are? */
#ifndef CORE_AUDIT_MODEL_H
#define CORE_AUDIT_MODEL_H

#include "core/audit_maps.h"
#include "core/audit_run.h"

/* In the order of how bad they are. */
enum bt_verdict {
	BT_VERDICT_SAFE,
	BT_VERDICT_TWIN, /* already rewritten by bigtcp */
	BT_VERDICT_UNKNOWN,
	BT_VERDICT_MISREADS,
	BT_VERDICT_DROPS,
	BT_VERDICT_BYPASSES,
	BT_VERDICT_CORRUPTS,
};

/* One run and what it left behind. */
struct bt_obs {
	struct bt_run run;
	struct bt_events events;
	unsigned int seq;
};

#define BT_DIFF_BYTES 8

/* The first and worst difference between a jumbo packet and the plain ones. */
struct bt_diff {
	enum bt_verdict verdict; /* SAFE: none */
	char text[256]; /* one phrase: "drops what it passes as a plain packet" */
	__u32 plain_ret, jumbo_ret;
	bool in_map; /* the rest is valid */
	unsigned int map;
	char key[80]; /* hex */
	int offset; /* of the first differing byte in key or value, -1: none */
	char plain_bytes[2 * BT_DIFF_BYTES + 1],
		jumbo_bytes[2 * BT_DIFF_BYTES + 1]; /* from there */
	/* A key that was seen before by chance may be there for every later run: such a difference
	 * counts although it does not come again.
	 */
	bool once;
};

/*
 * Compares @h with @n runs on plain packets of the same flow, flags and state, in the order of
 * time; some before and some after @h, of at least two lengths up to 64 KiB, and if possible one
 * longer.
 * @far: @h is so long that what its length alone changes in maps is not to be judged. @direct: the
 * return value is a verdict (else a class). UNKNOWN: the plain runs do not agree on the verdict.
 */
void bt_compare(const struct bt_obs *plain, unsigned int n, const struct bt_obs *h, bool far,
		bool direct, const struct bt_maps *maps, struct bt_diff *diff);

const char *bt_verdict_name(enum bt_verdict v);

/* Fingerprint of what a run did, without values: flows with the same one are alike. */
__u64 bt_obs_kind(const struct bt_obs *o);

/* Hex of at most max bytes, "..." behind if there are more. */
void bt_hex(char *buf, size_t size, const __u8 *p, size_t len, size_t max);

#endif
