# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# XDP hooks on this kernel: attach, detach, pins, and twins in generic XDP.
BT_BYTES=12000000 exec bash selftests/net/xdp_attach.sh 2>&1
