# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# enable, disable and status on this kernel, which has more kinds of devices than an ordinary host may have; and
# Linux 6.1, which has no sizes for IPv4. The net suite's script.
. selftests/vm/guest.sh

BT_ENABLE_SHORT=1 bash selftests/net/enable.sh 2>"$tmp/err" || tap_failed=1
note_tail "$tmp/err"
finish
