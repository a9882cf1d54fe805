/* SPDX-License-Identifier: GPL-2.0 */
/* METRIC(symbol, name, type, labels, help) of core/metrics.h. No include guard: it is read with several METRIC(). */
METRIC(BUILD_INFO, "bigtcp_build_info", "gauge", "version,libbpf", "always 1")
METRIC(SIZE, "bigtcp_interface_max_bytes", "gauge", "device,family,direction",
       "largest packet the device builds: gso_max_size (transmit) and gro_max_size (receive)")
