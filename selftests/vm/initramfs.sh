#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# initramfs.sh FILE: the guest's root as a cpio archive: commands of this host with the libraries
# they need, what the project built, and its test scripts, in /bigtcp as in the tree. Not packed:
# unpacking under emulation takes longer than copying.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-.output}

# The guest's commands are the real ones: tests must not see busybox's ip or grep. busybox only
# fills the gaps (/usr/lib/busybox, last in PATH). BT_VM_COMMANDS adds to them (strace, gdb).
commands="bash dash mount umount mkdir rm mv cp ln ls cat chmod touch find xargs sort uniq head tail
cut tr wc tee seq sleep timeout date stat stty mktemp dirname basename readlink realpath sha256sum cksum cmp
diff dd od env id uname nproc expr printf true false test mawk awk sed grep egrep kill nohup setpriv
ip tc ss bridge bpftool ethtool iperf3 tcpdump jq nsenter unshare ping sysctl ps pgrep
xdp-loader xdp-filter modprobe insmod lsmod rmmod dmesg flock setsid capsh getpcaps ${BT_VM_COMMANDS:-}"

die()
{
	echo "initramfs.sh: $*" >&2
	exit 1
}

[ $# = 1 ] || die "usage: initramfs.sh FILE"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{dev,proc,sys,tmp,mnt,run,root,etc,bigtcp,usr/{bin,sbin,lib,lib64,lib/busybox,share}} || exit 1
for d in bin sbin lib lib64; do
	ln -s usr/$d "$root/$d"
done

# add_libs FILE: the shared libraries of FILE, at the paths where it looks for them.
add_libs()
{
	ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r lib; do
		[ -e "$root$lib" ] && continue
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
}

# add_tree FILE...: files of the tree, at the same place under /bigtcp.
add_tree()
{
	for f in "$@"; do
		[ -e "$f" ] || continue
		# $OUT may be a path outside of the tree: in the guest it is always .output.
		local to=$root/bigtcp/$f
		[[ $f = "$OUT"/* ]] && to=$root/bigtcp/.output/${f#"$OUT"/}
		mkdir -p "$(dirname "$to")"
		cp "$f" "$to"
		[ -x "$f" ] && [[ $f != *.sh ]] && add_libs "$f" && strip -g "$to" 2>/dev/null
	done
}

PATH=$PATH:/usr/sbin:/sbin
for c in $commands; do
	path=$(type -P "$c") || die "this host has no $c (make deps)"
	cp -L "$path" "$root/usr/bin/$c"
	add_libs "$path"
done
ln -s dash "$root/usr/bin/sh"
# The kernel calls these by their full path.
for c in modprobe ip tc bpftool; do
	ln -s ../bin/$c "$root/usr/sbin/$c"
done
cp "$(type -P busybox)" "$root/usr/lib/busybox/busybox"
"$root/usr/lib/busybox/busybox" --list | while read -r applet; do
	[ "$applet" = busybox ] || ln -s busybox "$root/usr/lib/busybox/$applet"
done
[ -d /usr/share/iproute2 ] && cp -r /usr/share/iproute2 "$root/usr/share/"
[ -d /etc/iproute2 ] && cp -r /etc/iproute2 "$root/etc/"
# libxdp looks for its dispatcher, and xdp-filter for its programs, in lib/bpf.
for d in /usr/lib/bpf "/usr/lib/$(gcc -print-multiarch)/bpf"; do
	[ -d "$d" ] && mkdir -p "$root$d" && cp -L "$d"/*.o "$root$d/"
done
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
ln -s /proc/self/mounts "$root/etc/mtab"

shopt -s globstar nullglob
# The corpus's sources go with it: the tests read its statements there.
add_tree "$OUT"/bigtcp "$OUT"/bigtcpd "$OUT"/loaders/{plain,raw,skel,goloader,gohooks,freplace} "$OUT"/libbigtcp.so "$OUT"/tests/prog "$OUT"/tools/* "$OUT"/**/*.bpf.o \
	"$OUT"/corpus/*.tab selftests/**/*.sh selftests/corpus/*.bpf.c
add_tree selftests/net/objects/audit_hooks.bpf.c
# What the compiler leaves beside a tool is of no use there.
rm -f "$root"/bigtcp/.output/tools/*.d
install -m 755 selftests/vm/init "$root/init" || exit 1
chmod 755 "$root"
(cd "$root" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$1" || die "$1 can't be written"
