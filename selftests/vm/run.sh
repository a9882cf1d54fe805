#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# run.sh [KERNEL...]: runs guest.d/*.sh under Debian's cloud kernels (6.1 and 6.12 unless named) in
# QEMU, and shows their TAP lines with the kernel in front of the name. A guest that panics or hangs
# gives a failed test with the last lines of its console.
#   BT_VM_ONLY   pattern of guest scripts to run, such as '30-*'
#   BT_VM_LIMIT  seconds a guest may take (2900)
#   BT_VM_ACCEL  QEMU accelerator (tcg,thread=multi); kvm where it is known to work
#   BT_VM_ENV    more NAME=VALUE words for the guest's environment
#   BT_VM_COMMANDS  more of this host's commands for the guest, such as strace
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

limit=${BT_VM_LIMIT:-2900}
accel=${BT_VM_ACCEL:-tcg,thread=multi}
# 5-level page tables only make emulation slower.
case $accel in
kvm*) cpu=host ;;
*) cpu=max,la57=off ;;
esac

work=$(mktemp -d) || exit 1
guests=
# shellcheck disable=SC2086 # a list of process ids
trap '[ -z "$guests" ] || kill $guests 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# start KERNEL: a guest, in a shell of its own. Its second serial port is stdout.
start()
{
	dir=$(sh selftests/vm/kernel.sh "$1") && cat "$work/base.cpio" "$dir/modules.cpio" \
		>"$work/$1.cpio" || exit 1
	# Words with = that the kernel does not know become init's environment.
	# The emulator, with a thread for each processor, now and then trips over code that the kernel patches
	# while it boots: a guest that has not come to a script gets a second try.
	for try in 1 2; do
		timeout -k 5 "$limit" qemu-system-x86_64 -accel "$accel" -cpu "$cpu" -smp 2 -m 1500M \
			-nodefaults -no-user-config -display none -no-reboot \
			-serial "file:$work/$1.console" -chardev stdio,id=tap,signal=off -serial chardev:tap \
			-kernel "$dir/vmlinuz" -initrd "$work/$1.cpio" -append "console=ttyS0 quiet panic=-1 \
mitigations=off nokaslr nowatchdog no_timer_check tsc=reliable cryptomgr.notests BT_ONLY=${BT_VM_ONLY:-*} \
${BT_VM_ENV:-}" </dev/null &
		qemu=$!
		trap 'kill $qemu' TERM
		wait $qemu
		rc=$?
		grep -q '^@begin' "$work/$1.out" && break
		echo "# try $try did not boot"
	done
	exit "$rc"
}

# show KERNEL PID: what the guest says while it runs, then, as lines that start with @, how it ended.
show()
{
	echo "@kernel $1"
	tail -s 0.3 -n +1 -f --pid="$2" "$work/$1.out" &
	shown=$!
	wait "$2"
	rc=$?
	wait $shown
	why="qemu ended with status $rc $(tail -n 1 "$work/$1.err")"
	[ $rc = 124 ] && why="stopped after $limit s"
	[ $rc = 0 ] && why="it restarted or was switched off"
	echo
	echo "@lost $why"
	tail -n 25 "$work/$1.console" 2>/dev/null | tr -d '\r' | cut -c1-200 | sed 's/^/@console /'
	grep -aE 'Kernel panic|BUG: |WARNING: CPU|Oops|general protection|unable to handle' \
		"$work/$1.console" 2>/dev/null | tr -d '\r' | head -n 5 | sed 's/^/@oops /'
	echo "@off"
}

# From the guests' lines to one TAP stream.
tap()
{
	awk '
	function result(good, name) {
		print (good ? "ok " : "not ok ") ++n " - " k ": " name
		if (!good)
			failed = 1
		fflush()
	}
	{ sub(/\r$/, "") }
	$1 == "@kernel" { k = $2; script = ""; done = lost = 0; oops = ""; next }
	$1 == "@begin" { script = $2; seen = bad = plan = 0; next }
	$1 == "@end" && $2 == script {
		if ($3 == 124 || $3 == 137)
			result(0, script " was stopped after " $4 " s")
		else if ($3 != 0 && !bad)
			result(0, script " ended with status " $3)
		else if (!seen || seen < plan)
			result(0, script " showed " seen " tests of " (plan ? plan : "any"))
		print "# " k ": " script " took " $4 " s"
		script = ""
		next
	}
	$1 == "@done" { done = 1; next }
	# Only now is it known whether the guest ended where it should.
	$1 == "@lost" {
		lost = !done
		if (lost) {
			sub(/^@lost /, "")
			result(0, (script ? script : "boot") ": the guest did not finish: " $0)
		}
		next
	}
	$1 == "@console" { if (lost) print "# " substr($0, 10); next }
	$1 == "@oops" { oops = oops "\n# " substr($0, 7); next }
	$1 == "@off" {
		result(oops == "", "the kernel warned of nothing")
		if (oops != "")
			print substr(oops, 2)
		next
	}
	/^(not )?ok([ \t]|$)/ {
		good = $1 == "ok"
		sub(/^(not )?ok[ \t]*[0-9]*[ \t]*-?[ \t]*/, "")
		seen++
		if (!good)
			bad = 1
		result(good, $0)
		next
	}
	/^1\.\.[0-9]+/ { plan += substr($1, 4); next }
	/^[ \t]*$/ || /^TAP version/ || /^#( Running .*| Criterion .*)?$/ { next }
	{ sub(/^# ?/, ""); print "#   " $0; fflush() }
	END { print "1.." n + 0; exit failed || !n }'
}

[ $# -gt 0 ] || set -- 6.1 6.12
out=$(realpath -m "${OUT:-.output}")
make -s -C selftests/net/loaders O="$out/loaders" >&2 || exit 1
if ! bash selftests/vm/initramfs.sh "$work/base.cpio"; then
	echo "not ok 1 - vm: the guest's root was made"
	exit 1
fi
# All at once: most of what a guest does is on one processor. The first one is shown as it goes.
for k in "$@"; do
	start "$k" >"$work/$k.out" 2>"$work/$k.err" &
	guests="$guests $!"
done
mkfifo "$work/pipe" || exit 1
tap <"$work/pipe" &
reader=$!
{
	for pid in $guests; do
		show "$1" "$pid"
		shift
	done
} >"$work/pipe"
guests=
wait $reader
