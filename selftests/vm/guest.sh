# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts of guest.d share: TAP lines, a place for temporary files, kernel versions.
# Each script is run by bash in /bigtcp (laid out like the tree), as root, on a kernel of its own:
# what it leaves in namespaces and bpffs is gone with the guest, but the next script sees it.
set -u

tap_n=0
tap_failed=0
tmp=$(mktemp -d) || exit 1

# Numbers are made by the host.
ok()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $*"
}

not_ok()
{
	tap_n=$((tap_n + 1))
	tap_failed=1
	echo "not ok $tap_n - $*"
}

# skip NAME REASON
skip()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# note TEXT...: a comment; of a file, its last lines.
note()
{
	echo "# $*"
}

note_tail()
{
	tail -n "${2:-8}" "$1" | cut -c1-300 | sed 's/^/# /'
}

# try NAME COMMAND...: passes if the command does; its output is shown if not.
try()
{
	local name=$1
	shift
	if "$@" >"$tmp/try" 2>&1; then
		ok "$name"
	else
		not_ok "$name (status $?)"
		note "$*"
		note_tail "$tmp/try"
		return 1
	fi
}

# kernel_has X.Y: whether this kernel is X.Y or newer.
kernel_has()
{
	[ "$(printf '%s\n%s\n' "$1" "$BT_KERNEL" | sort -V | head -n 1)" = "$1" ]
}

# finish: the last line of each script.
finish()
{
	exit $tap_failed
}
