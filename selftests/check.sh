#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs test suites: check.sh SUITE...   (style unit fuzz pkg prog net vm)
#
# Installs and builds what they need, shows their TAP output as it comes, then lists what was
# skipped and what failed. The last line is "N passed, N failed, N skipped"; exit 1 if any failed.
# A suite that ends with an error but no failed test, that prints no test at all, or fewer than its
# plan (1..N) says, counts as one failed test.
#
# BT_SHARED_HOST=1 leaves out the last test, "leaves nothing behind", on a host where other people
# make namespaces and load BPF programs at the same time.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
export OUT="${OUT:-.output}"

die()
{
	echo "check: $*" >&2
	exit 2
}

# SUITE SECONDS COMMAND...: seconds is what a suite may take before it is stopped and failed.
suites()
{
	cat <<EOF
style 180 sh selftests/style.sh
unit 300 $OUT/tests/unit --tap -j2
fuzz 420 sh selftests/fuzz.sh
pkg 1800 bash selftests/pkg/run.sh
prog 1200 $OUT/tests/prog --tap -j2
net 2400 bash selftests/net/run.sh
vm 3000 sh selftests/vm/run.sh
EOF
}

for s in "$@"; do
	suites | grep -q "^$s " || die "no suite '$s'; there are: $(suites | sed 's/ .*//' | tr '\n' ' ')"
done
[ $# -gt 0 ] || die "usage: check.sh SUITE..., of: $(suites | sed 's/ .*//' | tr '\n' ' ')"

# Suites that touch the kernel get a mount namespace in which bpffs is there and /dev/shm can be
# written (Criterion needs it); the host's own mounts are used where they do.
if [ -z "${BT_CHECK_INSIDE:-}" ] && [ "$(id -u)" = 0 ]; then
	sh selftests/deps.sh || exit 2
	exec env BT_CHECK_INSIDE=1 unshare --mount --propagation private sh "$0" "$@"
fi
if [ "$(id -u)" = 0 ]; then
	[ "$(stat -f -c %T /sys/fs/bpf 2>/dev/null)" = bpf_fs ] || mount -t bpf bpf /sys/fs/bpf ||
		die "bpffs can't be mounted on /sys/fs/bpf"
	if ! { : >/dev/shm/.bt.$$; } 2>/dev/null; then
		mount -t tmpfs -o size=256m shm /dev/shm || die "/dev/shm can't be written"
	fi
	rm -f /dev/shm/.bt.$$
else
	case " $* " in
	*" prog "* | *" net "* | *" vm "*) die "the suites prog, net and vm need root" ;;
	esac
	sh selftests/deps.sh --check || exit 2
fi

tmp=$(mktemp -d) || die "no place for temporary files"
running=
trap '[ -z "$running" ] || kill "$running" 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
: >"$tmp/skipped"
: >"$tmp/failed"
passed=0 failed=0 skipped=0

# count FILE: "passed failed skipped missing" of a TAP stream; missing is what its plans lack.
count()
{
	awk '
	/^ok([ \t]|$)/ { if (/#[ \t]*[Ss][Kk][Ii][Pp]/) s++; else p++ }
	/^not ok([ \t]|$)/ { f++ }
	/^1\.\.[0-9]+/ { split($1, a, /\.\./); plan += a[2] }
	END { m = plan - p - f - s; print p + 0, f + 0, s + 0, (m > 0 ? m : 0) }' "$1"
}

# named RESULT: TAP lines as "SUITE: TEST", whether or not the test's own name starts like that.
named()
{
	sed -E "s/^$1 *[0-9]* *-* *($name: )?/$name: /"
}

# suite NAME SECONDS COMMAND...
suite()
{
	name=$1 limit=$2
	shift 2
	echo "# $name: $*"
	t0=$(date +%s)
	# The token in the environment finds processes that outlive the run. Such a process may hold
	# stdout open, which is why this follows a file and does not wait for the end of a pipe.
	: >"$tmp/out"
	env BT_CHECK_TOKEN="$token" timeout -k 15 "$limit" "$@" </dev/null >"$tmp/out" &
	running=$!
	tail -s 0.3 -n +1 -f --pid=$running "$tmp/out" &
	shown=$!
	wait $running
	rc=$?
	running=
	wait $shown
	secs=$(($(date +%s) - t0))
	# shellcheck disable=SC2046 # four numbers
	set -- $(count "$tmp/out")
	p=$1 f=$2 s=$3 lost=$4
	why=
	if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		why="stopped after $limit s"
	elif [ $((p + f + s)) = 0 ]; then
		why="printed no test (status $rc)"
	elif [ "$lost" != 0 ]; then
		why="$lost tests of its plan did not report (status $rc)"
	elif [ "$rc" != 0 ] && [ "$f" = 0 ]; then
		why="ended with status $rc"
	fi
	if [ -n "$why" ]; then
		echo "not ok - $name: $why"
		echo "$name: $why" >>"$tmp/failed"
		f=$((f + 1))
	fi
	grep -E '^ok.*#[[:space:]]*[Ss][Kk][Ii][Pp]' "$tmp/out" | named ok >>"$tmp/skipped"
	grep -E '^not ok' "$tmp/out" | named "not ok" >>"$tmp/failed"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	echo "$name: $p passed, $f failed, $s skipped in $secs s" | tee -a "$tmp/summary"
}

# Processes of this run that are still there: "PID NAME", one a line.
left_running()
{
	grep -lsz "^BT_CHECK_TOKEN=$token\$" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
		echo "process $pid $(cat "/proc/$pid/comm" 2>/dev/null)"
	done
}

# The kernel frees namespaces and programs a little after the last user goes.
leaves_nothing()
{
	tries=0
	while :; do
		sh selftests/residue.sh >"$tmp/after"
		left_running >"$tmp/left"
		diff "$tmp/before" "$tmp/after" >"$tmp/diff" && [ ! -s "$tmp/left" ] && return 0
		tries=$((tries + 1))
		[ $tries -lt 20 ] || return 1
		sleep 0.5
	done
}

# The closing line, kept in a file too for a caller whose own words come after it (make).
close_with()
{
	mkdir -p "$OUT" && echo "$1" >"$OUT/check.result"
	echo "$1"
}

token=bt-$$-$(date +%s)
start=$(date +%s)
# The style suite looks at sources only.
if [ "$*" != style ] && ! make -s tests -j"$(nproc)" >"$tmp/build" 2>&1; then
	cat "$tmp/build"
	echo "not ok - build: make tests"
	close_with "0 passed, 1 failed, 0 skipped"
	exit 1
fi
echo "# built in $(($(date +%s) - start)) s"
# What the runs below may not add to, or take from.
sh selftests/residue.sh >"$tmp/before"
for s in "$@"; do
	# shellcheck disable=SC2046 # a table's words
	suite $(suites | grep "^$s ")
done

if [ -n "${BT_SHARED_HOST:-}" ]; then
	echo "ok - all: leaves nothing behind # SKIP others use this host (BT_SHARED_HOST)"
	echo "all: leaves nothing behind # SKIP others use this host" >>"$tmp/skipped"
	skipped=$((skipped + 1))
elif leaves_nothing; then
	echo "ok - all: leaves nothing behind"
	passed=$((passed + 1))
else
	echo "not ok - all: leaves nothing behind"
	sed -n 's/^[<>]/# &/p' "$tmp/diff"
	sed 's/^/# > /' "$tmp/left"
	# They are this run's own, found by its token.
	sed 's/^process \([0-9]*\) .*/\1/' "$tmp/left" | xargs -r kill 2>/dev/null
	echo "all: leaves nothing behind" >>"$tmp/failed"
	failed=$((failed + 1))
fi

echo
cat "$tmp/summary"
echo "total: $(($(date +%s) - start)) s"
[ -s "$tmp/skipped" ] && echo "skipped:" && sed 's/^/  /' "$tmp/skipped"
[ -s "$tmp/failed" ] && echo "failed:" && sed 's/^/  /' "$tmp/failed"
close_with "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
