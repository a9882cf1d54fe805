# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # tmp comes from lib.sh
# What scripts that audit share: statements of source files. Sourced after lib.sh and lib_tap.sh.

audit()
{
	timeout -k 5 100 "$BIGTCP" audit "$@"
}

fail()
{
	echo "$*"
	return 1
}

# options SOURCE: an array, opts, of what the statements of a source file ask for.
options()
{
	local line

	opts=()
	grep -q '^int bt_setup(' "$1" && opts+=(--setup bt_setup)
	while read -r line; do
		opts+=(--fill "$line")
	done < <(sed -n 's|^/\* fill: \(.*\) \*/$|\1|p' "$1")
	while read -r line; do
		opts+=(--flow "$line")
	done < <(sed -n 's|^/\* flow: \(.*\) \*/$|\1|p' "$1")
}

# statements SOURCE OBJECT LABEL: one test a statement.
statements()
{
	local prog want rc exit_want got opts

	options "$1"
	while read -r prog want; do
		audit -j --obj "$2" --prog "$prog" "${opts[@]}" >"$tmp/out" 2>"$tmp/err"
		rc=$?
		got=$(jq -r '.[0].verdict' <"$tmp/out" 2>&1)
		exit_want=3
		[ "$want" = safe ] && exit_want=0
		if [ "$got" != "$want" ] || [ $rc != $exit_want ]; then
			{
				echo "got $got, exit status $rc"
				cat "$tmp/err"
				jq -c '.[0] | .evidence, .forms' <"$tmp/out"
			} >"$tmp/all" 2>&1
			mv "$tmp/all" "$tmp/out"
			result "$3 $prog is $want" "$(cat "$tmp/out")"
		else
			result "$3 $prog is $want" ""
		fi
	done < <(sed -n 's|^/\* expect: \([^ ]*\) audit=\([a-z]*\).* \*/$|\1 \2|p' "$1")
}
