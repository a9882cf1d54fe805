#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the command writes to a terminal and what to a pipe: colours, the line of progress, the width of tables.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_tap.sh
. selftests/net/lib_tap.sh
ESC=$'\033'
export TERM=xterm
unset NO_COLOR COLUMNS

# on_pty COMMAND: a line for sh, on a terminal of its own; what came to it is in $tmp/screen
on_pty()
{
	timeout 120 script -qec "$1" /dev/null </dev/null >"$tmp/screen"
	tr -d '\r' <"$tmp/screen" >"$tmp/lines"
}

has()
{
	grep -qF -- "$1" "$tmp/${2:-screen}" && return
	echo "no '$1' in:" && cat -v "$tmp/${2:-screen}"
	return 1
}

has_not()
{
	! grep -F -- "$1" "$tmp/${2:-screen}" | cat -v | grep . && return
	echo "there must be no '$(cat -v <<<"$1")'"
	return 1
}

# fits WIDTH FILE: no line is wider, escape sequences not counted
fits()
{
	sed "s/$ESC\\[[0-9;]*[mK]//g" "$2" | awk -v w="$1" 'length($0) > w { print; bad = 1 } END { exit bad }'
}

colours()
{
	on_pty "$BIGTCP audit r0"
	has "${ESC}[31mdrops${ESC}[0m"
}

progress()
{
	on_pty "$BIGTCP audit r0"
	has "${ESC}[Kprograms audited: 0 of " &&
		# the last thing before the table is that the line is erased
		grep -q "r0.*$ESC\\[KDEV" "$tmp/lines"
}

progress_of_probe()
{
	on_pty "$BIGTCP probe >$tmp/probe"
	has "looking at BIG TCP: 0 of 5" && has_not "$ESC" probe &&
		[ "$(tail -c 4 "$tmp/screen" | tr -d '\r')" = "${ESC}[K" ]
}

progress_of_enable()
{
	on_pty "$BIGTCP enable --force r0"
	has "${ESC}[Kpreflight: 0 of 1, r0" &&
		in_ns rcv "${BIGTCP##* }" disable r0 >/dev/null
}

no_color()
{
	NO_COLOR=1 on_pty "$BIGTCP audit r0"
	has drops && has_not "${ESC}[3"
}

dumb()
{
	TERM=dumb on_pty "$BIGTCP audit r0"
	has drops && has_not "$ESC"
}

json()
{
	on_pty "$BIGTCP audit -j r0 2>&1"
	has '"verdict":"drops"' && has_not "$ESC"
}

piped()
{
	on_pty "$BIGTCP audit r0 >$tmp/table"
	has drops table && has_not "$ESC" table && has "programs audited"
}

log_piped()
{
	on_pty "$BIGTCP audit r0 2>$tmp/log"
	has "${ESC}[31mdrops" && has_not "$ESC" log && has_not "programs audited" log
}

verbose()
{
	on_pty "$BIGTCP audit -v r0"
	has drops && has_not "programs audited"
}

width()
{
	on_pty "stty cols 60; { $BIGTCP audit r0; $BIGTCP probe --no-live; } 2>$tmp/log"
	fits 60 "$tmp/lines" || return
	on_pty "stty cols 132; $BIGTCP audit r0 2>$tmp/log"
	! fits 80 "$tmp/lines" >/dev/null && fits 132 "$tmp/lines"
}

# table_of COMMAND...: of a pipe, whatever the terminal of the caller is
table_of()
{
	COLUMNS=200 in_ns rcv "$BIGTCP" "$@" >"$tmp/table" 2>"$tmp/log"
	[ -s "$tmp/table" ] || { cat "$tmp/log"; return 1; }
	has_not "$ESC" table && fits 80 "$tmp/table"
}

net_direct
in_ns rcv "$BIGTCP" attach r0 ingress --plain "$CORPUS/fw_naive.bpf.o" >"$tmp/log" 2>&1 ||
	net_die "cannot attach: $(cat "$tmp/log")"
in_ns rcv "$BIGTCP" observe r0 >"$tmp/log" 2>&1 || net_die "no observer: $(cat "$tmp/log")"
in_ns rcv "$BIGTCP" guard r0 >"$tmp/log" 2>&1 || net_die "no guard: $(cat "$tmp/log")"
# The terminal's session is script's, the network is the one this goes on in.
BIGTCP="nsenter --net=/run/netns/rcv $BIGTCP"
t colours "answers have colours"
t progress "progress, taken away before the table"
t progress_of_probe "progress of probe"
t progress_of_enable "progress of enable"
t no_color "NO_COLOR"
t dumb "a terminal that can't move: no escape sequences"
t json "JSON on a terminal: none either"
t piped "stdout is a file: no colours there, progress on the terminal"
t log_piped "stderr is a file: no progress there"
t verbose "-v: the log, no progress"
t width "tables are as wide as the terminal"
BIGTCP=${BIGTCP##* }
for cmd in "audit r0" "audit" "probe" "status" "status r0" "preflight r0" "observe --show"; do
	# shellcheck disable=SC2086 # words
	check "80 columns where there is no terminal: $cmd" table_of $cmd
done
finish
