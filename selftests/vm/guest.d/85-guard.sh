# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The guard on this kernel: the net suite's script without its comparison of throughput.
. selftests/vm/guest.sh

BT_GUARD_SHORT=1 timeout 240 bash selftests/net/guard.sh 2>"$tmp/err" || tap_failed=1
note_tail "$tmp/err"
finish
