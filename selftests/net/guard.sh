#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guard on live packets: forged ones from raw sockets are counted, and dropped as configured; BIG TCP goes
# through as if it were not there. At tc (tcx and cls_bpf), generic and native XDP, on Ethernet and on tun.
# Prints TAP. Root. BT_GUARD_SHORT: a part of it, for emulated machines.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh

ROUNDS=${BT_GUARD_ROUNDS:-6}
BYTES=30000000
[ -z "${BT_GUARD_SHORT:-}" ] || BYTES=2000000
dev=r0 ns=rcv

guard()
{
	in_ns $ns "$BIGTCP" guard $dev "$@"
}

# counted: "CLASS PACKETS DROPPED", one a line, of the guard that is there.
counted()
{
	guard --show -j | jq -r '.guards[0].classes[] | "\(.class) \(.packets) \(.dropped)"'
}

# number KEY: one of the guard's sums
number()
{
	guard --show -j | jq ".guards[0].$1"
}

# of CLASS: "PACKETS DROPPED"
of()
{
	counted | awk -v c="$1" '$1 == c { print $2, $3 }'
}

# forge [OPTION...] NS DEV FRAME: sends; sets $expect, "CLASS PACKETS" a line
forge()
{
	expect=$("$tmp/forge" "$@" 2>"$tmp/err") || wrong+="forge: $(cat "$tmp/err"); "
	expect=$(grep -v '^total' <<<"$expect")
}

# compare WHAT FILE-BEFORE: what the guard has counted since is what forge sent. WHAT: the classes of which all
# packets are dropped, as a pattern of awk; of the others none is. Real MLD adds to hbh.
compare()
{
	local diff

	for _ in 1 2 3 4 5 6 7 8 9 10; do
		counted >"$tmp/after"
		diff=$(awk -v drop="^($1)\$" '
			FILENAME ~ /expect$/ { want[$1] = $2; next }
			FILENAME ~ /before$/ { n[$1] = $2; d[$1] = $3; next }
			{
				got = $2 - n[$1]; gone = $3 - d[$1]; all = ($1 ~ drop) ? got : 0
				if (got != want[$1] + 0 && !($1 == "hbh" && got > want[$1]))
					print $1 ": " got " packets, not " want[$1] + 0 ";"
				if (gone != all)
					print $1 ": " gone " dropped, not " all ";"
			}' <(:) "$tmp/expect" "$2" "$tmp/after")
		[ -z "$diff" ] && return
		sleep 0.2 # still on their way
	done
	wrong+=$diff
}

# observer_sees FIELD: of what reached the observer behind the guard, added up since it was attached
observer_sees()
{
	bpftool -j map dump id "$observed" | jq "[.[].formatted.values[].value.$1] | add // 0"
}

# all DROPPED PASSES NAME: every forgery 4 times. PASSES: how many of those that the observer knows get through.
all()
{
	local before

	counted >"$tmp/before"
	before=$(observer_sees malformed)
	forge -c 4 snd s0 all
	printf '%s\n' "$expect" >"$tmp/expect"
	compare "$1" "$tmp/before"
	[ $(($(observer_sees malformed) - before)) = "$2" ] ||
		wrong+="$(($(observer_sees malformed) - before)) forged packets came through, not $2; "
	result "$3" "$wrong"
	wrong=
}

WRONG='forged|len0|absent|plen|short|frag|beyond|trail|optlen|align|twice|place|late|cut|many'
# Of 4 rounds: forged, plen, beyond, trail, optlen, frag, twice, tagged.
KNOWN=32

# forgeries HOOK [OPTION...]: a guard there, and what it makes of them
forgeries()
{
	local what=$1

	shift
	wrong=
	guard "$@" >"$tmp/log" 2>&1 || wrong="cannot attach: $(cat "$tmp/log") "
	all "$WRONG" 0 "$what: each violation is counted and dropped"
	[ -z "${BT_GUARD_SHORT:-}" ] || return
	guard "$@" --count all >"$tmp/log" 2>&1 || wrong="cannot change: $(cat "$tmp/log") "
	all none $KNOWN "$what: counted only"
	# What is dropped takes its other classes along.
	guard "$@" --count all --drop short,hbh >"$tmp/log" 2>&1 || wrong="cannot change: $(cat "$tmp/log") "
	all 'short|forged|trail|hbh' $((KNOWN - 12)) "$what: dropped by class"
	guard "$@" >"$tmp/log" 2>&1 || wrong="cannot change: $(cat "$tmp/log") "
	all "$WRONG" 0 "$what: and all of them again"
}

# traffic [OPTION...]: some BIG TCP; sets $gbps
traffic()
{
	timeout 40 "$TRAFFIC" -c snd -s rcv -a $SERVER "$@" >"$tmp/run" 2>"$tmp/err" ||
		wrong+="traffic: $(cat "$tmp/run" "$tmp/err") "
	gbps=$(jq .gbps "$tmp/run")
}

# big_tcp WANT NAME [OPTION...]: goes through. WANT: jumbo or small, what the guard sees of it.
big_tcp()
{
	local want=$1 name=$2 own0 seen0 own now0

	shift 2
	wrong=
	own0=$(of own-hbh) seen0=$(observer_sees jumbo_hbh) now0=$(number violations)
	traffic "$@"
	own=$(($(of own-hbh | cut -d' ' -f1) - ${own0% *})) now=$(($(observer_sees jumbo_hbh) - seen0))
	seen="$gbps Gbit/s, $own jumbo packets"
	if [ "$want" = jumbo ]; then
		[ "$own" -gt 0 ] || wrong+="it counted no jumbo packet; "
		[ "$own" = "$now" ] || wrong+="$now jumbo packets came behind the guard; "
	else
		[ "$own" = 0 ] || wrong+="$own jumbo packets; "
	fi
	[ "$(number violations)" = "$now0" ] || wrong+="violations: $(counted | awk '$2 > 0') "
	[ "$(of own-hbh | cut -d' ' -f2)" = 0 ] || wrong+="jumbo packets were dropped; "
	bad=$(net_bad snd rcv)
	[ "$bad" = "$bad0" ] || wrong+="counters: ${bad//$'\n'/, }"
	bad0=$bad
	result "$name" "$wrong"
	wrong=
}

observer()
{
	in_ns rcv "$BIGTCP" attach r0 ingress "$OUT/bpf/observe.bpf.o" --plain --place tail -j "$@" \
		>"$tmp/log" 2>&1 || net_die "no observer: $(cat "$tmp/log")"
	observed=
	for m in $(bpftool -j prog show id "$(jq .prog_id "$tmp/log")" | jq ".map_ids[]"); do
		[ "$(bpftool -j map show id "$m" | jq -r .name)" = observe_stats ] && observed=$m
	done
}

guard_off()
{
	prog=$(number prog_id)
	[ "$prog" = null ] || echo "$prog" >>"$tmp/progs"
	guard --off >"$tmp/log" 2>&1 || wrong+="cannot take it off: $(cat "$tmp/log") "
}

tx_offload()
{
	in_ns snd ethtool -K s0 tx "$1" tso "$1" gso "$1" >"$tmp/log" 2>&1
}

at_tc()
{
	forgeries tc
	big_tcp jumbo "tc: BIG TCP passes" -n $BYTES
	[ -z "${BT_GUARD_SHORT:-}" ] || return
	tx_offload off
	in_ns rcv ethtool -K r0 gro on >"$tmp/log" 2>&1
	big_tcp jumbo "tc: BIG TCP that GRO makes" -n $BYTES
	in_ns rcv ethtool -K r0 gro off >"$tmp/log" 2>&1
	tx_offload on
}

at_cls()
{
	in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1
	observer --legacy
	forgeries cls_bpf --legacy
	big_tcp jumbo "cls_bpf: BIG TCP passes" -n $BYTES
	guard_off
	in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1
	observer
}

at_xdp()
{
	forgeries "generic XDP" --hook xdp
	big_tcp jumbo "generic XDP: BIG TCP passes" -n $BYTES
	[ -z "${BT_GUARD_SHORT:-}" ] || return
	wrong=
	[ "$(guard --show -j | jq -r '.guards[0].kind')" = generic ] || wrong="it is not generic"
	guard --hook xdp --mode native >"$tmp/log" 2>&1 && wrong+="another mode is taken for a change"
	guard_off
	result "generic XDP: what a veth gets without --mode" "$wrong"
	forgeries "native XDP" --hook xdp --mode native
	big_tcp small "native XDP: TCP passes, BIG TCP is off" -n 20000000
	wrong=
	guard_off
	in_ns rcv "$BIGTCP" attach r0 xdp "$OUT/bpf/guard_xdp.bpf.o" --plain --mode skb >"$tmp/log" 2>&1 ||
		wrong="cannot attach another program: $(cat "$tmp/log") "
	guard --hook xdp 2>"$tmp/log" && wrong+="two XDP programs "
	grep -q 'guard_xdp' "$tmp/log" || wrong+="it says: $(cat "$tmp/log") "
	in_ns rcv "$BIGTCP" detach r0 xdp >>"$tmp/log" 2>&1
	in_ns rcv ip link set dev r0 xdpgeneric obj "$OUT/bpf/guard_xdp.bpf.o" sec xdp.frags >"$tmp/log" 2>&1 ||
		wrong+="cannot attach by ip: $(cat "$tmp/log") "
	guard --hook xdp 2>"$tmp/log" && wrong+="it took somebody's place "
	grep -q 'is at r0 xdp.*--hook tc.*xdp-loader' "$tmp/log" || wrong+="it says: $(cat "$tmp/log") "
	in_ns rcv ip link set dev r0 xdpgeneric off
	result "XDP: taken by another program" "$wrong"
}

# Kernel's MLD, sent because a group is joined.
real_mld()
{
	local before

	wrong=
	guard >"$tmp/log" 2>&1 || wrong="cannot attach: $(cat "$tmp/log") "
	before=$(of hbh)
	in_ns snd ip -6 maddr add 33:33:00:00:00:42 dev s0
	in_ns snd ip -6 addr add 2001:db8:1::42/64 dev s0 nodad
	for _ in $(seq 50); do
		[ "$(of hbh)" != "$before" ] && break
		sleep 0.1
	done
	[ "$(of hbh)" != "$before" ] || wrong+="none is counted; "
	[ "$(of hbh | cut -d' ' -f2)" = "${before#* }" ] || wrong+="some are dropped"
	result "tc: MLD is counted and passes" "$wrong"
}

# The first bytes alone are linear: the program has to fetch the others.
not_linear()
{
	wrong=
	in_ns snd ip link set s0 mtu 9000
	in_ns rcv ip link set r0 mtu 9000
	counted >"$tmp/before"
	forge -c 3 -l 14 snd s0 large
	printf '%s\n' "$expect" >"$tmp/expect"
	compare "$WRONG" "$tmp/before"
	in_ns snd ip link set s0 mtu 1500
	in_ns rcv ip link set r0 mtu 1500
	result "tc: headers outside of the linear part" "$wrong"
}

# watch OPTION...: in the background, for what is forged next; $watcher (in_ns would be a shell of its own)
watch()
{
	nsenter --net=/run/netns/rcv "$BIGTCP" guard r0 --watch "$@" >"$tmp/watch" 2>&1 &
	watcher=$!
}

# lines N: waits until there are so many
lines()
{
	for _ in $(seq 100); do
		[ "$(wc -l <"$tmp/watch")" -ge "$1" ] && return
		sleep 0.1
	done
	wrong+="only $(wc -l <"$tmp/watch") lines of $1: $(cat "$tmp/watch") "
}

unwatch()
{
	local rc

	kill -INT $watcher
	wait $watcher
	rc=$?
	[ $rc = 0 ] || wrong+="--watch ended with $rc "
}

events()
{
	local old

	wrong=
	guard --events 1000 --count all >"$tmp/log" 2>&1
	forge snd s0 absent # of before, which --watch does not show
	watch -j
	# Its first look at the ring is over when it has read something.
	for _ in $(seq 100); do
		forge snd s0 cut
		[ -s "$tmp/watch" ] && break
		sleep 0.1
	done
	old=$(wc -l <"$tmp/watch")
	forge -c 3 snd s0 beyond
	lines $((old + 3))
	unwatch
	jq -se '[.[] | select(.classes)] | (map(select(.classes == ["beyond"])) | length == 3) and
		(map(select(.classes == ["absent"])) | length == 0) and
		all(.dev == "r0" and .hook == "tc" and .action == "counted" and .len == 154 and
			(.src | startswith("2001:db8:66:")) and (.ip6 | startswith("6001234500")) and
			(.time | startswith("20")) and (.ext | length) == 48)' "$tmp/watch" >/dev/null ||
		wrong+="$(cat "$tmp/watch")"
	result "events: --watch, one JSON object each" "$wrong"

	wrong=
	guard --events 1 >"$tmp/log" 2>&1
	old=$(number suppressed)
	forge -c 10 snd s0 late
	[ $(($(number suppressed) - old)) -ge 8 ] || wrong+="$(($(number suppressed) - old)) of 10 suppressed "
	guard --events 0 >"$tmp/log" 2>&1
	old=$(number events)
	forge -c 5 snd s0 late
	[ "$(number events)" = "$old" ] || wrong+="--events 0: there are events "
	result "events: no more than the rate" "$wrong"

	# Text, and it ends when the guard does.
	wrong=
	guard --events 100 >"$tmp/log" 2>&1
	watch
	for _ in $(seq 100); do
		forge snd s0 place
		grep -q place "$tmp/watch" && break
		sleep 0.1
	done
	grep -qE '^20[^ ]+Z r0 tc dropped place 2001:db8:66:[^ ]* > [^ ]* length 154 payload_len 100 next 60: 0600c204' \
		"$tmp/watch" || wrong+="$(cat "$tmp/watch") "
	guard_off
	wait $watcher || wrong+="--watch ended with $? "
	grep -q 'the guard is gone' "$tmp/watch" || wrong+="it does not say why it ended"
	result "events: --watch as text, until the guard is taken off" "$wrong"
}

# A whole jumbo packet with the kernel's header that is no GSO packet: only lo has such an MTU.
whole_on_lo()
{
	dev=lo wrong=
	in_ns rcv ip link set lo mtu 70000
	guard >"$tmp/log" 2>&1 || wrong="cannot attach: $(cat "$tmp/log") "
	forge rcv lo whole # nothing linear but the Ethernet header
	forge -l 128 rcv lo whole
	[ "$(of forged)" = "2 2" ] || wrong+="forged: $(of forged), own: $(of own-hbh) "
	guard_off
	result "lo: the kernel's header on 66 KB that are no GSO packet" "$wrong"
	wrong=
	guard --hook xdp --mode skb >"$tmp/log" 2>&1 || wrong="cannot attach: $(cat "$tmp/log") "
	forge rcv lo whole
	[ "$(of own-hbh)" = "1 0" ] || wrong+="forged: $(of forged), own: $(of own-hbh) "
	guard_off
	result "lo: XDP can't tell, and lets it pass" "$wrong"
	in_ns rcv ip link set lo mtu 65536
	dev=r0
}

no_link_header()
{
	cp "$OUT/tools/tunrelay" "$tmp/" || net_die "run make tests first"
	"$tmp/tunrelay" -t 60 snd t0 rcv t1 >"$tmp/relay" 2>&1 &
	relay=$!
	for _ in $(seq 50); do
		grep -q ready "$tmp/relay" && break
		sleep 0.1
	done
	if ! grep -q ready "$tmp/relay"; then
		skip "tun: each violation is counted and dropped" "no tun device: $(tail -n 1 "$tmp/relay")"
		return
	fi
	in_ns snd ip link set t0 up
	in_ns rcv ip link set t1 up
	dev=t1
	for hook in tc xdp; do
		wrong=
		guard --hook $hook >"$tmp/log" 2>&1 || wrong="cannot attach: $(cat "$tmp/log") "
		counted >"$tmp/before"
		forge -3 -c 2 snd t0 all
		printf '%s\n' "$expect" >"$tmp/expect"
		compare "$WRONG" "$tmp/before"
		guard_off
		result "tun, $hook: each violation is counted and dropped" "$wrong"
	done
	dev=r0
	kill $relay
	wait $relay
}

command_line()
{
	wrong=
	guard --dry-run >"$tmp/log" 2>&1 || wrong+="--dry-run fails "
	guard --show >>"$tmp/log" 2>&1 && wrong+="--dry-run attached something "
	guard -j >"$tmp/log" 2>&1
	jq -e '.prog == "bigtcp_guard" and .changed == false and (.drop | length) == 15' "$tmp/log" >/dev/null ||
		wrong+="-j: $(cat "$tmp/log") "
	guard -j --drop hbh --dry-run | jq -e '.changed and (.drop | length) == 16' >/dev/null || wrong+="-j --dry-run "
	[ "$(guard --show -j | jq -c '.guards[0].drop | length')" = 15 ] || wrong+="--dry-run changed it "
	in_ns rcv "$BIGTCP" audit r0 -j >"$tmp/log" 2>/dev/null
	jq -e '.[0] | .name == "guard_tc" and .verdict == "safe"' "$tmp/log" >/dev/null || wrong+="audit: $(cat "$tmp/log") "
	in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1
	[ "$(in_ns rcv "$BIGTCP" guard --show -j | jq '.guards | length')" = 1 ] ||
		wrong+="detach took the guard "
	guard --hook xdp --mode skb >"$tmp/log" 2>&1
	[ "$(in_ns rcv "$BIGTCP" guard --show -j | jq -c '[.guards[].hook] | sort')" = '["ingress","xdp"]' ] ||
		wrong+="not two guards "
	guard --off --hook tc >"$tmp/log" 2>&1
	[ "$(guard --show -j | jq -c '[.guards[].hook]')" = '["xdp"]' ] || wrong+="--off --hook tc "
	guard --off >"$tmp/log" 2>&1
	for args in '--drop nothing' '--count' '--drop own-hbh' '--hook egress' '--mode native' '--show --drop cut' \
		'--events x' '--show --off' '--hook xdp --legacy'; do
		# shellcheck disable=SC2086 # words
		guard $args >"$tmp/log" 2>&1
		[ $? = 1 ] || wrong+="$args is taken "
	done
	for args in '--show' '--off' '--watch'; do
		guard $args >"$tmp/log" 2>&1
		[ $? = 2 ] || wrong+="$args without a guard "
	done
	result "command line" "$wrong"
}

# half VARIANT: one half of a pair
half()
{
	if [ "$1" = guard ]; then
		guard >"$tmp/log" 2>&1 || wrong+="$(cat "$tmp/log") "
	fi
	traffic -t 0.4
	echo "$gbps" >>"$tmp/$1.now"
	[ "$1" = none ] || guard_off
}

# Pairs, there and back, and the median of their ratios. The bound is what a busy host allows; what the guard
# costs is for `make bench` to say.
throughput()
{
	local v ratio

	wrong=
	: >"$tmp/ratios"
	for ((i = 0; i < ROUNDS; i++)); do
		rm -f "$tmp"/*.now
		for v in none guard guard none; do
			half $v
		done
		paste "$tmp/none.now" "$tmp/guard.now" |
			awk '{ a += $1; b += $2 } END { print b / a }' >>"$tmp/ratios"
	done
	ratio=$(sort -g "$tmp/ratios" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
	seen="with the guard $ratio of the throughput (median of $ROUNDS rounds: $(sort -g "$tmp/ratios" | tr '\n' ' '))"
	awk -v r="$ratio" 'BEGIN { exit !(r >= 0.7) }' || wrong+="ratio $ratio"
	result "tc: throughput with and without the guard" "$wrong"
}

nothing_left()
{
	wrong=
	for _ in $(seq 30); do
		wrong=$(find /sys/fs/bpf/bigtcp -name "*guard*")
		wrong+=$(sort -u "$tmp/progs" | while read -r prog; do
			bpftool prog show id "$prog" >/dev/null 2>&1 && echo " program $prog"
		done)
		[ -z "$wrong" ] && break
		sleep 0.2
	done
	[ "$(wc -l <"$tmp/progs")" -ge 2 ] || wrong+=" too few were there"
	result "nothing is left of it" "$wrong"
}

cp "$OUT/tools/forge" "$tmp/" || net_die "run make tests first"
# Guests are chosen, and a look at what their kernels do takes long there.
hbh=hbh
[ -n "${BT_GUARD_SHORT:-}" ] || hbh=$("$BIGTCP" probe -j | jq -r '.big_tcp.send.form')
net_direct
net_size 185000 snd s0 rcv r0
bad0=$(net_bad snd rcv)
if [ "$hbh" != hbh ]; then
	skip "the guard on traffic" "this kernel puts no header into jumbo packets"
	finish
	exit
fi
if [ -n "${BT_GUARD_SHORT:-}" ]; then
	observer
	at_tc
	guard_off
	at_xdp
	guard_off
else
	command_line
	observer
	at_tc
	not_linear
	guard_off
	real_mld
	events
	at_cls
	at_xdp
	whole_on_lo
	no_link_header
	throughput
fi
in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1
nothing_left
finish
