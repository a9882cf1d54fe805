#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command line as a whole: help of every command from the table, options before and after,
# exit codes, and JSON whatever happens.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
bigtcp=${OUT:-.output}/bigtcp

. selftests/net/lib_tap.sh

# gives STATUS WORDS...: the exit status of bigtcp
gives()
{
	local want=$1 got

	shift
	"$bigtcp" "$@" >/dev/null 2>&1
	got=$?
	[ "$got" = "$want" ] && return
	echo "# $want was wanted, $got came from: bigtcp $*"
	return 1
}

# says STATUS PATTERN WORDS...: the same, and JSON with such an error
says()
{
	local want=$1 pattern=$2 out got

	shift 2
	out=$("$bigtcp" "$@" 2>/dev/null)
	got=$?
	[ "$got" = "$want" ] && jq -e --arg p "$pattern" '.error | test($p)' <<<"$out" >/dev/null &&
		return
	echo "# $got: $out"
	return 1
}

# Every command has help in text, in three ways the same, with each of its options, 80 wide.
help_of()
{
	local cmd=$1 text opt

	text=$("$bigtcp" help "$cmd") || return 1
	[ "$text" = "$("$bigtcp" "$cmd" --help)" ] && [ "$text" = "$("$bigtcp" -h "$cmd")" ] ||
		return 1
	awk 'length($0) > 80 { print "# " $0; bad = 1 } END { exit bad }' <<<"$text" || return 1
	for opt in $(jq -r --arg c "$cmd" '.commands[] | select(.name == $c).options[].name' \
		<<<"$table"); do
		grep -q -e "--$opt" <<<"$text" || return 1
	done
}

# Options of one command, and those of all commands, have names and letters of their own.
unique()
{
	jq -e '.options as $all | .commands | all((.options + $all) | [.[].name, (.[].letter | values)] |
		length == (unique | length))' <<<"$table" >/dev/null
}

help_80()
{
	"$bigtcp" help | awk 'length($0) > 80 { bad = 1 } END { exit bad }'
}

version()
{
	[ "$("$bigtcp" -V)" = "$("$bigtcp" version)" ] &&
		"$bigtcp" version -j | jq -e '.version and .libbpf_version and .features.twin' >/dev/null
}

full_disk()
{
	"$bigtcp" help >/dev/full 2>/dev/null
	[ $? = 2 ]
}

pretty()
{
	[ "$("$bigtcp" version -p | jq -c .)" = "$("$bigtcp" -j version)" ] &&
		[ "$("$bigtcp" version -p | wc -l)" -gt 5 ]
}

table=$("$bigtcp" -j help)
check "the table as JSON" jq -e '.commands | length >= 8' <<<"$table"
check "names and letters are unique" unique
check "help fits 80 columns" help_80
for cmd in $(jq -r '.commands[].name' <<<"$table"); do
	check "help of $cmd" help_of "$cmd"
done
check "version" version
check "-p is JSON, indented" pretty
check "no command: usage" gives 1
check "an unknown command: usage" gives 1 adit
check "an unknown option: usage" gives 1 probe --nope
check "a missing argument: usage" gives 1 probe -n
check "a word too many: usage" gives 1 probe lo
check "a missing namespace: refused" gives 2 -n bt-no-such-namespace probe --no-live
check "a file that is no namespace: refused" gives 2 -n /proc/version probe --no-live
check "a namespace by path" gives 0 -n /proc/self/ns/net probe --no-live
check "JSON error, -j first" says 1 "no command 'adit'" -j adit
check "JSON error, -j last" says 1 "no option '--nope'" probe --nope -j
check "JSON error of no command" says 1 "no command" -j
check "JSON error of the system" says 2 "bt-no-such-namespace" probe -n bt-no-such-namespace -j
check "a full disk: refused" full_disk
finish
