#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bash completion as a shell runs it, against the table of the command (bigtcp help -j).
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-.output}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. selftests/net/lib_tap.sh

make -s docs >&2 || exit 1
"$OUT/bigtcp" help -j >"$tmp/help" || exit 1
# shellcheck source=/dev/null
. "$OUT/completion/bigtcp"

# on WORD...: what is offered for the last word, sorted, a line each.
on()
{
	COMP_WORDS=(bigtcp "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_bigtcp
	[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

# offers WANTED WORD...: exactly the words of WANTED are offered.
offers()
{
	local want=$1 got

	shift
	got=$(on "$@" | tr '\n' ' ')
	[ "$got" = "${want:+$want }" ] || echo "bigtcp $*: '$got', not '$want'"
}

# includes WANTED WORD...: this one is among them.
includes()
{
	local want=$1

	shift
	on "$@" | grep -qx -e "$want" || echo "bigtcp $*: no '$want'"
}

loads()
{
	[ "$(complete -p bigtcp)" = "complete -F _bigtcp bigtcp" ] || complete -p bigtcp
	# What a login shell of its own says to it: nothing.
	# shellcheck disable=SC2016 # the other shell's
	env -i bash --norc -c '. "$1" && set -u && complete -p bigtcp >/dev/null' - "$OUT/completion/bigtcp" 2>&1
}

commands()
{
	offers "$(jq -r '.commands[].name' "$tmp/help" | sort | tr '\n' ' ' | sed 's/ $//')" ""
	offers "attach audit" a
	offers "attach audit" -j a
	offers "attach audit" -n blue a
	offers "" nonsense
}

# Every option of every command, and those of all commands behind each.
options()
{
	local cmd want

	for cmd in $(jq -r '.commands[].name' "$tmp/help"); do
		want=$(jq -r --arg c "$cmd" '(.options + (.commands[] | select(.name == $c).options))[]
			| "--\(.name)", (.letter | values | "-\(.)")' "$tmp/help" | sort -u | tr '\n' ' ' | sed 's/ $//')
		offers "$want" "$cmd" -
	done
	offers "--refused --report --resize-fails" exec --re
	offers "--json" --j
}

# Values that the table names; the word that follows is none of them.
values()
{
	local cmd name arg first

	while IFS=$'\t' read -r cmd name arg; do
		first=${arg%%|*}
		offers "$(tr '|' '\n' <<<"$arg" | sort | tr '\n' ' ' | sed 's/ $//')" "$cmd" "--$name" ""
		includes "$first" "$cmd" "--$name" "${first:0:1}"
		# As bash splits --name=value.
		includes "$first" "$cmd" "--$name" = "${first:0:1}"
		includes "$first" "$cmd" "--$name" =
	done < <(jq -r '.commands[] | .name as $c | .options[] | select(.arg // "" | test("^[a-z]+(\\|[a-z]+)+$"))
		| "\($c)\t\(.name)\t\(.arg)"' "$tmp/help")
	includes forged guard --drop f
	includes frag,len0 guard --drop frag,l
	offers "" audit --prog-id ""
	offers "" load --length ""
}

places()
{
	local d

	includes lo audit ""
	includes lo guard --hook tc ""
	includes lo xdp sandwich ""
	offers "sandwich status" xdp ""
	offers "cgroup-egress cgroup-ingress" attach lo c
	offers "egress" detach lo e
	includes audit help au
	for d in /sys/class/net/*; do
		[ ! -e "$d/ifindex" ] || includes "${d##*/}" attach ""
	done
	mkdir -p "$tmp/dir/sub" && : >"$tmp/dir/prog.bpf.o"
	offers "$tmp/dir/prog.bpf.o" attach lo ingress "$tmp/dir/p"
	offers "$tmp/dir/prog.bpf.o" audit --obj "$tmp/dir/p"
	includes "$tmp/dir/sub" attach "$tmp/dir/"
	offers "--" exec ""
	includes bash exec -- bas
	offers "$tmp/dir/prog.bpf.o" exec -- tc "$tmp/dir/p"
}

# Without names of the host's own namespaces.
netns()
{
	local script

	script=$(realpath "$OUT/completion/bigtcp")
	# shellcheck disable=SC2016 # the other shell's
	unshare --mount --propagation private bash -c 'cd /run && mount -t tmpfs run /run && cd /run && mkdir netns &&
		: >/run/netns/blue && : >/run/netns/green && . "$1" && COMP_WORDS=(bigtcp $2 b) COMP_CWORD=2 && _bigtcp &&
		echo "${COMPREPLY[*]}"' - "$script" "$1"
}

netns_names()
{
	[ "$(netns -n)" = blue ] || netns -n
	[ "$(netns --netns)" = blue ] || netns --netns
}

result "shellcheck likes it" "$(shellcheck -s bash "$OUT/completion/bigtcp")"
result "bash takes it" "$(loads)"
result "commands" "$(commands)"
result "options of every command" "$(options)"
result "values of options" "$(values)"
result "devices, hooks, files and other commands" "$(places)"
if [ "$(id -u)" = 0 ]; then
	result "names of network namespaces" "$(netns_names 2>&1)"
else
	skip "names of network namespaces" "needs root"
fi
finish
