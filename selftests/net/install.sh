#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `make install` into a folder: the command runs from there, a program builds against the library
# by pkg-config, a BPF program includes the headers, and uninstall takes everything away again.
set -u
cd "$(dirname "$0")/../.." || exit 1

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
. selftests/net/lib_tap.sh

cat >"$dir/user.c" <<'EOF'
#include <bigtcp/twin.h>
#include <stdio.h>

int main(void)
{
	const struct bpf_insn prog[] = { { .code = 0xb7 }, { .code = 0x95 } };
	struct bigtcp_twin_prog p = { .type = BPF_PROG_TYPE_SCHED_CLS, .insns = prog, .insn_cnt = 2 };
	struct bigtcp_twin_opts o = { .sz = sizeof(o) };
	struct bigtcp_twin t;
	int err = bigtcp_twin_make(&p, &o, &t, NULL);

	if (!err)
		printf("%u instructions\n", t.insn_cnt);
	bigtcp_twin_free(&t);
	return err ? 1 : 0;
}
EOF
cat >"$dir/prog.bpf.c" <<'EOF'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bigtcp/parse.bpf.h>

SEC("tc") int prog(struct __sk_buff *skb)
{
	struct bigtcp_pkt pkt;

	return bigtcp_parse_skb(skb, &pkt) ? 0 : pkt.l4_proto;
}
EOF

root=$dir/root
prefix=$root/usr
# Nothing is left for somebody to fill in.
filled_in() {
	! grep -rnI "@[A-Z][A-Z]*@" "$root" --include=*.service --include=*.pc --include=*.conf --include=*.[0-9] &&
		grep -qx "ExecStart=/usr/sbin/bigtcpd" "$root"/usr/lib/systemd/system/bigtcpd.service
}
build_user() {
	flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --define-variable=prefix="$prefix" \
		--define-variable=libdir="$prefix/lib" --define-variable=includedir="$prefix/include" \
		--cflags --libs bigtcp) || return 1
	# shellcheck disable=SC2086 # flags are words
	cc -Wall -Werror "$dir/user.c" $flags -o "$dir/user"
}
run_user() {
	LD_LIBRARY_PATH="$prefix/lib" "$dir/user"
}
build_bpf() {
	clang-16 -target bpf -mcpu=v3 -O2 -g -Wall -Werror -I"$prefix/include" \
		-I"/usr/include/$(cc -print-multiarch)" -c "$dir/prog.bpf.c" -o "$dir/prog.bpf.o"
}
version_runs() {
	"$prefix/bin/bigtcp" version && "$prefix/sbin/bigtcpd" --version
}
# An administrator's configuration stays where it is, and as it is.
keeps_config() {
	local conf=$root/etc/bigtcp/bigtcp.conf

	mkdir -p "${conf%/*}" && echo "# mine" >"$conf" &&
		make -s install DESTDIR="$root" PREFIX=/usr && [ "$(cat "$conf")" = "# mine" ] &&
		make -s uninstall DESTDIR="$root" PREFIX=/usr && [ "$(cat "$conf")" = "# mine" ]
}
nothing_left() {
	left=$(find "$root" ! -type d)
	[ -z "$left" ] || { echo "$left" && false; }
}

check "make install" make -s install DESTDIR="$root" PREFIX=/usr
check "the installed command and daemon run" version_runs
check "places are filled in" filled_in
check "a program builds by pkg-config" build_user
check "and makes a twin" run_user
check "a BPF program builds with the headers" build_bpf
check "make uninstall" make -s uninstall DESTDIR="$root" PREFIX=/usr
check "leaves nothing" nothing_left
check "a configuration stays" keeps_config
finish
