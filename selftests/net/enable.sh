#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# enable, disable, status: sizes of devices of every kind that the kernel has, set and put back; nothing changed
# whatever fails. Prints TAP. Root. BT_ENABLE_SHORT: only what differs from kernel to kernel, for emulated machines.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
[ -n "${BT_NET_INSIDE:-}" ] || export BT_IPV4SIZE="$OUT/tools/ipv4size"
net_private "$0" "$@"
. selftests/net/lib_tap.sh

PIN=/sys/fs/bpf/bigtcp/v1
SHORT=${BT_ENABLE_SHORT:-}
cp "$BT_IPV4SIZE" "$tmp/ipv4size" || net_die "run make tests first"

# Preflight takes seconds and is not what most tests are about: without the right to it, and by force, it is left out.
quick()
{
	local rc

	setpriv --bounding-set=-sys_admin "$BIGTCP" "$@" 2>"$tmp/quick"
	rc=$?
	grep -v "no preflight" "$tmp/quick" >&2
	return $rc
}

on()
{
	quick enable --force "$@"
}

# sizes DEV: "GSO GRO GSO-IPV4 GRO-IPV4", 0 where the kernel has none. From the table: jq is slow where it is emulated.
sizes()
{
	"$BIGTCP" status "$1" | awk 'function two(x, p, n) { n = split(x == "-" ? 0 : x, p, "/"); return p[1] " " p[n] }
		NR == 2 { print two($3), two($4) }'
}

state()
{
	"$BIGTCP" status "$1" | awk 'NR == 2 { print $5 }'
}

# all: every device here with its sizes, a line; and those of IPv6 as iproute2 tells them, another
all()
{
	"$BIGTCP" status | awk '{ print $1, $3, $4 }'
	ip -d -o link | awk '{ printf "%s", $2; for (i = 3; i < NF; i++)
		if ($i ~ /^g[sr]o_max_size$/) printf " %s", $(i + 1); print "" }'
}

# but DEV...: of what all says, read from stdin, the other devices
but()
{
	awk -v but="$*" 'BEGIN { n = split(but, a, " "); for (i = 1; i <= n; i++) no[a[i]] = 1 }
		{ name = $1; sub(/[].*/, "", name) } !(name in no)'
}

# is WHAT WANTED: compares
is()
{
	[ "$1" = "$2" ] && return
	echo "this is '$1' and should be '$2'"
	return 1
}

# refused STATUS PATTERN COMMAND...: it fails so, with such a sentence, and no device's sizes are others than before
refused()
{
	local want=$1 pattern=$2 before rc bad=0

	shift 2
	before=$(all)
	"$@" >"$tmp/said" 2>&1
	rc=$?
	cat "$tmp/said"
	[ $rc = "$want" ] || { echo "status $rc, not $want"; bad=1; }
	grep -q -e "$pattern" "$tmp/said" || { echo "no such sentence: $pattern"; bad=1; }
	is "$(all)" "$before" || bad=1
	return $bad
}

# below COMMAND...: in a mount namespace of its own, so that it may mount over things
below()
{
	unshare --mount --propagation private sh -c "$@"
}

entries()
{
	[ -e $PIN/sizes ] || { echo 0 && return; }
	bpftool -j map dump pinned $PIN/sizes | jq length
}

# wait_for WHAT COMMAND...: until it succeeds, for a minute
wait_for()
{
	local what=$1 _

	shift
	for _ in $(seq 600); do
		"$@" && return
		sleep 0.1
	done
	echo "not after a minute: $what"
	return 1
}

ipv4=$("$BIGTCP" status -j lo | jq '.devices[0].sizes.gso_ipv4 > 0') want4=196608
[ "$ipv4" = true ] || want4=-
has_ipv4()
{
	[ "$ipv4" = true ] || { echo "this kernel has no sizes for IPv4" && return 1; }
}

# at_lock PID: it has the file of the lock open and sleeps, which it does nowhere in between
at_lock()
{
	readlink /proc/"$1"/fd/* 2>/dev/null | grep -q "^$PIN/links\$" && grep -q "^State:.S" "/proc/$1/status"
}

# --- devices of every kind --------------------------------------------------------------------------------------

ip link add name v0 type veth peer name v1 || net_die "no veth"
ip link set dev v0 up && ip link set dev v1 up

# make KIND: the device t0 of that kind
make_dev()
{
	case $1 in
	veth) ip link add name t0 type veth peer name t1 ;;
	vlan) ip link add t0 link v0 type vlan id 7 ;;
	macvlan) ip link add t0 link v0 type macvlan mode bridge ;;
	ipvlan) ip link add t0 link v1 type ipvlan mode l2 ;;
	bond)
		ip link add name t0 type bond mode active-backup && ip link add name s0 type veth peer name s1 &&
			ip link set dev s0 master t0
		;;
	vxlan) ip link add name t0 type vxlan id 7 dstport 4789 local 127.0.0.1 ;;
	geneve) ip link add name t0 type geneve id 7 remote 127.0.0.1 ;;
	*) ip link add name t0 type "$1" ;;
	esac
}

# Sizes as few have them, that must come back.
odd()
{
	ip link set dev "$1" gso_max_size 40000 gro_max_size 50000 || return 1
	[ "$ipv4" != true ] || "$tmp/ipv4size" "$1" 60000
}

# Enable changes this device and no other; disable leaves every size as it was. Kinds that take no
# sizes above 64 KiB are refused, with nothing changed.
there_and_back()
{
	local before after

	make_dev "$kind" || { echo "this kernel has no device of kind $kind" && return 77; }
	odd t0 || return 1
	before=$(all)
	if [ "$(ip -d link show dev t0 | grep -o 'tso_max_size [0-9]*')" = "tso_max_size 65536" ]; then
		echo "# $kind takes none above 64 KiB"
		refused 2 'takes no packets above 64 KiB for sending (its tso_max_size is 65536)' on t0
		return
	fi
	on t0 || return 1
	after=$(all)
	is "$(but t0 <<<"$after")" "$(but t0 <<<"$before")" || return 1
	is "$(grep '^t0 ' <<<"$after")" "t0 196608 $want4" || return 1
	"$BIGTCP" disable t0 || return 1
	is "$(all)" "$before" || return 1
	is "$(state t0)" hands-off
}

after_test()
{
	ip link del dev t0
	ip link del dev s0
	return 0
} 2>/dev/null

for kind in veth dummy vlan macvlan ipvlan bridge bond vxlan geneve netkit ifb; do
	t there_and_back "$kind: enable, then disable, leaves every size as before"
done

# --- several devices ------------------------------------------------------------------------------------------------

three()
{
	ip link add name a type veth peer name b && ip link add name c type veth peer name d
}

after_test()
{
	for dev in a c t0 s0; do
		ip link del dev $dev 2>/dev/null
	done
	return 0
}

# As users do it, preflight and all.
plain()
{
	local before

	three && odd b && ip link set dev a up && ip link set dev b up || return 1
	before=$(all)
	"$BIGTCP" enable a b || return 1
	is "$(sizes a | cut -d' ' -f 1,2) $(sizes b | cut -d' ' -f 1,2)" "196608 196608 196608 196608" || return 1
	"$BIGTCP" disable a b || return 1
	is "$(all)" "$before"
}
t plain "enable with preflight, disable"

# A program that drops jumbo packets: status 3, and the row is there also when it is forced.
unsafe()
{
	three && ip link set dev a up && ip link set dev b up && tc qdisc add dev a clsact &&
		tc filter add dev a ingress bpf direct-action object-file "$CORPUS/fw_naive.bpf.o" section tc || return 1
	refused 3 "^unsafe-program  *refuse  *a  *fw_naive" "$BIGTCP" enable a b || return 1
	grep -q "Error: refused, see the rows above: with --force it is done anyway. Nothing was changed" "$tmp/said" || return 1
	# That the other end is small is no news where it is set, too.
	! grep -q '^stack' "$tmp/said" || return 1
	"$BIGTCP" enable --force -j a >"$tmp/json" || return 1
	is "$(jq -c '[.refused, (.checks[] | select(.level != "note") | .code, .dev)]' "$tmp/json")" \
		'[false,"stack","b","unsafe-program","a"]' || return 1
	is "$(state a)" ours
}
[ -n "$SHORT" ] || t unsafe "enable is refused where a program drops jumbo packets, unless by force"

dry()
{
	three || return 1
	refused 0 'a would be set: IPv6 65536 -> 300000' quick enable --force --dry-run --size 300000 a b || return 1
	on a || return 1
	refused 0 'a would be set: IPv6 196608 -> 65536' "$BIGTCP" disable --dry-run a || return 1
	is "$(state a)" ours
}
[ -n "$SHORT" ] || t dry "--dry-run changes nothing"

# Complaint 37: a tunnel that takes no gso above 64 KiB fails as one sentence, and takes nobody along.
one_cannot()
{
	make_dev vxlan || { echo "this kernel has no vxlan" && return 77; }
	three || return 1
	if [ "$("$BIGTCP" status -j t0 | jq '.devices[0].tso_max')" -gt 65536 ]; then
		echo "vxlan takes sizes above 64 KiB on this kernel" && return 77
	fi
	refused 2 't0 (vxlan) takes no packets above 64 KiB' on a t0 b || return 1
	is "$(entries)" "$kept"
}
kept=$(entries)
t one_cannot "vxlan among others: refused, nothing changed"

# The command has found its devices and waits for the lock; then one of them is deleted.
disappears()
{
	local pid rc=0 before

	three || return 1
	before=$(all | but c d)
	exec 9<$PIN/links
	flock 9 || return 1
	setpriv --bounding-set=-sys_admin "$BIGTCP" enable --force a c b 9<&- >"$tmp/said" 2>&1 &
	pid=$!
	wait_for "the command waits for the lock" at_lock $pid || rc=1
	ip link del dev c
	exec 9<&-
	wait $pid
	is $? 2 || rc=1
	cat "$tmp/said"
	grep -q 'it was deleted, or moved to another namespace, meanwhile. Nothing was changed' "$tmp/said" || rc=1
	is "$(all | but c d)" "$before" || rc=1
	is "$(state a) $(state b)" "untouched untouched" || rc=1
	return $rc
}
t disappears "a device is deleted on the way: a sentence, the others are as before"

# Deleted and made anew while it runs, any time: it works or it says so, and is all or nothing.
races()
{
	local pid rc=0 i out

	three || return 1
	touch "$tmp/go"
	while [ -e "$tmp/go" ]; do
		ip link del dev c
		ip link add name c type veth peer name d
	done 2>/dev/null &
	pid=$!
	for i in $(seq 8); do
		on a c b >"$tmp/said" 2>&1
		out=$?
		if [ $out = 0 ]; then
			is "$(sizes a | cut -d' ' -f 1) $(sizes b | cut -d' ' -f 1)" "196608 196608" || rc=1
			"$BIGTCP" disable a b || rc=1
		else
			is $out 2 || rc=1
			grep -q "it was deleted\|no device 'c'" "$tmp/said" || { cat "$tmp/said" && rc=1; }
		fi
		is "$(sizes a | cut -d' ' -f 1) $(sizes b | cut -d' ' -f 1)" "65536 65536" || rc=1
		echo "# round $i: status $out"
	done >"$tmp/rounds"
	rm "$tmp/go"
	wait $pid
	[ $rc = 0 ] || cat "$tmp/rounds"
	return $rc
}
[ -n "$SHORT" ] || t races "a device that comes and goes"

# Both wait for the lock, then run; the later one's values are at all the devices.
both()
{
	local one two rc=0

	three || return 1
	exec 9<$PIN/links
	flock 9 || return 1
	setpriv --bounding-set=-sys_admin "$BIGTCP" enable --force --size 100000 a b c 9<&- 2>&1 &
	one=$!
	setpriv --bounding-set=-sys_admin "$BIGTCP" enable --force --size 200000 c b a 9<&- 2>&1 &
	two=$!
	wait_for "one waits" at_lock $one || rc=1
	wait_for "the other waits" at_lock $two || rc=1
	exec 9<&-
	wait $one || rc=1
	wait $two || rc=1
	is "$(sizes b)" "$(sizes a)" || rc=1
	is "$(sizes c)" "$(sizes a)" || rc=1
	case "$(sizes a | cut -d' ' -f 1,2)" in
	"100000 100000" | "200000 200000") ;;
	*) sizes a && rc=1 ;;
	esac
	"$BIGTCP" disable a b c || rc=1
	is "$(sizes a | cut -d' ' -f 1,2) $(sizes c | cut -d' ' -f 1,2)" "65536 65536 65536 65536" || rc=1
	return $rc
}
[ -n "$SHORT" ] || t both "two at once: one after the other"

# --- whose values ----------------------------------------------------------------------------------------------------

by_hand()
{
	local before

	three && odd a || return 1
	before=$(all)
	on a b || return 1
	ip link set dev a gso_max_size 100000 || return 1
	is "$(state a) $(state b)" "changed ours" || return 1
	refused 2 "a: somebody has set other sizes since (gso 100000, gro 196608" "$BIGTCP" disable a b || return 1
	"$BIGTCP" disable --force a b || return 1
	is "$(all)" "$before"
}
t by_hand "sizes set by hand since: disable wants --force"

# What was first is what comes back.
twice()
{
	local before

	three && odd a || return 1
	before=$(all)
	on a && on --size 150000 a && on --size max a || return 1
	is "$(sizes a | cut -d' ' -f 1,2)" "524280 524280" || return 1
	"$BIGTCP" disable a || return 1
	is "$(all)" "$before" || return 1
	"$BIGTCP" disable a || return 1
	is "$(all)" "$before"
}
[ -n "$SHORT" ] || t twice "enable again, then disable: as before the first time"

never_set()
{
	three && ip link set dev a gso_max_size 90000 gro_max_size 30000 || return 1
	"$BIGTCP" disable a || return 1
	is "$(sizes a | cut -d' ' -f 1,2)" "65536 30000"
}
[ -n "$SHORT" ] || t never_set "disable where bigtcp has set nothing: 64 KiB at most"

# Complaint 39: the kernel lets IPv4's sizes follow IPv6's down to 64 KiB, silently.
ipv4_follows()
{
	has_ipv4 || return 77
	three && "$tmp/ipv4size" b 100000 || return 1
	on a b || return 1
	is "$(sizes a)" "196608 196608 196608 196608" || return 1
	ip link set dev a gso_max_size 65536 gro_max_size 65536 || return 1
	is "$(sizes a)" "65536 65536 65536 65536" || { echo "the kernel has changed its mind" && return 1; }
	is "$(state a)" changed || return 1
	on a || return 1
	is "$(sizes a)" "196608 196608 196608 196608" || return 1
	# IPv6 first: the other way round IPv4's would be gone.
	"$BIGTCP" disable b || return 1
	is "$(sizes b)" "65536 65536 100000 100000"
}
t ipv4_follows "IPv4's sizes, which follow IPv6's down, are set after them"

which_ip()
{
	three || return 1
	if ! has_ipv4; then
		refused 2 'this kernel has no sizes for IPv4' on --ipv4 a || return 1
		on a && is "$(sizes a)" "196608 196608 0 0"
		return
	fi
	on --only-ipv6 a && is "$(sizes a)" "196608 196608 65536 65536" || return 1
	on --ipv4 a && is "$(sizes a)" "196608 196608 196608 196608" || return 1
	on --only-ipv6 a && is "$(sizes a)" "196608 196608 65536 65536" || return 1
	"$BIGTCP" disable a && is "$(sizes a)" "65536 65536 65536 65536"
}
t which_ip "--ipv4 and --only-ipv6"

# By index, not by name; and one of a new index is another.
names()
{
	three || return 1
	on a b || return 1
	ip link set dev a name t0 || return 1
	ip link del dev c && ip link add name a type veth peer name c || return 1
	is "$(state t0) $(state a)" "ours untouched" || return 1
	"$BIGTCP" disable t0 || return 1
	is "$(sizes t0 | cut -d' ' -f 1,2)" "65536 65536" || return 1
	ip link del dev t0 || return 1
	# Each command that changes something forgets those that are gone.
	on a || return 1
	"$BIGTCP" status -j | jq '.devices | length' >/dev/null
	is "$(bpftool -j map dump pinned $PIN/sizes | jq length)" "$(($("$BIGTCP" status -j |
		jq '[.devices[] | select(.state != "untouched")] | length')))"
}
[ -n "$SHORT" ] || t names "a device that is renamed, others that are gone"

moves()
{
	local rc=0

	three && ip netns add elsewhere || return 1
	on a || return 1
	ip link set dev a netns elsewhere || rc=1
	is "$(in_ns elsewhere "$BIGTCP" status -j a | jq -r '.devices[0].state')" untouched || rc=1
	"$BIGTCP" -n elsewhere disable a || rc=1
	is "$("$BIGTCP" -n elsewhere status -j a | jq '.devices[0].sizes.gso')" 65536 || rc=1
	ip netns del elsewhere
	return $rc
}
[ -n "$SHORT" ] || t moves "a device that went to another namespace"

# --- rights, and the BPF file system --------------------------------------------------------------------------------

# In a file system where nothing is kept yet.
anew()
{
	below 'umount /sys/fs/bpf; mount -t bpf bpf /sys/fs/bpf && exec "$@"' sh "$@"
}

no_net_admin()
{
	three || return 1
	refused 2 "cannot set gso_max_size of device .* CAP_NET_ADMIN in the user namespace that owns.*Nothing was changed" \
		setpriv --bounding-set=-net_admin "$BIGTCP" enable --force a b || return 1
	refused 2 "preflight looks at.*lacks CAP_NET_ADMIN.*Nothing was changed" \
		setpriv --bounding-set=-net_admin "$BIGTCP" enable a b || return 1
	is "$(state a) $(state b)" "untouched untouched" || return 1
	on a || return 1
	refused 2 "CAP_NET_ADMIN" setpriv --bounding-set=-net_admin "$BIGTCP" disable a || return 1
	is "$(state a)" ours
}
t no_net_admin "without CAP_NET_ADMIN"

no_bpf()
{
	three || return 1
	refused 2 "remembers sizes: it takes CAP_BPF. Nothing was changed" \
		anew setpriv --bounding-set=-bpf,-sys_admin "$BIGTCP" enable --force a || return 1
	refused 2 "remembers sizes: it takes CAP_BPF. Nothing was changed" \
		anew setpriv --bounding-set=-bpf,-sys_admin "$BIGTCP" disable a || return 1
	refused 2 "preflight looks at.*lacks CAP_BPF CAP_SYS_ADMIN" \
		anew setpriv --bounding-set=-bpf,-sys_admin "$BIGTCP" enable a
}
t no_bpf "without CAP_BPF and CAP_SYS_ADMIN"

nobody()
{
	three && on a || return 1
	setpriv --reuid=65534 --regid=65534 --clear-groups "$BIGTCP" status -j a >"$tmp/json" || return 1
	is "$(jq -c '.devices[0] | [.sizes.gso, .state, .programs]' "$tmp/json")" '[196608,null,null]' || return 1
	refused 2 . setpriv --reuid=65534 --regid=65534 --clear-groups "$BIGTCP" disable a || return 1
	refused 2 . setpriv --reuid=65534 --regid=65534 --clear-groups "$BIGTCP" enable --force a
}
chmod a+x "$tmp"
[ -n "$SHORT" ] || t nobody "an ordinary user sees sizes, and changes nothing"

no_bpffs()
{
	three || return 1
	refused 2 "no BPF file system at /sys/fs/bpf.*mount -t bpf" below 'umount /sys/fs/bpf; exec "$@"' \
		sh "$BIGTCP" enable a || return 1
	refused 2 "no BPF file system at /sys/fs/bpf" below 'umount /sys/fs/bpf; exec "$@"' \
		sh "$BIGTCP" disable a || return 1
	refused 0 "a  *veth  *65536" below 'umount /sys/fs/bpf; exec "$@"' sh "$BIGTCP" status a
}
t no_bpffs "no BPF file system"

read_only()
{
	three && on a || return 1
	refused 2 "is mounted read-only.*Nothing was changed" below 'mount -o remount,bind,ro /sys/fs/bpf; exec "$@"' \
		sh setpriv --bounding-set=-sys_admin "$BIGTCP" enable --force a b || return 1
	refused 2 "is mounted read-only.*Nothing was changed" below 'mount -o remount,bind,ro /sys/fs/bpf; exec "$@"' \
		sh "$BIGTCP" disable a || return 1
	refused 0 "ours (command)" below 'mount -o remount,bind,ro /sys/fs/bpf; exec "$@"' sh "$BIGTCP" status a || return 1
	# As a service of systemd can have it.
	below 'mount --bind /sys/fs/bpf/bigtcp /sys/fs/bpf/bigtcp && mount -o remount,bind,ro /sys/fs/bpf && exec "$@"' \
		sh "$BIGTCP" disable a || return 1
	is "$(sizes a | cut -d' ' -f 1,2)" "65536 65536"
}
t read_only "a BPF file system that is read-only"

covered()
{
	local cmd cmds

	three && on a || return 1
	cmds=("enable a" "disable a" status "attach a ingress $CORPUS/correct.bpf.o" "guard a" "observe a")
	[ -z "$SHORT" ] || cmds=("enable a" status)
	for cmd in "${cmds[@]}"; do
		# shellcheck disable=SC2086 # words
		refused 2 "another BPF file system is mounted over the one at /sys/fs/bpf.*umount /sys/fs/bpf" \
			below 'mount -t bpf bpf /sys/fs/bpf; exec "$@"' sh "$BIGTCP" $cmd || return 1
	done
	# The same one twice hides nothing.
	refused 0 "ours (command)" below 'mount --bind /sys/fs/bpf /sys/fs/bpf; exec "$@"' sh "$BIGTCP" status a || return 1
	# And one over another that has nothing of ours neither.
	refused 0 untouched below 'umount /sys/fs/bpf; mount -t bpf a /sys/fs/bpf; mount -t bpf b /sys/fs/bpf; exec "$@"' \
		sh "$BIGTCP" status a
}
t covered "a BPF file system mounted over the one with our state"

newer()
{
	local cmd

	three && on a || return 1
	mkdir /sys/fs/bpf/bigtcp/v2 || return 1
	for cmd in "enable a" "enable --dry-run a" "disable a" status "attach a ingress $CORPUS/correct.bpf.o" \
		"detach a ingress" "guard a" "guard --off a" "guard --show" "observe a" "observe --off a"; do
		# shellcheck disable=SC2086 # words
		refused 2 "a newer bigtcp keeps its state here (/sys/fs/bpf/bigtcp/v2)" "$BIGTCP" $cmd ||
			{ rmdir /sys/fs/bpf/bigtcp/v2 && return 1; }
	done
	rmdir /sys/fs/bpf/bigtcp/v2
	is "$(state a)" ours || return 1
	mkdir /sys/fs/bpf/bigtcp/v0 /sys/fs/bpf/bigtcp/vx
	"$BIGTCP" disable a || return 1
	rmdir /sys/fs/bpf/bigtcp/v0 /sys/fs/bpf/bigtcp/vx
}
[ -n "$SHORT" ] || t newer "the state of a newer version: nothing is read or changed"

# A map that some other version has made.
strange()
{
	three || return 1
	refused 2 "is not what this version of bigtcp keeps sizes in" \
		anew sh -c 'mkdir -p /sys/fs/bpf/bigtcp/v1 && bpftool map create /sys/fs/bpf/bigtcp/v1/sizes type hash \
			key 8 value 8 entries 8 name sizes && exec "$@"' sh \
		setpriv --bounding-set=-sys_admin "$BIGTCP" enable --force a
}
[ -n "$SHORT" ] || t strange "a map that is not ours"

# A map with room for 8 devices. Those that were set longest ago, in other namespaces, make room: of namespaces that are
# gone, most likely. Those of this one stay.
full()
{
	local i rc=0 list

	for i in 1 2 3 4; do
		ip link add name "f$i" type veth peer name "g$i" || return 1
		list+=" f$i g$i"
	done
	three && ip netns add elsewhere && in_ns elsewhere ip link add name h1 type veth peer name h2 || return 1
	# shellcheck disable=SC2016,SC2086 # for the shell there; words
	anew sh -c 'b=$1 elsewhere=$2 list=$3
		mkdir -p /sys/fs/bpf/bigtcp/v1 && bpftool map create /sys/fs/bpf/bigtcp/v1/sizes type hash \
			key 16 value 64 entries 8 flags 1 name sizes || exit 1
		nsenter --net=$elsewhere $b disable h1 h2 && $b disable a && sleep 1.1 && $b disable b c d f1 f2 &&
			$b status -j a | grep "hands-off" && nsenter --net=$elsewhere $b status -j | grep -c hands-off || exit 1
		$b disable f1 f2 f3 && $b status -j f3 | grep hands-off && $b status -j a | grep hands-off || exit 1
		$b disable $list; [ $? = 2 ]' sh "$BIGTCP" /run/netns/elsewhere "$list" >"$tmp/said" 2>&1 || rc=1
	cat "$tmp/said"
	grep -q 'it is full of devices of this namespace. Nothing was changed' "$tmp/said" || rc=1
	ip netns del elsewhere
	for i in 1 2 3 4; do
		ip link del dev "f$i"
	done
	return $rc
}
[ -n "$SHORT" ] || t full "a map that is full"

# --- what is shown ---------------------------------------------------------------------------------------------------

shown()
{
	three && on a && ip link set dev b gso_max_size 100000 || return 1
	"$BIGTCP" status >"$tmp/text" || return 1
	cat "$tmp/text"
	awk 'length($0) > 80 { bad = 1 } END { exit bad }' "$tmp/text" || { echo "not 80 wide" && return 1; }
	grep -q '^a  *veth  *196608  *[-0-9]*  *ours (command)  *[0-9][0-9a-z]*  *b  *0' "$tmp/text" || return 1
	grep -q '^b  *veth  *100000/65536 ' "$tmp/text" || return 1
	"$BIGTCP" status -j a b >"$tmp/json" || return 1
	is "$(jq -c '[.devices[] | .dev, .state, .setter, .before.gso, .set.gso, .peer.dev]' "$tmp/json")" \
		'["a","ours","command",65536,196608,"b","b","untouched",null,null,null,"a"]' || return 1
	refused 2 "no device 'nope'" "$BIGTCP" status nope
}
[ -n "$SHORT" ] || t shown "status"

other_end()
{
	local rc=0

	ip netns add elsewhere && ip link add name t0 type veth peer name far netns elsewhere || return 1
	"$BIGTCP" status -j t0 >"$tmp/json" || rc=1
	is "$(jq -c '.devices[0].peer | [.dev, .elsewhere, .sizes.gso]' "$tmp/json")" '["far",true,65536]' || rc=1
	ip netns del elsewhere
	return $rc
}
[ -n "$SHORT" ] || t other_end "status: the other end is in another namespace"

watching()
{
	local pid rc=0

	three || return 1
	"$BIGTCP" status --watch -j a >"$tmp/docs" &
	pid=$!
	wait_for "a first document" grep -q untouched "$tmp/docs" || rc=1
	on a || rc=1
	wait_for "another document" grep -q ours "$tmp/docs" || rc=1
	kill -INT $pid
	wait $pid
	is $? 0 || rc=1
	is "$(jq -c '.devices | length' "$tmp/docs" | sort -u)" 1 || rc=1
	is "$(wc -l <"$tmp/docs")" "$(jq -c . "$tmp/docs" | wc -l)" || rc=1
	return $rc
}
[ -n "$SHORT" ] || t watching "status --watch"

lines()
{
	three || return 1
	refused 1 "enable wants a device" "$BIGTCP" enable || return 1
	refused 1 "a is named twice" "$BIGTCP" enable a b a || return 1
	refused 1 "from 65537 to 524280, or max, not '65536': 'bigtcp disable'" "$BIGTCP" enable --size 65536 a || return 1
	refused 1 "not '524281'" "$BIGTCP" enable --size 524281 a || return 1
	refused 1 "say the opposite" "$BIGTCP" enable --ipv4 --only-ipv6 a || return 1
	refused 2 "no device 'nope'" "$BIGTCP" enable a nope || return 1
	refused 2 "no device 'nope'" "$BIGTCP" disable a nope || return 1
	on -j a b >"$tmp/json" || return 1
	is "$(jq -c '[.refused, .dry_run, (.devices[] | .dev, .changed, .was.gso, .set.gso)]' "$tmp/json")" \
		'[false,false,"a",true,65536,196608,"b",true,65536,196608]' || return 1
	refused 2 . quick enable -j --force a nope || return 1
	jq -e .error "$tmp/said" >/dev/null
}
[ -n "$SHORT" ] || t lines "command lines, JSON"

finish
