# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bigtcpd on this kernel: part of the net suite's script.
BT_DAEMON_SHORT=1 exec bash selftests/net/daemon.sh 2>&1
