#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tests that need no compiler, as `make install-selftests` puts them beside this: installed.sh [prog|net]...
# or names of net scripts. TAP on stdout; status 1 if one failed. Root; no interface of the host is touched.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
export OUT=build BT_OUT=build
[ "$(id -u)" = 0 ] || { echo "installed.sh: this needs root" >&2; exit 2; }

# Criterion wants to write /dev/shm, the rest bpffs; the host's own are used where they do.
if [ -z "${BT_CHECK_INSIDE:-}" ]; then
	exec env BT_CHECK_INSIDE=1 unshare --mount --propagation private bash selftests/installed.sh "$@"
fi
[ "$(stat -f -c %T /sys/fs/bpf 2>/dev/null)" = bpf_fs ] || mount -t bpf bpf /sys/fs/bpf ||
	{ echo "installed.sh: bpffs can't be mounted" >&2; exit 2; }
if ! { : >/dev/shm/.bt.$$; } 2>/dev/null; then
	mount -t tmpfs -o size=256m shm /dev/shm || exit 2
fi
rm -f /dev/shm/.bt.$$

[ $# -gt 0 ] || set -- prog net
failed=0
for what in "$@"; do
	case $what in
	prog) build/tests/prog --tap -j2 ${BT_PROG_FILTER:+--filter "$BT_PROG_FILTER"} ;;
	net) bash selftests/net/run.sh ;;
	*) bash selftests/net/run.sh "$what" ;;
	esac || failed=1
done
exit $failed
