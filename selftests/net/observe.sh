#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The observer that stays at a device: what it counts is what TCP sent, it is first, and its counters survive the
# command, another build, and everything but `--off`.
# Prints TAP. Root. BT_OBSERVE_SHORT: less traffic, for emulated machines.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh

BYTES=60000000
[ -z "${BT_OBSERVE_SHORT:-}" ] || BYTES=4000000
# Of a jumbo packet: Ethernet, IPv6, jumbo header, TCP with timestamps.
HEADERS=$((14 + 40 + 8 + 32))
links=/sys/fs/bpf/bigtcp/v1/links

# at NS COMMAND...: bigtcp there
at()
{
	in_ns "$1" "$BIGTCP" "${@:2}"
}

# seen NS DEV HOOK FIELD
seen()
{
	at "$1" observe "$2" --show -j | jq --arg h "$3" ".observers[] | select(.hook == \$h) | .$4"
}

# look: what both ends have seen by now. got DEV HOOK FIELD: of that; one process instead of three
look()
{
	at snd observe s0 --show -j >"$tmp/s0.json" && at rcv observe r0 --show -j >"$tmp/r0.json"
}

got()
{
	jq --arg h "$2" ".observers[] | select(.hook == \$h) | .$3" "$tmp/$1.json"
}

# same WHAT A B
same()
{
	[ "$2" = "$3" ] || { echo "$1: $2, not $3"; return 1; }
}

# until_true COMMAND...: waits until the command succeeds, at most 30 s; shows what it says last.
until_true()
{
	for _ in $(seq 100); do
		"$@" >"$tmp/until" && return
		sleep 0.3
	done
	cat "$tmp/until"
	return 1
}

# send FROM TO ADDRESS [BYTES]: by TCP; sets $sent and $again
send()
{
	timeout 60 "$TRAFFIC" -c "$1" -s "$2" -a "$3" -t 40 -n "${4:-$BYTES}" >"$tmp/run" 2>"$tmp/err" ||
		{ cat "$tmp/run" "$tmp/err"; return 1; }
	sent=$(jq '.flows[0].sent' "$tmp/run")
	again=$(jq '.flows[0].bytes_retrans' "$tmp/run")
}

# snap: DEVICE PACKETS BYTES of the observer, then of the device itself, which counts apart: where packets leave and
# where they arrive.
snap()
{
	local ns dev hook rxtx

	while read -r ns dev hook rxtx; do
		echo "$dev" "$(at "$ns" observe "$dev" --show -j | jq -r --arg h "$hook" \
			'.observers[] | select(.hook == $h) | "\(.packets) \(.bytes)"')" \
			"$(in_ns "$ns" ip -j -s link show "$dev" | jq -r ".[0].stats64.$rxtx | \"\(.packets) \(.bytes)\"")"
	done <<-EOF
		snd s0 egress tx
		rcv r0 ingress rx
	EOF
}

# start_totals: from a moment when nothing is on its way
start_totals()
{
	for _ in $(seq 100); do
		snap >"$tmp/base"
		snap >"$tmp/again"
		cmp -s "$tmp/base" "$tmp/again" && return
	done
	echo "the devices are never quiet"
	return 1
}

# totals: since then the observers have counted what the devices have.
totals()
{
	snap >"$tmp/now"
	awk 'NR == FNR { for (i = 2; i <= 5; i++) base[$1, i] = $i; next }
		{
			for (i = 2; i <= 3; i++)
				if ($i - base[$1, i] != $(i + 2) - base[$1, i + 2]) {
					print $1 ": " (i == 2 ? "packets " : "bytes "), $i - base[$1, i], "not",
						$(i + 2) - base[$1, i + 2]
					bad = 1
				}
		}
		END { exit bad }' "$tmp/base" "$tmp/now"
}

on()
{
	at snd observe s0 -j >"$tmp/s0" && at rcv observe r0 -j >"$tmp/r0" || return
	jq -e '.changed and (.observers | map(.hook) == ["ingress", "egress"] and all(.first))' \
		"$tmp/s0" "$tmp/r0" || return
	at rcv observe r0 -j | jq -e '.changed == false and (.observers | length == 2)'
}

# What guard counts, by another program, is counted here too: packets and bytes of each form.
counted()
{
	local jumbo bytes own

	at rcv guard r0 --count all >/dev/null && start_totals || return
	send snd rcv $SERVER || return
	until_true totals && look || return
	jumbo=$(got r0 ingress jumbo_hbh) bytes=$(got r0 ingress jumbo_hbh_bytes)
	own=$(at rcv guard r0 --show -j | jq -r '.guards[0].classes[] | select(.class == "own-hbh") | "\(.packets) \(.bytes)"')
	at rcv guard r0 --off >/dev/null
	same "jumbo packets and bytes, by the guard" "$jumbo $bytes" "$own" &&
		same "jumbo packets at both ends" "$jumbo" "$(got s0 egress jumbo_hbh)" &&
		same "their bytes" "$bytes" "$(got s0 egress jumbo_hbh_bytes)" &&
		same "largest at both ends" "$(got r0 ingress max_len)" "$(got s0 egress max_len)" &&
		same "jumbo the other way" "$(got r0 egress jumbo)" 0 || return
	[ "$jumbo" -gt 0 ] || { echo "no jumbo packet"; return 1; }
	echo "# $jumbo jumbo packets of $((bytes / jumbo)) bytes"
	# Less their headers they are part of what TCP sent: most of it, and nothing more.
	bytes=$((bytes - jumbo * HEADERS))
	if [ $bytes -gt $((sent + again)) ] || [ $bytes -lt $((sent / 2)) ]; then
		echo "$bytes of $sent + $again bytes"
		return 1
	fi
}

other_way()
{
	local before

	start_totals || return
	before=$(seen rcv r0 ingress jumbo)
	send rcv snd $CLIENT || return
	until_true totals || return
	[ "$(seen rcv r0 egress jumbo_hbh)" -gt 0 ] &&
		same "at both ends" "$(seen rcv r0 egress jumbo_hbh_bytes)" "$(seen snd s0 ingress jumbo_hbh_bytes)" &&
		same "this way" "$(seen rcv r0 ingress jumbo)" "$before"
}

ipv4()
{
	[ "$(at snd status s0 -j | jq '.devices[0].sizes.gso_ipv4 // 0')" != 0 ] ||
		{ echo "this kernel has no sizes for IPv4 (6.3)"; return 77; }
	if ! in_ns snd "$tmp/ipv4size" s0 185000 2>"$tmp/err" || ! in_ns rcv "$tmp/ipv4size" r0 185000; then
		tail -n 1 "$tmp/err"
		return 77
	fi
	send snd rcv $SERVER4 && look || return
	[ "$(got r0 ingress jumbo_ipv4)" -gt 0 ] && [ "$(got r0 ingress jumbo_ipv4_bytes)" -gt $((sent / 2)) ] &&
		same "at both ends" "$(got r0 ingress jumbo_ipv4_bytes)" "$(got s0 egress jumbo_ipv4_bytes)"
}

# A forged header is seen, and not dropped.
forged()
{
	local before

	before=$(seen rcv r0 ingress malformed)
	"$tmp/forge" -c 5 snd s0 forged >/dev/null 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
	for _ in $(seq 100); do
		[ $(($(seen rcv r0 ingress malformed) - before)) = 5 ] && return
		sleep 0.3
	done
	same malformed "$(seen rcv r0 ingress malformed)" $((before + 5))
}

# in_front ADD-OPTION...: somebody's program before ours, and behind
order()
{
	at rcv attach r0 ingress "$OUT/corpus/clang-16/fw_fixed.bpf.o" --plain "$@" >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; return 1; }
	seen rcv r0 ingress first
	at rcv detach r0 ingress >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
}

first()
{
	same "with one in front" "$(order --place head)" false &&
		same "with one behind" "$(order --place tail)" true &&
		same "egress" "$(seen rcv r0 egress first)" true &&
		same "alone" "$(seen rcv r0 ingress first)" true
}

audited()
{
	at rcv audit r0 -j 2>"$tmp/err" >"$tmp/log"
	jq -e 'map(select(.name == "observe")) | length == 2 and all(.verdict == "safe")' "$tmp/log" && return
	cat "$tmp/log" "$tmp/err"
	return 1
}

# detach is for programs of the user's.
detach_leaves_it()
{
	at rcv detach r0 ingress >"$tmp/log" 2>&1
	same "status of detach" $? 2 && same observers "$(at rcv observe -j | jq '.observers | length')" 2
}

# other_build OBJECT: as if another build had attached its observer at r0 ingress
other_build()
{
	local pin

	at rcv observe r0 --off >/dev/null || return
	at rcv attach r0 ingress "$tmp/$1.bpf.o" --plain >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
	pin=$(echo $links/*-ingress-*-observe)
	mv "$pin" "${pin%-observe}-bigtcp_observe"
}

map_of()
{
	bpftool -j prog show id "$1" | jq -r '.map_ids[]' | while read -r m; do
		[ "$(bpftool -j map show id "$m" | jq -r .name)" = observe_stats ] && echo "$m"
	done
}

# Under traffic: the counters go on, and no packet goes uncounted. \`first\` and totals tell.
upgrade()
{
	local old new before traffic

	other_build observe_build || return
	old=$(seen rcv r0 ingress prog_id)
	send snd rcv $SERVER || return
	start_totals || return
	before=$(seen rcv r0 ingress packets)
	[ "$before" -gt 0 ] || { echo "the other build counts nothing"; return 1; }
	timeout 60 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 40 -n $((3 * BYTES)) >"$tmp/run" 2>"$tmp/err" &
	traffic=$!
	at rcv observe r0 -j >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
	wait $traffic || { cat "$tmp/run" "$tmp/err"; return 1; }
	new=$(seen rcv r0 ingress prog_id)
	jq -e '.changed and (.observers | length == 2)' "$tmp/log" || { cat "$tmp/log"; return 1; }
	[ "$new" != "$old" ] || { echo "program $old is still there"; return 1; }
	until_true totals || return
	at rcv observe r0 -j | jq -e '.changed == false' && [ "$(seen rcv r0 ingress first)" = true ]
}

other_layout()
{
	other_build observe_layout || return
	send snd rcv $SERVER 100000 || return
	same "what is shown of another layout" "$(seen rcv r0 ingress packets)" null || return
	at rcv observe r0 -j >"$tmp/log" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
	grep -q 'another build.*anew' "$tmp/err" || { echo "no note: $(cat "$tmp/err")"; return 1; }
	jq -e '.changed and (.observers | length == 2 and all(.packets < 20))' "$tmp/log" && return
	cat "$tmp/log"
	return 1
}

at_once()
{
	local i rc=0 pids=""

	at rcv observe r0 --off >/dev/null || return
	for i in 1 2 3 4 5; do
		at rcv observe r0 >"$tmp/log$i" 2>&1 &
		pids+=" $!"
	done
	for i in $pids; do
		wait "$i" || rc=1
	done
	[ $rc = 0 ] || cat "$tmp"/log?
	same observers "$(at rcv observe -j | jq '.observers | length')" 2 && return $rc
}

# Devices share two programs and a map, and do not share their counters.
many()
{
	local i

	for i in 1 2 3 4 5 6; do
		ip link add "m$i" netns rcv type veth peer name "p$i" netns rcv || return
		at rcv observe "m$i" >/dev/null || return
	done
	same programs "$(at rcv observe -j | jq '[.observers[] | select(.dev | startswith("m")).prog_id] | unique | length')" 2 || return
	in_ns rcv ip link set m1 up && in_ns rcv ip link set p1 up
	until_true sees_packets p1 m1 || return
	same "packets of another" "$(seen rcv m2 ingress packets)" 0 || return
	# Renamed: it is the same device.
	i=$(seen rcv m1 ingress ifindex)
	in_ns rcv ip link set m1 name n1 2>/dev/null ||
		{ in_ns rcv ip link set m1 down && in_ns rcv ip link set m1 name n1; }
	same ifindex "$(seen rcv n1 ingress ifindex)" "$i"
}

# sees_packets FROM TO
sees_packets()
{
	in_ns rcv ping -6 -q -c 1 -W 1 -I "$1" ff02::1 >/dev/null 2>&1
	[ "$(seen rcv "$2" ingress packets)" -gt 0 ]
}

gone_devices()
{
	local left map

	map=$(map_of "$(seen rcv m2 ingress prog_id)")
	for i in n1 m2 m3 m4 m5; do
		in_ns rcv ip link del $i || return
	done
	same observers "$(at rcv observe -j | jq '[.observers[].dev] | unique | join(" ")')" '"m6 r0"' || return
	in_ns rcv ip link add l0 type veth peer name l1 || return
	at rcv observe l0 >/dev/null || return
	# Pins of what is gone went with the next one.
	same pins "$(find $links -name '*bigtcp_observe' | wc -l)" 8 || return
	left=$(bpftool -j map dump id "$map" | jq '[.[].formatted.key.ifindex] | unique | length')
	[ "$left" -le 3 ] || { echo "counters of $left devices are left"; return 1; }
}

# A device takes its links along to another namespace: there it gets an observer of its own, and the other one goes.
moved()
{
	"$BIGTCP" probe --no-live -j | jq -e '.features[] | select(.name == "tcx").value == "yes"' >/dev/null ||
		{ echo "without tcx a device that moves loses its filters"; return 77; }
	ip link add v0 netns rcv type veth peer name v1 netns rcv || return
	at rcv observe v0 >/dev/null && in_ns rcv ip link set v0 netns snd && at snd observe v0 >/dev/null || return
	same "programs at its hooks" "$(for h in ingress egress; do in_ns snd "$tmp/tcxq" v0 $h; done | wc -l)" 2 &&
		same pins "$(find $links -name '*bigtcp_observe' | wc -l)" 10 && at snd observe v0 --off >/dev/null &&
		in_ns snd ip link del v0
}

off()
{
	local d

	at rcv observe r0 --off --dry-run -j | jq -e '.changed and .dry_run' || return
	same "after --dry-run" "$(at rcv observe r0 -j --show | jq '.observers | length')" 2 || return
	for d in r0 m6 l0; do
		at rcv observe $d --off -j | jq -e '.changed' || return
	done
	at snd observe s0 --off >/dev/null || return
	at rcv observe r0 --off -j | jq -e '.changed == false' || return
	at rcv observe r0 --show >/dev/null 2>"$tmp/err"
	same "status of --show" $? 2 || return
	same pins "$(find $links -name '*observe*')" ""
}

nothing_left()
{
	local p

	[ ${#progs[@]} -ge 2 ] || { echo "too few were there"; return 1; }
	for p in "${progs[@]}"; do
		bpftool prog show id "$p" >/dev/null 2>&1 && { echo "program $p"; return 1; }
	done
	return 0
}

command_line()
{
	local args

	for args in '--off' '--off --show r0' 'r0 s0' '--nope'; do
		# shellcheck disable=SC2086 # words
		at rcv observe $args >"$tmp/log" 2>&1
		same "status of observe $args" $? 1 || return
	done
	at rcv observe nope >"$tmp/log" 2>&1
	same "status of observe nope" $? 2
}

for f in "$OUT/objects/observe_build.bpf.o" "$OUT/objects/observe_layout.bpf.o" "$OUT/tools/ipv4size" "$OUT/tools/forge" "$OUT/tools/tcxq"; do
	cp "$f" "$tmp/" || net_die "run make tests first"
done
net_direct
net_size 185000 snd s0 rcv r0

t on "on: at both hooks, first; once more changes nothing"
t counted "jumbo packets and bytes are what was sent"
t ipv4 "IPv4"
t forged "a forged header is malformed, and passes"
t first "who runs before it is told"
t upgrade "another build, under traffic: counters go on"
t other_layout "another build that counts other things: anew"
if [ -z "${BT_OBSERVE_SHORT:-}" ]; then
	t detach_leaves_it "detach leaves it"
	t other_way "the other direction"
	t audited "audit knows it"
	t at_once "five at once"
	t many "devices share the programs"
	t gone_devices "what is of gone devices goes"
	t moved "a device that moves to another namespace"
	t command_line "command line"
else
	in_ns rcv ip link add m6 type veth peer name l0 && at rcv observe m6 >/dev/null && at rcv observe l0 >/dev/null
fi
mapfile -t progs < <(at rcv observe -j | jq ".observers[].prog_id")
t off "off"
check "no program is left" until_true nothing_left
finish
