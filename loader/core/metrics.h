/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metrics in the text format of Prometheus (0.0.4). Names, types, labels and help texts are one table; samples are put
 * by the table's rows, so that what is exported can't differ from what is documented.
 */
#ifndef CORE_METRICS_H
#define CORE_METRICS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

/* METRIC(symbol, name, type, labels, help): names as Prometheus wants them (base units, _total). */
enum bt_metric_id {
#define METRIC(sym, name, type, labels, help) BT_METRIC_##sym,
#include "core/metrics.tab.h"
#undef METRIC
	__BT_METRIC_MAX,
};

struct bt_metric {
	const char *name;
	const char *type; /* "counter", "gauge" */
	const char *labels; /* "device,direction"; "": none */
	const char *help;
};
extern const struct bt_metric bt_metrics[__BT_METRIC_MAX];

/* A set of samples, written once. */
struct bt_samples;
struct bt_samples *bt_samples_new(void); /* NULL: out of memory */
void bt_samples_free(struct bt_samples **s);
/* @labels: a value for each label of the metric, in order. Memory that lacks is remembered, see _write(). */
void bt_sample(struct bt_samples *s, enum bt_metric_id id, double value, const char *const *labels);
/* Each metric's samples together, with HELP and TYPE. 0, -ENOMEM, or -errno of the stream. */
int bt_samples_write(const struct bt_samples *s, FILE *to);
/* The same as a string: free(). */
int bt_samples_text(const struct bt_samples *s, char **text, size_t *len);
/* For node_exporter's textfile collector: written beside @path, then renamed. 0, or -errno with a sentence. */
int bt_samples_textfile(const struct bt_samples *s, const char *path);

/* What the kernel's state tells of the devices of this namespace: sizes, observers, guards, twins, links. 0, or
 * -errno with a sentence; what could be read is in @s in any case.
 */
int bt_samples_collect(struct bt_samples *s);

#endif
