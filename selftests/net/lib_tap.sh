# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# TAP lines for the scripts of this folder. Sourced; $tmp is a folder where t() may write. A script ends with
# finish: the plan, and as status whether a test failed.
n=0 bad=0 seen=

# result NAME WHAT-IS-WRONG: nothing wrong is a pass. $seen, if set, is a remark.
result()
{
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /' | head -n 40
		bad=1
	fi
	[ -z "$seen" ] || echo "# $seen"
	seen=
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# check NAME COMMAND...: one test; its output goes to stderr.
check()
{
	local name=$1

	shift
	if "$@" >&2; then
		result "$name" ""
	else
		result "$name" "failed: $*"
	fi
}

# t FUNCTION NAME: the function's status is the result (77: skip, the reason is its last line); its
# output is shown when it fails, and lines that start with "# " always. after_test, where a script has
# it, runs in any case.
t()
{
	local rc

	"$1" >"${tmp:?}/out" 2>&1
	rc=$?
	case $rc in
	0)
		result "$2" ""
		grep '^# ' "$tmp/out"
		;;
	77) skip "$2" "$(tail -n 1 "$tmp/out")" ;;
	*) result "$2" "$(cat "$tmp/out"; echo "status $rc")" ;;
	esac
	if declare -F after_test >/dev/null; then
		after_test
	fi
	[ "$rc" = 0 ] || [ "$rc" = 77 ]
}

finish()
{
	echo "1..$n"
	return $bad
}
