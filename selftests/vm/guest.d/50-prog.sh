# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The tests on BPF_PROG_TEST_RUN, with fewer packets: emulation is slow.
. selftests/vm/guest.sh

if [ ! -x .output/tests/prog ]; then
	not_ok "tests/prog is in the guest"
	finish
fi
export BT_PROG_PACKETS=${BT_PROG_PACKETS:-100}
exec .output/tests/prog --tap -j2
