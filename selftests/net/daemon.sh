#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcpd in namespaces of its own: devices come, get names, move and go; administrators and programs interfere; the
# daemon is told to read its configuration again, is ended, killed, stopped, and has rights taken away. Prints TAP. Root.
# BT_DAEMON_SHORT: a part of it, for emulated machines.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh
# shellcheck source=selftests/net/lib_daemon.sh
. selftests/net/lib_daemon.sh

MAX=524280 OLD=65536

# long FUNCTION NAME: a test that is left out where machines are slow
long()
{
	[ -n "${BT_DAEMON_SHORT:-}" ] || t "$@"
}

ip netns add pod || net_die "cannot make a namespace"

# pair NAME [NS]: veth NAME with its other end NAMEp, in NS
pair()
{
	if [ -n "${2:-}" ]; then
		ip link add "$1" type veth peer name "$1p" netns "$2"
	else
		ip link add "$1" type veth peer name "$1p"
	fi
}

# --- devices come and go: no timer helps ------------------------------------------------------

conf <<END
[daemon]
interval = 3600
metrics-socket =
[device v*]
[device n0]
peer = no
observe = no
[device d*]
size = 100000
ipv4 = no
END

named_at_last()
{
	pair tmp0 || return
	ip link set tmp0 name v0 || return
	within "v0 gets its sizes" sized $MAX v0 && within "its other end too" sized $MAX tmp0p
}

others_stay()
{
	pair x0 && pair v1 || return
	within "v1 gets its sizes" sized $MAX v1 || return
	sized $OLD x0 && sized $OLD x0p && ! said 'x0'
}

only_this_end()
{
	pair n0 || return
	within "n0 gets its sizes" sized $MAX n0 && sized $OLD n0p
}

as_configured()
{
	pair d0 && within "d0 gets its size" sized 100000 d0 || return
	[ "$("$BIGTCP" status d0 -j | jq .devices[0].sizes.gso_ipv4)" = $OLD ]
}

renamed_away_and_back()
{
	local lines

	lines=$(times '^<5>v1: sizes set')
	ip link set v1 name x1 && ip link set x1 name v1 && pair v2 || return
	within "v2 gets its sizes" sized $MAX v2 || return
	sized $MAX v1 && [ "$(times '^<5>v1: sizes set')" = "$lines" ]
}

far_end_moves()
{
	pair v3 && within "v3 gets its sizes" sized $MAX v3 || return
	ip link set v3p netns pod name eth0 && ip -n pod link set eth0 up && ip link set v3 up || return
	within "eth0 is ours in its new namespace" test_state ours eth0 pod && sized $MAX eth0 pod
}

test_state()
{
	[ "$(state "$2" "${3:-}")" = "$1" ]
}

far_end_elsewhere_from_the_start()
{
	pair v4 pod || return
	within "both ends get their sizes" both $MAX v4 v4p
}

# both SIZE NEAR FAR
both()
{
	sized "$1" "$2" && sized "$1" "$3" pod
}

near_end_goes_away()
{
	ip link set v2 netns pod && ip link del v0 || return
	# What is made next is another device, whatever its number.
	pair v0 && within "a new v0 gets its sizes" sized $MAX v0 || return
	ip -n pod link set v2 netns 1 2>/dev/null || ip -n pod link set v2 netns $$ || return
	pair v5 && within "v5 gets its sizes" sized $MAX v5 && sized $MAX v2
}

deleted_meanwhile()
{
	local i

	for i in 1 2 3 4 5 6 7 8; do
		pair v9 && ip link del v9 || return
	done
	pair v6 && within "v6 gets its sizes" sized $MAX v6 && ! said '^<3>'
}

events_lost()
{
	local i

	pair y0 || return
	kill -STOP "$dpid"
	for i in $(seq 60); do
		ip link set y0 mtu $((1400 + i % 2)) || return
	done
	pair v7
	kill -CONT "$dpid"
	within "it sees that events were lost" said 'more changes than could be told' || return
	within "v7 gets its sizes all the same" sized $MAX v7
}

daemon_start env BIGTCPD_RCVBUF=2048 || net_die "bigtcpd does not start"
t named_at_last "a device that is named after it was made, and its other end"
long others_stay "devices that the configuration does not name stay as they are"
long only_this_end "peer = no"
long as_configured "a size of its own, IPv6 alone"
long renamed_away_and_back "renamed: nothing is done again"
t far_end_moves "the other end moves to another namespace"
long far_end_elsewhere_from_the_start "the other end is in another namespace from the start"
long near_end_goes_away "devices move away, come back, and are replaced by others of their name"
long deleted_meanwhile "devices that are gone before they are looked at are no error"
t events_lost "stopped, and more events than the socket holds: all is looked at"
all_pins()
{
	find /sys/fs/bpf/bigtcp/v1/links | sort
}

# Observers are put on after a round, some at a time.
pins_rest()
{
	local pins

	pins=$(all_pins)
	sleep 1
	[ "$(all_pins)" = "$pins" ]
}

ends_and_leaves()
{
	local pins

	within "no more pins come" pins_rest || return
	pins=$(all_pins)
	daemon_end TERM
	[ $status = 0 ] || { echo "it ended with $status"; tail -n 5 "$LOG"; return 1; }
	diff <(echo "$pins") <(all_pins) || return
	grep -q ingress <<<"$pins" || { echo "no observer"; return 1; }
	sized $MAX v3 && sized $MAX eth0 pod && test_state ours v3
}
t ends_and_leaves "SIGTERM: ends with 0, and leaves sizes and observers"

# --- programs ------------------------------------------------------------------------------------

conf <<END
[daemon]
interval = 1
metrics-socket =
[device v3]
[device v5]
policy = warn
[device v6]
policy = force
[device v*]
END

refuse_near()
{
	fw_on v3
	within "v3 goes back to 64 KiB" both $OLD v3 eth0 && some_rounds || return
	[ "$(times '^<4>v3: sizes are held at 64 KiB: program fw_naive')" = 1 ] && both $OLD v3 eth0 || return
	fw_off v3
	within "v3 gets its sizes again" both $MAX v3 eth0
}

refuse_far()
{
	fw_on eth0 pod
	within "v3 goes back to 64 KiB" both $OLD v3 eth0 && said '^<4>v3: .*at eth0 (tcx|clsact)/ingress' || return
	fw_off eth0 pod
	within "v3 gets its sizes again" both $MAX v3 eth0
}

killed_while_held_back()
{
	fw_on v3
	within "v3 goes back to 64 KiB" both $OLD v3 eth0 || return
	daemon_end KILL
	fw_off v3
	daemon_start && within "v3 gets its sizes from the next daemon" both $MAX v3 eth0
}

warn()
{
	fw_on v5
	within "it warns" said '^<4>v5: sizes are .* policy=warn' && some_rounds || return
	sized $MAX v5 && [ "$(times '^<4>v5: ')" = 1 ]
	fw_off v5
}

force()
{
	fw_on v6
	some_rounds || return
	sized $MAX v6 && ! said '^<4>v6'
	fw_off v6
}

in_front()
{
	"$BIGTCP" attach --plain v0 ingress "$FW" --place head >/dev/null || return
	within "it tells who is in front" said '^<4>v0: program fw_naive .* runs before' || return
	fw_off v0
	within "v0 gets its sizes again" sized $MAX v0
}

observer_comes_back()
{
	"$BIGTCP" observe v5 --off >/dev/null || return
	within "observers are there again" observed v5
}

observed()
{
	"$BIGTCP" observe "$1" --show -j | jq -e '[.. | .hook? // empty] | length == 2' >/dev/null
}

# Where there is no tcx the observers are filters there, and gone with it.
clsact_deleted()
{
	tc qdisc add dev v3 clsact 2>/dev/null
	tc qdisc del dev v3 clsact || return
	some_rounds && within "observers are there" observed v3 && sized $MAX v3
}

ingress_qdisc_there()
{
	pair v8 && tc qdisc add dev v8 ingress || return
	within "v8 gets its sizes" sized $MAX v8 && within "and observers" observed v8 || return
	tc qdisc show dev v8 | grep -q '^qdisc ingress'
}

daemon_start || net_die "bigtcpd does not start again"
# What the first daemon set is this one's too, and nothing is done again.
found_again()
{
	some_rounds && ! said 'sizes set' && both $MAX v3 eth0 && test_state ours v3
}
t found_again "another process finds everything as it was"
t refuse_near "policy = refuse: 64 KiB while an unsafe program is there, told once"
t refuse_far "and while it is at the other end, in its namespace"
long killed_while_held_back "killed in between: the next daemon knows"
long warn "policy = warn: the size stays, told once"
long force "policy = force: set, whatever is there"
long in_front "a program in front of ours is told of"
long observer_comes_back "an observer that is taken off comes back"
t clsact_deleted "clsact deleted by somebody else"
long ingress_qdisc_there "an ingress qdisc that is there already"

# --- administrators ------------------------------------------------------------------------------

by_hand()
{
	ip link set v0 gso_max_size 90000 || return
	within "it keeps off" said '^<5>v0: its sizes are the administrator' && some_rounds || return
	[ "$(sizes v0)" = "90000 $MAX" ] && [ "$(times '^<5>v0: its sizes are')" = 1 ] &&
		test_state hands-off v0
}

by_command()
{
	"$BIGTCP" disable v5 >/dev/null && sized $OLD v5 && some_rounds && sized $OLD v5 || return
	"$BIGTCP" enable v5 --size 131072 --force >/dev/null && some_rounds || return
	[ "$(sizes v5)" = "131072 131072" ] || return
	fw_on v5
	within "it tells of the unsafe program" said '^<4>v5: its sizes .* administrator.*fw_naive' || return
	some_rounds && [ "$(sizes v5)" = "131072 131072" ]
	fw_off v5
}
t by_hand "a size set by hand: it keeps off, told once"
long by_command "enable and disable are never overruled"

# --- configuration --------------------------------------------------------------------------------

reload_good()
{
	sed -i 's/^\[device v3\]/&\nsize = 200000/' "$CONF"
	kill -HUP "$dpid"
	within "the new size" both 200000 v3 eth0 && said 'was read again'
}

reload_bad()
{
	echo 'size = 7' >>"$CONF"
	kill -HUP "$dpid"
	within "the error with its line" said "^<3>$CONF:$(wc -l <"$CONF"): size is" &&
		within "that it goes on" said 'the configuration from before stays' || return
	pair va && within "the old one is in force" sized $MAX va
	sed -i '$d' "$CONF"
}

two_copies()
{
	"$BIGTCPD" --config "$CONF" --run-dir $tmp/run >$tmp/second 2>&1
	[ $? = 2 ] || return
	cat $tmp/second
	grep -q "runs already (pid $dpid" $tmp/second || return
	"$BIGTCPD" --config "$CONF" --run-dir $tmp/run --once >$tmp/second 2>&1
	[ $? = 2 ]
}

stopped_often()
{
	local i

	for i in $(seq 40); do
		kill -STOP "$dpid"
		kill -CONT "$dpid"
		kill -HUP "$dpid"
	done
	some_rounds && kill -0 "$dpid"
}

bpffs_gone()
{
	mkdir -p $tmp/bpf && mount --move /sys/fs/bpf $tmp/bpf || return
	within "it tells" said '^<3>bpffs: .*nothing is changed' && pair vc && some_rounds && sized $OLD vc || return
	mount --move $tmp/bpf /sys/fs/bpf || return
	within "and goes on when it is there" sized $MAX vc
}
long reload_good "SIGHUP: a new configuration is in force"
long reload_bad "SIGHUP: a wrong one is not taken, and the line told"
long two_copies "a second copy is refused"
long stopped_often "stopped and continued again and again"
long bpffs_gone "bpffs is not there for a while"

usage()
{
	"$BIGTCPD" --check --config "$CONF" | grep -q 'good, 4 device sections' || return
	echo 'x' >$tmp/bad.conf
	"$BIGTCPD" --check --config $tmp/bad.conf 2>$tmp/err
	[ $? = 1 ] && grep -q "^$tmp/bad.conf:1: " $tmp/err || return
	"$BIGTCPD" --config $tmp/none.conf 2>$tmp/err
	[ $? = 2 ] && grep -q none.conf $tmp/err || return
	"$BIGTCPD" --bogus 2>$tmp/err
	[ $? = 1 ] && grep -q -- --bogus $tmp/err && "$BIGTCPD" --help | grep -q audit-interval
}
long usage "options and their errors"
daemon_end

once()
{
	pair vd && "$BIGTCPD" --config "$CONF" --run-dir $tmp/run --once && sized $MAX vd
}
long once "--once"

# --- rights -------------------------------------------------------------------------------------------

# From here on a test that fails may leave its daemon.
after_test()
{
	[ -z "$dpid" ] || daemon_end KILL
}

conf <<END
[daemon]
interval = 1
metrics-socket =
[device c*]
END

no_sys_admin()
{
	pair c0 && pair c1 pod && pair c2 || return
	fw_on c2
	daemon_start setpriv --bounding-set -sys_admin || return
	within "what it can set is set" sized $MAX c0 || return
	within "it tells that it can't look" said '^<4>programs: .*CAP_SYS_ADMIN' || return
	within "of the far end" said '^<4>c1: .*held at 64 KiB: .*CAP_SYS_ADMIN' || return
	within "of the program" said '^<4>c2: .*held at 64 KiB: program .*CAP_SYS_ADMIN' || return
	some_rounds || return
	sized $MAX c0 && both $OLD c1 c1p && sized $OLD c2 && sized $OLD c2p || return
	[ "$(times '^<.>c[12].*CAP_SYS_ADMIN')" = "$(grep -E '^<.>c[12].*CAP_SYS_ADMIN' "$LOG" | sort -u | wc -l)" ] &&
		! said '^<3>' || return
	daemon_end
	[ $status = 0 ]
}

no_net_admin()
{
	ip link del c0
	pair c3 || return
	daemon_start setpriv --bounding-set -net_admin || return
	within "it tells that it can't" said '^<3>c3: cannot change its sizes: .*CAP_NET_ADMIN' || return
	some_rounds || return
	sized $OLD c3 && [ "$(times '^<3>c3: cannot change')" = 1 ] || return
	daemon_end
	[ $status = 0 ]
}

no_bpf()
{
	# CAP_SYS_ADMIN stands in for it, as in the kernel.
	daemon_start setpriv --bounding-set -bpf && within "c3 gets its sizes" sized $MAX c3 || return
	daemon_end
	pair c4 && daemon_start setpriv --bounding-set -bpf,-sys_admin,-perfmon || return
	within "it tells what it can't" said '^<3>c4: .*CAP_BPF' && some_rounds || return
	[ "$(times '^<3>c4: ')" -le 2 ] || return
	daemon_end
	[ $status = 0 ]
}

# setpriv's words for what the unit leaves to the daemon
unit_caps()
{
	sed -n 's/^CapabilityBoundingSet=//p' loader/daemon/bigtcpd.service.in | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g'
}

with_the_units_rights()
{
	local caps

	caps=$(unit_caps)
	[ "$caps" = +bpf,+net_admin,+sys_admin,+syslog ] || return
	"$BIGTCP" detach c2 ingress --prog fw_naive >/dev/null
	"$BIGTCP" attach --plain c2 ingress "$CORPUS/correct.bpf.o" --prog correct >/dev/null || return
	daemon_start setpriv --bounding-set "-all,$caps" || return
	within "a safe program is known to be safe" sized $MAX c2 && within "both ends" both $MAX c1 c1p || return
	daemon_end
	[ $status = 0 ] && ! said '^<3>|held at 64 KiB'
}

no_syslog()
{
	# Where the kernel shows its addresses to all, the right is not needed.
	setpriv --bounding-set -syslog grep -q '^0000000000000000 T' /proc/kallsyms || return 0
	pair c5 && "$BIGTCP" attach --plain c5 ingress "$CORPUS/correct.bpf.o" --prog correct >/dev/null || return
	daemon_start setpriv --bounding-set -syslog || return
	within "a safe program is unknown" said '^<4>c5: sizes are held at 64 KiB: .*not known to be safe' || return
	daemon_end
	[ $status = 0 ]
}

hardened()
{
	local unit=$tmp/bigtcpd.service

	if ! command -v systemd-analyze >/dev/null; then
		echo "no systemd-analyze"
		return 77
	fi
	sed 's|@SBINDIR@/bigtcpd|/bin/true|; s|@SYSCONFDIR@|/etc|' loader/daemon/bigtcpd.service.in >"$unit"
	systemd-analyze security --offline=yes --threshold=29 --no-pager "$unit"
}
long no_sys_admin "without CAP_SYS_ADMIN: what can't be known is told once, the rest works"
long no_net_admin "without CAP_NET_ADMIN: told once"
long no_bpf "without CAP_BPF"
long with_the_units_rights "with the rights that the unit gives"
long no_syslog "without CAP_SYSLOG"
long hardened "systemd-analyze security is below 3.0"

# --- under traffic --------------------------------------------------------------------------------------

conf <<END
[daemon]
interval = 1
metrics-socket =
[device s0]
END
net_direct
cp "$OUT/objects/observe_build.bpf.o" "$tmp/" || net_die "no observe_build.bpf.o"

dropped()
{
	in_ns "$1" ip -s -j link show dev "$2" | jq '.[0].stats64 | .rx.dropped + .tx.dropped + .rx.errors + .tx.errors'
}

jumbo_seen()
{
	in_ns snd "$BIGTCP" observe s0 --show -j | jq '[.observers[].jumbo] | add'
}

killed_under_traffic()
{
	local pins before run i

	daemon_start nsenter --net=/run/netns/snd || return
	within "both ends get their sizes" both_ends $MAX || return
	within "no more pins come" pins_rest || return
	pins=$(all_pins)
	timeout 60 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 8 >$tmp/traffic.out 2>$tmp/err &
	run=$!
	for i in 1 2 3 4; do
		sleep 0.5
		daemon_end KILL
		daemon_start nsenter --net=/run/netns/snd || return
	done
	wait $run || { cat $tmp/traffic.out $tmp/err; return 1; }
	cat $tmp/traffic.out
	before=$(jumbo_seen)
	echo "jumbo packets: $before, dropped: $(dropped snd s0) $(dropped rcv r0)"
	[ "$before" -gt 20 ] && [ "$(dropped snd s0)" = 0 ] && [ "$(dropped rcv r0)" = 0 ] || return
	[ -z "$(net_bad snd rcv)" ] && [ "$(all_pins)" = "$pins" ] || return
	both_ends $MAX && ! said 'sizes set'
}

# An observer as another build would have left it, while its jumbo packets are under way: the daemon puts its own in
# that link, and the counters go on.
upgraded_under_traffic()
{
	local pins pin old before run

	daemon_end KILL
	in_ns snd "$BIGTCP" observe s0 --off >/dev/null || return
	in_ns snd "$BIGTCP" attach s0 ingress "$tmp/observe_build.bpf.o" --plain || return
	pin=$(echo /sys/fs/bpf/bigtcp/v1/links/*-ingress-*-observe)
	mv "$pin" "${pin%-observe}-bigtcp_observe" || return
	timeout 60 "$TRAFFIC" -c rcv -s snd -a $CLIENT -t 8 >$tmp/traffic.out 2>$tmp/err &
	run=$!
	within "the other build counts" counted 10 || return
	old=$(ingress prog_id) before=$(ingress jumbo)
	daemon_start nsenter --net=/run/netns/snd || return
	within "its program is replaced" replaced "$old" || return
	within "no more pins come" pins_rest || return
	pins=$(all_pins)
	wait $run || { cat $tmp/traffic.out $tmp/err; return 1; }
	echo "jumbo packets: $before before, $(ingress jumbo) in all, dropped: $(dropped snd s0) $(dropped rcv r0)"
	[ "$(ingress jumbo)" -gt "$before" ] && [ "$(dropped snd s0)" = 0 ] && [ "$(dropped rcv r0)" = 0 ] || return
	[ -z "$(net_bad snd rcv)" ] && [ "$(all_pins)" = "$pins" ] && both_ends $MAX
}

# ingress KEY: of the observer at s0's ingress
ingress()
{
	in_ns snd "$BIGTCP" observe s0 --show -j | jq ".observers[] | select(.hook == \"ingress\") | .$1"
}

counted()
{
	[ "$(ingress jumbo)" -ge "$1" ]
}

replaced()
{
	[ "$(ingress prog_id)" != "$1" ]
}

both_ends()
{
	sized "$1" s0 snd && sized "$1" r0 rcv
}
t killed_under_traffic "killed and started again under BIG TCP traffic: no packet lost, pins and counters stay"
t upgraded_under_traffic "started in the place of another build under BIG TCP traffic: the same links, counters go on"
finish
