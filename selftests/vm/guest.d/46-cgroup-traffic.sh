# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# cgroup programs on traffic, with the jumbo packets of this kernel.
export BT_BYTES=8000000 BT_SOME="acct_plain acct_twin"
exec bash selftests/net/cgroup_traffic.sh 2>&1
