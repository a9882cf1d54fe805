#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tables.sh: prints docs/completion/bigtcp.bash with the tables of the command BIGTCP in it. What
# stands for a value or a word of a command line becomes a list of words, and of kinds that are looked
# up when they are completed: @dev @netns @hook @file @dir @command @any (nobody knows).
set -u
export LC_ALL=C.UTF-8

# shellcheck disable=SC2016 # jq's variables
tables='
def kind: {"DEV": "@dev", "PATTERN": "@dev", "CGROUP": "@dir", "HOOK": "@hook", "FILE.o": "@file",
	"FILE": "@file", "PATH": "@file", "DIR": "@dir", "COMMAND": "@command"}[.]
	// (if test("^[a-z0-9-]+$") then . else "@any" end);
# What guard knows is in its notes, a line each: "name (rule): ...".
def classes: [.notes // "" | split("\n")[1:][] | capture("^(?<n>[a-z0-9-]+) \\(").n] | join(" ");
# "native|skb" is a choice; "CLASS,..." is a list of the classes.
def value($cmd; $opt):
	if $opt.name == "netns" then "@netns @file"
	elif $opt.arg == "CLASS,..." then "all " + ($cmd | classes)
	else $opt.arg | split("|") | map(kind) | unique | join(" ") end;
# "sandwich DEV | status [DEV]": what can stand at each place. Options in a synopsis are not places.
def places: gsub("--[a-z-]+ [A-Z]+"; "") | split(" | ") | map([scan("[^ ]+")]) | . as $ways |
	[range(0; map(length) | max // 0)] | map(. as $i | $ways | map(.[$i] // empty | gsub("[\\[\\]]|\\.\\.\\.$"; "") |
		select(. != "") | split("|")[] | kind) | unique | join(" ")) | map(select(. != ""));
def names: "--\(.name)" + (if .letter then " -\(.letter)" else "" end);
def quoted: "\u0027" + . + "\u0027";

"_bigtcp_commands=\([.commands[].name] | join(" ") | quoted)",
"_bigtcp_global=\([.options[] | names] | join(" ") | quoted)",
"",
"_bigtcp_options()", "{", "\tcase $1 in",
(.commands[] | select(.options | length > 0) | "\t\(.name)) echo \([.options[] | names] | join(" ") | quoted) ;;"),
"\tesac", "}",
"",
"# What may stand behind option $2 of command $1; nothing: it takes no value.",
"_bigtcp_value()", "{", "\tcase \"$1 $2\" in",
(.options[] | select(.arg) | . as $o | "\t*\" --\(.name)\"" + (if .letter then " | *\" -\(.letter)\"" else "" end)
	+ ") echo \(value(null; $o) | quoted) ;;"),
(.commands[] | . as $c | .options[] | select(.arg) | . as $o | "\t\"\($c.name) --\(.name)\""
	+ (if .letter then " | \"\($c.name) -\(.letter)\"" else "" end) + ") echo \(value($c; $o) | quoted) ;;"),
"\tesac", "}",
"",
"# What may stand at place $2 (0 is the first) of command $1.",
"_bigtcp_place()", "{", "\tcase \"$1 $2\" in",
(.commands[] | . as $c | (.args | places) as $p | range(0; $p | length) |
	# "DEV...": as many as one likes.
	"\t\"\($c.name) \"" + (if ($c.args | test("[A-Z]\\.\\.\\.\\]?$")) and . == ($p | length) - 1 then "*"
		else "\(.)" end) + ") echo \($p[.] | quoted) ;;"),
"\tesac", "}"'

help=$("$BIGTCP" help -j) || exit 1
made=$(printf '%s\n' "$help" | jq -r "$tables") || exit 1
while IFS= read -r line; do
	if [ "$line" = "@TABLES@" ]; then
		printf '%s\n' "$made"
	else
		printf '%s\n' "$line"
	fi
done <"$(dirname "$0")/bigtcp.bash"
