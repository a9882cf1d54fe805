#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp probe: what it says about this kernel, how it fails, and that nothing stays behind.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
bigtcp=${OUT:-.output}/bigtcp

. selftests/net/lib_tap.sh

# q FILTER: true if jq's filter holds for the probe's JSON.
q()
{
	jq -e "$1" <<<"$out" >/dev/null && return
	echo "# false: $1"
	return 1
}

# at_least MAJOR MINOR: of the running kernel
at_least()
{
	local major minor

	IFS=.- read -r major minor _ <<<"$(uname -r)"
	[ "$major" -gt "$1" ] || { [ "$major" -eq "$1" ] && [ "$minor" -ge "$2" ]; }
}

hbh_bytes()
{
	q '[.big_tcp.send, .big_tcp.receive] | all(.bytes[8:14] == "000000" and
		.bytes[80:88] == "0600c204" and .max_len > 65536 and .packets >= 4)'
}

ipv4_bytes()
{
	q '[.big_tcp["send-ipv4", "receive-ipv4"]] | all(.bytes[4:8] == "0000" and .max_len > 65536)'
}

value()
{
	jq -r --arg n "$1" '.features[] | select(.name == $n).value' <<<"$out"
}

no_caps()
{
	setpriv --inh-caps=-all --bounding-set=-all "$bigtcp" probe "$@"
}

refused()
{
	local ret

	out=$(no_caps -j)
	ret=$?
	[ "$ret" = 2 ] && q '.error | contains("CAP_SYS_ADMIN")' && q '.features | length > 5' &&
		q 'has("big_tcp") | not'
}

text_error()
{
	local err

	err=$(no_caps 2>&1 >/dev/null)
	[ $? = 2 ] && [[ $err == "Error: "*CAP_NET_ADMIN* ]] && [ "$(wc -l <<<"$err")" = 1 ]
}

narrow()
{
	local text

	text=$("$bigtcp" probe "$@") || return 1
	echo "$text" | awk 'length($0) > 80 { exit 1 }' && [[ $text == *bpf_dynptr_adjust* ]]
}

# in_private_netns PID: from then on its parent's death kills it.
in_private_netns()
{
	local net

	net=$(readlink "/proc/$1/ns/net" 2>/dev/null)
	[ -n "$net" ] && [ "$net" != "$(readlink /proc/self/ns/net)" ]
}

# A zombie holds nothing any more.
gone()
{
	[[ "$(ps -o stat= -p "$1")" != [A-Y]* ]]
}

# within SECONDS COMMAND...: until it is true
within()
{
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.01
	done
}

# caught PID: its child is stopped while at work, or has got away (then not).
caught()
{
	child=$(pgrep -P "$1") && in_private_netns "$child" && kill -STOP "$child"
}

ended()
{
	! kill -0 "$1" 2>/dev/null
}

# killed SIGNAL: the child with the namespaces dies with its parent. It is stopped first, so that
# it can't have ended by itself.
killed()
{
	local pid child i

	for ((i = 0; i < 10; i++)); do
		child=
		"$bigtcp" probe >/dev/null 2>&1 &
		pid=$!
		until caught "$pid" || ended "$pid"; do
			:
		done
		# A slow machine may see it too late.
		kill "-$1" "$pid" 2>/dev/null || continue
		wait "$pid" 2>/dev/null
		within 20 gone "$child" && return
		kill -KILL "$child"
		return 1
	done
	echo "# ten children ended before they could be stopped"
	return 1
}

no_links()
{
	! ip -o link | grep -E ': (bt0|bt1|nk0)[@:]'
}

start=$(date +%s%N)
out=$("$bigtcp" probe -j)
ret=$?
took=$((($(date +%s%N) - start) / 1000000))
[ $ret = 0 ] || echo "# $out"
check "exits with 0" [ $ret = 0 ]
check "prints JSON" q 'type == "object" and (.big_tcp | length == 4) and (.features | length > 10)'
check "takes less than 5 s (took $took ms)" [ $took -lt "${BT_PROBE_MS:-5000}" ]
check "names every look's form" q '[.big_tcp[].form] | all(. == "hbh" or . == "no-header" or
	. == "no-big-tcp")'
if at_least 7 0; then
	check "no header since 7.0" q '[.big_tcp.send, .big_tcp.receive] | all(.form == "no-header")'
else
	check "jumbo header on send" q '.big_tcp.send.form == "hbh"'
	check "jumbo header on receive" q '.big_tcp.receive.form == "hbh"'
	check "the bytes prove it" hbh_bytes
fi
if at_least 6 3; then
	check "IPv4: no header" q '[.big_tcp["send-ipv4", "receive-ipv4"]] |
		all(.form == "no-header")'
	check "the bytes prove it, IPv4" ipv4_bytes
else
	check "IPv4: no BIG TCP" q '[.big_tcp["send-ipv4", "receive-ipv4"]] |
		all(.form == "no-big-tcp")'
fi
want=no
at_least 6 6 && want=yes
check "tcx since 6.6" [ "$(value tcx)" = $want ]
sizes="$(value gso_max_size) $(value gro_max_size)"
# 6.1 does not check gro_max_size.
want="524280 524280"
at_least 6 2 || want="524280 any"
check "the largest sizes ($sizes)" [ "$sizes" = "$want" ]
check "native XDP on a veth: the other end's TSO goes off" [ "$(value xdp_native_tso)" = off ]
check "generic XDP: GRO goes off" [ "$(value xdp_generic_gro)" = off ]
check "no capability is missing" [ "$(value missing_caps)" = none ]
check "says what it lacks, with exit 2" refused
check "says so in one line of text" text_error
check "fits 80 columns" narrow
check "fits 80 columns, without a live look" narrow --no-live
check "its child dies with it, killed" killed KILL
check "its child dies with it, interrupted" killed TERM
check "no device is left in this namespace" no_links
finish
