#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# promtool.sh: prints the path of promtool: this host's, or that of Debian's package, which is downloaded by apt at
# first use, not installed, and kept in ${BIGTCP_CACHE:-/var/cache/bigtcp} as the kernels are (vm/kernel.sh).
set -u
export LC_ALL=C

die()
{
	echo "$*" >&2
	exit 1
}

command -v promtool && exit 0
cache=${BIGTCP_CACHE:-/var/cache/bigtcp}
old=$(find "$cache" -maxdepth 2 -path "$cache/prometheus_*/promtool" 2>/dev/null | sort | tail -n 1)
if [ -n "$old" ]; then
	echo "$old"
	exit 0
fi
command -v apt-get >/dev/null || die "no promtool, and no apt-get to download it"
mkdir -p "$cache" || die "$cache can't be written; set BIGTCP_CACHE"
work=$(mktemp -d "$cache/.new.XXXXXX") || die "$cache can't be written; set BIGTCP_CACHE"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$work"

download()
{
	(cd "$work" && timeout 90 apt-get -q -o Acquire::Retries=3 download prometheus) >"$work/log" 2>&1
}

# The lists may be older than the mirror, or missing.
download || { timeout 90 apt-get -q update >/dev/null 2>&1 && download; } ||
	die "apt-get could not download prometheus: $(grep '^E: ' "$work/log" | tail -n 1)"
deb=$(basename "$work"/*.deb .deb)
mkdir "$work/out" || die "$cache can't be written"
dpkg-deb --fsys-tarfile "$work/$deb.deb" | tar -xO ./usr/bin/promtool >"$work/out/promtool" ||
	die "the package $deb has no promtool"
chmod 755 "$work/out/promtool" || die "$cache can't be written"
# Two runs may do this at once: the first to rename wins, the other's is as good.
dir=$cache/$deb
mv -T "$work/out" "$dir" 2>/dev/null || [ -x "$dir/promtool" ] || die "$dir can't be made"
echo "$dir/promtool"
