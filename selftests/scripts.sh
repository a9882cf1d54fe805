#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts.sh FOLDER SECONDS [SCRIPT...]: a suite of scripts: every one of selftests/FOLDER but run.sh and lib*.sh, one after
# the other; or those named. Their TAP lines get the script's name in front. A script that ends with an error
# but no failed test, or that takes more than SECONDS (0: no limit), is a failed test.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=selftests/$1 limit=$2
shift 2

[ $# -gt 0 ] || set -- "$folder"/*.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
failed=0

for script in "$@"; do
	name=$(basename "$script" .sh)
	case $name in lib | lib_* | run) continue ;; esac
	timeout -k 10 "$limit" bash "$folder/$name.sh" </dev/null |
		sed -u -E "s/^((not )?ok( [0-9]+)?)( - )?($name: )?/\1 - $name: /" | tee "$tmp/out"
	rc=${PIPESTATUS[0]}
	if grep -q '^not ok' "$tmp/out"; then
		failed=1
	elif [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		echo "not ok - $name: stopped after $limit s"
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
