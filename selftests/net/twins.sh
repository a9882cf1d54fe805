#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The audit, which knows nothing of how a twin is made, on the twin of every corpus program: run on
# packets above 64 KiB it must treat the jumbo form as the original treats the plain one. Prints TAP. Root.
# shellcheck disable=SC2154 # tmp comes from lib.sh
cd "$(dirname "$0")/../.." || exit 1
. selftests/net/lib.sh
net_private "$0" "$@"
. selftests/net/lib_tap.sh

# These look at payload_len, which a twin leaves 0 (or makes 65535), or at the packet's end, which
# bpf_xdp_load_bytes() does not read above 64 KiB: the audit must say so.
READS_LEN=' ctx_spill stack512 trust_len trust_len_eq trust_acct x_trailer '

while read -r file prog _ twin _; do
	[ "$twin" = made ] || continue
	want=twin
	[[ $READS_LEN == *" $prog "* ]] && want='drops|misreads'
	pin=/sys/fs/bpf/$prog
	if ! "$BIGTCP" load "$CORPUS/$file.bpf.o" --prog "$prog" --pin "$pin" >"$tmp/out" 2>&1; then
		result "$prog: has a twin" "$(cat "$tmp/out")"
		continue
	fi
	id=$(bpftool -j prog show pinned "$pin" | jq .id)
	"$BIGTCP" -j audit --prog-id "$id" >"$tmp/out" 2>/dev/null
	read -r verdict evidence <<<"$(jq -r '.[0] | "\(.verdict) \(.evidence)"' "$tmp/out")"
	wrong=
	[[ $verdict =~ ^($want)$ && ($want = twin || $evidence == 'is a twin, but: '*) ]] ||
		wrong="$verdict instead of $want: $evidence"
	result "$prog: $want" "$wrong"
	rm -f "$pin" "$pin"-*
done < <(sh selftests/corpus/expect.sh selftests/corpus/*.bpf.c)
result "the corpus was found" "$([ "$n" -gt 40 ] || echo "$n programs")"
finish
