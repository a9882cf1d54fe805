#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The style suite: formatting, shell scripts, licence lines, sizes. TAP on stdout; a failed line is
# followed by the offenders as comments.
set -u
cd "$(dirname "$0")/.." || exit 1

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0
failed=0

# verdict NAME: passes if $tmp/bad is empty. The lines of $tmp/bad are shown otherwise.
verdict()
{
	n=$((n + 1))
	if [ ! -s "$tmp/bad" ]; then
		echo "ok $n - style: $1"
		return
	fi
	echo "not ok $n - style: $1"
	failed=1
	head -n 20 "$tmp/bad" | sed 's/^/# /'
}

# Sources under the given folders and names, one a line. What is built is never under them.
sources()
{
	dirs=$1
	shift
	# shellcheck disable=SC2086 # a list of folders
	find $dirs -type f \( "$@" \) 2>/dev/null | sort
}

c_files="loader include bpf selftests docs"
sources "$c_files" -name '*.c' -o -name '*.h' >"$tmp/c"
sources "$c_files .ci vmlinux" -name '*.sh' >"$tmp/sh"
for f in .ci/run selftests/vm/init; do
	[ -e "$f" ] && echo "$f" >>"$tmp/sh"
done

xargs -r clang-format-14 --dry-run -Werror <"$tmp/c" 2>&1 | grep -E '(error|warning):' >"$tmp/bad"
verdict "clang-format likes $(wc -l <"$tmp/c") files"

xargs -r shellcheck -x -f gcc <"$tmp/sh" >"$tmp/bad" 2>&1
verdict "shellcheck likes $(wc -l <"$tmp/sh") scripts"

cat "$tmp/c" "$tmp/sh" >"$tmp/all"
sources "$c_files vmlinux" -name '*.go' -o -name '*.py' -o -name '*.map' >>"$tmp/all"
: >"$tmp/bad"
while read -r f; do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f"
done <"$tmp/all" >"$tmp/bad"
verdict "a licence line in $(wc -l <"$tmp/all") files"

sources "loader bpf include" -name '*.c' -o -name '*.h' |
	xargs -r awk 'FNR == 600 { print FILENAME ": 600 lines or more" }' >"$tmp/bad"
verdict "no source has 600 lines"

# The words are in brackets so that this script does not find itself.
xargs -r grep -nE '\b([T]ODO|[F]IXME|[X]XX|[H]ACK)\b' <"$tmp/all" >"$tmp/bad"
verdict "nothing is left to be done later"

{ cat "$tmp/all" && echo Makefile; } |
	xargs -r awk '/[ \t]+$/ { print FILENAME ":" FNR ": space at the end of the line" }' >"$tmp/bad"
verdict "no space at the ends of lines"

exit $failed
