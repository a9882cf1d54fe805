#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# kernel.sh SERIES: prints a folder with Debian's cloud kernel of that series (6.1, 6.12): vmlinuz,
# release, and modules.cpio, an initramfs part with the modules the tests use, which the guest's
# kernel loads by modprobe when it needs them. Downloaded by apt at first use and kept in
# ${BIGTCP_CACHE:-/var/cache/bigtcp}, by package name and version; the cache can be removed any time.
set -u
export LC_ALL=C

# What the tests may use. Built into one kernel, a module of the other, or missing (netkit in 6.1).
modules="veth cls_bpf sch_ingress cls_matchall cls_flower act_bpf act_mirred act_gact act_skbedit dummy
8021q tun netkit ipvlan macvlan bridge vxlan geneve ip6_tunnel sit ifb bonding sch_fq sch_fq_codel
sch_netem sch_htb sch_tbf sch_cake act_police br_netfilter tcp_bbr af_packet_diag tcp_diag nf_tables
ip6table_filter ip6table_mangle
xt_length"

die()
{
	echo "kernel.sh: $*" >&2
	exit 1
}

case "${1:-}" in
6.1) meta=linux-image-cloud-amd64 ;;
6.*) meta=linux-image-$1-cloud-amd64 ;;
*) die "usage: kernel.sh SERIES, such as 6.1 or 6.12" ;;
esac

# The meta package names the real one of the day.
real()
{
	apt-cache depends "$meta" 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

pkg=$(real)
[ -n "$pkg" ] || { apt-get -q update >/dev/null 2>&1 && pkg=$(real); }
version=$(apt-cache policy "${pkg:-none}" 2>/dev/null | sed -n 's/^ *Candidate: //p')
cache=${BIGTCP_CACHE:-/var/cache/bigtcp}
if [ -z "$pkg" ] || [ -z "$version" ]; then
	# Without package lists an older download is still a kernel of this series.
	dir=$(find "$cache" -maxdepth 1 -name "linux-image-$1.*_*" -type d 2>/dev/null | sort | tail -n 1)
	[ -n "$dir" ] || die "apt knows no package $meta; is its list of packages there?"
	echo "$dir"
	exit 0
fi
# This script is part of the key: what it makes may change with it.
key=$(cksum <"$0" | cut -d' ' -f1)
dir=$cache/${pkg}_$(echo "$version" | tr ':~' '__')_$key
if [ -f "$dir/done" ]; then
	echo "$dir"
	exit 0
fi

mkdir -p "$cache" || die "$cache can't be made; set BIGTCP_CACHE to another folder"
work=$(mktemp -d "$cache/.new.XXXXXX") || die "$cache can't be written; set BIGTCP_CACHE"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$work"

fetch()
{
	(cd "$work" && apt-get -q -o Acquire::Retries=3 download "$pkg=$version") >"$work/log" 2>&1
}

# The lists may be older than the mirror: then that version is no longer there.
fetch || { apt-get -q update >/dev/null 2>&1 && fetch; } || {
	tail -n 4 "$work/log" >&2
	die "apt-get could not download $pkg $version"
}
dpkg-deb -x "$work"/*.deb "$work/x" || die "$pkg can't be unpacked"
rel=$(basename "$work"/x/lib/modules/*)
lib=$work/ini/usr/lib/modules/$rel
mkdir -p "$work/out" "$lib/kernel"
# depmod and modprobe look in /lib; in the guest that is a link of the base archive.
ln -s usr/lib "$work/ini/lib"
cp "$work/x/boot/vmlinuz-$rel" "$work/out/vmlinuz" || die "$pkg has no vmlinuz"
echo "$rel" >"$work/out/release"
depmod -b "$work/x" "$rel" || die "depmod failed for $rel"

# modprobe knows what each needs.
for m in $modules; do
	modprobe -d "$work/x" -S "$rel" --show-depends "$m" 2>/dev/null
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/list"
[ -s "$work/list" ] || die "$pkg: no module found"
while read -r path; do
	f=$(basename "$path")
	# Unpacked here, where it is quick.
	case "$f" in
	*.xz) xz -dc "$path" >"$lib/kernel/${f%.xz}" ;;
	*) cp "$path" "$lib/kernel/$f" ;;
	esac || die "$f can't be unpacked"
done <"$work/list"
cp "$work/x/lib/modules/$rel"/modules.builtin* "$work/x/lib/modules/$rel/modules.order" "$lib/"
depmod -b "$work/ini" "$rel" || die "depmod failed for the chosen modules"
rm "$work/ini/lib"
(cd "$work/ini" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$work/out/modules.cpio" ||
	die "no modules.cpio"
touch "$work/out/done"
# Two runs may do this at once: the first to rename wins, the other's is as good.
mv -T "$work/out" "$dir" 2>/dev/null || [ -f "$dir/done" ] || die "$dir can't be made"
echo "$dir"
