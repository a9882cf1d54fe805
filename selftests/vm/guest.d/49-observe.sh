# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The observer on this kernel (before 6.6: by cls_bpf): part of the net suite's script.
. selftests/vm/guest.sh

BT_OBSERVE_SHORT=1 bash selftests/net/observe.sh 2>"$tmp/err" || tap_failed=1
note_tail "$tmp/err"
finish
