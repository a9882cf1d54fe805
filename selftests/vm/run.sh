#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# run.sh [KERNEL...]: runs guest.d/*.sh under Debian's cloud kernels (6.1 and 6.12 unless named) in
# QEMU, and shows their TAP lines with the kernel in front of the name. A guest that panics or hangs
# gives a failed test with the last lines of its console.
#   BT_VM_ONLY   pattern of guest scripts to run, such as '30-*'
#   BT_VM_LIMIT  seconds a guest may take (420)
#   BT_VM_ACCEL  QEMU accelerator (tcg,thread=multi); kvm where it is known to work
#   BT_VM_ENV    more NAME=VALUE words for the guest's environment
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

limit=${BT_VM_LIMIT:-420}
accel=${BT_VM_ACCEL:-tcg,thread=multi}
# 5-level page tables only make emulation slower.
case $accel in
kvm*) cpu=host ;;
*) cpu=max,la57=off ;;
esac

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# boot KERNEL: the guest's second serial port on stdout, with lines of our own around it.
boot()
{
	echo "@kernel $1"
	t0=$(date +%s)
	if ! dir=$(sh selftests/vm/kernel.sh "$1" 2>"$work/err"); then
		echo "@lost no kernel: $(tail -n 1 "$work/err")"
		return
	fi
	if ! cat "$work/base.cpio" "$dir/modules.cpio" >"$work/$1.cpio"; then
		echo "@lost no initramfs"
		return
	fi
	# Words with = that the kernel does not know become init's environment.
	timeout -k 5 "$limit" qemu-system-x86_64 -accel "$accel" -cpu "$cpu" -smp 2 -m 1500M \
		-nodefaults -no-user-config -display none -no-reboot \
		-serial "file:$work/console" -chardev stdio,id=tap,signal=off -serial chardev:tap \
		-kernel "$dir/vmlinuz" -initrd "$work/$1.cpio" -append "console=ttyS0 quiet panic=-1 \
mitigations=off nokaslr nowatchdog tsc=reliable cryptomgr.notests BT_ONLY=${BT_VM_ONLY:-*} \
${BT_VM_ENV:-}" </dev/null 2>"$work/err"
	rc=$?
	rm -f "$work/$1.cpio"
	why="qemu ended with status $rc $(head -n 1 "$work/err")"
	[ $rc = 124 ] && why="stopped after $limit s"
	[ $rc = 0 ] && why="it restarted or was switched off"
	echo
	echo "@lost $why"
	tail -n 25 "$work/console" 2>/dev/null | tr -d '\r' | cut -c1-200 | sed 's/^/@console /'
	grep -aE 'Kernel panic|BUG: |WARNING: CPU|Oops|general protection|unable to handle' "$work/console" |
		tr -d '\r' | head -n 5 | sed 's/^/@oops /'
	echo "@off $(($(date +%s) - t0))"
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
		print "# " k ": " $2 " s in all"
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
	/^[ \t]*$/ || /^TAP version/ { next }
	{ sub(/^# ?/, ""); print "#   " $0; fflush() }
	END { print "1.." n + 0; exit failed || !n }'
}

[ $# -gt 0 ] || set -- 6.1 6.12
if ! bash selftests/vm/initramfs.sh "$work/base.cpio"; then
	echo "not ok 1 - vm: the guest's root was made"
	exit 1
fi
for k in "$@"; do
	boot "$k"
done | tap
