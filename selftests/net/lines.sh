#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What bpftool shows of a twin: source lines on both paths, names of functions, maps. Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh

# lines PIN: "FUNCTION FILE:LINE:COLUMN SOURCE" of the instructions that have a source line, in order. FUNCTION is a
# name, followed by ' when it is the second function of that name.
lines()
{
	bpftool -j prog dump xlated pinned "$1" linum | jq -r '.[] |
		"\(.proto // "" | sub("\\(.*"; "") | sub(".* \\**"; ""))\t\(.file // "" |
		sub(".*/"; "")):\(.line_num // 0):\(.line_col // 0)\t\(.src // "")"' |
		awk -F'\t' '
			$1 != "" { f = $1; if (f in seen) f = f "\047"; seen[f] = 1 }
			$2 !~ /:0:0$/ { print f, $2, $3 }'
}

# of FUNCTION FILE: the lines of one function
of()
{
	awk -v f="$1" '$1 == f { $1 = ""; print }' "$2"
}

# Every line of the original's main is there twice, once on each path, in the original's order.
main_lines()
{
	local main=$1

	{
		of "$main" "$tmp/plain"
		of "$main" "$tmp/plain"
	} >"$tmp/want"
	[ -s "$tmp/want" ] || echo "the original shows no source lines"
	of "$main" "$tmp/twin" | diff "$tmp/want" - | head -n 8
}

# By address there is a path for each kind of link header, less what the verifier finds dead on it.
address_lines()
{
	local main=$1 n

	of "$main" "$tmp/plain" >"$tmp/want"
	of "$main" "$tmp/twin" >"$tmp/have"
	n=$(wc -l <"$tmp/want")
	[ "$n" -gt 0 ] || echo "the original shows no source lines"
	head -n "$n" "$tmp/have" | diff "$tmp/want" - | head -n 8
	tail -n +$((n + 1)) "$tmp/have" | sort | uniq -c >"$tmp/paths"
	sort -u "$tmp/want" | grep -Fvxf - <(sed 's/^ *[0-9]* //' "$tmp/paths") | sed 's/^/not of main: /'
	awk '$1 % 4 == 0 { n++ } END { if (n < 10) print n + 0 " lines on all four paths" }' "$tmp/paths"
}

# A function of the original is unchanged, and its clone has the same lines.
sub_lines()
{
	local f clones=0

	cut -d' ' -f1 "$tmp/plain" | uniq | grep -vx "$1" >"$tmp/subs"
	while read -r f; do
		of "$f" "$tmp/plain" >"$tmp/want"
		of "$f" "$tmp/twin" | diff "$tmp/want" - | head -n 4
		grep -q "^$f' " "$tmp/twin" || continue
		clones=$((clones + 1))
		of "$f'" "$tmp/twin" | diff "$tmp/want" - | head -n 4
	done <"$tmp/subs"
	[ "$clones" = "$2" ] || echo "$clones clones, not $2"
}

# Functions that are called have their names in a stack trace.
names()
{
	local f

	bpftool prog dump xlated pinned "$1" | grep -o 'bpf_prog_[0-9a-f]\{16\}_[A-Za-z0-9_]*' | sort -u >"$tmp/called"
	bpftool -j prog show pinned "$1" | jq -r '"bpf_prog_\(.tag)_\(.name)"' >>"$tmp/called"
	while read -r f; do
		grep -q " $f	" "$tmp/kallsyms" || echo "no symbol $f"
	done <"$tmp/called"
	[ "$(wc -l <"$tmp/called")" -gt "$2" ] || echo "only $(wc -l <"$tmp/called") functions have a name"
}

map_names()
{
	local m

	for m in $(bpftool -j prog show pinned "$1" | jq '.map_ids[]?'); do
		bpftool -j map show id "$m" | jq -r .name
	done | sort
}

# The original's maps, and bigtcp's.
maps()
{
	map_names "$1" >"$tmp/maps_plain"
	map_names "$2" >"$tmp/maps_twin"
	comm -23 "$tmp/maps_plain" "$tmp/maps_twin" | sed 's/^/it lacks the map /'
	grep -qx bigtcp_twin "$tmp/maps_twin" || echo "no map bigtcp_twin"
	comm -13 "$tmp/maps_plain" "$tmp/maps_twin" | grep -vx 'bigtcp_twin\|bigtcp_buf' |
		sed 's/^/it has a map more: /'
}

# program OBJECT PROG CLONES LINES: LINES is the function for the lines of main
program()
{
	local plain=$PINS/plain_$1/$2 twin=$PINS/twin_$1/$2

	pin_obj "plain_$1" "$CORPUS/$1.bpf.o" && pin_obj "twin_$1" "$CORPUS/$1.bpf.o" twin
	if [ ! -e "$twin" ]; then
		result "$2: it loads" "$(cat "$tmp/log")"
		return
	fi
	lines "$plain" >"$tmp/plain"
	lines "$twin" >"$tmp/twin"
	cat /proc/kallsyms >"$tmp/kallsyms"
	result "$2: source lines on every path of main" "$("$4" "$2")"
	result "$2: source lines of its functions, $3 of them cloned" "$(sub_lines "$2" "$3")"
	result "$2: names of functions in kallsyms" "$(names "$twin" "$3")"
	result "$2: bpftool prog show has all maps" "$(maps "$plain" "$twin")"
}

program fw_naive fw_naive 0 address_lines
program subprogs subprogs 4 main_lines
program globals globals 4 main_lines
program opts_loop opts_loop 1 main_lines
finish
