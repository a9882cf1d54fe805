# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Every object of the corpus, from every BPF compiler: it loads as it is, and each of its programs
# becomes the twin, or gets the refusal, that its statement names.
. selftests/vm/guest.sh

table=.output/corpus/expect.tab
pins=/sys/fs/bpf/corpus
bigtcp=.output/bigtcp

# Each says what is wrong, in $tmp/why, when it fails.
plain()
{
	mkdir -p "$pins" && bpftool prog loadall "$1" "$pins/plain" >"$tmp/out" 2>&1 && return 0
	{
		echo "$1 does not load plain:"
		tail -n 6 "$tmp/out"
	} >>"$tmp/why"
	return 1
}

# made FILE PROG: everything that had to be loaded with the program is a twin too.
made()
{
	"$bigtcp" load "$1" --prog "$2" --pin "$pins/twin" >"$tmp/out" 2>&1 &&
		grep -q ': twin, ' "$tmp/out" && ! grep -q ': loaded unchanged' "$tmp/out" &&
		[ -e "$pins/twin" ] && return 0
	{
		echo "no twin of $2:"
		tail -n 8 "$tmp/out"
	} >>"$tmp/why"
	return 1
}

# refused FILE PROG WHY: status 3, the reason's name, and nothing pinned.
refused()
{
	local rc

	"$bigtcp" -j load "$1" --prog "$2" --pin "$pins/twin" >"$tmp/out" 2>/dev/null
	rc=$?
	[ $rc = 3 ] && [ ! -e "$pins/twin" ] &&
		jq -e --arg why "$3" '.programs[-1] | .status == "refused" and .why == $why' \
			"$tmp/out" >/dev/null 2>&1 && return 0
	{
		echo "$2 should be refused for $3, but status $rc:"
		head -c 600 "$tmp/out"
	} >>"$tmp/why"
	return 1
}

# object CLANG FILE
object()
{
	local obj=.output/corpus/$1/$2.bpf.o n=0 newest=6.1 file prog audit twin kernel

	: >"$tmp/why"
	newest=$(awk -v f="$2" '$1 == f { print $5 }' "$table" | sort -V | tail -n 1)
	if kernel_has "$newest"; then
		plain "$obj"
		rm -rf "$pins"
	fi
	# audit is for the tests on the host.
	# shellcheck disable=SC2034
	while read -r file prog audit twin kernel; do
		[ "$file" = "$2" ] || continue
		kernel_has "$kernel" || continue
		n=$((n + 1))
		mkdir -p "$pins"
		case $twin in
		made) made "$obj" "$prog" ;;
		refused:*) refused "$obj" "$prog" "${twin#refused:}" ;;
		esac
		rm -rf "$pins"
	done <"$table"
	if [ -s "$tmp/why" ]; then
		not_ok "$1 $2: plain and twin"
		note_tail "$tmp/why" 30
	elif [ $n = 0 ]; then
		skip "$1 $2: plain and twin" "needs kernel $newest"
	else
		ok "$1 $2: plain and twin"
	fi
}

if [ ! -x $bigtcp ] || [ ! -s $table ]; then
	not_ok "bigtcp and the corpus's statements are in the guest"
	finish
fi
for dir in .output/corpus/clang-*; do
	for obj in "$dir"/*.bpf.o; do
		object "$(basename "$dir")" "$(basename "$obj" .bpf.o)"
	done
done
[ $tap_n -gt 0 ] || not_ok "there are objects of the corpus"
finish
