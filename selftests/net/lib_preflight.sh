# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of bigtcp preflight, on the host and in the guests. Sourced after lib.sh and lib_tap.sh; net_private was
# called. $ROOT is a directory for systemd's files, empty at first.
: "${tmp:?}"
ROOT=$tmp/root
mkdir -p "$ROOT/etc/systemd/network" "$ROOT/proc"
rows=$tmp/rows seen_levels=$tmp/levels
: >"$seen_levels"

# pf NS STATUS OPTION...: rows of bigtcp preflight, as JSON, to $rows; the exit status has to be STATUS ("": any).
pf()
{
	local ns=$1 want=$2 rc

	shift 2
	in_ns "$ns" timeout -k 5 120 "$BIGTCP" preflight -j --root "$ROOT" "$@" >"$rows" 2>"$tmp/err"
	rc=$?
	cat "$tmp/err"
	jq -r '.[] | "\(.code) \(.level)"' "$rows" >>"$seen_levels" || return 1
	[ -z "$want" ] || [ $rc = "$want" ] || { jq -c '.[]' "$rows"; echo "status $rc, not $want"; return 1; }
}

# row CODE LEVEL [PATTERN]: there is such a row, in whose device and phrases the pattern is found.
row()
{
	jq -e --arg c "$1" --arg l "$2" --arg p "${3:-}" 'any(.code == $c and .level == $l and
		("\(.dev) \(.found): \(.why); \(.advice)" | test($p)))' "$rows" >/dev/null && return
	echo "no row '$1' with level '$2' and '${3:-}':"
	jq -c --arg c "$1" '.[] | select(.code == $c)' "$rows"
	return 1
}

# only CODE LEVEL: all rows of the code have that level.
only()
{
	jq -e --arg c "$1" --arg l "$2" '[.[] | select(.code == $c)] | length > 0 and all(.level == $l)' \
		"$rows" >/dev/null && return
	echo "not all rows '$1' have level '$2':"
	jq -c --arg c "$1" '.[] | select(.code == $c)' "$rows"
	return 1
}

# no_row CODE PATTERN
no_row()
{
	jq -e --arg c "$1" --arg p "$2" 'all(.code != $c or
		("\(.dev) \(.found): \(.why); \(.advice)" | test($p) | not))' "$rows" >/dev/null && return
	echo "there is a row '$1' with '$2':"
	jq -c --arg c "$1" '.[] | select(.code == $c)' "$rows"
	return 1
}
