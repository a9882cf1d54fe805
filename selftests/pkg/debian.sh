#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2013 # words are meant
# The Debian packages: built from an export of the tree as git has it, looked at by lintian and by us, and
# run from where they unpack. Nothing is installed.
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1
# What a make or a test run around this says is not for the package's build.
unset OUT BT_OUT MAKEFLAGS MFLAGS MAKELEVEL V CFLAGS LDFLAGS

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. selftests/net/lib_tap.sh

arch=$(dpkg-architecture -qDEB_HOST_ARCH)
lib=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
packages="bigtcp bigtcp-selftests libbigtcp-dev libbigtcp0"

versions_agree()
{
	local so

	so=$(grep -oE 'soname,libbigtcp\.so\.[0-9]+' Makefile | grep -oE '[0-9]+$')
	[ "$(dpkg-parsechangelog -SVersion)" = "$version" ] || echo "debian/changelog: $(dpkg-parsechangelog -SVersion)"
	grep -q "^Version: *$version\$" packaging/bigtcp.spec || grep '^Version' packaging/bigtcp.spec
	grep -q "^Package: libbigtcp$so\$" debian/control || echo "debian/control: no package libbigtcp$so"
	grep -q "^LIBBIGTCP_${version%.*} " loader/engine/libbigtcp.map || head -n 2 loader/engine/libbigtcp.map
}

# Everything the build wants is in deps.sh, which CI installs.
deps_agree()
{
	local p

	dpkg-checkbuilddeps 2>&1
	for p in $(sed -n '/^Build-Depends:/,/^[^ B]/p' debian/control | sed 's/^Build-Depends://; s/([^)]*)//; s/,//' |
		grep '^ ' | sed 's/debhelper-compat/debhelper/'); do
		grep -q "^$p " selftests/deps.sh || echo "selftests/deps.sh lacks $p"
	done
}

build()
{
	mkdir "$tmp/bigtcp" "$tmp/control" && git ls-files -z | tar --null -T - -c | tar -x -C "$tmp/bigtcp" || return 1
	(cd "$tmp/bigtcp" && DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=2" dpkg-buildpackage -us -uc -b) \
		>"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log" && return 1; }
	for p in $packages; do
		dpkg-deb -x "$tmp/${p}_${version}_$arch.deb" "$tmp/root" &&
			dpkg-deb -e "$tmp/${p}_${version}_$arch.deb" "$tmp/control/$p" &&
			dpkg-deb -c "$tmp/${p}_${version}_$arch.deb" | awk '{ print $6 }' >"$tmp/control/$p.list" || return 1
	done
}

lintian_clean()
{
	# It does not like to be root, which is what CI is.
	lintian --no-cfg --allow-root --fail-on error,warning "$tmp/bigtcp_${version}_$arch.changes" 2>&1 ||
		echo "lintian: status $?"
}

flags()
{
	local hard='-fstack-protector|-fcf-protection|_FORTIFY_SOURCE|-fstack-clash|-fPI[CE]'

	grep -e '-target bpf' "$tmp/log" | grep -E -e "$hard" | head -n 3
	grep -q -e '-target bpf' "$tmp/log" || echo "no BPF code was built"
	grep -E '^(gcc|cc|x86_64-linux-gnu-gcc|aarch64-linux-gnu-gcc) .*-c loader/' "$tmp/log" >"$tmp/cc"
	[ -s "$tmp/cc" ] || echo "no host code was built"
	grep -v -e -fstack-protector-strong "$tmp/cc" | head -n 3
	grep -v -e _FORTIFY_SOURCE "$tmp/cc" | head -n 3
}

contents()
{
	local p f

	while read -r p f; do
		grep -qx -e "\./$f" "$tmp/control/$p.list" || echo "$p lacks $f"
	done <<-END
		bigtcp usr/bin/bigtcp
		bigtcp etc/bigtcp/bigtcp.conf
		bigtcp usr/sbin/bigtcpd
		bigtcp lib/systemd/system/bigtcpd.service
		bigtcp usr/share/man/man8/bigtcpd.8.gz
		bigtcp usr/lib/tmpfiles.d/bigtcp.conf
		bigtcp usr/share/bash-completion/completions/bigtcp
		bigtcp usr/share/man/man8/bigtcp-audit.8.gz
		bigtcp usr/share/man/man5/bigtcp.conf.5.gz
		bigtcp $lib/bpf/guard_tc.bpf.o
		bigtcp usr/share/doc/bigtcp/examples/prometheus/bigtcp.rules.yml
		libbigtcp0 $lib/libbigtcp.so.0
		libbigtcp-dev $lib/libbigtcp.a
		libbigtcp-dev $lib/libbigtcp.so
		libbigtcp-dev $lib/pkgconfig/bigtcp.pc
		libbigtcp-dev usr/include/bigtcp/parse.bpf.h
		libbigtcp-dev usr/share/man/man3/libbigtcp.3.gz
		bigtcp-selftests usr/libexec/bigtcp/build/tests/prog
	END
	grep -qx /etc/bigtcp/bigtcp.conf "$tmp/control/bigtcp/conffiles" || echo "bigtcp.conf is no conffile"
	# As it comes it names no device.
	grep -v '^#' "$tmp/root/etc/bigtcp/bigtcp.conf" | grep -n 'device'
	PKG_CONFIG_PATH="$tmp/root/$lib/pkgconfig" pkg-config --exists "bigtcp = $version" || echo "bigtcp.pc is not $version"
}

# Installing starts nothing, removing detaches nothing: maintainer scripts leave the kernel's state alone.
scripts()
{
	local f

	for f in "$tmp"/control/bigtcp/{preinst,postinst,prerm,postrm}; do
		[ -e "$f" ] || continue
		sh -n "$f"
		grep -nE '(^|[ /])bigtcp (detach|disable|enable|guard|observe|xdp)|/sys/fs/bpf|systemctl.* start|invoke start' "$f" |
			sed "s|^|${f##*/}: |"
	done
}

runs()
{
	"$tmp/root/usr/bin/bigtcp" version | grep -qx "bigtcp $version" || "$tmp/root/usr/bin/bigtcp" version
	LD_LIBRARY_PATH="$tmp/root/$lib" readelf -d "$tmp/root/$lib/libbigtcp.so.0" | grep -q 'SONAME.*libbigtcp.so.0]' ||
		echo "libbigtcp.so.0 has another name"
}

selftests_run()
{
	local want

	BT_PROG_FILTER="prop/*" BT_PROG_ONLY=fw_naive BT_PROG_PACKETS=200 bash "$tmp/root/usr/libexec/bigtcp/selftests/installed.sh" prog cli \
		>"$tmp/self" 2>&1 || { grep -v '^ok' "$tmp/self" && return; }
	for want in "cli: " prop::; do
		grep -q "^ok.* $want" "$tmp/self" || head -n 20 "$tmp/self"
	done
}

result "versions of make, Debian, RPM and the library agree" "$(versions_agree)"
result "what the build wants is installed by deps.sh" "$(deps_agree)"
if wrong=$(build 2>&1); then
	result "dpkg-buildpackage builds an export of the tree" ""
	result "lintian has no error and no warning" "$(lintian_clean)"
	result "host code is hardened, BPF code is left alone" "$(flags)"
	result "the packages have what they should" "$(contents)"
	result "maintainer scripts leave the kernel's state alone" "$(scripts)"
	result "the packaged command runs" "$(runs)"
	if [ "$(id -u)" = 0 ]; then
		result "bigtcp-selftests runs from where it is" "$(selftests_run)"
	else
		skip "bigtcp-selftests runs from where it is" "needs root"
	fi
else
	result "dpkg-buildpackage builds an export of the tree" "$wrong"
fi
finish
