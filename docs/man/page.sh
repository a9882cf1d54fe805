#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# page.sh PAGE.scd: fills what the command's own tables say into a man page, and prints it for scdoc.
#
# Environment: BIGTCP, the command to ask; BIGTCPD, the daemon; VERSION; TABLES, the folder of the other tables. Lines it fills:
#   @SYNOPSIS COMMAND   how the command is called
#   @OPTIONS COMMAND    its options
#   @OPTIONS            those of every command
#   @NOTES COMMAND      what its help says below the options
#   @COMMANDS           every command, with its page
#   @METRICS            every metric
#   @CHECKS             what preflight looks at
#   @DAEMON             the options of bigtcpd
#   @CONFIG SECTION     the keys of its configuration, with their defaults
set -u
export LC_ALL=C.UTF-8

die()
{
	echo "page.sh: $*" >&2
	exit 1
}

page=$1
here=$(dirname "$0")
help=$("$BIGTCP" help -j) || die "$BIGTCP tells no help"

# shellcheck disable=SC2016 # jq's variables
lib='
# What scdoc would take for markup.
def plain: gsub("(?<c>[\\\\_*<>#~`\\[\\]])"; "\\\(.c)");
def upper: (.[:1] | ascii_upcase) + .[1:];
def text: plain | split("\n") | map("\t" + .) | join("\n");
def option: (if .letter then "*-\(.letter)*, " else "" end) + "*--\(.name | plain)*"
	+ (if .arg then " _\(.arg | plain)_" else "" end) + "\n" + (.help | text) + "\n";
def command: (.commands[] | select(.name == $cmd)) // error("no command \($cmd)");'

# ask COMMAND FILTER
ask()
{
	printf '%s\n' "$help" | jq -r --arg cmd "$1" "$lib $2" || die "$page: no command '$1'"
}

# The words of a synopsis as they are, since which of them are literal is not in the table.
synopsis()
{
	ask "$1" 'command | "*bigtcp* [_GLOBAL OPTIONS_] *\(.name)*"
		+ (if .options | length > 0 then " [_OPTIONS_]" else "" end)
		+ (if .args != "" then " \(.args | plain)" else "" end)'
}

notes()
{
	# shellcheck disable=SC2016 # jq's variables
	ask "$1" 'command | .notes // "" | split("\n") | map(plain) | .[0] as $first | .[1:] |
		$first + "\n" + (if length > 0 then "\n" + (map("- " + .) | join("\n")) + "\n" else "" end)'
}

# page_of COMMAND: the page that has its options.
page_of()
{
	f=$(grep -lx "@SYNOPSIS $1" "$here"/*.scd | head -n 1)
	# The tests see to it that each has a page; a build need not fail of it.
	[ -n "$f" ] || f=$here/bigtcp.8.scd
	basename "$f" .scd | sed 's/^\(.*\)\.\(.\)$/*\1*(\2)/'
}

commands()
{
	for c in $(ask "" '.commands[].name'); do
		ask "$c" 'command | "*\(.name)*" + (if .args != "" then " \(.args | plain)" else "" end)'
		ask "$c" 'command | .help | upper | text' | sed "s/\$/. See $(page_of "$c")./"
		echo
	done
}

# rows TABLE MACRO COLUMNS FILTER: the C preprocessor reads a table, and makes a JSON array of each row. Strings
# that C puts together are put together here.
rows()
{
	printf '#define %s [%s]\n#include "%s"\n' "$2" "$3" "$TABLES/$1" | ${CC:-cc} -E -P -x c -I. - | tr '\n' ' ' |
		sed 's/" \+"//g; s/\] *\[/]\n[/g' | jq -r "$lib $4" || die "$TABLES/$1 can't be read"
}

# shellcheck disable=SC2016 # jq's variables
metrics()
{
	rows metrics.tab.h "METRIC(sym, name, type, labels, help)" "name, type, labels, help" '
		"*\(.[0] | plain)* (\(.[1])" + (if .[2] != "" then "; labels: \(.[2] | split(",") | join(", ") | plain)"
		else "" end) + ")\n" + (.[3] | text) + "\n"'
}

# shellcheck disable=SC2016 # jq's variables
checks()
{
	rows preflight.tab.h "CHECK(code, fn, looks_at)" "code, looks_at" '"*\(.[0] | plain)*\n\(.[1] | text)\n"'
}

# What bigtcpd says of itself is laid out by its own tables: "  -c, --config FILE       help".
daemon()
{
	"$BIGTCPD" --help | sed -n 's/^  \(\(-.\), \| *\)\(--[a-z-]*\) \([A-Z]*\) \{1,\}\(.*\)/\2|\3|\4|\5/p' | jq -R -r "$lib"'
		split("|") | {letter: .[0][1:2], name: .[1][2:], arg: .[2], help: (.[3:] | join("|"))} |
		with_entries(select(.value != "")) | option'
}

# "# help" lines, then "#key = default".
config()
{
	"$BIGTCPD" --help | sed -n "/^\[$1/,/^\$/p" | jq -R -n -r "$lib"'
		reduce (inputs | select(test("^#"))) as $l ({help: [], out: []};
			if $l | startswith("# ") then .help += [$l[2:]]
			else ($l[1:] | capture("^(?<k>[a-z0-9-]+) = ?(?<v>.*)")) as $m |
				.out += ["*\($m.k)*" + (if $m.v != "" then " = _\($m.v | plain)_" else " =" end) + "\n"
					+ (.help | join(" ") | text) + "\n"] | .help = [] end) | .out[]'
}

while IFS= read -r line; do
	case "$line" in
	"@SYNOPSIS "*) synopsis "${line#* }" ;;
	"@OPTIONS "*) ask "${line#* }" 'command | .options[] | option' ;;
	"@OPTIONS") ask "" '.options[] | option' ;;
	"@NOTES "*) notes "${line#* }" ;;
	"@COMMANDS") commands ;;
	"@METRICS") metrics ;;
	"@CHECKS") checks ;;
	"@DAEMON") daemon ;;
	"@CONFIG "*) config "${line#* }" ;;
	"@"*) die "$page: what is '$line'?" ;;
	*) printf '%s\n' "$line" | sed "s/@VERSION@/$VERSION/" ;;
	esac || exit 1
done <"$page"
