# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bigtcp exec on this kernel: seccomp notification, fds handed over, threads, other people's loaders.
. selftests/vm/guest.sh

bigtcp=.output/bigtcp
obj=.output/loaders/count.bpf.o

# twins N COMMAND...: it runs under exec, ends well, and all of its N tc programs are twins.
twins()
{
	local want=$1 got

	shift
	rm -f "$tmp/report"
	timeout -k 5 120 "$bigtcp" exec --report "$tmp/report" -- "$@" || return 1
	got=$(jq -rs '[.[] | select(.type == "sched_cls")] |
		"\(map(select(.status == "twin" and .loaded)) | length) of \(length)"' "$tmp/report")
	[ "$got" = "$want of $want" ] || { echo "twins: $got, not $want of $want"; cat "$tmp/report"; return 1; }
}

status_passes()
{
	timeout 60 "$bigtcp" exec -- sh -c 'exit 7'
	[ $? = 7 ]
}

no_supervisor()
{
	local i

	for i in 1 2 3 4 5 6 7 8 9 10; do
		grep -qs bigtcp-exec /proc/[0-9]*/comm || return 0
		sleep 0.5
	done
	echo "still there after $i tries"
	return 1
}

refused()
{
	timeout 60 "$bigtcp" exec --refused=fail --report "$tmp/report" -- bpftool prog load \
		.output/corpus/clang-16/adj_room.bpf.o /sys/fs/bpf/refused && return 1
	jq -e 'select(.why == "helper")' "$tmp/report"
}

ip link add x0 type veth peer name x1 || exit 1
tc qdisc add dev x0 clsact || exit 1
try "exec: bpftool prog load" twins 1 bpftool prog load "$obj" /sys/fs/bpf/count
try "exec: tc" twins 1 tc filter add dev x0 ingress bpf da obj "$obj" sec tc
try "exec: a libbpf loader" twins 1 .output/loaders/plain "$obj"
try "exec: a skeleton, 4 threads" twins 8 .output/loaders/skel 4 2
try "exec: instructions by hand, 4 threads" twins 20 .output/loaders/raw threads 4 5
try "exec: a Go loader" twins 2 .output/loaders/goloader "$obj" 2
try "exec: the exit status passes through" status_passes
try "exec: what has no twin is refused" refused
try "exec: no supervisor is left" no_supervisor
ip link del x0
rm /sys/fs/bpf/count
finish
