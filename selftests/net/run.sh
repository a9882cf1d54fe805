#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The net suite: every script of this folder but this one and lib*.sh, one after the other; or those named.
# Their TAP lines get the script's name in front. A script that ends with an error but no failed test,
# or that takes too long, is a failed test.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
LIMIT=600

[ $# -gt 0 ] || set -- selftests/net/*.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

for script in "$@"; do
	name=$(basename "$script" .sh)
	case $name in lib | lib_* | run) continue ;; esac
	timeout -k 10 $LIMIT bash "selftests/net/$name.sh" </dev/null |
		sed -u -E "s/^((not )?ok( [0-9]+)?)( - )?($name: )?/\1 - $name: /" | tee "$tmp/out"
	rc=${PIPESTATUS[0]}
	if grep -q '^not ok' "$tmp/out"; then
		failed=1
	elif [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		echo "not ok - $name: stopped after $LIMIT s"
		failed=1
	elif [ "$rc" != 0 ]; then
		echo "not ok - $name: ended with status $rc"
		failed=1
	elif ! grep -q '^ok' "$tmp/out"; then
		echo "not ok - $name: printed no test"
		failed=1
	fi
done
exit $failed
