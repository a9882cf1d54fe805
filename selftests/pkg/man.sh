#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2013,SC2001 # words are meant
# The man pages against the tables of the command (bigtcp help -j) and of the metrics: nothing is missing,
# nothing is named that there is not, and renderers have nothing to complain of.
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-.output}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. selftests/net/lib_tap.sh

make -s docs >&2 || exit 1
"$OUT/bigtcp" help -j >"$tmp/help" || exit 1

# Each page as one line of words, as readers see them.
mkdir "$tmp/text"
for page in "$OUT"/man/*.[0-9]; do
	mandoc -Tutf8 -Owidth=500 "$page" | sed 's/.\x08//g' | tr -s ' \t\n' ' ' >"$tmp/text/$(basename "$page")"
done
# Pages of sources that are gone are no pages.
for page in "$OUT"/man/*.[0-9]; do
	[ -e "docs/man/$(basename "$page").scd" ] || rm "$page" "$tmp/text/$(basename "$page")"
done

# has PAGE TEXT
has()
{
	grep -qF -e "$2" "$tmp/text/$1" || echo "$1 lacks: $2"
}

# The page a command is documented in, which is the one with its synopsis.
page_of()
{
	basename "$(grep -lx "@SYNOPSIS $1" docs/man/*.scd | head -n 1)" .scd
}

# Every word of the table, found in the rendered page of its command.
table_in_pages()
{
	local cmd page line

	for cmd in $(jq -r '.commands[].name' "$tmp/help"); do
		page=$(page_of "$cmd")
		[ -n "$page" ] || { echo "no page for '$cmd'" && continue; }
		# A paragraph for each option: names, argument, help.
		jq -r --arg c "$cmd" '.commands[] | select(.name == $c) | .args, (.options[]
			| (if .letter then "-\(.letter), " else "" end) + "--\(.name)"
			+ (if .arg then " \(.arg)" else "" end) + " " + .help),
			(if .name == "help" then empty else .notes // "" | split("\n")[] end)
			| select(. != "")' "$tmp/help" | tr -s ' ' >"$tmp/lines"
		while IFS= read -r line; do
			has "$page" "$line"
		done <"$tmp/lines"
	done
	jq -r '.options[] | (if .letter then "-\(.letter), " else "" end) + "--\(.name)"
		+ (if .arg then " \(.arg)" else "" end) + " " + .help' "$tmp/help" >"$tmp/lines"
	while IFS= read -r line; do
		has bigtcp.8 "$line"
	done <"$tmp/lines"
}

# bigtcp(8) lists every command, with its help and the right page.
commands_listed()
{
	local name args help page

	while IFS=$'\001' read -r name args help; do
		page=$(page_of "$name")
		[ -n "$page" ] || continue
		has bigtcp.8 "$name ${args:+$args }$help. See ${page%.*}(${page##*.})."
	done < <(jq -r '.commands[] | "\(.name)\u0001\(.args)\u0001\(.help[:1] | ascii_upcase)\(.help[1:])"' "$tmp/help")
}

# Command lines in the pages' own words: "bigtcp [GLOBAL] COMMAND ... --option".
named_things_exist()
{
	local page opts cmds opt word

	cmds=$(jq -r '.commands[].name' "$tmp/help")
	for page in docs/man/*.scd; do
		# bigtcpd is not in this table, see below.
		case $page in *bigtcpd* | *conf.5* | *lib*) continue ;; esac
		for word in $(grep -oE '([*]|# )bigtcp (-n [^ ]+ )?[a-z-]+' "$page" | sed 's/.* //'); do
			grep -qx -e "$word" <<<"$cmds" || echo "$page: no command '$word'"
		done
		# The options of the commands that the page is about, and those of every command.
		opts=$(for word in $(sed -n 's/^@SYNOPSIS //p' "$page"); do
			jq -r --arg c "$word" '.commands[] | select(.name == $c).options[].name' "$tmp/help"
		done; jq -r '.options[].name' "$tmp/help")
		# What exec runs has options of its own.
		for opt in $(sed 's/ -- .*//' "$page" | grep -E 'bigtcp|\*--' | grep -oE -- '--[a-z][a-z0-9-]+'); do
			grep -qx -e "${opt#--}" <<<"$opts" || echo "$page: no option '$opt'"
		done
	done
}

# bigtcpd(8) and bigtcp.conf(5) against what bigtcpd says of itself.
daemon_in_pages()
{
	local opts opt key

	"$OUT/bigtcpd" --help >"$tmp/daemon"
	opts=$(grep -oE -- "^  .{4}--[a-z-]+" "$tmp/daemon" | grep -oE -- "--.*")
	[ -n "$opts" ] || echo "bigtcpd --help lists no options"
	sed -n "s/^  \(-., \)\{0,1\} *\(--[a-z-]*\) \{1,\}/\1\2 /p" "$tmp/daemon" | tr -s " " >"$tmp/lines"
	while IFS= read -r opt; do
		has bigtcpd.8 "$opt"
	done <"$tmp/lines"
	for opt in $(cat docs/man/bigtcpd.8.scd docs/man/bigtcp.conf.5.scd | grep -oE "bigtcpd( -[-a-z/.]+)+|[*]--[a-z-]+" |
		grep -oE -- "--[a-z-]+"); do
		grep -qx -e "$opt" <<<"$opts" || echo "bigtcpd has no option $opt"
	done
	# Keys are comments, "#key = default", below a comment or more, "# help".
	sed -n "/^\[daemon/,/^Signals/p" "$tmp/daemon" >"$tmp/keys"
	sed -n "s/^#\([a-z0-9-]* =.*\)/\1/p; s/^# //p" "$tmp/keys" | sed "s/ *$//" >"$tmp/lines"
	[ -s "$tmp/lines" ] || echo "bigtcpd --help describes no configuration"
	while IFS= read -r key; do
		has bigtcp.conf.5 "$key"
	done <"$tmp/lines"
}

# check FILE: bigtcpd takes it as a configuration.
config_ok()
{
	local out

	out=$("$OUT/bigtcpd" --check --config "$1" --run-dir "$tmp" 2>&1) || echo "$1: $out"
}

# The example of the page, the default as it is, and with every key taken out of its comment.
configurations()
{
	awk '/^```/ { on = !on; next } on' docs/man/bigtcp.conf.5.scd | sed '/^# bigtcpd/d' >"$tmp/example.conf"
	grep -q '^\[device' "$tmp/example.conf" || echo "the page has no example"
	sed 's/^#\([a-z[]\)/\1/; s|^metrics-socket =.*|metrics-socket = /run/x|' "$OUT/bigtcp.conf" >"$tmp/all.conf"
	config_ok "$tmp/example.conf"
	config_ok "$OUT/bigtcp.conf"
	config_ok "$tmp/all.conf"
	printf '[device x]\nsize = many\n' >"$tmp/bad.conf"
	! "$OUT/bigtcpd" --check --config "$tmp/bad.conf" --run-dir "$tmp" >/dev/null 2>&1 || echo "size = many is taken"
}

metrics_in_page()
{
	local name

	# The names, whatever else a row has.
	for name in $(grep -oE '"bigtcp_[a-z_]+"' loader/core/metrics.tab.h | tr -d '"'); do
		has bigtcp-observe.8 "$name"
	done
}

checks_in_page()
{
	local name

	for name in $(sed -n 's/^CHECK("\([^"]*\)".*/\1/p' loader/core/preflight.tab.h); do
		grep -qE " $name [A-Za-z]" "$tmp/text/bigtcp-enable.8" || echo "bigtcp-enable.8 lacks $name"
	done
}

sections()
{
	local page s

	for page in docs/man/*.scd; do
		for s in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" EXAMPLES "SEE ALSO"; do
			case $s-$page in "EXIT STATUS-"*.3.scd | "SYNOPSIS-"*.5.scd) continue ;; esac
			grep -qx "# $s" "$page" || echo "$page has no section $s"
		done
	done
}

# SEE ALSO and the text name pages of ours that there are.
references()
{
	local ref

	for ref in $(cat docs/man/*.scd | grep -oE '\*(lib)?bigtcp[a-z.-]*\*\([0-9]\)' | tr -d '*' | sort -u); do
		ref=$(sed 's/(\(.\))/.\1/' <<<"$ref")
		[ -e "docs/man/$ref.scd" ] || echo "no page $ref"
	done
}

# Whatever the tables and pages are made of: nothing to complain of.
renders()
{
	local page

	for page in "$OUT"/man/*.[0-9]; do
		mandoc -Tlint -Wwarning "$page"
		MANWIDTH=80 man --warnings -E UTF-8 -l "$page" >/dev/null
	done
	for page in docs/man/*.scd; do
		BIGTCP="$OUT/bigtcp" BIGTCPD="$OUT/bigtcpd" VERSION=1 TABLES=loader/core sh docs/man/page.sh "$page" | scdoc >/dev/null
	done
}

pages=$(find docs/man -name '*.scd' | wc -l)
result "every command, option, argument and help text of the table is in its page" "$(table_in_pages)"
result "bigtcp(8) lists every command, with its page" "$(commands_listed)"
result "the pages name no command and no option that does not exist" "$(named_things_exist)"
result "bigtcpd(8) and bigtcp.conf(5) have what bigtcpd says of itself" "$(daemon_in_pages)"
result "the example and the default configuration are taken" "$(configurations)"
result "every metric is in bigtcp-observe(8)" "$(metrics_in_page)"
result "every check of preflight is in bigtcp-enable(8)" "$(checks_in_page)"
result "$pages pages have their sections" "$(sections)"
result "the pages refer to pages that there are" "$(references)"
result "scdoc, mandoc -Tlint and man --warnings have nothing to say" "$(renders 2>&1)"
finish
