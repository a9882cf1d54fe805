#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Twins of cgroup programs on real TCP traffic: a process in a cgroup of its own is both ends of jumbo flows; the
# programs' books are held against what was sent and received. The originals first, to show what they get
# wrong.
#   snd (s0) ---- (r0) rcv
# Prints TAP. Root. BT_BYTES: bytes of a flow; BT_SOME: the tests to run, by the names at the end.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh
# shellcheck source=selftests/net/lib_books.sh
. selftests/net/lib_books.sh

BYTES=${BT_BYTES:-40000000}
CG=$tmp/cgroup/bigtcp_traffic

# The cgroup lives on when the namespaces are gone.
trap 'rmdir "$CG" 2>/dev/null' EXIT

# on PIN egress|ingress; off egress|ingress
on()
{
	"$BIGTCP" attach "$CG" "cgroup-$2" --pinned "$PINS/$1" >"$tmp/log" 2>&1 ||
		net_die "cannot attach $1: $(cat "$tmp/log")"
}

off()
{
	"$BIGTCP" detach "$CG" "cgroup-$1" >"$tmp/log" 2>&1 || wrong+="cannot detach: $(cat "$tmp/log"); "
}

# booked NAME SELECT FIELD: sum over the entries of cga_counts whose key is as jq says
booked()
{
	book "$1" cga_counts ".value.$3" "$2"
}

# A segment is 40 bytes of IPv6 and 32 of TCP with timestamps, a SYN 8 more: what is booked under the port
# must be what was sent, to the byte.
exact()
{
	local name=$1 select=$2 bytes packets

	bytes=$(booked "$name" "$select" bytes)
	packets=$(booked "$name" "$select" packets)
	expect "bytes booked under the port, less headers" $((bytes - 72 * packets - 8)) \
		$(($(jq '.flows[0].received + .flows[0].bytes_retrans' "$tmp/run")))
	seen="$packets packets, $bytes bytes, $(jumbo_of "$name/$3") jumbo and lost"
}

acct_plain()
{
	pin_obj plain "$CORPUS/cg_acct.bpf.o" || net_die "$(cat "$tmp/log")"
	on plain/cg_acct_out egress
	send "$BYTES"
	off egress
	above "bytes booked under no protocol" "$(booked plain '.proto == 0' bytes)" $((BYTES / 2))
	seen="$(booked plain '.port == 5201' bytes) of $BYTES bytes under the port"
	result "accounting as it is books jumbo packets under no protocol and port" "$wrong"
}

acct_twin()
{
	local j l

	pin_obj acct "$CORPUS/cg_acct.bpf.o" twin || net_die "$(cat "$tmp/log")"
	on acct/cg_acct_out egress
	on acct/cg_acct_in ingress
	send "$BYTES"
	off egress
	off ingress
	read -r j l <<<"$(jumbo_of acct/cg_acct_out)"
	above "jumbo packets" "$j" 10
	expect "packets lost" "$l" 0
	expect "packets under no protocol" "$(booked acct '.proto == 0' packets)" 0
	no_bad snd rcv
	exact acct '.port == 5201 and .out == 1' cg_acct_out
	result "its twin at egress books every byte under the port" "$wrong"

	wrong=
	read -r j l <<<"$(jumbo_of acct/cg_acct_in)"
	above "jumbo packets" "$j" 10
	expect "packets lost" "$l" 0
	exact acct '.port != 5201 and .out == 0' cg_acct_in
	result "its twin at ingress too" "$wrong"
}

policy_plain()
{
	pin_obj pplain "$CORPUS/cg_policy.bpf.o" || net_die "$(cat "$tmp/log")"
	on pplain/cg_policy egress
	timeout 25 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -t 2 -d 0 >"$tmp/run" 2>&1
	off egress
	wrong=
	above "bytes refused" "$(book pplain cgp_bytes .values[].value '. == 1')" 65536
	expect "all bytes came" "$(jq '.flows[0].received == .flows[0].sent' "$tmp/run")" false
	result "the policy as it is refuses jumbo packets of a port that is allowed" "$wrong"
}

# The port of one of two flows is forbidden while they run.
policy_twin()
{
	local j l

	pin_obj policy "$CORPUS/cg_policy.bpf.o" twin || net_die "$(cat "$tmp/log")"
	on policy/cg_policy egress
	send "$BYTES"
	read -r j l <<<"$(jumbo_of policy/cg_policy)"
	above "jumbo packets" "$j" 10
	expect "packets lost" "$l" 0
	expect "bytes refused" "$(book policy cgp_bytes .values[].value '. == 1')" 0
	no_bad snd rcv
	result "its twin allows the port's jumbo packets" "$wrong"

	timeout 25 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -p 8080 -n 1000 >"$tmp/run" 2>&1
	expect "status of a connection to a port that is not allowed" $? 2
	two_flows policy/cg_policy "$PINS/policy/maps/cgp_ports" 01 00 00 00 bb 01 06 00
	off egress
	above "bytes refused" "$(book policy cgp_bytes .values[].value '. == 1')" 0
	result "and refuses those of a port that is not, while another flow goes on" "$wrong"
}

# others NAME HOOK FILE PROG...: programs that let the flow pass
others()
{
	local file hook prog j l

	while read -r file hook prog; do
		wrong=
		if ! pin_obj "$prog" "$CORPUS/$file.bpf.o" twin; then
			result "$prog: has a twin" "$(cat "$tmp/log")"
			continue
		fi
		on "$prog/$prog" "$hook"
		send "$BYTES"
		off "$hook"
		read -r j l <<<"$(jumbo_of "$prog/$prog")"
		above "jumbo packets" "$j" 10
		expect "packets lost" "$l" 0
		no_bad snd rcv
		seen="$j jumbo packets"
		result "$hook: $prog lets the flow pass" "$wrong"
	done <<-END
		cg_load_bytes egress cg_load_bytes
		cg_load_bytes ingress cg_load_field
		cg_payload egress cg_payload
		cg_subprog egress cg_subprog
		cg_extwalk egress cg_extwalk
		cg_var_ihl ingress cg_var_ihl
	END
}

need_hbh "cgroup programs on traffic"
in_cgroup "$CG"
net_direct
net_size 185000 snd s0 rcv r0
some acct_plain
some acct_twin
some policy_plain
some policy_twin
some others
finish
