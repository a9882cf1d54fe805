#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The RPM spec: it parses, rpmlint likes it, and its lists of files are what `make install` installs.
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1
spec=packaging/bigtcp.spec

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. selftests/net/lib_tap.sh

# Macros of systemd-rpm-macros, which Debian's rpm lacks, as they are on Fedora.
parse()
{
	rpmspec -P --define "_unitdir /usr/lib/systemd/system" --define "_tmpfilesdir /usr/lib/tmpfiles.d" \
		--define "_sysconfdir /etc" --define "_libdir /usr/lib64" "$spec" >"$tmp/spec" 2>"$tmp/err" || cat "$tmp/err"
	cat "$tmp/err"
}

lint()
{
	rpmlint -r packaging/bigtcp.rpmlintrc "$spec" >"$tmp/lint" 2>&1
	grep -q ' 0 errors, 0 warnings' "$tmp/lint" || cat "$tmp/lint"
}

# The files of %files sections as patterns of the shell.
listed()
{
	sed -n '/^%files/,/^%changelog/p' "$tmp/spec" | sed -n 's|^\(%config([a-z]*) \)\{0,1\}\(/.*\)|\2|p'
}

files()
{
	local f pattern hit

	make -s install install-selftests DESTDIR="$tmp/root" PREFIX=/usr LIBDIR=/usr/lib64 SYSCONFDIR=/etc >&2 ||
		echo "make install failed"
	(cd "$tmp/root" && find . ! -type d | sed 's/^\.//') >"$tmp/installed"
	listed >"$tmp/patterns"
	[ -s "$tmp/patterns" ] || echo "no files are listed"
	while read -r f; do
		hit=
		while read -r pattern; do
			# shellcheck disable=SC2254 # a pattern
			case $f in $pattern | ${pattern%/}/*) hit=1 ;; esac
		done <"$tmp/patterns"
		[ -n "$hit" ] || echo "installed but not listed: $f"
	done <"$tmp/installed"
	while read -r pattern; do
		compgen -G "$tmp/root$pattern" >/dev/null || echo "listed but not installed: $pattern"
	done <"$tmp/patterns"
}

result "rpmspec parses it" "$(parse)"
result "rpmlint has no error and no warning" "$(lint)"
result "its files are those that make install installs" "$(files 2>/dev/null)"
finish
