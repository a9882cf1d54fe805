/* SPDX-License-Identifier: GPL-2.0 */
/*
 * METRIC(symbol, name, type, labels, help) of core/metrics.h. No include guard: it is read with several METRIC(). What
 * bt_samples_collect() does not put is the daemon's.
 */
METRIC(BUILD_INFO, "bigtcp_build_info", "gauge", "version,libbpf", "always 1")

/* devices */
METRIC(SIZE, "bigtcp_interface_max_bytes", "gauge", "device,family,direction",
       "largest packet the device builds: gso_max_size (transmit) and gro_max_size (receive)")
METRIC(LIMIT, "bigtcp_interface_limit_bytes", "gauge", "device",
       "largest packet the driver takes for sending (tso_max_size)")
METRIC(STATE, "bigtcp_interface_state", "gauge", "device,state",
       "1 for the state that the sizes are in: ours (as bigtcp set them), changed (by somebody else since), "
       "hands-off (an administrator's). Devices that bigtcp has set or was told to leave alone only")
METRIC(ATTACHED, "bigtcp_program_attached", "gauge", "device,hook,program",
       "1 for each program that bigtcp has attached and that is there")

/* observers: `bigtcp observe` */
METRIC(PACKETS, "bigtcp_observed_packets_total", "counter", "device,direction",
       "packets that the observer has seen, of any kind; a GSO packet is one")
METRIC(BYTES, "bigtcp_observed_bytes_total", "counter", "device,direction",
       "bytes of these packets, link-layer header included")
METRIC(JUMBO, "bigtcp_jumbo_packets_total", "counter", "device,direction,form",
       "TCP packets above 64 KiB. form: hbh (IPv6 with the jumbo header), len0 (IPv6 without), ipv4")
METRIC(JUMBO_BYTES, "bigtcp_jumbo_bytes_total", "counter", "device,direction,form",
       "bytes of these packets, link-layer header included")
METRIC(MALFORMED, "bigtcp_jumbo_malformed_packets_total", "counter", "device,direction",
       "packets with a jumbo header that is not as the kernel writes it")
METRIC(UNREAD, "bigtcp_observed_unread_packets_total", "counter", "device,direction",
       "packets that could be jumbo, but whose headers the observer could not read")
METRIC(LARGEST, "bigtcp_observed_largest_packet_bytes", "gauge", "device,direction",
       "largest packet since the observer was attached")
METRIC(FIRST, "bigtcp_observer_first", "gauge", "device,direction",
       "1: no program runs before the observer; 0: one does, and packets that it decides on are not counted")

/* guards: `bigtcp guard` */
METRIC(GUARD_WRONG, "bigtcp_guard_violations_total", "counter", "device,hook",
       "packets that broke a rule about jumbo and hop-by-hop headers")
METRIC(GUARD_DROPPED, "bigtcp_guard_dropped_packets_total", "counter", "device,hook",
       "packets that the guard has dropped")
METRIC(GUARD_CLASS, "bigtcp_guard_class_packets_total", "counter", "device,hook,class",
       "packets of a class; one can be of several. 'bigtcp guard --help' has the classes")
METRIC(GUARD_CLASS_DROPPED, "bigtcp_guard_class_dropped_packets_total", "counter",
       "device,hook,class", "packets of a class that were dropped, for whatever class")
METRIC(GUARD_EVENTS, "bigtcp_guard_events_total", "counter", "device,hook,outcome",
       "events: written, suppressed (over the rate), lost (nobody read them in time)")

/* twins, whoever has loaded them */
METRIC(TWIN_JUMBO, "bigtcp_twin_jumbo_packets_total", "counter", "device,hook,program",
       "packets that took the twin's jumbo path")
METRIC(TWIN_LOST, "bigtcp_twin_lost_packets_total", "counter", "device,hook,program",
       "packets dropped since their jumbo header could not be put back")
METRIC(TWIN_UNRESIZED, "bigtcp_twin_unresized_total", "counter", "device,hook,program",
       "calls that resize a packet and failed on the jumbo path, as the twin was made to")

/* the daemon */
METRIC(DEVICES, "bigtcp_devices", "gauge", "state",
       "devices that the configuration names, by what the last reconcile made of them: fit (as wanted), "
       "held-back (64 KiB because of unsafe programs), left-alone (an administrator's), failed")
METRIC(UNSAFE, "bigtcp_unsafe_programs", "gauge", "device",
       "programs at the device, or at the other end of its pair, that misread jumbo packets or are not known "
       "to be safe")
METRIC(SIZE_RESETS, "bigtcp_size_resets_total", "counter", "",
       "times that sizes were found changed which bigtcp had set")
METRIC(RECONCILES, "bigtcp_reconciles_total", "counter", "",
       "reconciles that have ended since the daemon was started")
METRIC(RECONCILE_ERRORS, "bigtcp_reconcile_errors_total", "counter", "",
       "reconciles in which something could not be done")
METRIC(RECONCILE_DURATION, "bigtcp_reconcile_duration_seconds", "gauge", "",
       "how long the last reconcile took")
METRIC(RECONCILE_WHEN, "bigtcp_last_reconcile_timestamp_seconds", "gauge", "",
       "when the last reconcile ended, in seconds since the epoch")
METRIC(EVENTS_LOST, "bigtcp_netlink_overruns_total", "counter", "",
       "times that the kernel had more events than the daemon could take")
