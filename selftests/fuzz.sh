#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The fuzz suite: builds every fuzzer of selftests/fuzz and runs each for a short, bounded time from
# a fixed seed. One TAP line each. BT_FUZZ_SECONDS (30) and BT_FUZZ_SEED (1) make it longer or
# different. selftests/fuzz/NAME.seeds.sh, where there is one, writes what fuzzer NAME starts from.
set -u
cd "$(dirname "$0")/.." || exit 1
OUT=${OUT:-.output}
seconds=${BT_FUZZ_SECONDS:-30}
seed=${BT_FUZZ_SEED:-1}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

make -s fuzz >&2 || {
	echo "not ok 1 - fuzz: the fuzzers build"
	exit 1
}
n=0
failed=0
for src in selftests/fuzz/fuzz_*.c; do
	[ -e "$src" ] || continue
	name=$(basename "$src" .c)
	n=$((n + 1))
	mkdir -p "$work/$name" "$OUT/fuzz/crash"
	set -- "$work/$name"
	if [ -f "selftests/fuzz/$name.seeds.sh" ]; then
		mkdir -p "$work/$name.seeds"
		sh "selftests/fuzz/$name.seeds.sh" "$work/$name.seeds" && set -- "$@" "$work/$name.seeds"
	fi
	# libFuzzer ends by itself; timeout is for the case that it does not.
	timeout -k 5 $((seconds + 60)) "$OUT/fuzz/$name" -seed="$seed" -max_total_time="$seconds" \
		-rss_limit_mb=1024 -max_len=8192 -timeout=10 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="$OUT/fuzz/crash/$name-" "$work/$name" >"$work/log" 2>&1 </dev/null
	rc=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
	# A fuzzer that ran nothing has shown nothing.
	if [ $rc = 0 ] && [ "${runs:-0}" -gt 0 ]; then
		echo "ok $n - fuzz: $name"
		echo "# $name: $runs inputs in $seconds s from seed $seed"
	else
		echo "not ok $n - fuzz: $name (status $rc)"
		tail -n 40 "$work/log" | sed 's/^/# /'
		failed=1
	fi
done
[ $n -gt 0 ] || echo "not ok 1 - fuzz: there is a fuzzer"
[ $n -gt 0 ] && exit $failed
exit 1
