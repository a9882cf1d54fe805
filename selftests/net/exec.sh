#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp exec under real loaders: each works as it does without, and what it loads are twins.
# Prints TAP. Root. Everything happens in namespaces of its own, which go with it.
# shellcheck disable=SC2015,SC2317,SC2329 # the tests are called by name
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-.output}
BIGTCP=$(realpath "${BIGTCP:-$OUT/bigtcp}")
L=$(realpath -m "$OUT/loaders")
export BIGTCP
[ -x "$BIGTCP" ] || { echo "exec.sh: no $BIGTCP: run make first" >&2; exit 1; }

if [ -z "${BT_EXEC_INSIDE:-}" ]; then
	BT_EXEC_INSIDE=1 exec unshare --mount --net --propagation private bash "$0" "$@"
fi

make -s -C selftests/net/loaders O="$L" >&2 || exit 1
OBJ=$L/count.bpf.o
tmp=$(mktemp -d) || exit 1
# How this run's supervisors are told from others: they inherit its environment.
export BT_EXEC_TOKEN=$$-$tmp
started=
trap '[ -z "$started" ] || kill -9 $started 2>/dev/null; rm -rf "$tmp"' EXIT
# Not over the host's: what is below would count.
while umount /sys/fs/bpf 2>/dev/null; do :; done
mount -t bpf bpf /sys/fs/bpf || exit 1
ip link set lo up
. selftests/net/lib_tap.sh

# --foreground: timeout makes no process group of its own.
bt()
{
	timeout --foreground -k 5 60 "$BIGTCP" exec "$@"
}

# Supervisors of this run, by pid.
supervisors()
{
	local p

	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = bigtcp-exec ] &&
			tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "BT_EXEC_TOKEN=$BT_EXEC_TOKEN" &&
			! grep -q '^State:.*Z' "$p/status" && echo "${p#/proc/}"
	done
	return 0
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for()
{
	local i=$(($1 * 20))

	shift
	until "$@" >/dev/null 2>&1; do
		i=$((i - 1))
		[ $i -gt 0 ] || { echo "waited in vain: $*"; return 1; }
		sleep 0.05
	done
}

no_supervisor()
{
	[ -z "$(supervisors)" ]
}

# status WANT COMMAND...
status()
{
	local want=$1 got

	shift
	"$@"
	got=$?
	[ $got = "$want" ] || { echo "status $got, not $want: $*"; return 1; }
}

# is_twin PIN-OR-ID: does the program use the twin's own map?
is_twin()
{
	local ids id

	ids=$(bpftool -j prog show "$@" | jq -r '.map_ids[]?') || return 1
	for id in $ids; do
		[ "$(bpftool -j map show id "$id" | jq -r .name)" = bigtcp_twin ] && return 0
	done
	echo "no twin: prog $*"
	return 1
}

# all_twins REPORT COUNT: so many tc programs, all of them twins
all_twins()
{
	local got

	got=$(jq -s '[.[] | select(.type == "sched_cls")] | "\(map(select(.status == "twin" and .loaded)) | length) of \(length)"' \
		-r "$1") || return 1
	[ "$got" = "$2 of $2" ] || { echo "twins: $got, not $2 of $2"; head -n 5 "$1"; return 1; }
}

# --- loaders -------------------------------------------------------------------------------------
bpftool_loadall()
{
	local d=/sys/fs/bpf/loadall

	bt --report "$tmp/r" -- bpftool prog loadall "$OBJ" $d || return 1
	all_twins "$tmp/r" 1 && is_twin pinned $d/count
}

tc_legacy()
{
	local id seen

	ip link add t0 type veth peer name t1 || return 1
	tc qdisc add dev t0 clsact || return 1
	bt --report "$tmp/r" -- tc filter add dev t0 ingress bpf da obj "$OBJ" sec tc || return 1
	id=$(tc -j filter show dev t0 ingress | jq '.[].options.prog.id // empty')
	all_twins "$tmp/r" 1 && is_twin id "$id" || return 1
	ip link set t0 up && ip link set t1 up
	# IPv6 on t1 starts with neighbour discovery, so packets come by themselves.
	seen=$(bpftool -j prog show id "$id" | jq -r '.map_ids[]' | while read -r m; do
		[ "$(bpftool -j map show id "$m" | jq -r .name)" = seen ] && echo "$m"
	done)
	wait_for 10 counted "$seen"
	local ret=$?
	ip link del t0
	return $ret
}

counted()
{
	[ "$(bpftool -j map dump id "$1" | jq '[.[].formatted.value] | add')" -gt 0 ]
}

plain_loader()
{
	bt --report "$tmp/r" -- "$L/plain" "$OBJ" && all_twins "$tmp/r" 1
}

skeleton_threads()
{
	bt --report "$tmp/r" -- "$L/skel" 8 4 && all_twins "$tmp/r" 32
}

go_loader()
{
	bt --report "$tmp/r" -- "$L/goloader" "$OBJ" 8 && all_twins "$tmp/r" 8
}

raw_loader()
{
	bt --report "$tmp/r" -- "$L/raw" one && all_twins "$tmp/r" 1
}

raw_index()
{
	bt --report "$tmp/r" -- "$L/raw" index && all_twins "$tmp/r" 1
}

raw_threads()
{
	bt --report "$tmp/r" -- "$L/raw" threads 8 25 && all_twins "$tmp/r" 200
}

raw_compat()
{
	bt --report "$tmp/r" -- "$L/raw" compat
	case $? in
	0) all_twins "$tmp/r" 1 ;;
	77) echo "this kernel has no 32-bit system calls"; return 77 ;;
	*) return 1 ;;
	esac
}

raw_signals()
{
	bt --report "$tmp/r" -- "$L/raw" signals && all_twins "$tmp/r" 20
}

children()
{
	bt --report "$tmp/r" -- sh -c "'$L/raw' one && ('$L/raw' one & wait \$!) && env -i '$L/plain' '$OBJ'" &&
		all_twins "$tmp/r" 3
}

# Standard files, report, /proc, the command's pidfd, the listener: what it holds when nothing loads.
SUPERVISOR_FDS=7

supervisor_fds()
{
	local sup got

	sup=$(supervisors)
	[ -n "$sup" ] || { echo "no supervisor"; return 1; }
	got=$(find "/proc/$sup/fd" -mindepth 1 | wc -l)
	[ "$got" = $SUPERVISOR_FDS ] || { echo "it holds $got descriptors"; ls -l "/proc/$sup/fd"; return 1; }
}

two_hundred()
{
	local held ret

	rm -f "$tmp/fifo"
	mkfifo "$tmp/fifo" || return 1
	WAIT=1 "$BIGTCP" exec --report "$tmp/r" -- "$L/raw" many 200 <"$tmp/fifo" >"$tmp/w" &
	started=$!
	exec 8>"$tmp/fifo"
	wait_for 60 grep -q ready "$tmp/w" && supervisor_fds
	held=$?
	exec 8>&-
	wait $started
	ret=$?
	started=
	[ $ret = 0 ] && [ $held = 0 ] && all_twins "$tmp/r" 200
}

big_enough()
{
	[ "$(wc -c <"$1")" -ge "$2" ]
}

killed()
{
	local pid ret=0

	rm -f "$tmp/w" "$tmp/on"
	# The shell stays under the same supervisor: what the killed loader left in it would be seen.
	"$BIGTCP" exec --report "$tmp/r" -- sh -c "'$L/raw' forever >'$tmp/w' & echo \$! >'$tmp/pid'
		wait; '$L/raw' one && echo went on >'$tmp/on'; exec sleep 60" &
	started=$!
	wait_for 20 big_enough "$tmp/w" 20 || ret=1
	pid=$(cat "$tmp/pid")
	kill -9 "$pid" || ret=1
	wait_for 20 test -s "$tmp/on" && supervisor_fds || ret=1
	kill $started
	wait $started 2>/dev/null
	started=
	wait_for 5 no_supervisor && wait_for 5 no_prog raw_counter && return $ret
}

no_prog()
{
	! bpftool prog show | grep -q "name $1 "
}

# --- the same answers ----------------------------------------------------------------------------
# same MODE: the raw loader says the same with and without a supervisor
same()
{
	"$L/raw" "$1" >"$tmp/a" 2>&1 || return 1
	bt --report "$tmp/r" -- "$L/raw" "$1" >"$tmp/b" 2>&1 || return 1
	diff "$tmp/a" "$tmp/b"
}

same_args()
{
	same args
}

same_emfile()
{
	same emfile
}

# Addresses and sizes in a twin's log differ; errors, the answer to a small buffer and the last
# lines, which are what a loader shows, must not.
same_log()
{
	same log
}

no_caps()
{
	# As nobody: the supervisor is root, but what it loads for others is loaded with their rights.
	status 2 setpriv --reuid 65534 --clear-groups "$L/raw" one || return 1
	status 2 bt --report "$tmp/r" -- setpriv --reuid 65534 --clear-groups "$L/raw" one || return 1
	[ "$(jq -r .errno "$tmp/r" | sort -u)" = 1 ] || { cat "$tmp/r"; return 1; }
	# With the rights that a twin takes it is one.
	bt --report "$tmp/r" -- setpriv --reuid 65534 --clear-groups --inh-caps +bpf,+net_admin,+perfmon \
		--ambient-caps +bpf,+net_admin,+perfmon "$L/plain" "$OBJ" &&
		all_twins "$tmp/r" 1
}

# The verifier is stricter without CAP_PERFMON. Whether it takes the twin or not, it is the
# loader's rights that count and not the supervisor's: no twin for want of it must be said so.
no_perfmon()
{
	bt --report "$tmp/r" -- setpriv --reuid 65534 --clear-groups --inh-caps +bpf,+net_admin \
		--ambient-caps +bpf,+net_admin "$L/plain" "$OBJ" || return 1
	all_twins "$tmp/r" 1 ||
		jq -e 'select(.prog_name == "count" and .loaded and (.reason | contains("CAP_PERFMON")))' "$tmp/r"
}

userns()
{
	unshare -U true 2>/dev/null || { echo "no user namespaces here"; return 77; }
	status 2 unshare -Ur "$L/raw" one && status 2 bt -- unshare -Ur "$L/raw" one
}

pid_namespace()
{
	bt --report "$tmp/r" -- unshare -pf --mount-proc "$L/raw" threads 4 4 && all_twins "$tmp/r" 16
}

# --- refusals ------------------------------------------------------------------------------------
refused_plain()
{
	bt --refused=plain -- "$L/raw" refused 2>"$tmp/err" || return 1
	cat "$tmp/err"
	[ "$(grep -c "proto_change is loaded without a twin: .*skb_change_proto" "$tmp/err")" = 1 ]
}

refused_fail()
{
	status 95 bt --refused=fail -- "$L/raw" refused 2>"$tmp/err"
	local ret=$?
	cat "$tmp/err"
	[ $ret = 0 ] && grep -q "proto_change is not loaded: .*skb_change_proto" "$tmp/err"
}

refused_report()
{
	bt --report "$tmp/r" -- "$L/raw" refused 2>"$tmp/err" || return 1
	cat "$tmp/r" "$tmp/err"
	[ ! -s "$tmp/err" ] || return 1
	jq -e 'select(.prog_name == "proto_change" and .status == "refused" and .why == "helper" and .loaded
		and .insns == 5 and .comm == "raw" and (.reason | length > 0) and .pid > 0)' "$tmp/r"
}

light_skeleton()
{
	bt -- "$L/raw" syscall 2>"$tmp/err" || return 1
	grep -q 'light skeleton' "$tmp/err"
}

# --- the process it runs -------------------------------------------------------------------------
statuses()
{
	status 0 bt -- true && status 42 bt -- sh -c 'exit 42' &&
		status 127 bt -- /nosuch && status 127 bt -- nosuch-in-path &&
		status 126 bt -- /etc/passwd && status 137 sh -c "'$BIGTCP' exec -- sh -c 'kill -9 \$\$'" &&
		status 2 bt --report /nosuch/r -- touch "$tmp/ran" && [ ! -e "$tmp/ran" ] &&
		status 1 bt && status 1 bt --refused=maybe -- true &&
		status 2 bt -- "$BIGTCP" exec -- true
}

arguments()
{
	[ "$(bt -- printf '%s|' -x --report 'a b' --)" = '-x|--report|a b|--|' ] &&
		[ "$(bt printf '%s|' -j --refused)" = '-j|--refused|' ]
}

# It takes our place: same pid, same group, our parent's child; and finds no child of its own.
in_place()
{
	# shellcheck disable=SC2016 # the command's shell expands it
	"$BIGTCP" exec -- sh -c 'echo $$ $(cut -d" " -f5 /proc/$$/stat); cat /proc/$$/task/*/children' >"$tmp/w" &
	local pid=$! got group children

	wait $pid || return 1
	{ read -r got group && read -r children; } <"$tmp/w"
	# cat itself is the one child it has.
	[ "$got" = $pid ] && [ "$group" = "$(cut -d' ' -f5 /proc/$$/stat)" ] &&
		[ "$(echo "$children" | wc -w)" = 1 ]
}

signals()
{
	local sig pid want

	for sig in TERM INT HUP USR1 QUIT; do
		# Background children of a shell ignore INT and QUIT; env puts them back.
		env --default-signal=INT,QUIT "$BIGTCP" exec -- sleep 30 &
		pid=$!
		wait_for 5 grep -q sleep /proc/$pid/comm || return 1
		kill -$sig $pid
		wait $pid 2>/dev/null
		want=$?
		[ $want = $((128 + $(kill -l $sig))) ] || { echo "SIG$sig: status $want"; return 1; }
	done
	# Stopped and continued like any job.
	"$BIGTCP" exec -- sleep 0.3 &
	pid=$!
	kill -STOP $pid
	wait_for 5 grep -q '^State:.*T' /proc/$pid/status && kill -CONT $pid && wait $pid
}

closed_files()
{
	bt --report "$tmp/r" -- "$L/raw" one <&- >&- 2>&- && all_twins "$tmp/r" 1 &&
		bt -- sh -c 'ls -l /proc/self/fd/0' <&- 2>&1 | grep -q 'cannot access'
}

# What a command leaves running goes on being supervised, and nobody who reads our output waits for it.
left_behind()
{
	local out

	rm -f "$tmp/late"
	out=$(bt --report "$tmp/r" -- "$L/raw" daemon "$tmp/late" 2>&1) || return 1
	[ -z "$out" ] && [ ! -e "$tmp/late" ] || { echo "waited for it: $out"; return 1; }
	wait_for 10 grep -q loaded "$tmp/late" && all_twins "$tmp/r" 1
}

report_is_there()
{
	# Read by the loader's own next step: the line is written before the load returns.
	local out

	out=$(bt --report "$tmp/r" -- sh -c "for i in 1 2 3; do '$L/raw' one; wc -l <'$tmp/r'; done" | xargs)
	[ "$out" = "1 2 3" ] || { echo "lines: $out"; return 1; }
	jq -e . "$tmp/r" >/dev/null
}

report_disk_full()
{
	mkdir -p "$tmp/small" && mount -t tmpfs -o size=8k none "$tmp/small" || return 1
	bt --report "$tmp/small/r" -- "$L/raw" many 40 2>"$tmp/err"
	local ret=$?

	jq -e . "$tmp/small/r" >/dev/null || ret=1 # whole lines only
	# Lazily: the supervisor may have the report open for a moment more.
	umount -l "$tmp/small"
	cat "$tmp/err"
	[ $ret = 0 ] && [ "$(grep -c 'report is not complete' "$tmp/err")" = 1 ]
}

no_supervisor_left()
{
	wait_for 5 no_supervisor
}

# --- cost ----------------------------------------------------------------------------------------
# Interleaved pairs, medians: the host is shared.
median()
{
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

cost()
{
	local i a b c d

	: >"$tmp/a" && : >"$tmp/b" && : >"$tmp/c" && : >"$tmp/d"
	for i in 1 2 3 4 5; do
		"$L/raw" time 60 >>"$tmp/a" && bt --report "$tmp/r" -- "$L/raw" time 60 >>"$tmp/b" || return 1
		"$L/raw" calls 200000 >>"$tmp/c" && bt -- "$L/raw" calls 200000 >>"$tmp/d" || return 1
	done
	a=$(median <"$tmp/a") b=$(median <"$tmp/b") c=$(median <"$tmp/c") d=$(median <"$tmp/d")
	echo "# a load of 11 instructions: $((a / 1000)) us alone, $((b / 1000)) us supervised: $(((b - a) / 1000)) us added"
	echo "# of these, medians: $(jq .total_ns "$tmp/r" | median | awk '{ print int($1 / 1000) }') us in the supervisor," \
		"$(jq .ns "$tmp/r" | median | awk '{ print int($1 / 1000) }') us of them to make and load the twin"
	echo "# another system call: $c ns alone, $d ns supervised"
	# A load may cost milliseconds; other calls nothing that two runs on a shared host do not differ by.
	[ $((b - a)) -lt 20000000 ] && [ $((d * 10)) -lt $((c * 20)) ]
}

t bpftool_loadall "bpftool prog loadall"
t tc_legacy "tc filter add ... bpf da obj: loaded, attached, counting"
t plain_loader "a libbpf loader without a skeleton"
t skeleton_threads "a skeleton loader, 8 threads at once"
t go_loader "a Go loader on cilium/ebpf, 8 threads at once"
t raw_loader "a loader that builds its program and map by hand"
t raw_index "maps named through fd_array, whose other slots are garbage"
t raw_threads "200 loads from 8 threads"
t raw_compat "a load by the 32-bit system call"
t raw_signals "loads under a storm of signals go through, once each"
t children "children, background jobs and what they execute are followed"
t two_hundred "200 programs; the supervisor keeps no descriptor of them"
t killed "a loader killed half-way leaves nothing behind, the next one works"
t same_args "broken arguments get the kernel's errors"
t same_emfile "no descriptor left is EMFILE, and one left is used"
t same_log "the verifier's log, small buffers and its true size are as without"
t no_caps "a load is allowed to whom the kernel allows it"
t no_perfmon "a loader without CAP_PERFMON: a twin, or the capability is named"
t userns "a process of another user namespace gets no help"
t pid_namespace "loaders in a pid namespace, with threads"
t refused_plain "--refused=plain: loaded, and said in one sentence"
t refused_fail "--refused=fail: the load fails, and why"
t refused_report "the report names program, helper and reason; stderr is silent"
t light_skeleton "a light skeleton's loader program is pointed out"
t statuses "exit statuses, before and after the command starts"
t arguments "the command's own options are left alone"
t in_place "the command has our pid and our process group"
t signals "signals, stop and continue reach the command"
t closed_files "closed standard files stay closed and harm nothing"
t left_behind "what the command leaves running is supervised, nobody waits for it"
t report_is_there "a line of the report is there when its load returns"
t report_disk_full "a full disk is said once; the report has whole lines"
t no_supervisor_left "no supervisor is left"
t cost "cost of a load and of other calls"
finish
