#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# fuzz_twin.seeds.sh DIR: the corpus's tc sections as they are in the object files, one seed each.
set -eu
cd "$(dirname "$0")/../.."
make -s corpus >&2
for obj in "${OUT:-.output}"/corpus/clang-16/*.bpf.o; do
	name=$(basename "$obj" .bpf.o)
	llvm-objcopy-14 -O binary --only-section=tc "$obj" "$1/$name.raw" 2>/dev/null || continue
	# The first byte chooses the options: any length, with line records.
	{ printf '\011' && cat "$1/$name.raw"; } >"$1/$name"
	rm -f "$1/$name.raw"
done
