# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Loaders of XDP programs, cgroup programs and socket filters under exec on this kernel; with freplace, so
# xdp-loader's programs are twins in a chain of libxdp.
BT_BYTES=4000000 BT_SOME="iproute xdp_tools into_twin go_socket cgroups" exec bash selftests/net/exec_xdp.sh 2>&1
