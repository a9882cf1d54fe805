# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What probe finds here; on 6.1 there is no tcx and no IPv4 BIG TCP.
# Emulation is slow, and the host may be busy.
export BT_PROBE_MS=60000
exec bash selftests/net/probe.sh
