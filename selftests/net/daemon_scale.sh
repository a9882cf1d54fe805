#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcpd among many devices that come, go, change names and move: all become as the configuration says, and the
# daemon does not grow. (selftests/bench/daemon.sh is the same with ten times as many, and with numbers.)
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_tap.sh
. selftests/net/lib_tap.sh
# shellcheck source=selftests/net/lib_daemon.sh
. selftests/net/lib_daemon.sh
SCALE_NS=4
# shellcheck source=selftests/net/lib_scale.sh
. selftests/net/lib_scale.sh
PAIRS=100 SIZE=185000
trap '[ -z "$dpid" ] || daemon_end TERM' EXIT

as_wanted()
{
	within "all as wanted" settled $PAIRS $SIZE && return
	echo "sizes of $(cat "$tmp/kept") devices are kept; not $SIZE: $(cat "$tmp/unsized")"
	return 1
}

first_round()
{
	conf <<-EOT
		[daemon]
		interval = 1
		metrics-socket =
		[device bt*]
		size = $SIZE
	EOT
	scale_namespaces
	pairs $PAIRS
	# shellcheck disable=SC2119 # no command in front
	daemon_start && as_wanted
}

# Nothing is done where nothing is to be done.
quiet()
{
	some_rounds && within "a round without changes" idle
}

fds0=0 rss0=0
changes()
{
	some_rounds && fds0=$(fds) && rss0=$(memory VmRSS) || return
	churn 300
	as_wanted && within "a round without changes" idle
}

# In the middle of a round there are more for a moment.
no_more_fds()
{
	[ "$(fds)" -le "$fds0" ]
}

memory_stays()
{
	local rss

	rss=$(memory VmRSS)
	echo "# $rss0 kB before, $rss kB after, $(memory VmHWM) kB at most"
	[ "$rss" -lt 10240 ]
}

ends()
{
	daemon_end TERM
	[ "$status" = 0 ] || { echo "status $status"; tail "$LOG"; return 1; }
}

nothing_failed()
{
	! grep -E '^<[0-3]>' "$LOG"
}

t first_round "$PAIRS pairs, the other ends in $SCALE_NS namespaces: all as the configuration says"
t quiet "then nothing is changed any more"
t changes "made, renamed, moved and removed: those that are there are right, those that are gone forgotten"
check "no file descriptor is left open" within "as few descriptors as before" no_more_fds
t memory_stays "memory stays below 10 MB"
t nothing_failed "no error in the log"
t ends "it ends when told to"
finish
