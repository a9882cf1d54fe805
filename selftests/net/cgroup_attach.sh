#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bigtcp attach and detach for cgroups: both directions, beside others' programs, pins of cgroups that go; and
# twins that account jumbo TCP of a cgroup right.
#   snd (s0) ---- (r0) rcv
# Prints TAP. Root. The cgroups are a directory of its own, removed at the end.
# shellcheck disable=SC2015,SC2329 # the tests are called by name
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
net_loaders || exit 1
net_private "$0" "$@"
# shellcheck source=selftests/net/lib_twin.sh
. selftests/net/lib_twin.sh
# shellcheck source=selftests/net/lib_hooks.sh
. selftests/net/lib_hooks.sh

BYTES=${BT_BYTES:-30000000}
mkdir "$tmp/cg"
if ! mount -t cgroup2 none "$tmp/cg" 2>/dev/null; then
	skip "cgroups" "cgroup2 can't be mounted here"
	finish
	exit
fi
TOP=$(mktemp -d "$tmp/cg/bigtcp-test-XXXXXX") || net_die "no cgroup"
A=$TOP/a B=$TOP/b
trap 'echo 0 >"$tmp/cg/cgroup.procs"; rmdir "$A" "$B" "$TOP" 2>/dev/null' EXIT
mkdir "$A" "$B" || net_die "no cgroup"

# Whatever a test attached is taken off, also what it attached without bigtcp.
after_test()
{
	local c h

	for c in "$TOP" "$A" "$B"; do
		for h in ingress egress; do
			"$BIGTCP" detach "$c" cgroup-$h >/dev/null 2>&1
			bpftool cgroup detach "$c" cgroup_inet_$h pinned /sys/fs/bpf/t 2>/dev/null
		done
	done
	rm -f /sys/fs/bpf/t
}

state()
{
	bpftool cgroup tree "$TOP"
	find /sys/fs/bpf ! -type d
}

unchanged()
{
	local before rc

	before=$(state)
	"$@"
	rc=$?
	same "$(state)" "$before" || return 1
	return $rc
}

# progs CGROUP [ingress|egress]: names of what is attached, in order
progs()
{
	bpftool -j cgroup show "$1" | jq -r --arg h "${2:-}" \
		'[.[] | select(.attach_type | endswith($h)) | .name] | join(" ")'
}

both()
{
	bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		bt -j attach "$A" cgroup-egress "$HOOKS" --prog acct_out >"$tmp/json" && cat "$tmp/json" &&
		jq -e --arg a "$A" --argjson id "$(stat -c %i "$A")" '.cgroup == $a and .cgroup_id == $id and
			.hook == "cgroup-egress" and .kind == "cgroup_skb" and .link_id > 0 and
			(.programs[0] | .status == "twin" and .form == "by addressing")' "$tmp/json" &&
		same "$(progs "$A" ingress)" acct_in && same "$(progs "$A" egress)" acct_out && same "$(pins)" 2 &&
		bt detach "$A" cgroup-ingress && same "$(progs "$A")" acct_out && same "$(pins)" 1 &&
		bt detach "$A" cgroup-egress && same "$(progs "$A")" "" && same "$(pins)" 0
}

again()
{
	bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		unchanged fails 2 "acct_in is attached to .*/a cgroup-ingress already.*bigtcp detach" \
			bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		unchanged fails 2 "already" bt --dry-run attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		bt attach "$B" cgroup-ingress "$HOOKS" --prog acct_in && same "$(pins)" 2 &&
		bt detach "$B" cgroup-ingress && same "$(progs "$A")" acct_in &&
		unchanged fails 2 "has attached no program to .*/b cgroup-ingress" bt detach "$B" cgroup-ingress &&
		unchanged fails 2 "has attached no program to .*/a cgroup-egress" bt detach "$A" cgroup-egress
}

dry()
{
	unchanged bt --dry-run attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		unchanged bt --dry-run detach "$A" cgroup-ingress
}

# foreign CGROUP [multi|override]: a program that bigtcp did not attach
foreign()
{
	bt load "$HOOKS" --prog acct_in --pin /sys/fs/bpf/t --plain &&
		bpftool cgroup attach "$1" cgroup_inet_ingress pinned /sys/fs/bpf/t "${@:2}"
}

beside()
{
	foreign "$A" multi && bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		same "$(progs "$A")" "acct_in acct_in" && bt detach "$A" cgroup-ingress &&
		same "$(progs "$A")" acct_in
}

# What was attached as the only one of its cgroup, or of all below it, allows none beside.
alone()
{
	foreign "$A" && unchanged fails 2 "as the only one" bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		bt attach "$A" cgroup-egress "$HOOKS" --prog acct_out
}

alone_above()
{
	foreign "$TOP" && unchanged fails 2 "or one above it" bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in
}

pinned()
{
	bt load "$HOOKS" --prog acct_out --pin /sys/fs/bpf/t &&
		bt attach "$A" cgroup-egress --pinned /sys/fs/bpf/t && same "$(progs "$A")" acct_out &&
		bt detach "$A" cgroup-egress --prog acct_out
}

same_cgroup_by_another_path()
{
	mkdir "$tmp/cg2" && mount -t cgroup2 none "$tmp/cg2" || return 1
	bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in &&
		bt detach "$tmp/cg2/$(basename "$TOP")/a" cgroup-ingress
	local ret=$?
	umount "$tmp/cg2" && rmdir "$tmp/cg2"
	return $ret
}

# A cgroup's programs go some time after it.
dead()
{
	bt attach "$A" cgroup-egress "$HOOKS" --prog acct_out >/dev/null 2>&1 &&
		[ -z "$(find $LINKS -name '*cgroup_ingress*')" ] && bt detach "$A" cgroup-egress ||
		{ bt detach "$A" cgroup-egress; return 1; }
}

swept()
{
	bt attach "$B" cgroup-ingress "$HOOKS" --prog acct_in && same "$(pins)" 1 && rmdir "$B" || return 1
	wait_for 20 dead
	local ret=$?
	mkdir "$B"
	return $ret
}

places()
{
	unchanged fails 2 "no directory of a cgroup2 file system" bt attach /tmp cgroup-ingress "$HOOKS" --prog acct_in &&
		unchanged fails 2 "No such file" bt attach "$A/none" cgroup-ingress "$HOOKS" --prog acct_in &&
		unchanged fails 2 "Not a directory" bt attach "$A/cgroup.procs" cgroup-ingress "$HOOKS" --prog acct_in &&
		unchanged fails 2 "no directory of a cgroup2" bt detach /tmp cgroup-ingress
}

usage()
{
	unchanged fails 1 "are for ingress and egress" \
		bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in --place=head &&
		unchanged fails 1 "is for xdp" bt attach "$A" cgroup-ingress "$HOOKS" --prog acct_in --mode skb &&
		unchanged fails 1 "more than one cgroup_skb program \(acct_in, acct_out" \
			bt attach "$A" cgroup-ingress "$HOOKS" &&
		unchanged fails 2 "is of type xdp .*: no cgroup_skb program" \
			bt attach "$A" cgroup-ingress "$HOOKS" --prog fw &&
		unchanged fails 1 "cgroup-ingress or cgroup-egress" bt attach "$A" cgroup "$HOOKS"
}

# traffic NAME PROG HOOK [--plain]: of the receiver, which is in the cgroup
traffic()
{
	local id

	"$BIGTCP" -j attach "$A" "$3" "$HOOKS" --prog "$2" "${@:4}" >"$tmp/json" || net_die "cannot attach $2"
	id=$(jq .prog_id "$tmp/json")
	(echo $BASHPID >"$A/cgroup.procs" && send "$BYTES" && echo "$wrong" >"$tmp/wrong")
	wrong=$(cat "$tmp/wrong")
	if [ "${4:-}" = --plain ]; then
		above "packets above 64 KiB under other" "$(booked "$id" 1 large)" 10
		expect "packets above 64 KiB under the port" "$(booked "$id" 0 large)" 0
	else
		fair_books "$id"
	fi
	no_bad snd rcv
	"$BIGTCP" detach "$A" "$3" >/dev/null
	result "$1" "$wrong"
}

some t both "attach and detach, both directions"
some t again "attached already: said; a cgroup beside is another"
some t dry "--dry-run attaches and detaches nothing"
some t beside "another's program is run beside, and left alone"
some t alone "a program that allows none beside it"
some t alone_above "the same above the cgroup"
some t pinned "a pinned program is attached as it is"
some t same_cgroup_by_another_path "the cgroup counts, not its path"
some t swept "what removed cgroups leave is swept"
some t places "what is no cgroup"
some t usage "wrong command lines"
need_hbh "twins in cgroups"
net_direct
net_size 185000 snd s0 rcv r0
[ -n "${BT_SOME:-}" ] || traffic "accounting as it is books jumbo packets elsewhere" acct_in cgroup-ingress --plain
traffic "its twin books them right, ingress" acct_in cgroup-ingress
traffic "its twin books them right, egress" acct_out cgroup-egress
finish
