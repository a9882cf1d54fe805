# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# XDP hooks and cgroups on this kernel: attach, detach, pins, and twins there.
export BT_BYTES=4000000 BT_SOME="by_default generic again taken swept both alone"
bash selftests/net/xdp_attach.sh 2>&1 && exec bash selftests/net/cgroup_attach.sh 2>&1
