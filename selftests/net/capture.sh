#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins that hand packets on: a capture into a perf event array, and copies for a mirror. Both get the packet
# as it is on the host, jumbo header in its place, while the program itself sees none.
#   snd (s0) ---- (r0) rcv (m0) ---- (m1) mir
# Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh

BYTES=40000000

# start_reader NAME: what capture writes, to $tmp/samples
start_reader()
{
	"$tmp/perfread" -t 40 "$PINS/$1/maps/events" >"$tmp/samples" 2>"$tmp/reader" &
	reader=$!
	for _ in $(seq 50); do
		grep -q ready "$tmp/reader" && return
		sleep 0.1
	done
	net_die "perfread: $(cat "$tmp/reader")"
}

# The sample: struct capture_hdr of the corpus's capture, then the packet's first bytes. Prints what is wrong
# with it, then "JUMBO PLAIN", the numbers of samples.
check_samples()
{
	awk '
	# the number at byte o of hexadecimal digits s; little end first, or big
	function digit(c) { return index("0123456789abcdef", c) - 1 }
	function byte(s, o) { return digit(substr(s, 2 * o + 1, 1)) * 16 + digit(substr(s, 2 * o + 2, 1)) }
	function le(s, o, n,  v, i) { for (i = n - 1; i >= 0; i--) v = v * 256 + byte(s, o + i); return v }
	function be(s, o, n,  v, i) { for (i = 0; i < n; i++) v = v * 256 + byte(s, o + i); return v }
	function wrong(what) { if (bad++ < 5) print "sample " NR ": " what }
	{
		len = le($0, 12, 4); caplen = le($0, 16, 4); l4 = le($0, 20, 2)
		sport = le($0, 22, 2); dport = le($0, 24, 2); proto = byte($0, 26)
		p = substr($0, 2 * 32 + 1)
		if (length($0) / 2 < 32 + caplen) wrong("cut off")
		if (substr(p, 25, 4) != "86dd") { wrong("no Ethernet header: " substr(p, 1, 40)); next }
		if (byte(p, 14) < 96 || byte(p, 14) > 111) wrong("no IPv6 header")
		# as without a jumbo header
		if (l4 != 54) wrong("l4_off is " l4)
		if (proto != 6) wrong("proto is " proto)
		if (sport != 5201 && dport != 5201) wrong("ports " sport " and " dport)
		tcp = 54
		if (len > 65536) {
			jumbo++
			if (substr(p, 2 * 54 + 1, 8) != "0600c204") wrong("bytes at 54: " substr(p, 2 * 54 + 1, 16))
			if (be(p, 18, 2) || byte(p, 20)) wrong("payload_len or nexthdr is not 0")
			if (be(p, 58, 4) != len + 8 - 54) wrong("jumbo length " be(p, 58, 4) " of " len)
			if (caplen != 256) wrong("caplen is " caplen)
			tcp = 62
		} else {
			plain++
			if (be(p, 18, 2) != len - 54 || byte(p, 20) != 6) wrong("payload_len or nexthdr")
		}
		if (be(p, tcp, 2) != sport || be(p, tcp + 2, 2) != dport)
			wrong("ports in the packet: " be(p, tcp, 2) " and " be(p, tcp + 2, 2))
	}
	END {
		if (bad > 5) print bad " wrong in all"
		print "=", jumbo + 0, plain + 0
	}' "$tmp/samples"
}

# matched NAME: packets that the program has counted and written
matched()
{
	bpftool -j map dump pinned "$PINS/$1/maps/stats" | jq '.[] | select(.formatted.key == 1).formatted.value'
}

# capture_at NS DEV HOOK
capture_at()
{
	local out before lost jumbo0 jumbo plain lost0 lostn

	read -r jumbo0 lost0 <<<"$(jumbo_of capture/capture)"
	before=$(matched capture)
	start_reader capture
	hook_on "$1" "$2" "$3" capture/capture
	send $BYTES
	hook_off "$1" "$2" "$3"
	kill "$reader"
	wait "$reader"
	out=$(check_samples)
	wrong+=$(grep -v '^=' <<<"$out")
	read -r _ jumbo plain <<<"$(grep '^=' <<<"$out")"
	read -r out lostn <<<"$(jumbo_of capture/capture)"
	lost=$(sed -n 's/.* samples, \([0-9]*\) lost/\1/p' "$tmp/reader")
	above "jumbo packets captured" "$jumbo" 10
	above "plain packets captured" "$plain" 0
	# Every packet that the program wrote, and none more; a ring may be full at times.
	expect "samples, and those lost" $((jumbo + plain + lost)) $(($(matched capture) - before))
	[ "$lost" != 0 ] || expect "jumbo packets captured" "$jumbo" $((out - jumbo0))
	expect "packets the twin lost" $((lostn - lost0)) 0
	no_bad snd rcv
	seen="$jumbo jumbo and $plain other packets captured, $lost lost by the ring; $(jq .gbps "$tmp/run") Gbit/s"
	result "capture, $3: the packet as it is, the header fields as without jumbo header" "$wrong"
}

# observed FIELD: at the mirror
observed()
{
	bpftool -j map dump pinned "$PINS/observe/maps/observe_stats" |
		jq "[.[].formatted.values[].value.$1] | add // 0"
}

# mirrored FIELD: of the port that the program mirrors
mirrored()
{
	bpftool -j map dump pinned "$PINS/mirror/maps/mirrors" |
		jq ".[] | select(.formatted.key == 5201).formatted.value.$1"
}

# le32 N: its bytes as bpftool takes them
le32()
{
	echo $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255))
}

mirror_account()
{
	echo "$(observed jumbo_hbh) $(observed malformed) $(observed packets) $(mirrored packets)" \
		"$(mirrored errors) $(jumbo_of mirror/clone_redir)"
}

# mirror_at HOOK, of the receiver
mirror_at()
{
	local a b i d=()

	read -r -a a <<<"$(mirror_account)"
	hook_on rcv r0 "$1" mirror/clone_redir
	send $BYTES
	hook_off rcv r0 "$1"
	read -r -a b <<<"$(mirror_account)"
	for i in "${!b[@]}"; do
		d+=($((b[i] - a[i])))
	done
	above "jumbo packets at the mirror" "${d[0]}" 10
	expect "malformed packets there" "${d[1]}" 0
	expect "packets that could not be mirrored" "${d[4]}" 0
	expect "jumbo packets there" "${d[0]}" "${d[5]}"
	[ "${d[2]}" -ge "${d[3]}" ] || wrong+="${d[2]} packets at the mirror, of ${d[3]}; "
	expect "packets the twin lost" "${d[6]}" 0
	no_bad snd rcv
	seen="${d[0]} jumbo packets, ${d[3]} in all; $(jq .gbps "$tmp/run") Gbit/s"
	result "clone_redirect, $1: jumbo packets come whole to the mirror, the traffic goes on" "$wrong"
}

need_hbh "captures of jumbo packets"
cp "$OUT/tools/perfread" "$tmp/" || net_die "run make tests first"
net_direct
net_ns mir
net_veth rcv m0 mir m1
net_size 185000 snd s0 rcv r0 rcv m0 mir m1
pin_obj observe "$OUT/bpf/observe.bpf.o" || net_die "$(cat "$tmp/log")"
pin_obj capture "$CORPUS/capture.bpf.o" twin
result "the twin of capture loads" "$([ -n "$(twin_map "$(prog_id capture/capture)")" ] || echo "it is none: $(cat "$tmp/log")")"
capture_at rcv r0 ingress
capture_at snd s0 egress

pin_obj mirror "$CORPUS/clone_redir.bpf.o" twin
result "the twin of clone_redir loads" "$([ -n "$(twin_map "$(prog_id mirror/clone_redir)")" ] || echo "it is none: $(cat "$tmp/log")")"
# shellcheck disable=SC2046 # four numbers
bpftool map update pinned "$PINS/mirror/maps/analyser" key 0 0 0 0 \
	value $(le32 "$(in_ns rcv cat /proc/net/dev_snmp6/m0 | awk '$1 == "ifIndex" { print $2 }')")
hook_on mir m1 ingress observe/observe
mirror_at ingress
finish
