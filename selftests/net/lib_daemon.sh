# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2153 # variables of those who source this, and of lib.sh
# A daemon of a test's own: its configuration, lock and socket are in $tmp. Sourced after lib.sh and lib_tap.sh; net_private
# has been called.
: "${tmp:?}"
BIGTCPD=$(realpath -m "${BIGTCPD:-$OUT/bigtcpd}")
cp "$BIGTCPD" "$tmp/bigtcpd" || net_die "run make first"
BIGTCPD=$tmp/bigtcpd
CONF=$tmp/bigtcp.conf
LOG=$tmp/daemon.log
FW=$CORPUS/fw_naive.bpf.o # drops jumbo packets
dpid=

# conf: the configuration from stdin
conf()
{
	cat >"$CONF"
}

# daemon_start [COMMAND...]: runs it, by COMMAND... that executes what follows it (nsenter, setpriv, env), and waits until its first round has ended.
daemon_start()
{
	: >"$LOG"
	"$@" "$BIGTCPD" --config "$CONF" --run-dir "$tmp/run" -v 2>>"$LOG" &
	dpid=$!
	within "the daemon starts" said '^<5>bigtcpd '
}

# daemon_end [SIGNAL]: its status in $status
daemon_end()
{
	kill -"${1:-TERM}" "$dpid" 2>/dev/null
	wait "$dpid" 2>/dev/null
	status=$?
	dpid=
}

# within WHAT COMMAND...: until the command is true; 30 s at most (in a guest four times that), then WHAT is told.
within()
{
	local what=$1 end=$((SECONDS + ${BT_GUEST:+90 + }30))

	shift
	while [ $SECONDS -lt $end ]; do
		"$@" && return
		sleep 0.1
	done
	echo "waited in vain: $what"
	echo "log:"
	tail -n 12 "$LOG"
	return 1
}

# said PATTERN: there is such a line in the log.
said()
{
	grep -qE -- "$1" "$LOG"
}

# times PATTERN: how many there are
times()
{
	grep -cE -- "$1" "$LOG"
}

rounds()
{
	times '^<7>round [0-9]+:'
}

# some_rounds: three more, in which nothing that is right may change. An event asks for each, which is quicker than the
# timer.
some_rounds()
{
	local i from

	for i in 1 2 3; do
		from=$(rounds)
		ip link set lo mtu $((65536 - i))
		within "a round" more_rounds $((from + 1)) || return
	done
}

more_rounds()
{
	[ "$(rounds)" -ge "$1" ]
}

# sizes DEV [NS]: "GSO GRO"
sizes()
{
	local at=()

	[ -z "${2:-}" ] || at=(-n "$2")
	ip "${at[@]}" -d -j link show dev "$1" 2>/dev/null | jq -r '.[0] | "\(.gso_max_size) \(.gro_max_size)"'
}

# sized SIZE DEV [NS]: both are this.
sized()
{
	[ "$(sizes "$2" "${3:-}")" = "$1 $1" ]
}

# state DEV [NS]: what bigtcp keeps of its sizes: untouched, ours, changed, hands-off
state()
{
	if [ -n "${2:-}" ]; then
		in_ns "$2" "$BIGTCP" status "$1" -j
	else
		"$BIGTCP" status "$1" -j
	fi | jq -r ".devices[0].state"
}

# fw_on DEV [NS]: a program that drops jumbo packets, at ingress. fw_off DEV [NS]
fw_on()
{
	local at=()

	[ -z "${2:-}" ] || at=(nsenter "--net=/run/netns/$2")
	"${at[@]}" "$BIGTCP" attach --plain "$1" ingress "$FW" "${@:3}" >/dev/null || echo "cannot attach to $1"
}

fw_off()
{
	local at=()

	[ -z "${2:-}" ] || at=(nsenter "--net=/run/netns/$2")
	"${at[@]}" "$BIGTCP" detach "$1" ingress --prog fw_naive >/dev/null || echo "cannot detach from $1"
}
