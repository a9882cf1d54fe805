# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of the hooks that are no tc hooks, with the programs of loaders/hooks.bpf.c. Sourced after lib_twin.sh;
# net_loaders was called.
: "${tmp:?}"
HOOKS=$tmp/hooks.o
cp "$OUT/loaders/hooks.bpf.o" "$HOOKS" || net_die "no hooks.bpf.o"
LINKS=/sys/fs/bpf/bigtcp/v1/links
export HOOKS LINKS

bt()
{
	timeout -k 5 60 "$BIGTCP" "$@"
}

# some COMMAND FUNCTION...: runs it, if the function is one of $BT_SOME (names for a slow machine; all, if empty)
some()
{
	[[ -z ${BT_SOME:-} || " $BT_SOME " == *" $2 "* ]] || return 0
	"$@"
}

# fails STATUS PATTERN COMMAND...: ends with that status and one sentence that fits.
fails()
{
	local want=$1 pattern=$2 got

	shift 2
	"$@" >"$tmp/stdout" 2>"$tmp/stderr"
	got=$?
	cat "$tmp/stdout" "$tmp/stderr"
	[ $got = "$want" ] || { echo "status $got, not $want: $*"; return 1; }
	grep -qE -- "^Error: .*$pattern" "$tmp/stderr" || { echo "no such sentence: $pattern"; return 1; }
	[ "$(grep -c '^Error: ' "$tmp/stderr")" = 1 ] || { echo "more than one sentence"; return 1; }
}

# notes PATTERN COMMAND...: succeeds, and a note on stderr fits.
notes()
{
	local pattern=$1

	shift
	"$@" >"$tmp/stdout" 2>"$tmp/stderr" || { cat "$tmp/stdout" "$tmp/stderr"; return 1; }
	cat "$tmp/stdout" "$tmp/stderr"
	grep -qE "^bigtcp: .*$pattern" "$tmp/stderr" || { echo "no such note: $pattern"; return 1; }
}

same()
{
	[ "$1" = "$2" ] || { echo "got '$1', not '$2'"; return 1; }
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for()
{
	local i=$(($1 * 20))

	shift
	until "$@" >/dev/null 2>&1; do
		i=$((i - 1))
		[ $i -gt 0 ] || { echo "waited in vain: $*"; return 1; }
		sleep 0.05
	done
}

pins()
{
	find "$LINKS" -type f 2>/dev/null | wc -l
}

# map_of PROG_ID NAME: the id of that map of the program
map_of()
{
	local m

	for m in $(bpftool -j prog show id "$1" | jq -r '.map_ids[]?'); do
		[ "$(bpftool -j map show id "$m" | jq -r .name)" != "$2" ] || echo "$m"
	done
}

# booked PROG_ID SLOT packets|bytes|large: what the program has in its books; slot 0: of the port, 1: other
booked()
{
	bpftool -j map dump id "$(map_of "$1" books)" |
		jq --argjson slot "$2" ".[].formatted | select(.key == \$slot).value.$3"
}

# is_twin PROG_ID
is_twin()
{
	[ -n "$(twin_map "$1")" ] || { echo "program $1 is no twin"; return 1; }
}

# shellcheck disable=SC2034 # seen: result() shows it
# fair_books PROG_ID: after send(), adds to $wrong what a program that reads jumbo packets right would not
# have: all bytes under the port, jumbo packets among them, nothing under other, nothing lost.
fair_books()
{
	local jumbo lost i

	# On a slow machine a flow may be over before its packets are large.
	for i in 1 2 3 4 5; do
		if [ -n "$wrong" ] || [ "$(booked "$1" 0 large)" -gt 10 ]; then
			break
		fi
		send "$BYTES"
	done
	read -r jumbo lost <<<"$(twin_state "$(twin_map "$1")")"
	above "bytes booked under the port" "$(booked "$1" 0 bytes)" "$(($(jq '.flows[0].received' "$tmp/run") - 1))"
	above "packets above 64 KiB under the port" "$(booked "$1" 0 large)" 10
	expect "packets that took the jumbo path" "$jumbo" "$(booked "$1" 0 large)"
	expect "packets above 64 KiB under other" "$(booked "$1" 1 large)" 0
	expect "packets lost" "$lost" 0
	seen="$jumbo jumbo packets of $(booked "$1" 0 packets); $(jq .gbps "$tmp/run") Gbit/s"
}
