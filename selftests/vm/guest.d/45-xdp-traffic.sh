# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# XDP programs on traffic, with the jumbo packets of this kernel.
export BT_BYTES=24000000 BT_SOME="redirect_cpu redirect_dev tx"
exec bash selftests/net/xdp_traffic.sh 2>&1
