#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What bigtcp is for, on live traffic, in private namespaces: BIG TCP without a program, with a firewall that
# misreads its packets, with that firewall's twin. Exit 0 only if the firewall as it is lost at least
# 90 % of the throughput, and its twin kept at least 90 %.
cd "$(dirname "$0")/.." || exit 1
export OUT="${OUT:-.output}"
OBJ=$OUT/corpus/clang-16/fw_naive.bpf.o
SIZE=185000 ROUNDS=8 LONGEST=70

if [ -z "${BT_NET_INSIDE:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "Error: the demo makes namespaces: run it as root" >&2; exit 2; }
	command -v make >/dev/null || sh selftests/deps.sh || exit 2
	make -s deps || exit 2
	# A command given in the environment is used as it is.
	[ -n "${BIGTCP:-}" ] || make -s all -j"$(nproc)" || exit 2
	make -s "$OBJ" "$OUT/tools/traffic" -j"$(nproc)" || exit 2
fi
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"

bold=$(tput bold 2>/dev/null) plain=$(tput sgr0 2>/dev/null)
[ -t 1 ] || bold='' plain=''

title()
{
	printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# median FILE: of one number a line
median()
{
	sort -g "$1" | awk '{ v[NR] = $1 } END { n = int((NR + 1) / 2); print NR % 2 ? v[n] : (v[n] + v[n + 1]) / 2 }'
}

die()
{
	echo "Error: $*" >&2
	exit 1
}

# above A B: A >= B, of numbers with decimals
above()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'
}

# attached VARIANT: the receiver's firewall: none, naive or twin.
attached()
{
	if [ "$at" != none ]; then
		in_ns rcv "$BIGTCP" detach r0 ingress >"$tmp/log" 2>&1 || die "$(cat "$tmp/log")"
	fi
	at=none
	[ "$1" = none ] && return
	in_ns rcv "$BIGTCP" attach r0 ingress --pinned "/sys/fs/bpf/$1" >"$tmp/log" 2>&1 ||
		die "$(cat "$tmp/log")"
	at=$1
}

# measure VARIANT: half a second of traffic; $gbps. Every byte is compared at the receiver.
measure()
{
	local drain=5

	attached "$1"
	# What the firewall has dropped is not waited for.
	[ "$1" = naive ] && drain=0
	timeout 30 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 0.5 -d $drain >"$tmp/run"
	case $? in
	0) ;;
	1) [ "$1" = naive ] || die "data was lost or changed ($1)" ;;
	*) die "no connection ($1)" ;;
	esac
	read -r ok gbps retrans <<<"$(jq -r '"\(.ok) \(.gbps) \(.flows[0].retrans)"' "$tmp/run")"
	[ "$ok" = true ] || die "wrong data arrived ($1)"
	echo "$gbps" >>"$tmp/$1.gbps"
	echo "$retrans" >>"$tmp/$1.retrans"
}

# round NUMBER: there and back, so that a host that gets slower or faster is nobody's fault. The firewall as
# it is leaves no doubt: a few runs of it are enough.
round()
{
	local v naive=-

	for v in none twin naive twin none; do
		if [ "$v" = naive ]; then
			[ "$1" -gt 5 ] && continue
			measure naive
			naive=$gbps
			continue
		fi
		measure $v
		echo "$gbps" >>"$tmp/$v.now"
	done
	paste "$tmp/none.now" "$tmp/twin.now" | awk -v i="$1" -v naive="$naive" -v dir="$tmp" '
		{ n += $1 / 2; t += $2 / 2 }
		END {
			if (naive != "-")
				print naive / n >>(dir "/naive.ratio")
			print t / n >>(dir "/twin.ratio")
			printf "  round %2d %10.2f %12s %10.2f\n", i, n, naive, t
		}'
	rm "$tmp/none.now" "$tmp/twin.now"
}

# Throughput on a small or busy host swings: rounds go on until the standard error of the median, from the
# width of the middle half of the ratios, is below 3 %. It looks at the spread only, not at the result.
steady()
{
	sort -g "$tmp/twin.ratio" | awk '{ v[NR] = $1 } END {
		iqr = v[NR + 1 - int((NR + 3) / 4)] - v[int((NR + 3) / 4)]
		exit !(1.25 * iqr / 1.35 / sqrt(NR) < 0.03 * v[int((NR + 1) / 2)]) }'
}

row()
{
	printf '  %-34s %8.3f %8s %12s\n' "$1" "$(median "$tmp/$2.gbps")" "$3" "$(median "$tmp/$2.retrans")"
}

net_direct
net_size $SIZE snd s0 rcv r0
at=none

title "1. The firewall: is it safe to turn BIG TCP on where it is attached?"
echo "\$ bigtcp audit --obj fw_naive.bpf.o --prog fw_naive"
"$BIGTCP" audit --obj "$OBJ" --prog fw_naive 2>&1 | sed 's/^/  /'
audit=${PIPESTATUS[0]}
[ "$audit" = 3 ] || die "the audit must find it unsafe (exit 3), and ended with $audit"

title "2. Its twin"
echo "\$ bigtcp load fw_naive.bpf.o --prog fw_naive --pin /sys/fs/bpf/twin"
"$BIGTCP" load "$OBJ" --prog fw_naive --pin /sys/fs/bpf/twin 2>&1 | sed 's/^/  /'
"$BIGTCP" load "$OBJ" --prog fw_naive --pin /sys/fs/bpf/naive --plain >"$tmp/log" 2>&1
if [ ! -e /sys/fs/bpf/twin ] || [ ! -e /sys/fs/bpf/naive ]; then
	die "the firewall could not be loaded: $(cat "$tmp/log")"
fi

title "3. Live: two namespaces, a veth pair, IPv6, gso_max_size and gro_max_size $SIZE"
echo "Gbit/s received, runs of half a second; every byte is compared."
printf '  %8s %10s %12s %10s\n' "" "no program" "firewall" "its twin"
measure none # the first connection finds neighbours and sizes; it does not count
rm "$tmp/none."*
i=0 SECONDS=0
while [ $i -lt $ROUNDS ] || { [ $SECONDS -lt $LONGEST ] && ! steady; }; do
	i=$((i + 1))
	round $i
done
attached none

naive=$(median "$tmp/naive.ratio") twin=$(median "$tmp/twin.ratio")
title "4. Medians of $i interleaved rounds"
printf '  %-34s %8s %8s %12s\n' "" "Gbit/s" "ratio" "retransmits"
row "BIG TCP, no program" none "1"
row "with the firewall as it is" naive "$(printf %.4f "$naive")"
row "with its twin" twin "$(printf %.2f "$twin")"
prog_id=$(bpftool -j prog show pinned /sys/fs/bpf/twin | jq .id)
read -r jumbo lost <<<"$(twin_state "$(twin_map "$prog_id")")"
bad=$(net_bad snd rcv)
echo "  The middle half of the twin's ratios is $(sort -g "$tmp/twin.ratio" | awk '{ v[NR] = $1 }
	END { n = int((NR + 3) / 4); printf "%.2f to %.2f", v[n], v[NR + 1 - n] }').$(
	steady || echo " The host is busy: do not trust the second digit.")"
echo "  The twin: $jumbo jumbo packets, $lost lost; counters of broken packets: ${bad:-all 0}."

title "Why it matters"
cat <<'END'
BIG TCP gives a host fewer, larger packets, but puts an 8-byte header where programs expect TCP to begin.
A program that misreads it brings a flow to a near standstill, no error counter tells, and so BIG TCP stays off.
The twin is the same program with every access moved: nobody has to find, change or even have its source.
END
echo
fail=0
above "$naive" 0.1 && { echo "FAIL: as it is, the firewall kept more than 10 %"; fail=1; }
above "$twin" 0.9 || { echo "FAIL: the twin kept less than 90 %"; fail=1; }
if [ "${lost:-1}" != 0 ] || [ "${jumbo:-0}" = 0 ] || [ -n "$bad" ]; then
	echo "FAIL: the counters"
	fail=1
fi
[ $fail = 0 ] && printf 'PASS: as it is the firewall lost %.1f %%, its twin kept %.0f %% of the throughput.\n' \
	"$(awk -v r="$naive" 'BEGIN { print 100 * (1 - r) }')" "$(awk -v r="$twin" 'BEGIN { print 100 * r }')"
exit $fail
