# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Every object of bpf/, from every BPF compiler, is taken by plain bpftool.
. selftests/vm/guest.sh

pins=/sys/fs/bpf/objects
found=
for obj in .output/bpf/clang-*/*.bpf.o; do
	[ -e "$obj" ] || continue
	found=1
	name=$(basename "$(dirname "$obj")") name="$name $(basename "$obj" .bpf.o)"
	try "$name.bpf.o loads" bpftool prog loadall "$obj" "$pins"
	rm -rf "$pins"
done
[ -n "$found" ] || not_ok "there are objects of bpf/"
finish
