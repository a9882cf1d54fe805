#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# expect.sh FILE.bpf.c...: the corpus's statements (see README.md) as a table, one program a line:
# FILE PROG AUDIT TWIN KERNEL, separated by one space; FILE is the name without .bpf.c. A statement
# that can't be read is an error: a test that no one runs would look like one that passes.
set -u
export LC_ALL=C

exec awk '
function wrong(what)
{
	print FILENAME ":" FNR ": " what > "/dev/stderr"
	bad = 1
}
FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	sub(/\.bpf\.c$/, "", file)
	stated[file] = 0
}
/expect:/ {
	if ($0 !~ /^\/\* expect: .* \*\/$/) {
		wrong("a statement is \"/* expect: PROG audit=.. twin=.. kernel=.. */\"")
		next
	}
	audit = twin = kernel = ""
	for (i = 4; i < NF; i++) {
		if ($i ~ /^audit=(safe|drops|bypasses|misreads|corrupts|unknown)$/)
			audit = substr($i, 7)
		else if ($i ~ /^twin=(made|refused:[a-z_0-9-]+)$/)
			twin = substr($i, 6)
		else if ($i ~ /^kernel=[0-9]+\.[0-9]+$/)
			kernel = substr($i, 8)
		else
			wrong("what is \"" $i "\"?")
	}
	if (audit == "" || twin == "" || kernel == "" || $3 !~ /^[A-Za-z_0-9]+$/)
		wrong("audit, twin or kernel is missing")
	else
		print file, $3, audit, twin, kernel
	stated[file]++
}
END {
	for (f in stated) {
		if (!stated[f]) {
			print f ".bpf.c: has no statement" > "/dev/stderr"
			bad = 1
		}
	}
	exit bad
}' "$@"
