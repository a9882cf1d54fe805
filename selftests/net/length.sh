#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins that answer the length (--length) where the kernel leaves 0: IPv4 BIG TCP, which has no header, and
# IPv6's jumbo packets, on real TCP traffic.
#   snd (s0) ---- (r0: the program) rcv
# Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh

BYTES=20000000
LENGTH=65000

# attach PROG [OPTION...]: a program of the corpus at the receiver
attach()
{
	in_ns rcv "$BIGTCP" attach r0 ingress "$CORPUS/trust_len.bpf.o" --prog "$1" "${@:2}" \
		>"$tmp/log" 2>&1 || net_die "$(cat "$tmp/log")"
	id=$(bpftool -j prog show | jq "last(.[] | select(.name == \"$1\")).id")
	map=$(twin_map "$id")
}

detach()
{
	in_ns rcv "$BIGTCP" detach r0 ingress >/dev/null
}

# traffic ADDRESS
traffic()
{
	timeout 25 "$TRAFFIC" -c snd -s rcv -a "$1" -t "${2:-15}" -n $BYTES >"$tmp/run" 2>"$tmp/err"
}

# suffers ADDRESS: the program as it is lets no jumbo packet through: the flow comes to a crawl.
suffers()
{
	local bad

	attach trust_len --plain
	traffic "$1" 2
	bad=$(bpftool -j map dump name bad_len | jq '[.[0].formatted.values[].value] | add')
	detach
	wrong=
	above "packets that the original dropped" "$bad" 3
}

# passes ADDRESS
passes()
{
	local jumbo lost

	attach trust_len --length $LENGTH
	traffic "$1" || wrong="no traffic: $(cat "$tmp/err"); "
	read -r jumbo lost <<<"$(twin_state "$map")"
	seen="$jumbo jumbo packets; $(jq .gbps "$tmp/run") Gbit/s"
	detach
	wrong=
	above "jumbo packets that the twin saw" "$jumbo" 10
	expect "packets lost" "$lost" 0
	expect "bytes that came" "$(jq '.flows[0].received' "$tmp/run")" $BYTES
}

# books ADDRESS HEADER: every jumbo packet counts as LENGTH less the IP header that the field includes.
books()
{
	local sum packets jumbo

	attach trust_acct --length $LENGTH
	traffic "$1" || wrong="no traffic: $(cat "$tmp/err"); "
	read -r jumbo _ <<<"$(twin_state "$map")"
	read -r packets sum <<<"$(bpftool -j map dump name port_bytes |
		jq -r '[.[].formatted | select(.key == 5201).value] | "\(.[0].packets) \(.[0].bytes)"')"
	seen="$packets packets, $jumbo of them jumbo, $sum bytes booked"
	detach
	wrong=
	above "jumbo packets that the twin saw" "$jumbo" 10
	above "bytes booked" "$sum" $((jumbo * (LENGTH - $2) - 1))
	[ "$sum" -lt $((jumbo * (LENGTH - $2) + (packets - jumbo) * 65536)) ] ||
		wrong+="$sum bytes booked for $packets packets, $jumbo of them jumbo; "
}

net_direct
net_size 185000 snd s0 rcv r0
cp "$OUT/tools/ipv4size" "$tmp/" || net_die "run make tests first"
if in_ns snd "$tmp/ipv4size" s0 185000 2>"$tmp/err" && in_ns rcv "$tmp/ipv4size" r0 185000; then
	suffers "$SERVER4"
	result "IPv4: the original drops what has a length of 0" "$wrong"
	passes "$SERVER4"
	result "IPv4: with --length it does not" "$wrong"
	books "$SERVER4" 20
	result "IPv4: a jumbo packet is booked with that length" "$wrong"
else
	skip "IPv4 BIG TCP" "no gso_ipv4_max_size (Linux 6.3)"
fi
suffers "$SERVER"
result "IPv6: the original drops what has a length of 0" "$wrong"
passes "$SERVER"
result "IPv6: with --length it does not" "$wrong"
books "$SERVER" 0
result "IPv6: a jumbo packet is booked with that length" "$wrong"

wrong=
out=$("$BIGTCP" load "$CORPUS/correct.bpf.o" --pin "$PINS/no" --length $LENGTH -j)
rc=$?
expect "exit status" $rc 3
expect "reason" "$(jq -r '.programs[0].why' <<<"$out")" offset
[ -n "$(jq -r '.programs[0].source // ""' <<<"$out")" ] || wrong+="no source line; "
[ ! -e "$PINS/no" ] || wrong+="something is pinned; "
result "what can't be made so is refused, with its line" "$wrong"
finish
