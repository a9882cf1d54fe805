#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Installs what building and testing bigtcp needs, on Debian 12. Says nothing, and takes no time,
# when everything is there. With --check it only tells (exit 1: something is missing).
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# PACKAGE REASON, one a line. Recommended packages are not followed: what is used is listed.
packages()
{
	cat <<'EOF'
gcc build
libc6-dev build
linux-libc-dev build
make build
pkg-config build
git checkout
libbpf-dev loader
libelf-dev loader
zlib1g-dev loader
libmnl-dev netlink
libxdp-dev xdp
xdp-tools xdp-tests
libinih-dev config
libsystemd-dev daemon
libmicrohttpd-dev metrics
libseccomp-dev exec
bpftool skeletons
clang-14 bpf
clang-16 bpf
clang-19 bpf
llvm-14 objects
libclang-rt-14-dev fuzz
clang-format-14 style
shellcheck style
scdoc man-pages
man-db man-pages
mandoc man-pages
debhelper debian-package
lintian debian-package
rpm rpm-spec
rpmlint rpm-spec
libcriterion-dev tests
golang-go loader-test
golang-github-cilium-ebpf-dev loader-test
golang-k8s-sigs-yaml-dev manifests
iproute2 net
ethtool net
iperf3 net
iputils-ping net
tcpdump net
curl metrics
jq json
util-linux namespaces
bsdutils terminal
gnuplot-nox bench
procps processes
libcap2-bin capabilities
systemd unit-tests
mawk text
kmod modules
xz-utils modules
cpio vm
busybox-static vm
qemu-system-x86 vm
EOF
}

missing()
{
	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
	packages | while read -r name why; do
		# A package of every line of the list, so that a wrong list is seen early.
		[ -n "$why" ] || { echo "deps: $name has no reason" >&2; continue; }
		case "
$have
" in
		*"
$name
"*) ;;
		*) echo "$name" ;;
		esac
	done
}

die()
{
	echo "deps: $*" >&2
	exit 1
}

if ! command -v dpkg-query >/dev/null; then
	die "this is not Debian; install the like of: $(packages | sed 's/ .*//' | tr '\n' ' ')"
fi
need=$(missing | tr '\n' ' ')
[ -z "$need" ] && exit 0
[ "${1:-}" = --check ] && die "missing: $need(make deps installs them)"
[ "$(id -u)" = 0 ] || die "missing: $need(run 'make deps' as root to install them)"

log=$(mktemp) || die "no place for temporary files"
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

apt()
{
	apt-get -y -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>"$log" 2>&1 </dev/null
}

echo "deps: installing $need"
# A third-party source that does not answer must not stop this: the install tells what is missing.
apt update || echo "deps: apt-get update complained, going on" >&2
# shellcheck disable=SC2086 # a list of words
if ! apt install --no-install-recommends $need; then
	{ grep '^[EW]: ' "$log" || cat "$log"; } | tail -n 6 | sed 's/^/  /' >&2
	die "apt-get could not install: $need"
fi
need=$(missing | tr '\n' ' ')
[ -z "$need" ] || die "still missing after apt-get install: $need"
