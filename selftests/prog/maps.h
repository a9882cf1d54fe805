/* SPDX-License-Identifier: GPL-2.0 */
/* Are the maps of two objects alike? */
#ifndef PROG_MAPS_H
#define PROG_MAPS_H

#include <bpf/libbpf.h>
#include <stddef.h>

/* Compares all maps of the two objects, made from one file, by name: entries whatever their
 * order, and what is new in ring buffers (which this empties). Returns 0 if alike, 1 and a
 * sentence in @why if not, -errno if a map can't be read.
 */
int maps_compare(struct bpf_object *a, struct bpf_object *b, char *why, size_t len);

#endif
