# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Every object of the corpus, from every BPF compiler: it loads as it is, and each of its programs
# becomes the twin, or gets the refusal, that its statement names. The command itself is tried on
# one of each.
. selftests/vm/guest.sh

table=.output/corpus/expect.tab
pins=/sys/fs/bpf/corpus
bigtcp=.output/bigtcp

made()
{
	$bigtcp load .output/corpus/clang-16/fw_naive.bpf.o --prog fw_naive --pin "$pins/twin" &&
		[ -e "$pins/twin" ] && bpftool prog show pinned "$pins/twin"
}

# Status 3, the reason's name, and nothing pinned.
refused()
{
	$bigtcp -j load .output/corpus/clang-16/adj_room.bpf.o --prog adj_room --pin "$pins/none" \
		>"$tmp/json"
	local rc=$?

	cat "$tmp/json"
	[ "$rc" = 3 ] && [ ! -e "$pins/none" ] &&
		jq -e '.programs[-1] | .status == "refused" and .why == "helper"' "$tmp/json"
}

if [ ! -x $bigtcp ] || [ ! -s $table ]; then
	not_ok "bigtcp and the corpus's statements are in the guest"
	finish
fi
mkdir -p $pins
try "bigtcp load pins a twin" made
try "bigtcp load refuses what has no twin" refused
rm -rf $pins
.output/tools/load_corpus $table "$BT_KERNEL" .output/corpus/clang-* || tap_failed=1
finish
