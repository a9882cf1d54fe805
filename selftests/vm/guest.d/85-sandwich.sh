# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The sandwich in libxdp chains that Debian's xdp-loader and xdp-filter have made: BIG TCP over veth,
# generic XDP at the receiver, a firewall that expects TCP behind IPv6.
exec 2>&1
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh

users=$OUT/loaders/xdp_users.bpf.o
if [ ! -e "$users" ]; then
	result "the users' XDP programs are in the guest" "no $users"
	finish
	exit
fi
MB=1000000

bigtcp()
{
	"$BIGTCP" -n rcv "$@"
}

# load PROGRAM [OPTION...]: as somebody would, on r0.
load()
{
	in_ns rcv xdp-loader load -m "${mode:-skb}" r0 "$users" -n "$@"
}

# slot N: the firewall's counter
slot()
{
	bpftool -j map dump name xu_seen | jq "[.[] | .formatted // . | select(.key == $1) | .value] | add"
}

# What runs on r0, as xdp-loader says it: PRIO NAME ID ACTIONS. bigtcp has a look at every program, which takes
# seconds here.
progs()
{
	in_ns rcv xdp-loader status r0 | awk '$1 == "=>" { print $2, $3, $4, $NF }'
}

chain()
{
	progs | awk '{ print $2 ":" $3 }' | tr '\n' ' '
}

names()
{
	progs | awk '{ print $2 }' | tr '\n' ' '
}

id_of()
{
	progs | awk -v name="$1" '$2 == name { print $3 }'
}

# count KEY...: counters of strip and restore, added up; they are seven numbers of 64 bits.
count()
{
	local m

	for m in $(bpftool -j map | jq '.[] | select(.name == "bigtcp_sandwich").id'); do
		bpftool -j map dump id "$m"
	done | jq -s --args '[.[][].formatted.values[].value | to_entries[] |
		select(.key | IN($ARGS.positional[])).value] | add // 0' "$@"
}

# send BYTES [OPTION...]
send()
{
	timeout 60 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -t 40 -d 20 -n "$@"
}

# jumbo_dies: a flow through the firewall as it is loses its jumbo packets.
jumbo_dies()
{
	local before flow i rc=1

	before=$(slot 4)
	timeout 60 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -t 40 -d 0.1 >$tmp/flow 2>&1 &
	flow=$!
	for ((i = 0; i < 100 && rc; i++)); do
		[ "$(slot 4)" -gt "$before" ] && rc=0
		sleep 0.3
	done
	kill $flow
	wait $flow
	[ $rc = 0 ] || echo "the firewall dropped nothing that is not TCP"
	return $rc
}

# refused STATUS SENTENCE [OPTION...]: no sandwich, and the chain is as before.
refused()
{
	local rc was

	was=$(chain)
	bigtcp xdp sandwich r0 "${@:3}" >$tmp/said 2>$tmp/err
	rc=$?
	cat $tmp/said $tmp/err
	[ $rc = "$1" ] || { echo "status $rc, not $1"; return 1; }
	grep -qE "$2" $tmp/said $tmp/err || { echo "no sentence with: $2"; return 1; }
	[ "$(chain)" = "$was" ] || { echo "the chain is $(chain), not $was"; return 1; }
}

on()
{
	bigtcp xdp sandwich r0 || return
	names | grep -q '^bigtcp_strip .* bigtcp_restore $' || { names; return 1; }
}

off()
{
	local was

	was=$(chain | tr ' ' '\n' | grep -v '^bigtcp_' | tr '\n' ' ')
	bigtcp xdp sandwich r0 --off || return
	[ "$(chain | xargs)" = "$(echo "$was" | xargs)" ] || { echo "$(chain), not $was"; return 1; }
}

unload()
{
	in_ns rcv xdp-loader unload -a r0
}

nothing_there()
{
	refused 2 'r0 has no XDP program.*xdp-loader load'
}

firewall_alone()
{
	load xu_fw || return
	[ "$(names)" = "xu_fw " ] || return
	jumbo_dies
}

# The whole of it: traffic as it should be, booked as it is.
inside()
{
	local before jumbo bytes

	on || return
	bigtcp xdp sandwich r0 | grep "has its sandwich" || return
	before=$(slot 4) jumbo=$(slot 2) bytes=$(slot 1)
	send $((5 * MB)) || return
	[ "$(slot 4)" = "$before" ] || { echo "packets that are not TCP: $before, $(slot 4)"; return 1; }
	[ "$(slot 2)" -gt "$jumbo" ] || { echo "no packet above 64 KiB"; return 1; }
	[ $(($(slot 1) - bytes)) -gt $((5 * MB)) ] || { echo "too few bytes booked"; return 1; }
	echo "# jumbo packets: $(($(slot 2) - jumbo)) of the firewall, stripped $(count stripped), restored $(count restored)"
	[ "$(count stripped)" -gt 0 ] || return
	[ "$(count stripped)" = "$(count restored)" ] || return
	[ "$(count resized plain changed lost unstripped)" = 0 ]
}

no_errors()
{
	local bad

	bad=$(net_counters rcv | awk -v bad="$NET_BAD" '
		BEGIN { n = split(bad, a); for (i = 1; i <= n; i++) want[a[i]] = 1 }
		($1 in want) && $2 > 0 { print $1, $2 }')
	[ -z "$bad" ] || { echo "$bad"; return 1; }
}

blocked_port()
{
	local before

	before=$(slot 3)
	timeout 20 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 9999 -l 9999 -t 1 -n 1000 && return 1
	[ "$(slot 3)" -gt "$before" ]
}

loader_status()
{
	progs >$tmp/seen
	cat $tmp/seen
	printf '%s\n' "49 bigtcp_strip XDP_PASS" "50 xu_fw XDP_PASS" "51 bigtcp_restore XDP_PASS" |
		cmp - <(awk '{ print $1, $2, $4 }' $tmp/seen)
}

json_status()
{
	bigtcp xdp status -j >$tmp/json || return
	cat $tmp/json
	jq -e '[.[] | select(.dev == "r0")] | map([.prio, .name, .role, .mode, .verdicts, .actions, .inside]) ==
		[[49, "bigtcp_strip", "strip", "skb", null, "PASS", null],
		 [50, "xu_fw", "program", "skb", "DROP PASS", "PASS", true],
		 [51, "bigtcp_restore", "restore", "skb", null, "PASS", null]]' $tmp/json
}

# xdp-tools of before 1.5.5 can change a chain with a sandwich on kernels without 81f6d0530ba0 only. Either way
# nothing breaks, and who was inside stays.
others_change_it()
{
	local was

	was=$(chain)
	if load xu_policy -P 70; then
		echo "# xdp-loader can change the chain"
		bigtcp xdp status r0 -j | jq -e '.[-1] | .name == "xu_policy" and .inside == false' || return
		refused 2 'has a sandwich that xu_policy is not in' || return
		in_ns rcv xdp-loader unload r0 -i "$(id_of xu_policy)" || return
	else
		echo "# xdp-loader can't change the chain"
	fi
	[ "$(chain)" = "$was" ] && send $((2 * MB))
}

off_and_as_before()
{
	off && loaded xu_fw && jumbo_dies && refused 2 'there is no sandwich' --off
}

loaded()
{
	[ "$(names)" = "$* " ] || { names; return 1; }
}

# Everything that can't be held, in one chain.
refuses()
{
	load xu_tx -P 60 && load xu_tx -P 61 -A XDP_PASS,XDP_TX && load xu_policy -P 62 &&
		load xu_redirect -P 63 && load xu_fw -P 64 -A XDP_DROP || return
	refused 3 'no sandwich on r0: 4 of its programs' -j || return
	jq -e '.error and (.programs | map(.refused) == [false, true, false, true, true, true]) and
		(.programs[1].remark | test("can return TX")) and
		(.programs[5].remark | test("lack XDP_PASS"))' $tmp/said
}

# But not what the user vouches for, except for the program after which the chain ends.
vouched_for()
{
	local all=(--trust xu_tx --trust xu_policy --trust xu_redirect)

	refused 3 '1 of its programs .*lack XDP_PASS' "${all[@]}" || return
	in_ns rcv xdp-loader unload r0 -i "$(progs | awk '$1 == 64 { print $3 }')" || return
	bigtcp xdp sandwich r0 --dry-run "${all[@]}" | grep 'priorities 49 and 64' || return
	refused 1 'no program of that name' --trust nobody && unload
}

native()
{
	mode=native load xu_fw && on && bigtcp xdp status r0 -j | jq -e 'all(.mode == "native")' &&
		off && unload
}

filter_alone()
{
	in_ns rcv xdp-filter load -m skb r0 && loaded xdpfilt_alw_all && on && send $((4 * MB)) || return
	[ "$(count stripped)" -gt 0 ] && [ "$(count stripped)" = "$(count restored)" ]
}

# It takes a rule while a flow runs: then jumbo packets go in and do not come out.
filter_by_port()
{
	local flow before i

	before=$(count stripped)
	timeout 60 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 7777 -l 7777 -t 50 -d 0.1 >$tmp/flow 2>&1 &
	flow=$!
	for ((i = 0; i < 100; i++)); do
		[ "$(count stripped)" -gt $((before + 5)) ] && break
		sleep 0.3
	done
	in_ns rcv xdp-filter port 7777 -m dst -p tcp || return
	for ((i = 0; i < 100; i++)); do
		[ "$(count stripped)" -gt "$(count restored)" ] && break
		sleep 0.3
	done
	kill $flow 2>/dev/null
	wait $flow 2>/dev/null
	echo "# stripped $(count stripped), restored $(count restored)"
	[ "$(count stripped)" -gt "$(count restored)" ] || return
	in_ns rcv xdp-filter status | grep -E '7777 +dst' || return
	in_ns rcv xdp-filter port -r 7777 -m dst -p tcp
}

filter_unloads()
{
	off && loaded xdpfilt_alw_all && in_ns rcv xdp-filter unload r0 && [ -z "$(chain)" ]
}

# Scripts that ran before may have left something of their own.
there()
{
	find /sys/fs/bpf -type f ! -name '*.debug'
	bpftool -j prog | jq -r '.[] | "\(.id) \(.name)"' | grep -E ' (bigtcp|xdp_disp|xu_)'
	find /run /tmp /dev/shm -type d -name 'bigtcp-xdp.??????'
}

# The kernel frees programs a little after their last user is gone.
nothing_left()
{
	local i

	for ((i = 0; i < 40; i++)); do
		there | diff $tmp/there - && return
		sleep 0.25
	done
	return 1
}

there >$tmp/there
net_direct
net_size 185000 snd s0 rcv r0
t nothing_there "a device without a chain"
t firewall_alone "without a sandwich a firewall drops jumbo packets"
t inside "inside of one they pass, and are booked right"
t no_errors "and no counter of broken packets moves"
t blocked_port "what the firewall blocks stays blocked"
t loader_status "xdp-loader status shows a sane chain"
t json_status "bigtcp xdp status says who is who"
t others_change_it "xdp-loader beside it"
t off_and_as_before "off: the firewall stays, the traffic is as before"
t refuses "programs that can't be inside are refused"
t vouched_for "but not if the user vouches for them"
t native "in native mode"
t filter_alone "xdp-filter"
t filter_by_port "xdp-filter drops jumbo packets by port"
t filter_unloads "xdp-filter unloads"
t nothing_left "nothing is left"
finish
