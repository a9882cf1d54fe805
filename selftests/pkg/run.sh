#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The pkg suite: every script of this folder but this one and lib*.sh, or those named: what is installed and
# shipped. Their TAP lines get the script's name in front.
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1

[ $# -gt 0 ] || set -- selftests/pkg/*.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
failed=0

for script in "$@"; do
	name=$(basename "$script" .sh)
	case $name in lib | lib_* | run) continue ;; esac
	bash "selftests/pkg/$name.sh" </dev/null |
		sed -u -E "s/^((not )?ok( [0-9]+)?)( - )?/\1 - $name: /" | tee "$tmp/out"
	rc=${PIPESTATUS[0]}
	if grep -q '^not ok' "$tmp/out"; then
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
